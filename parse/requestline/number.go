package requestline

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"codexlag/parse/record"
)

const (
	// maxDuration bounds a plausible time: a request of more than 30 days is a
	// wrong unit or garbage, and is unknown.
	maxDuration = 30 * 24 * time.Hour
	// maxTokens bounds a plausible count of tokens.
	maxTokens = 1 << 40
	// maxRate bounds a plausible rate, in tokens/s: one token a microsecond.
	maxRate = 1e6
)

// unitOf returns the unit that key k gives a value without one: 0 where it gives none.
func unitOf(k, ms, s field) time.Duration {
	switch k {
	case ms:
		return time.Millisecond
	case s:
		return time.Second
	}
	return 0
}

// setDuration takes a time such as 2840, 825.6, 1.5s or 783ms. A unit on the
// value wins over the one in the key. It reports whether the value can be read:
// where neither has a unit it need not be a time.
func setDuration(dst *time.Duration, known *bool, v []byte, unit time.Duration) (readable bool) {
	keyHasUnit := unit != 0
	digits := v
	switch {
	case bytes.HasSuffix(v, []byte("ms")):
		digits, unit = v[:len(v)-2], time.Millisecond
	case bytes.HasSuffix(v, []byte("µs")):
		digits, unit = v[:len(v)-len("µs")], time.Microsecond
	case bytes.HasSuffix(v, []byte("us")):
		digits, unit = v[:len(v)-2], time.Microsecond
	case bytes.HasSuffix(v, []byte("s")):
		digits, unit = v[:len(v)-1], time.Second
	}
	n, ok := number(bytes.TrimSpace(digits))
	if !ok || n < 0 || unit == 0 {
		return ok || !keyHasUnit
	}
	ms := n * (float64(unit) / float64(time.Millisecond))
	if ms > float64(maxDuration/time.Millisecond) {
		return false
	}
	if !*known {
		*dst, *known = milliseconds(ms), true
	}
	return true
}

// milliseconds rounds to whole microseconds: logs have no finer ones, and sums
// of whole numbers do not depend on the order.
func milliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms*1000)) * time.Microsecond
}

// setMillis, setCount and setTokens report, as setDuration, whether the value
// can be read.
func setMillis(dst *time.Duration, known *bool, ms int64) (readable bool) {
	if ms > int64(maxDuration/time.Millisecond) {
		return false
	}
	if !*known {
		*dst, *known = time.Duration(ms)*time.Millisecond, true
	}
	return true
}

func setCount(dst *record.Tokens, n int64) (readable bool) {
	if n >= maxTokens {
		return false
	}
	if !dst.Known {
		*dst = record.Count(n)
	}
	return true
}

func setTokens(dst *record.Tokens, v []byte) (readable bool) {
	n, ok := number(v)
	switch {
	case !ok:
		return false
	case n < 0:
		return true // says that it is unknown
	case n != math.Trunc(n) || n >= maxTokens:
		return false
	}
	return setCount(dst, int64(n))
}

// number reads a finite decimal number. Numbers of up to 15 digits without an
// exponent, that is nearly all, are read by hand: their digits and a power of
// ten are both exact, so one division rounds as it should.
func number(v []byte) (float64, bool) {
	if len(v) == 0 || len(v) > 40 {
		return 0, false
	}
	if bytes.IndexByte(v, ',') >= 0 { // 1,200: see isThousands
		v = bytes.ReplaceAll(v, []byte(","), nil)
	}
	if len(v) <= 16 {
		n, point := int64(0), -1
		for i, c := range v {
			if c == '.' && point < 0 && i > 0 {
				point = i
			} else if c < '0' || c > '9' || i-point == 16 {
				break
			} else {
				n = n*10 + int64(c-'0')
			}
			if i == len(v)-1 && c != '.' {
				if point < 0 {
					return float64(n), true
				}
				return float64(n) / powersOf10[i-point], true
			}
		}
	}
	for _, c := range v { // no hex floats, underscores, inf or nan
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(string(v), 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// isUnknown reports whether a value says that there is none.
func isUnknown(v []byte) bool {
	switch string(v) {
	case "", "-", "null", "None", "none", "nil", "n/a", "N/A", "unknown", "undefined":
		return true
	}
	return false
}

// isNone reports whether a value in the place of a number says that there is
// none: as isUnknown, in any case, and what programs print for 0/0.
func isNone(v []byte) bool {
	if len(v) > len("-infinity") {
		return false
	}
	v = bytes.ToLower(v)
	switch string(bytes.TrimLeft(v, "+-")) {
	case "", "nan", "inf", "infinity", "na", "null", "none", "nil", "n/a", "unknown", "undefined":
		return true
	}
	return false
}

var powersOf10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

var wholePowersOf10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}
