package analyze

import "math"

// A Spread is a distribution to be drawn: a histogram and the cumulative shares
// over the same logarithmic axis. It holds every value, not a sample.
type Spread struct {
	Clean *Dist // of the values that can be trusted
	All   *Dist // of every defined one; nil where that is the same

	Bins  []Bin
	Curve []CurvePoint

	// Beyond is how many values lie above the last bin.
	Beyond int
	// NoisyEstimated says that the noisy values were counted in a sample.
	NoisyEstimated bool
}

// A Bin is the values v with From ≤ v < To. The first one also holds zeros.
type Bin struct {
	From, To     float64
	Clean, Noisy int
}

// A CurvePoint is the share of the values, 0..1, below X.
type CurvePoint struct{ X, Clean, All float64 }

const (
	maxBins = 48
	// perBin is how many points of the curve lie in one bin.
	perBin = 4
)

// binsPerDecade are the resolutions that a histogram may have.
var binsPerDecade = []int{80, 40, 20, 10, 5, 2, 1}

// A tally calls f with the values of a set and how often each comes.
type tally func(f func(v float64, n int))

// ttftSpread is that of the TTFTs; the noisy ones are those of bursts.
func ttftSpread(g *group, rows []row, o *Options) *Spread {
	share, sampled := g.population.sampled()
	var bursts sample
	for i := range rows {
		if w := &rows[i]; w.ok() && w.ttft >= 0 && w.flags&burstBit != 0 {
			bursts.add(float64(w.ttft) / 1000)
		}
	}
	each := int(1/share + 0.5) // a share is 1/2ⁿ
	noisy := func(f func(float64, int)) {
		bursts.each(func(v float64, n int) { f(v, n*each) })
	}
	s := newSpread(g.ttft.each, noisy, math.Inf(1))
	if s == nil {
		return nil
	}
	s.Clean = g.ttft.dist(o.Percentiles)
	if bursts.n() > 0 {
		s.NoisyEstimated = sampled
		if !sampled {
			all := sample{}
			all.merge(&g.ttft)
			all.merge(&bursts)
			s.All = all.dist(o.Percentiles)
		}
	}
	return s
}

// tpsSpread is that of the TPS. Its axis ends where bursts begin.
func tpsSpread(g *group, o *Options) *Spread {
	// The clean values are among all: subtracting them leaves the noisy ones.
	noisy := func(f func(float64, int)) {
		g.tpsAll.each(f)
		g.tpsClean.each(func(v float64, n int) { f(v, -n) })
	}
	s := newSpread(g.tpsClean.each, noisy, maxTPS)
	if s == nil {
		return nil
	}
	s.Clean, s.All = g.tpsClean.dist(o.Percentiles), g.tpsAll.dist(o.Percentiles)
	return s
}

// newSpread bins both sets; values above limit are only counted. It is nil
// where there is no other value above 0.
func newSpread(clean, noisy tally, limit float64) *Spread {
	lo, hi := math.Inf(1), 0.0
	extremes := func(v float64, _ int) {
		if v > 0 && v <= limit {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	clean(extremes)
	noisy(extremes)
	if hi == 0 {
		return nil
	}
	edges := logEdges(lo, hi)
	counts := make([][2]int, len(edges)-1)
	s := &Spread{}
	total := [2]int{}
	for set, of := range [...]tally{clean, noisy} {
		at := 0 // values mostly ascend
		of(func(v float64, n int) {
			total[set] += n
			if v >= edges[len(edges)-1] {
				s.Beyond += n
				return
			}
			for at > 0 && v < edges[at] {
				at = 0
			}
			for v >= edges[at+1] {
				at++
			}
			counts[at][set] += n
		})
	}
	s.fill(edges, counts, total)
	return s
}

// fill sets the bins and the curve from the counts between fine edges.
func (s *Spread) fill(edges []float64, counts [][2]int, total [2]int) {
	below := [2]int{}
	point := func(x float64) {
		p := CurvePoint{X: x}
		if total[0] > 0 {
			p.Clean = float64(below[0]) / float64(total[0])
		}
		p.All = float64(below[0]+below[1]) / float64(total[0]+total[1])
		s.Curve = append(s.Curve, p)
	}
	point(edges[0])
	for i, n := range counts {
		if i%perBin == 0 {
			s.Bins = append(s.Bins, Bin{From: edges[i], To: edges[i+perBin]})
		}
		b := &s.Bins[len(s.Bins)-1]
		b.Clean += n[0]
		b.Noisy += n[1]
		below[0] += n[0]
		below[1] += n[1]
		point(edges[i+1])
	}
}

// logEdges returns edges of at most maxBins bins, perBin steps each, that hold lo
// and hi, at round fractions of a decade.
func logEdges(lo, hi float64) []float64 {
	var first, last int
	per := 0
	for _, per = range binsPerDecade {
		first = int(math.Floor(math.Log10(lo) * float64(per)))
		last = int(math.Floor(math.Log10(hi)*float64(per))) + 1
		if last-first <= maxBins {
			break
		}
	}
	var edges []float64
	for i := first * perBin; i <= last*perBin; i++ {
		edges = append(edges, math.Pow(10, float64(i)/float64(per*perBin)))
	}
	edges[0], edges[len(edges)-1] = min(edges[0], lo), max(edges[len(edges)-1], math.Nextafter(hi, math.Inf(1)))
	return edges
}
