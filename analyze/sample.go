package analyze

import (
	"math"
	"math/bits"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
	"github.com/montanaflynn/stats"
)

// A sample is the values of one figure. Adding and merging in any order gives
// the same distribution: the arithmetic is done on the sorted values.
type sample struct {
	values []float64
	sorted bool
}

func (s *sample) add(v float64) {
	s.values = append(s.values, v)
	s.sorted = false
}

func (s *sample) merge(o *sample) {
	s.values = append(s.values, o.values...)
	s.sorted = false
}

func (s *sample) n() int { return len(s.values) }

// ordered returns the values in ascending order, sorted once.
func (s *sample) ordered() []float64 {
	if !s.sorted {
		slices.Sort(s.values)
		s.sorted = true
	}
	return s.values
}

// quantile returns the type-7 quantile p (percent) of the sample.
func (s *sample) quantile(p float64) float64 {
	x := s.ordered()
	if p <= 0 { // stats.Percentile has no p0
		return x[0]
	}
	v, err := stats.Percentile(x, p)
	if err != nil {
		panic("analyze: " + err.Error()) // p and n were checked before
	}
	return v
}

// dist returns the distribution with the quantiles ps (percent), nil for none.
func (s *sample) dist(ps []float64) *Dist {
	x := s.ordered()
	n := len(x)
	if n == 0 {
		return nil
	}
	mean, _ := stats.Mean(x)
	d := &Dist{N: n, Min: x[0], Max: x[n-1], Mean: mean}
	if n >= 2 {
		sd, _ := stats.StandardDeviationSample(x)
		d.StdDev = num(sd)
	}
	for _, p := range ps {
		d.Quantiles = append(d.Quantiles, Quantile{
			P:     p,
			Value: s.quantile(p),
			CI:    quantileCI(x, p),
			Thin:  n < SamplesFor(p),
		})
	}
	return d
}

// SamplesFor returns how many samples the quantile p (percent) needs to be more
// than an echo of the maximum: ⌈1/(1−p/100)⌉.
func SamplesFor(p float64) int {
	if p >= 100 {
		return 1 // the maximum itself
	}
	return int(math.Ceil(100/(100-p) - 1e-9)) // 100−99.9 is not exactly 0.1
}

// quantileCI returns the 95 % confidence interval of the quantile p (percent)
// of the sorted values x: the narrowest pair of ranks (l, u) around it with
// P(l ≤ Binomial(n, p) < u) ≥ 0.95. Nil where n is too small for one.
func quantileCI(x []float64, p float64) *[2]float64 {
	n := len(x)
	if p <= 0 || p >= 100 || n < 2 {
		return nil
	}
	ci := moremath.QuantileCI(n, p/100, confidence)
	if ci.LoOrder < 1 || ci.HiOrder > n {
		return nil
	}
	l, u := narrowest(n, p/100, ci.LoOrder, ci.HiOrder)
	return &[2]float64{x[l-1], x[u-1]}
}

const (
	confidence = 0.95
	// Beyond so many samples one rank more or less is nothing, and looking for
	// it is work.
	narrowBelow = 5_000
)

// narrowest tightens the ranks that QuantileCI gives: above 30 samples it uses
// a normal approximation, which is never too narrow but often a rank too wide.
func narrowest(n int, q float64, l, u int) (int, int) {
	if n > narrowBelow {
		return l, u
	}
	b := moremath.BinomialDist{N: n, P: q}
	covered := func(l, u int) float64 {
		sum := 0.0
		for k := l; k < u; k++ {
			sum += b.PMF(float64(k))
		}
		return sum
	}
	for {
		bestL, best := 0, confidence
		for lo := max(1, l-1); lo <= l+2 && lo+u-l-1 <= n; lo++ {
			if c := covered(lo, lo+u-l-1); c >= best && c >= confidence {
				if bestL == 0 || c > best {
					bestL, best = lo, c
				}
			}
		}
		if bestL == 0 {
			return l, u
		}
		l, u = bestL, bestL+u-l-1
	}
}

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
