// Package timestamp reads the timestamps of logs, several times faster than
// time.Parse and without its errors, which nobody reads on a hot path.
package timestamp

import "time"

// Parse reads an RFC 3339 time: date, T or a blank, time with up to nine
// digits of fraction, and Z, ±hh:mm or ±hhmm. Small letters t and z are
// accepted. ok is false for anything else, and for dates that don't exist.
func Parse(b []byte) (t time.Time, ok bool) {
	const shortest = len("2026-09-10T09:00:00Z")
	if len(b) < shortest || b[4] != '-' || b[7] != '-' || b[13] != ':' || b[16] != ':' ||
		b[10] != 'T' && b[10] != 't' && b[10] != ' ' {
		return t, false
	}
	year := 100*two(b) + two(b[2:])
	month, day := two(b[5:]), two(b[8:])
	hour, min, sec := two(b[11:]), two(b[14:]), two(b[17:])
	if two(b) < 0 || two(b[2:]) < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(month, year) ||
		hour < 0 || hour > 23 || min < 0 || min > 59 || sec < 0 || sec > 59 {
		return t, false
	}
	b = b[19:]
	nanos := 0
	if b[0] == '.' {
		b = b[1:]
		digits := 0
		for ; digits < len(b) && b[digits] >= '0' && b[digits] <= '9'; digits++ {
			if digits == 9 {
				return t, false
			}
			nanos = 10*nanos + int(b[digits]-'0')
		}
		if digits == 0 {
			return t, false
		}
		b = b[digits:]
		for ; digits < 9; digits++ {
			nanos *= 10
		}
	}
	offset, ok := zone(b)
	if !ok {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, min, sec, nanos, time.UTC)
	return t.Add(-offset), true
}

// zone reads Z, ±hh:mm or ±hhmm, and nothing after it.
func zone(b []byte) (offset time.Duration, ok bool) {
	if len(b) == 1 {
		return 0, b[0] == 'Z' || b[0] == 'z'
	}
	if len(b) == 6 && b[3] == ':' {
		b = []byte{b[0], b[1], b[2], b[4], b[5]}
	}
	if len(b) != 5 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	h, m := two(b[1:]), two(b[3:])
	if h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, false
	}
	offset = time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if b[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// two reads two digits, -1 where they are none.
func two(b []byte) int {
	if b[0] < '0' || b[0] > '9' || b[1] < '0' || b[1] > '9' {
		return -1
	}
	return 10*int(b[0]-'0') + int(b[1]-'0')
}

func daysIn(month, year int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
