package analyze

import (
	"math"
	"math/bits"
)

// A sum adds whole, non-negative numbers exactly, so that the order in which
// they come does not matter, beyond 64 bits.
type sum struct{ hi, lo uint64 }

func (s *sum) add(v int64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(v), 0)
	s.hi += carry
}

func (s *sum) merge(o sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + carry
}

func (s sum) float() float64 { return float64(s.hi)*(1<<64) + float64(s.lo) }

// ms reads the sum of microseconds as milliseconds.
func (s sum) ms() float64 { return s.float() / 1000 }

// An exactSum adds numbers that are not negative without rounding, so that the
// order in which they come does not matter: it keeps a sum of whole numbers for
// each power of two.
type exactSum [1 << 11]sum

func (e *exactSum) add(v float64) {
	b := math.Float64bits(v)
	exponent, digits := b>>52, b&(1<<52-1)
	if exponent > 0 {
		digits |= 1 << 52
	}
	e[exponent&(1<<11-1)].add(int64(digits))
}

// addAll is add for each of the numbers. Two sums take turns, so that one
// addition need not wait for the one before.
func (e *exactSum) addAll(l []float64, other *exactSum) {
	for len(l) >= 2 {
		e.add(l[0])
		other.add(l[1])
		l = l[2:]
	}
	for _, v := range l {
		e.add(v)
	}
}

func (e *exactSum) merge(o *exactSum) {
	for i := range o {
		e[i].merge(o[i])
	}
}

// float returns the sum, rounded.
func (e *exactSum) float() float64 {
	total := 0.0
	for i, s := range e {
		if s != (sum{}) {
			total += math.Ldexp(s.float(), max(i, 1)-1075)
		}
	}
	return total
}
