package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"codexlag/parse/record"
)

// reference holds figures that R computed, and what it computed them of; see
// testdata/reference/reference.R. It is written with 15 digits, so where both
// compute the same formula the results agree to some 1e-14 of the value, and
// exactly is far below anything a report shows. A wider tolerance says why.
type reference struct {
	Distributions []struct {
		Name            string
		X, P, Quantiles []float64
		Mean            float64
		SD              *float64
	}
	Intervals []struct {
		N    int
		P    float64
		L, U *int
	}
	MannWhitney []struct {
		Name string
		A, B []float64
		P, U float64
	} `json:"mann_whitney"`
	Correlations []struct {
		Name         string
		X, Y         []float64
		Spearman, R2 float64
	}
	Fits []struct {
		pointColumns
		Name  string
		MAD   float64
		Huber [maxTerms]float64
		Steps struct {
			LAD, Beta [maxTerms]float64
			Kept      int
			Explained float64
		}
	}
	Squares []struct {
		pointColumns
		Beta [maxTerms]float64
	}
	Tail struct {
		TTFT, Total  []float64
		Tokens       []int64
		Requests     int
		Delta        float64
		TTFTms       float64 `json:"ttft_ms"`
		Length       float64 `json:"length_ms"`
		Speed        float64 `json:"speed_ms"`
		Pooled       float64
		PrefillShare float64 `json:"prefill_share"`
		TPS          []float64
		TPSQuantiles []float64 `json:"tps_quantiles"`
	}
	InFlight struct {
		Start, End []int64
		Mean       []float64
	} `json:"in_flight"`
	Union struct {
		From, To []int
		MS       int
	}
	Series []struct {
		Name      string
		V         []float64
		At, Tried int
	}
	LikeForLike struct {
		BeforeTokens []int64   `json:"before_tokens"`
		BeforeMS     []float64 `json:"before_ms"`
		AfterTokens  []int64   `json:"after_tokens"`
		AfterMS      []float64 `json:"after_ms"`
		Slowdown     float64
	} `json:"like_for_like"`
}

// pointColumns are the points of a regression.
type pointColumns struct{ Uncached, Output, Y []float64 }

func (c *pointColumns) points() []point {
	points := make([]point, len(c.Y))
	for i := range points {
		points[i] = point{[maxTerms]float64{1, c.Uncached[i], c.Output[i]}, c.Y[i]}
	}
	return points
}

const exactly = 1e-12

func readReference(t *testing.T) *reference {
	t.Helper()
	b, err := os.ReadFile("testdata/reference/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	r := new(reference)
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReferenceDistributions(t *testing.T) {
	for _, c := range readReference(t).Distributions {
		t.Run(c.Name, func(t *testing.T) {
			var s sample
			for _, v := range c.X {
				s.add(v)
			}
			d := s.dist(c.P)
			for i, p := range c.P {
				within(t, fmt.Sprint("p", p), d.At(p).Value, c.Quantiles[i], exactly)
			}
			if d.N != len(c.X) || d.Min != slices.Min(c.X) || d.Max != slices.Max(c.X) {
				t.Errorf("n %d, from %v to %v", d.N, d.Min, d.Max)
			}
			within(t, "mean", d.Mean, c.Mean, exactly)
			if (d.StdDev == nil) != (c.SD == nil) {
				t.Fatalf("standard deviation %v, want %v", d.StdDev, c.SD)
			}
			if c.SD != nil {
				// Beside a mean of 1e9, a deviation of 10 has 7 digits left in a float.
				within(t, "standard deviation", *d.StdDev, *c.SD, max(exactly, 1e-16*c.Mean / *c.SD))
			}
		})
	}
}

// The ranks are whole numbers: they agree or do not.
func TestReferenceIntervals(t *testing.T) {
	for _, c := range readReference(t).Intervals {
		l, u, ok := quantileOrders(c.N, c.P)
		switch {
		case ok != (c.L != nil):
			t.Errorf("p%v of %d: an interval %v (%d, %d), want %v", c.P, c.N, ok, l, u, c.L != nil)
		case ok && (l != *c.L || u != *c.U):
			t.Errorf("p%v of %d: ranks %d, %d, want %d, %d", c.P, c.N, l, u, *c.L, *c.U)
		}
	}
}

func TestReferenceMannWhitney(t *testing.T) {
	for _, c := range readReference(t).MannWhitney {
		t.Run(c.Name, func(t *testing.T) {
			slices.Sort(c.A)
			slices.Sort(c.B)
			p, after := mannWhitney(c.A, c.B)
			// 1e-9: R and the library sum thousands of terms, or take one minus
			// a probability, each in its own way.
			within(t, "p", *p, c.P, 1e-9)
			within(t, "direction", after, c.U-float64(len(c.A)*len(c.B))/2, exactly)
		})
	}
}

func TestReferenceCorrelations(t *testing.T) {
	for _, c := range readReference(t).Correlations {
		var pairs [][2]float64
		var points []point
		for i := range c.X {
			pairs = append(pairs, [2]float64{c.X[i], c.Y[i]})
			points = append(points, point{x: [maxTerms]float64{1, c.X[i], c.Y[i]}})
		}
		within(t, c.Name+", Spearman", *rankCorrelation(pairs), c.Spearman, exactly)
		within(t, c.Name+", r²", correlation2(points, 1, 2), c.R2, exactly)
	}
}

func TestReferenceRegression(t *testing.T) {
	coefficients := func(t *testing.T, what string, got, want [maxTerms]float64, part float64) {
		t.Helper()
		for j := range got {
			within(t, fmt.Sprintf("%s, coefficient %d", what, j), got[j], want[j], part)
		}
	}
	r := readReference(t)
	for _, c := range r.Fits {
		t.Run(c.Name, func(t *testing.T) {
			points := c.points()
			s := solver{use: [maxTerms]bool{true, true, true}, scale: columnScales(points, 3)}
			within(t, "MAD", madOf(points, func(p *point) float64 { return p.y }), c.MAD, exactly)
			// The rounds end when nothing changes by more than 1e-6, which is not
			// yet the limit; R went on to 1e-12.
			coefficients(t, "Huber", s.iterate(points, huber, precisely, [maxTerms]float64{}), c.Huber, 1e-4)
			// Nearly least absolute residuals are not quite those, and the first
			// look ends at 1e-3. It is a start only.
			f := fit{beta: s.iterate(points, nearlyLAD, roughly, [maxTerms]float64{})}
			coefficients(t, "first look", f.beta, c.Steps.LAD, 0.03)
			if got := len(withoutGross(points, &f)); got != c.Steps.Kept {
				t.Errorf("%d points kept, want %d", got, c.Steps.Kept)
			}
			// The weights of the fit come from that start, so its difference shows,
			// at a fraction. A coefficient is known to some 5 % at best.
			f, ok := regress(points, 3)
			if !ok {
				t.Fatal("no fit")
			}
			coefficients(t, "fit", f.beta, c.Steps.Beta, 0.01)
			within(t, "explained", f.explained, c.Steps.Explained, 0.002)
		})
	}
	for i, c := range r.Squares {
		points := c.points()
		s := solver{use: [maxTerms]bool{true, true, true}, scale: columnScales(points, 3)}
		got := s.leastSquares(points, s.columns(points), make([]float64, len(points)), math.Inf(1))
		// Normal equations square the condition of columns that are all positive.
		coefficients(t, fmt.Sprint("least squares ", i), got, c.Beta, 1e-9)
	}
}

// The tail's parts, pooled and shared sums, through the whole collector.
func TestReferenceTail(t *testing.T) {
	c := readReference(t).Tail
	o := DefaultOptions()
	o.Percentiles = c.TPS
	var l []*record.Request
	for i := range c.TTFT {
		l = append(l, line(c.TTFT[i], c.Total[i], c.Tokens[i]))
	}
	g := report(o, l...).Overall
	tail := g.Verdict.Tail
	if tail == nil || tail.Requests != c.Requests {
		t.Fatalf("tail %+v, want %d requests", tail, c.Requests)
	}
	within(t, "Δtotal", tail.Delta, c.Delta, exactly)
	within(t, "Δttft", tail.TTFT, c.TTFTms, exactly)
	within(t, "length", tail.Length, c.Length, exactly)
	within(t, "speed", tail.Speed, c.Speed, exactly)
	within(t, "pooled TPS", *g.TPS.Pooled, c.Pooled, exactly)
	within(t, "prefill share", *g.Time.PrefillShare, c.PrefillShare, exactly)
	for i, p := range c.TPS {
		within(t, fmt.Sprint("TPS p", p), g.TPS.All.At(p).Value, c.TPSQuantiles[i], exactly)
	}
}

func TestReferenceInFlight(t *testing.T) {
	c := readReference(t).InFlight
	rows := make([]row, len(c.Start))
	for i := range rows {
		rows[i].stored = &stored{figures: figures{start: 1e6 + 1000*c.Start[i], end: 1e6 + 1000*c.End[i]}}
	}
	for i, got := range inFlight(rows) {
		within(t, fmt.Sprint("request ", i), got, c.Mean[i], exactly)
	}
}

func TestReferenceUnion(t *testing.T) {
	c := readReference(t).Union
	var tools []record.Interval
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	for i := range c.From {
		tools = append(tools, record.Interval{Start: at(c.From[i]), End: at(c.To[i])})
	}
	if got := union(tools); got != time.Duration(c.MS)*time.Millisecond {
		t.Errorf("union %v, want %d ms", got, c.MS)
	}
}

func TestReferenceBestSplit(t *testing.T) {
	for _, c := range readReference(t).Series {
		s := series{v: c.V}
		for i := range c.V {
			s.rows = append(s.rows, &row{stored: &stored{figures: figures{end: int64(i + 1)}}})
			s.order = append(s.order, i)
		}
		slices.SortFunc(s.order, func(a, b int) int { return int(c.V[a] - c.V[b]) })
		if at, tried := s.bestSplit(); at != c.At || tried != c.Tried {
			t.Errorf("%s: at %d of %d, want %d of %d", c.Name, at, tried, c.At, c.Tried)
		}
	}
}

func TestReferenceLikeForLike(t *testing.T) {
	c := readReference(t).LikeForLike
	side := func(tokens []int64, ms []float64) (l []*row) {
		for i := range tokens {
			l = append(l, &row{stored: &stored{figures: figures{input: tokenCount(tokens[i]), ttft: int64(1000 * ms[i])}}})
		}
		return l
	}
	got, known := speeds[0].likeForLike(side(c.BeforeTokens, c.BeforeMS), side(c.AfterTokens, c.AfterMS))
	if !known {
		t.Fatal("not known")
	}
	within(t, "slowdown", got, c.Slowdown, exactly)
}
