// Package timestamp reads RFC 3339 times from the bytes of a log line, without
// garbage: every line of a log has one.
package timestamp

import "time"

// Parse returns the time that b holds, in UTC; ok is false where it is none.
//
// Any RFC 3339 time is read, with a blank in place of the T and an offset
// without colon as well. Digits beyond nanoseconds are passed over. As with
// time.Parse, a 60th second is no time; a time without a zone is none either.
func Parse(b []byte) (t time.Time, ok bool) {
	if len(b) < len("2006-01-02T15:04:05Z") ||
		b[4] != '-' || b[7] != '-' || b[13] != ':' || b[16] != ':' {
		return time.Time{}, false
	}
	switch b[10] {
	case 'T', 't', ' ':
	default:
		return time.Time{}, false
	}
	year := two(b[0:])*100 + two(b[2:])
	month, day := two(b[5:]), two(b[8:])
	hour, minute, second := two(b[11:]), two(b[14:]), two(b[17:])
	if two(b[0:]) < 0 || two(b[2:]) < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return time.Time{}, false
	}
	nano, rest, ok := fraction(b[19:])
	if !ok {
		return time.Time{}, false
	}
	zone, ok := offset(rest)
	if !ok {
		return time.Time{}, false
	}
	unix := int64(days(year, month, day))*86400 + int64(hour*3600+minute*60+second) - int64(zone)
	return time.Unix(unix, int64(nano)).UTC(), true
}

// two returns the number that two digits make, or a number far below zero.
func two(b []byte) int {
	hi, lo := b[0]-'0', b[1]-'0'
	if hi > 9 || lo > 9 {
		return -1 << 20
	}
	return int(hi)*10 + int(lo)
}

// fraction reads .123 as 123,000,000 ns.
func fraction(b []byte) (nano int, rest []byte, ok bool) {
	if b[0] != '.' {
		return 0, b, true
	}
	n, unit := 1, 100_000_000
	for ; n < len(b) && b[n]-'0' <= 9; n++ {
		nano += int(b[n]-'0') * unit
		unit /= 10
	}
	return nano, b[n:], n > 1
}

// offset reads the zone that ends a time as seconds east of UTC.
func offset(b []byte) (seconds int, ok bool) {
	if len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') {
		return 0, true
	}
	if len(b) == len("+01:00") && b[3] == ':' {
		b = append(append(make([]byte, 0, 5), b[:3]...), b[4:]...) // stays on the stack
	}
	if len(b) != len("+0100") || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hour, minute := two(b[1:]), two(b[3:])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return 0, false
	}
	seconds = hour*3600 + minute*60
	if b[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// days counts the days from 1970-01-01 to a date of the Gregorian calendar.
// Years begin in March here, so that the leap day is the last of its year.
func days(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	year += 400 // keeps year 0 above zero; 400 years are 146,097 days
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719_468 - 146_097
}
