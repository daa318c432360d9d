// Package human writes figures the way people read them: one rule for every
// place, so that a figure has the same form in a headline, a table and a chart.
// What is not defined (NaN, Inf) is written as Undefined.
package human

import (
	"math"
	"strconv"
	"strings"
)

// Undefined stands where a figure is not defined.
const Undefined = "—"

// A unit of time with its length in ms.
type unit struct {
	name string
	ms   float64
}

var (
	unitMs  = unit{"ms", 1}
	unitSec = unit{"s", 1000}
	unitMin = unit{"min", 60_000}
	unitHr  = unit{"h", 3_600_000}
)

// timeUnit is the rule for every duration in a report: ms below one second, s
// up to five minutes, min up to three hours. The limits lie where three digits
// would round up to the next unit, so that "1000 ms" never comes out.
func timeUnit(ms float64) unit {
	switch ms = math.Abs(ms); {
	case ms < 999.5:
		return unitMs
	case ms < 299_500:
		return unitSec
	case ms < 10_770_000:
		return unitMin
	}
	return unitHr
}

// Duration writes a time given in ms: 280 ms, 1.58 s, 48.2 s, 12.3 min.
func Duration(ms float64) string {
	if !Defined(ms) {
		return Undefined
	}
	u := timeUnit(ms)
	return significant(ms/u.ms) + " " + u.name
}

func DurationOr(ms *float64) string {
	if ms == nil {
		return Undefined
	}
	return Duration(*ms)
}

// Difference writes a duration with its sign: +1.20 s, −300 ms.
func Difference(ms float64) string {
	switch {
	case !Defined(ms):
		return Undefined
	case ms < 0:
		return "−" + Duration(-ms)
	}
	return "+" + Duration(ms)
}

// DurationInterval writes both ends in the unit of the value between them, so
// that the eye can compare: 0.320 – 2.84 s beside 1.58 s.
func DurationInterval(ci [2]float64, value float64) string {
	if !Defined(ci[0]) || !Defined(ci[1]) {
		return Undefined
	}
	u := timeUnit(value)
	return significant(ci[0]/u.ms) + " – " + significant(ci[1]/u.ms) + " " + u.name
}

// Limit writes a duration that the user chose, digit for digit: 5 s, 1.234 s.
func Limit(ms float64) string {
	if !Defined(ms) {
		return Undefined
	}
	u := timeUnit(ms)
	return strconv.FormatFloat(ms/u.ms, 'f', -1, 64) + " " + u.name
}

// LimitRate is a limit in tokens per second.
func LimitRate(v float64) string {
	if !Defined(v) {
		return Undefined
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " tok/s"
}

// Number writes tokens per second without the unit, for columns that name it.
func Number(v float64) string {
	if !Defined(v) {
		return Undefined
	}
	return significant(v)
}

// Rate writes tokens per second: 45.5 tok/s.
func Rate(v float64) string {
	if !Defined(v) {
		return Undefined
	}
	return significant(v) + " tok/s"
}

// Quantity writes a number of tokens, which a quantile may have made fractional.
func Quantity(v float64) string {
	switch {
	case !Defined(v):
		return Undefined
	case v == math.Trunc(v) || math.Abs(v) >= 100:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return significant(v)
}

func Interval(ci [2]float64, write func(float64) string) string {
	return write(ci[0]) + " – " + write(ci[1])
}

// Percent writes a part of one as percent: 6.2 %. What is neither nothing nor
// all never looks like it.
func Percent(v float64) string {
	switch {
	case !Defined(v):
		return Undefined
	case v == 0 || v == 1:
		return strconv.FormatFloat(100*v, 'f', 0, 64) + " %"
	case v > 0 && v < 0.001:
		return "<0.1 %"
	case v > 0.9995 && v < 1:
		return ">99.9 %"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

func PercentOr(v *float64) string {
	if v == nil {
		return Undefined
	}
	return Percent(*v)
}

// RelativeError writes a relative error: ± 34 %, ± 0.3 %, ± <0.1 %.
func RelativeError(v float64) string {
	switch {
	case !Defined(v):
		return Undefined
	case v < 0.001:
		return "± <0.1 %"
	case v < 0.0995:
		return "± " + strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	}
	return "± " + strconv.FormatFloat(100*v, 'f', 0, 64) + " %"
}

// Count writes a whole number with its thousands apart: 1,234,567.
func Count[T ~int | ~int64](n T) string { return group(strconv.FormatInt(int64(n), 10)) }

// Plural writes a number with its noun: 1 request, 2 requests.
func Plural[T ~int | ~int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Bytes writes a size in powers of ten, as disks are sold and tools print it.
func Bytes(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, units := float64(n)/1000, []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	return significant(v) + " " + units[0]
}

// significant writes three significant digits, or all digits before the point
// where these are more. Zero is just 0.
func significant(v float64) string {
	if v == 0 {
		return "0"
	}
	// The exponent is taken after rounding: 9.996 is 10.0, not 10.00.
	e := strconv.FormatFloat(v, 'e', 2, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	// Below a millionth of a unit the figure is noise; keep the column narrow.
	return group(strconv.FormatFloat(v, 'f', min(max(0, 2-exp), 6), 64))
}

// group puts commas between the thousands of a decimal number.
func group(s string) string {
	whole, rest, _ := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// Defined reports whether v is a number.
func Defined(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
