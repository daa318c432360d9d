package analyze

import (
	"fmt"
	"math"
)

// A digest is what a sample knows of values that are somewhere else: how many
// there are, sums without rounding, and those order statistics that were asked
// for. It stands in for the values themselves; its figures are theirs.
type digest struct {
	n        int             // of all values of the sample
	min, max float64         // of all
	total    exactSum        // of those that are in no table
	squares  exactSum        // of (v − mean)² of the same
	ranks    map[int]float64 // order statistics of all, by rank from 0
}

// at returns the order statistic of rank k.
func (d *digest) at(k int) float64 {
	v, ok := d.ranks[k]
	if !ok {
		panic(fmt.Sprintf("analyze: rank %d of %d was not asked for", k, d.n))
	}
	return v
}

// mean is what sample.moments computes: the whole numbers of the table apart.
func (d *digest) mean(whole float64) float64 { return (whole + d.total.float()) / float64(d.n) }

// addExact adds what a sum of mantissas is: high·2²⁶ + low, times the power of
// two that the exponent stands for.
func (e *exactSum) addExact(exponent, high, low uint64) {
	s := &e[exponent&(1<<11-1)]
	s.merge(sum{hi: high >> 38, lo: high << 26})
	s.merge(sum{lo: low})
}

// parted is exactSum.add in SQL: the exponent of a number that is not negative,
// and the two halves of its mantissa.
func parted(v string) (exponent, high, low string) {
	bits := "reinterpretAsUInt64(reinterpretAsString(" + v + "))"
	exponent = "bitShiftRight(" + bits + ", 52)"
	digits := fmt.Sprintf("(bitAnd(%s, %d) + if(%s > 0, toUInt64(%d), toUInt64(0)))", bits, uint64(1)<<52-1, exponent, uint64(1)<<52)
	return exponent, "bitShiftRight(" + digits + ", 26)", fmt.Sprintf("bitAnd(%s, %d)", digits, 1<<26-1)
}

// rangeSQL is rangeOf.
func rangeSQL(v string) string {
	return fmt.Sprintf("least(greatest(toInt64(bitShiftRight(reinterpretAsUInt64(reinterpretAsString(%s)), %d)) - %d, 0), %d)", v, 52-rangeBits, rangeBase, ranges-1)
}

// isTabledSQL is isTabled.
func isTabledSQL(v string) string {
	return fmt.Sprintf("((%[1]s >= 0) AND (%[1]s < %[2]d) AND (%[1]s = trunc(%[1]s)))", v, tableSize)
}

// take adds n values of one range.
func (s *sketch) take(r int, n uint64) {
	s.counts.make()
	s.counts[r] += n
	s.n += int(n)
}

// roughEnds makes the ends those of totalTable.totals, which knows the totals to
// their range only.
func (s *sketch) roughEnds() {
	s.min, s.max = math.Inf(1), 0
	for r, n := range s.counts {
		if n > 0 {
			s.min, s.max = min(s.min, middle(r)), max(s.max, middle(r))
		}
	}
}
