package analyze

import (
	"errors"

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
