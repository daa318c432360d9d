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
		return mannWhitneyNormal(a, b)
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

// mannWhitneyNormal is mannWhitney by the normal approximation, with corrections
// for ties and continuity. The library's overflows from two million equal values
// on, and knows no p below 1e-16.
func mannWhitneyNormal(a, b []float64) (p *float64, after float64) {
	var u, ties float64 // pairs in which b is larger, ties as halves; Σ(t³−t)
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
		u += float64(l-j) * (float64(i) + float64(k-i)/2)
		t := float64(k - i + l - j)
		ties += t*t*t - t
		i, j = k, l
	}
	pairs, n := float64(len(a))*float64(len(b)), float64(len(a)+len(b))
	after = u - pairs/2
	if after == 0 { // also where all values are equal, and sigma is 0
		return num(1), 0
	}
	sigma := math.Sqrt(pairs / 12 * (n + 1 - ties/(n*(n-1))))
	return num(math.Erfc(max(0, math.Abs(after)-0.5) / sigma / math.Sqrt2)), after
}
