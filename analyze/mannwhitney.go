package analyze

import (
	"errors"
	"math"

	moremath "github.com/aclements/go-moremath/stats"
)

const (
	// Alpha is the level below which a difference counts as one.
	Alpha = 0.05
	// MinTest is how many samples a side needs for a test: with three and three
	// even samples that do not overlap at all come to p = 0.1.
	MinTest = 4
)

// mannWhitney tests whether two samples, each in ascending order, come from one
// population: the two-sided p of the Mann–Whitney U test with tie correction,
// exact for small samples. after is > 0 where the values of b tend to be larger,
// < 0 where smaller. p is nil where a side has too few samples.
func mannWhitney(a, b []float64) (p *float64, after float64) {
	if len(a) < MinTest || len(b) < MinTest {
		return nil, 0
	}
	if max(len(a), len(b)) > moremath.MannWhitneyExactLimit {
		return countRanks(a, b).mannWhitney()
	}
	r, err := moremath.MannWhitneyUTest(a, b, moremath.LocationDiffers)
	if errors.Is(err, moremath.ErrSamplesEqual) {
		return num(1), 0 // one value everywhere: nothing differs
	}
	if err != nil {
		return nil, 0
	}
	half := float64(len(a)) * float64(len(b)) / 2
	after = half - r.U
	// With ties and sides of unequal size the exact distribution of U is not
	// symmetric, and the library always takes its lower tail: the side with the
	// smaller U must come first, else A against B and B against A differ.
	if r.U > half {
		if r, err = moremath.MannWhitneyUTest(b, a, moremath.LocationDiffers); err != nil {
			return nil, 0
		}
	}
	return num(min(r.P, 1)), after // twice a tail can exceed 1
}

// rankCounts are what the test needs of two big samples, in whole numbers.
type rankCounts struct {
	na, nb int
	// twiceU is twice the number of pairs in which the value of a is greater;
	// of pairs of equal values each counts once.
	twiceU int64
	ties   ties
}

// ties are Σ t·(t²−1) over the values, t being how often one comes. From two
// million on t³ has no room in 64 bits, so high is Σ t·⌊(t²−1)/2²⁰⌋ and low what
// is left.
type ties struct{ high, low int64 }

const tiesHigh = 1 << 20

func (s *ties) add(t int64) {
	s.high += t * ((t*t - 1) / tiesHigh)
	s.low += t * ((t*t - 1) % tiesHigh)
}

func (s ties) float() float64 { return float64(s.high)*tiesHigh + float64(s.low) }

// countRanks counts for two samples, each in ascending order.
func countRanks(a, b []float64) rankCounts {
	c := rankCounts{na: len(a), nb: len(b)}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var v float64
		switch {
		case i == len(a):
			v = b[j]
		case j == len(b):
			v = a[i]
		default:
			v = min(a[i], b[j])
		}
		k, l := i, j
		for ; k < len(a) && a[k] == v; k++ {
		}
		for ; l < len(b) && b[l] == v; l++ {
		}
		c.twiceU += int64(k-i) * int64(j+l)
		c.ties.add(int64(k - i + l - j))
		i, j = k, l
	}
	return c
}

// mannWhitney is mannWhitney by the normal approximation, with corrections for
// ties and continuity, for more than fifty values a side. (That of the library
// overflows from two million equal values on, and knows no p below 1e-16.)
func (c rankCounts) mannWhitney() (p *float64, after float64) {
	pairs, n := float64(c.na)*float64(c.nb), float64(c.na+c.nb)
	after = pairs/2 - float64(c.twiceU)/2
	if after == 0 { // also where all values are equal, and sigma is 0
		return num(1), 0
	}
	sigma := math.Sqrt(pairs / 12 * (n + 1 - c.ties.float()/(n*(n-1))))
	return num(math.Erfc(max(0, math.Abs(after)-0.5) / sigma / math.Sqrt2)), after
}
