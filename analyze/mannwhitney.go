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

// mannWhitney tests whether two samples come from one population: the
// two-sided p of the Mann–Whitney U test with tie correction, exact for small
// samples. after is > 0 where the values of b tend to be larger, < 0 where
// smaller. p is nil where a side has too few samples.
func mannWhitney(a, b []float64) (p *float64, after float64) {
	if len(a) < MinTest || len(b) < MinTest {
		return nil, 0
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

// rankCounts are what the test needs of two big samples, counted.
type rankCounts struct {
	na, nb int
	// twiceU is twice the number of pairs in which the value of a is greater;
	// of pairs of equal values each counts once.
	twiceU int64
	ties   int64 // Σ t³ − t over the values, t being how often one comes
}

// mannWhitney is mannWhitney for more than fifty values a side: there the test
// is the normal approximation, with corrections for ties and continuity.
func (c rankCounts) mannWhitney() (p *float64, after float64) {
	u, pairs := float64(c.twiceU)/2, float64(c.na*c.nb)
	half := pairs / 2
	after = half - u
	n := float64(c.na + c.nb)
	sigma := math.Sqrt(pairs * ((n + 1) - float64(c.ties)/(n*(n-1))) / 12)
	if sigma == 0 {
		return num(1), 0
	}
	off := min(u, pairs-u) - half // the side with the smaller U first
	if off < 0 {
		off += 0.5
	}
	z := off / sigma
	return num(min(2*min(moremath.StdNormal.CDF(z), 1-moremath.StdNormal.CDF(z)), 1)), after
}
