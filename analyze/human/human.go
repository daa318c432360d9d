// Package human writes figures the way people read them. One rule for all
// reports: a figure has the same form in a headline, a table and a chart.
package human

import (
	"math"
	"strconv"
	"strings"
)

// Duration writes a time in ms: 280 ms, 2.84 s, 48.2 s, 12 min 5 s, 3 h 20 min.
func Duration(ms float64) string {
	a := math.Abs(ms)
	switch {
	case a < 10 && a != math.Trunc(a):
		return trim(ms, 2) + " ms"
	case a < 999.5:
		return trim(ms, 0) + " ms"
	case a < 99_950:
		return digits(ms/1000, 3) + " s"
	case a < 599_500:
		return trim(ms/1000, 0) + " s"
	}
	s := int64(math.Round(ms / 1000))
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	if s < 3600 {
		return sign + strconv.FormatInt(s/60, 10) + " min" + rest(s%60, " s")
	}
	m := (s + 30) / 60
	if m < 48*60 {
		return sign + strconv.FormatInt(m/60, 10) + " h" + rest(m%60, " min")
	}
	h := (m + 30) / 60
	return sign + strconv.FormatInt(h/24, 10) + " d" + rest(h%24, " h")
}

func rest(n int64, unit string) string {
	if n == 0 {
		return ""
	}
	return " " + strconv.FormatInt(n, 10) + unit
}

// Rate writes tokens per second: 45.5 tok/s.
func Rate(v float64) string { return digits(v, 3) + " tok/s" }

// Percent writes a share 0..1: 93.8 %.
func Percent(share float64) string {
	p := share * 100
	if p != 0 && math.Abs(p) < 0.05 {
		return "<0.1 %"
	}
	if p < 100 && p > 99.9 {
		return ">99.9 %"
	}
	return digits(p, 3) + " %"
}

// Count writes a whole number with thousands apart: 12,300.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Bytes writes a size: 1.05 GB.
func Bytes(n int64) string {
	v := float64(n)
	for _, unit := range []string{"B", "kB", "MB", "GB", "TB"} {
		if math.Abs(v) < 999.5 || unit == "TB" {
			return digits(v, 3) + " " + unit
		}
		v /= 1000
	}
	return ""
}

// Plural writes a count with its noun: 1 request, 2 requests.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// digits writes v with n significant digits, whole digits never lost.
func digits(v float64, n int) string {
	decimals := n
	for a := math.Abs(v); a >= 1 && decimals > 0; a /= 10 {
		decimals--
	}
	if math.Abs(v) < 1 {
		decimals = n - 1
	}
	return trim(v, decimals)
}

// trim writes v with up to that many decimals, without zeros at the end.
func trim(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}
