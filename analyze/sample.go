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
//
// A big sample of whole numbers, as times in ms and tokens are, is kept as a
// table of counts: exact, mergeable, and its size does not grow.
type sample struct {
	values []float64
	sorted bool

	table   []uint32 // how often each whole number below tableSize came; nil for none
	tabled  int      // values in the table
	tooFine bool     // most values are no whole numbers: no table is worth it
}

const (
	tableSize = 1 << 17 // ms: two minutes; what is beyond stays a value
	tableFrom = 1 << 15 // values from which a table is smaller
)

func (s *sample) add(v float64) {
	if s.table != nil && isTabled(v) {
		s.table[int(v)]++
		s.tabled++
		return
	}
	s.values = append(s.values, v)
	s.sorted = false
	if s.table == nil && !s.tooFine && len(s.values) >= tableFrom {
		s.settle()
	}
}

func isTabled(v float64) bool { return v >= 0 && v < tableSize && v == math.Trunc(v) }

func (s *sample) merge(o *sample) {
	if o.table != nil {
		if s.table == nil {
			s.table = make([]uint32, tableSize)
		}
		for v, n := range o.table {
			s.table[v] += n
		}
		s.tabled += o.tabled
	}
	s.values = append(s.values, o.values...)
	s.sorted = false
}

// settle brings the sample into the form that depends on its values alone,
// however it was added up: a table where it is big and mostly of whole numbers,
// else a list.
func (s *sample) settle() {
	whole := s.tabled
	for _, v := range s.values {
		if isTabled(v) {
			whole++
		}
	}
	switch big := s.n() >= tableFrom && 2*whole >= s.n(); {
	case big && whole > s.tabled:
		if s.table == nil {
			s.table = make([]uint32, tableSize)
		}
		kept := s.values[:0]
		for _, v := range s.values {
			if isTabled(v) {
				s.table[int(v)]++
			} else {
				kept = append(kept, v)
			}
		}
		s.values = slices.Clip(kept)
		s.tabled, s.sorted = whole, false
	case !big && s.table != nil:
		s.values, s.sorted = s.ordered(), true
		s.table, s.tabled = nil, 0
	}
	s.tooFine = s.table == nil && s.n() >= tableFrom
}

func (s *sample) n() int { return len(s.values) + s.tabled }

// ordered returns the values in ascending order. It belongs to the caller only
// to read.
func (s *sample) ordered() []float64 {
	if !s.sorted {
		sortFloats(s.values)
		s.sorted = true
	}
	if s.table == nil {
		return s.values
	}
	all := make([]float64, 0, s.n())
	s.each(func(v float64, n int) {
		for range n {
			all = append(all, v)
		}
	})
	return all
}

// each calls f for the values in ascending order, with how often each comes.
func (s *sample) each(f func(v float64, n int)) {
	if !s.sorted {
		sortFloats(s.values)
		s.sorted = true
	}
	i := 0
	for v, n := range s.table {
		if n == 0 {
			continue
		}
		for ; i < len(s.values) && s.values[i] < float64(v); i++ {
			f(s.values[i], 1)
		}
		f(float64(v), int(n))
	}
	for ; i < len(s.values); i++ {
		f(s.values[i], 1)
	}
}

// pick returns the order statistics of the ranks, which count from 0 and ascend.
func (s *sample) pick(ranks []int) []float64 {
	out := make([]float64, 0, len(ranks))
	if s.table == nil {
		x := s.ordered()
		for _, k := range ranks {
			out = append(out, x[k])
		}
		return out
	}
	seen := 0
	s.each(func(v float64, n int) {
		for seen += n; len(out) < len(ranks) && ranks[len(out)] < seen; {
			out = append(out, v)
		}
	})
	return out
}

// quantile returns the type-7 quantile p (percent) of the sample.
func (s *sample) quantile(p float64) float64 {
	if s.n() >= tableFrom { // stats.Percentile would copy them for each percentile
		k, f := quantileRank(p, s.n())
		x := s.pick([]int{k, min(k+1, s.n()-1)})
		return x[0] + f*(x[1]-x[0])
	}
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

// quantileRank returns between which order statistics the type-7 quantile p of n
// values lies: k and k+1, and how far after k.
func quantileRank(p float64, n int) (k int, f float64) {
	h := p / 100 * float64(n-1)
	return int(h), h - math.Floor(h)
}

// dist returns the distribution with the quantiles ps (percent), nil for none.
func (s *sample) dist(ps []float64) *Dist {
	s.settle()
	n := s.n()
	if n == 0 {
		return nil
	}
	d := &Dist{N: n}
	if s.table == nil {
		x := s.ordered()
		d.Min, d.Max = x[0], x[n-1]
		d.Mean, _ = stats.Mean(x)
		if n >= 2 {
			sd, _ := stats.StandardDeviationSample(x)
			d.StdDev = num(sd)
		}
	} else {
		s.moments(d)
	}
	for _, p := range ps {
		d.Quantiles = append(d.Quantiles, Quantile{P: p, Value: s.quantile(p), CI: s.quantileCI(p), Thin: n < SamplesFor(p)})
	}
	return d
}

// moments computes what stats computes of a list, from the table.
func (s *sample) moments(d *Dist) {
	total := 0.0 // of whole numbers below 2⁵³ exact, whatever the order
	first := true
	s.each(func(v float64, n int) {
		if first {
			d.Min, first = v, false
		}
		d.Max = v
		total += v * float64(n)
	})
	d.Mean = total / float64(d.N)
	squares := 0.0
	s.each(func(v float64, n int) { squares += float64(n) * (v - d.Mean) * (v - d.Mean) })
	d.StdDev = num(math.Sqrt(squares / float64(d.N-1)))
}

// SamplesFor returns how many samples the quantile p (percent) needs to be more
// than an echo of the maximum: ⌈1/(1−p/100)⌉.
func SamplesFor(p float64) int {
	if p >= 100 {
		return 1 // the maximum itself
	}
	return int(math.Ceil(100/(100-p) - 1e-9)) // 100−99.9 is not exactly 0.1
}

// quantileCI returns the 95 % confidence interval of the quantile p (percent):
// the narrowest pair of ranks (l, u) around it with
// P(l ≤ Binomial(n, p) < u) ≥ 0.95. Nil where n is too small for one.
func (s *sample) quantileCI(p float64) *[2]float64 {
	n := s.n()
	if p <= 0 || p >= 100 || n < 2 {
		return nil
	}
	ci := moremath.QuantileCI(n, p/100, confidence)
	if ci.LoOrder < 1 || ci.HiOrder > n {
		return nil
	}
	l, u := narrowest(n, p/100, ci.LoOrder, ci.HiOrder)
	x := s.pick([]int{l - 1, u - 1})
	return &[2]float64{x[0], x[1]}
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
