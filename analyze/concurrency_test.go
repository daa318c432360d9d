package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"codexlag/parse/record"
)

// during is a request that ran from one second to another.
func during(from, to float64) *record.Request {
	r := line(100, 1000*(to-from), 400)
	r.Start, r.End = time.Unix(1e6, int64(from*1e9)), time.Unix(1e6, int64(to*1e9))
	return r
}

func population1(requests ...*record.Request) *population {
	o := DefaultOptions()
	var p population
	for i, r := range requests {
		r.Pos = record.Pos{File: "a.log", Line: int64(i + 1)}
		m := derive(r, &o)
		p.add(r, &m)
	}
	return &p
}

func TestInFlightByHand(t *testing.T) {
	unknownStart, unknownEnd, warm, failed := during(0, 30), during(0, 30), during(0, 30), during(8, 10)
	unknownStart.Start, unknownEnd.End = time.Time{}, time.Time{}
	warm.Status, failed.Status = record.Warmup, record.Failed
	want := []struct {
		r    *record.Request
		mean float64
	}{
		{during(0, 10), 1.7},  // 5 s alone, 3 s with one, 2 s with two
		{during(5, 15), 1.7},  // 3 s with one, 2 s with two, 5 s alone
		{failed, 3},           // took its place all the same
		{during(15, 16), 1},   // begins as another ends
		{during(20, 30), 1.2}, // 2 of 10 s with one
		{during(22, 24), 2},
		{during(40, 40), 0}, // of no length
		{unknownStart, 0}, {unknownEnd, 0}, {warm, 0},
	}
	var all []*record.Request
	for _, w := range want {
		all = append(all, w.r)
	}
	p := population1(all...)
	got := inFlight(p.all()) // in the order of want
	for i, w := range want {
		if got[i] != w.mean {
			t.Errorf("request %d: %v in flight, want %v", i, got[i], w.mean)
		}
	}
}

// The integral against counting, µs by µs.
func TestInFlightByCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	rows := make([]row, 30)
	for i := range rows {
		rows[i].stored = &stored{figures: figures{start: 1 + r.Int64N(200)}}
		rows[i].end = rows[i].start + r.Int64N(60)
	}
	for i, got := range inFlight(rows) {
		sum := int64(0)
		for at := rows[i].start; at < rows[i].end; at++ {
			for j := range rows {
				if rows[j].start <= at && at < rows[j].end {
					sum++
				}
			}
		}
		if want := float64(sum) / float64(rows[i].end-rows[i].start); rows[i].end > rows[i].start && got != want {
			t.Errorf("request %d: %v, want %v", i, got, want)
		}
	}
}

func TestConcurrency(t *testing.T) {
	var requests []*record.Request
	at := 0.0
	for _, crowd := range []int{1, 2, 3, 4, 6} {
		for range 6 { // rounds of so many at once, each with its share of 60 tokens/s
			for range crowd {
				r := during(at, at+10)
				r.TTFT = time.Duration(crowd) * time.Second
				r.Output = record.Count(int64(60 / crowd * (10 - crowd)))
				requests = append(requests, r)
			}
			at += 20
		}
	}
	c := report(DefaultOptions(), requests...).Overall.Concurrency
	if c == nil || c.Requests != 96 || c.Max != 6 || len(c.Bands) != 4 {
		t.Fatalf("%+v", c)
	}
	near(t, "mean", c.Mean, (6*1+12*2+18*3+24*4+36*6)/96.0)
	for i, want := range []struct {
		name      string
		n         int
		ttft, tps float64
	}{{"1", 6, 1000, 60}, {"2", 12, 2000, 30}, {"3–4", 42, 4000, 15}, {"5+", 36, 6000, 10}} {
		b := c.Bands[i]
		if b.InFlight != want.name || b.Requests != want.n || b.TTFTRequests != want.n || b.TPSRequests != want.n {
			t.Errorf("band %+v, want %+v", b, want)
		}
		near(t, b.InFlight+" ttft", *b.TTFT, want.ttft)
		near(t, b.InFlight+" tps", *b.TPS, want.tps)
	}
	if c.Correlation == nil || c.CorrelationRequests != 96 {
		t.Fatalf("%+v", c)
	}
	near(t, "correlation", *c.Correlation, -1)
}

// Halves are rounded up, bands without a request are left out, and the most need
// not come last.
func TestConcurrencyBands(t *testing.T) {
	c := report(DefaultOptions(), during(0, 10), during(5, 15), during(100, 110), during(100, 110), during(100, 110), during(200, 210)).Overall.Concurrency
	var bands []string
	for _, b := range c.Bands {
		bands = append(bands, fmt.Sprint(b.InFlight, ": ", b.Requests))
	}
	if got := strings.Join(bands, ", "); got != "1: 1, 2: 2, 3–4: 3" || c.Max != 3 {
		t.Errorf("bands %s, max %v", got, c.Max)
	}
	c = report(DefaultOptions(), during(0, 30), during(0, 10), during(0, 20), during(0, 10), during(0, 10)).Overall.Concurrency
	near(t, "max", c.Max, 5) // the three of 10 s; of the one of 20 s (5+2)/2, of 30 s (5+2+1)/3
	near(t, "mean", c.Mean, (3*5+3.5+8.0/3)/5)
}

func TestConcurrencyIsOfAllRequestsOnly(t *testing.T) {
	o := DefaultOptions()
	o.By = []Dimension{"model"}
	r := report(o, during(0, 10), during(5, 15))
	if r.Overall.Concurrency == nil || r.Groups[0].Group.Concurrency != nil {
		t.Errorf("overall %v, group %v", r.Overall.Concurrency, r.Groups[0].Group.Concurrency)
	}
	if c := report(o, line(1, 2, 3)).Overall.Concurrency; c != nil {
		t.Errorf("without times: %+v", c)
	}
	var g group
	g.whole = true
	g.population = *population1(during(0, 10), during(5, 15))
	g.population.shift = 1
	if f := g.figures(&o); f.Concurrency != nil || f.SampledShare == nil || *f.SampledShare != 0.5 {
		t.Errorf("a sample knows what was in flight: %+v, share %v", f.Concurrency, f.SampledShare)
	}
}

func TestRankCorrelation(t *testing.T) {
	pairs := func(x, y []float64) (p [][2]float64) {
		for i := range x {
			p = append(p, [2]float64{x[i], y[i]})
		}
		return p
	}
	twice := []float64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}
	falling := []float64{100, 90, 80, 70, 60, 50, 40, 30, 20, 1}
	// By hand: ranks of twice 1.5, 1.5, 3.5, …; Σdxdy = −80, Σdx² = 80, Σdy² = 82.5.
	if r := rankCorrelation(pairs(twice, falling)); r == nil || math.Abs(*r+math.Sqrt(80/82.5)) > 1e-12 {
		t.Errorf("with ties: %v", r)
	}
	if r := rankCorrelation(pairs(falling, falling)); r == nil || *r != 1 {
		t.Errorf("with itself: %v", r)
	}
	if r := rankCorrelation(pairs(make([]float64, 10), falling)); r != nil {
		t.Errorf("with a constant: %v", *r)
	}
	if r := rankCorrelation(pairs(twice, falling)[:9]); r != nil {
		t.Errorf("of nine: %v", *r)
	}
}
