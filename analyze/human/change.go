package human

import (
	"math"
	"strconv"
)

// Change writes a relative change: +35 %, −4.2 %, 0 %.
func Change(v float64) string {
	if !Defined(v) {
		return Undefined
	}
	size := math.Abs(v)
	switch {
	case v == 0:
		return "0 %"
	case size < 0.0005:
		return "0.0 %" // +0.0 % would say nothing more
	}
	sign, digits := "+", 0
	if v < 0 {
		sign = "−"
	}
	if size < 0.0995 {
		digits = 1
	}
	return sign + group(strconv.FormatFloat(100*size, 'f', digits, 64)) + " %"
}

func ChangeOr(v *float64) string {
	if v == nil {
		return Undefined
	}
	return Change(*v)
}

// PValue writes the p of a test: p=0.003, p<0.001. A p below 0.05, where tests
// are decided, never looks as if it were not.
func PValue(p float64) string {
	if !Defined(p) {
		return "p " + Undefined
	}
	if p < 0.001 {
		return "p<0.001"
	}
	digits := 3
	if p < 0.05 && p >= 0.0495 {
		digits, p = 4, math.Floor(p*1e4)/1e4
	}
	return "p=" + strconv.FormatFloat(p, 'f', digits, 64)
}
