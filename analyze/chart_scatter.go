package analyze

import (
	"cmp"
	"slices"
)

// A Scatter is two figures of requests against each other.
type Scatter struct {
	N      int // requests with both figures
	Points []Dot
	// The points lie in this range; Beyond counts the requests outside.
	MinX, MaxX, MinY, MaxY float64
	Beyond                 int

	Model   *PrefillModel // whose line goes through, or nil
	Medians []BandMedian  // from left to right, or none
}

// A Dot is one request.
type Dot struct {
	X, Y  float64
	Phase string // prefill, decode, balanced; "" where the split is unknown
	key   uint64
}

// A BandMedian is the median of the requests with an X in one band.
type BandMedian struct {
	Key  string
	N    int
	X, Y float64 // mean X, median Y
}

const (
	maxDots = 400 // more only make the page big and the cloud black
	// axisPercentile: few requests far out would press the others into a corner.
	axisPercentile = 99
	axisRoom       = 1.5 // the axis goes on to the maximum where that is no further
)

// newScatter thins the dots to a bounded number that depends on the requests
// alone. Linear axes end near the 99th percentile; logarithmic ones hold all.
func newScatter(dots []Dot, logarithmic bool) *Scatter {
	if len(dots) == 0 {
		return nil
	}
	s := &Scatter{N: len(dots)}
	var x, y sample
	for _, d := range dots {
		x.add(d.X)
		y.add(d.Y)
	}
	s.MinX, s.MaxX = axis(&x, logarithmic)
	s.MinY, s.MaxY = axis(&y, logarithmic)
	slices.SortFunc(dots, func(a, b Dot) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y))
	})
	for _, d := range dots {
		switch {
		case d.X > s.MaxX || d.Y > s.MaxY:
			s.Beyond++
		case len(s.Points) < maxDots:
			s.Points = append(s.Points, d)
		}
	}
	return s
}

func axis(v *sample, logarithmic bool) (lo, hi float64) {
	lo, hi = v.quantile(0), v.quantile(100)
	if logarithmic {
		return lo, hi
	}
	if most := axisRoom * v.quantile(axisPercentile); most > 0 {
		hi = min(hi, most)
	}
	return 0, hi
}

// dot returns the request as a dot; its phase is that of its split.
func (w *row) dot(x, y float64) Dot {
	d := Dot{X: x, Y: y, key: w.key}
	if _, ok := w.firstToken(); ok && w.total > 0 {
		d.Phase = phase(float64(w.ttft) / float64(w.total))
	}
	return d
}

func promptScatter(rows []row, m *PrefillModel) *Scatter {
	var dots []Dot
	for i := range rows {
		w := &rows[i]
		ttft, ok := w.firstToken()
		if n, known := w.uncached(); ok && known {
			dots = append(dots, w.dot(float64(n), ttft))
		}
	}
	s := newScatter(dots, false)
	if s != nil {
		s.Model = m
	}
	return s
}

// lengthScatter leaves out what a logarithmic axis cannot show: no tokens.
func lengthScatter(rows []row) *Scatter {
	var dots []Dot
	for i := range rows {
		if w := &rows[i]; w.ok() && w.total > 0 && w.output > 0 {
			dots = append(dots, w.dot(float64(w.output), float64(w.total)/1000))
		}
	}
	return newScatter(dots, true)
}

// crowdScatter is nil where no two requests ran at once.
func crowdScatter(rows []row, c *Concurrency) *Scatter {
	if c == nil || len(c.Bands) < 2 {
		return nil
	}
	var dots []Dot
	bands := make([]struct{ x, y sample }, len(concurrencyBands))
	for i, n := range inFlight(rows) {
		tps, ok := rows[i].anyRate()
		if n == 0 || !ok {
			continue
		}
		dots = append(dots, rows[i].dot(n, tps))
		band := 0
		for n >= concurrencyBands[band].below {
			band++
		}
		bands[band].x.add(n)
		bands[band].y.add(tps)
	}
	s := newScatter(dots, false)
	if s == nil {
		return nil
	}
	for i := range bands {
		if b := &bands[i]; b.x.n() > 0 {
			s.Medians = append(s.Medians, BandMedian{concurrencyBands[i].name, b.x.n(), b.x.dist(nil).Mean, b.y.quantile(50)})
		}
	}
	return s
}
