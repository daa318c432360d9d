package analyze

import "math"

// A sketch keeps how many values there are in each of many narrow ranges, and
// not the values: its size does not grow, and merging gives what adding gives.
// A value is known to SketchError of itself.
type sketch struct {
	n              int
	counts         rangeCounts
	min, max       float64
	total, squares exactSum
}

// The ranges divide each doubling, from 2⁻¹⁶ to 2⁴⁸, into 1,024 parts. What is
// below or above shares the first and the last range.
const (
	rangeBits = 10
	lowest    = -16 // exponent
	highest   = 48
	ranges    = (highest - lowest) << rangeBits
	rangeBase = (1023 + lowest) << rangeBits
)

// SketchError is how far a quantile that a sketch gives may be from the exact
// one, as a share of it: half of the widest range.
const SketchError = 1.0 / (2 << rangeBits)

// rangeCounts are counts by range.
type rangeCounts []uint64

func (c *rangeCounts) make() {
	if *c == nil {
		*c = make(rangeCounts, ranges)
	}
}

// rangeOf returns the range of v: the highest bits of a number that is not
// negative order as the numbers do.
func rangeOf(v float64) int {
	r := int(math.Float64bits(v)>>(52-rangeBits)) - rangeBase
	return max(0, min(r, ranges-1))
}

// middle returns the value in the middle of a range.
func middle(r int) float64 {
	at := func(r int) float64 { return math.Float64frombits(uint64(r+rangeBase) << (52 - rangeBits)) }
	return (at(r) + at(r+1)) / 2
}

func (s *sketch) add(v float64) {
	s.counts.make()
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.counts[rangeOf(v)]++
	s.total.add(v)
	s.squares.add(v * v)
}

func (s *sketch) merge(o *sketch) {
	if o.n == 0 {
		return
	}
	s.counts.make()
	if s.n == 0 || o.min < s.min {
		s.min = o.min
	}
	if s.n == 0 || o.max > s.max {
		s.max = o.max
	}
	s.n += o.n
	for r, n := range o.counts {
		s.counts[r] += n
	}
	s.total.merge(&o.total)
	s.squares.merge(&o.squares)
}

// walk returns a function that calls f for the values below a limit that were
// not passed yet, in ascending order. The smallest and the largest are exact.
func (s *sketch) walk(f func(v float64, n int)) func(limit float64) {
	r, left := 0, 0
	if len(s.counts) > 0 {
		left = int(s.counts[0])
	}
	seen := 0
	return func(limit float64) {
		for r < len(s.counts) {
			v := max(s.min, min(middle(r), s.max))
			if left > 0 && v >= limit {
				return
			}
			if left > 0 {
				// The first and the last of all are known.
				if seen == 0 {
					f(s.min, 1)
					seen, left = 1, left-1
				}
				last := left > 0 && seen+left == s.n
				if last {
					left--
				}
				if left > 0 {
					f(v, left)
					seen += left
				}
				if last {
					f(s.max, 1)
					seen++
				}
			}
			if r++; r < len(s.counts) {
				left = int(s.counts[r])
			}
		}
	}
}
