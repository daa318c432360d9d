package analyze

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"codexlag/parse/record"
)

// fine returns requests whose times are no whole milliseconds.
func fine(n int, seed uint64) []*record.Request {
	r := rand.New(rand.NewPCG(seed, 11))
	l := make([]*record.Request, n)
	for i := range l {
		tokens := r.Int64N(2000)
		ttft := 100 * math.Exp(r.NormFloat64())
		l[i] = line(ttft, ttft+float64(tokens)*(5+20*r.Float64()), tokens)
		l[i].Pos = record.Pos{File: "a.log", Line: int64(i)}
		l[i].Model = []string{"a", "b"}[r.IntN(2)]
	}
	return l
}

// Past the exact limit every percentile is within the error that the report
// names, and means, extremes and counts stay what they are.
func TestSketchKeepsItsError(t *testing.T) {
	exact, rough := DefaultOptions(), DefaultOptions()
	exact.Percentiles = []float64{1, 25, 50, 75, 90, 95, 99, 99.9, 100}
	rough.Percentiles = exact.Percentiles
	rough.ExactLimit = 1000
	a, b := NewCollector(exact), NewCollector(rough)
	for _, r := range fine(50_000, 1) {
		a.Add(r)
		b.Add(r)
	}
	want, got := a.Report(Tool{}, Inputs{}), b.Report(Tool{}, Inputs{})
	if !want.Options.Exact || want.Options.SketchError != nil || got.Options.Exact || *got.Options.SketchError != SketchError {
		t.Errorf("options %+v and %+v", want.Options, got.Options)
	}
	for name, d := range map[string][2]*Dist{"ttft": {want.Overall.TTFT, got.Overall.TTFT}, "total": {want.Overall.Total, got.Overall.Total},
		"tps": {want.Overall.TPS.All, got.Overall.TPS.All}, "tpot": {want.Overall.TPOT, got.Overall.TPOT}, "output": {want.Overall.OutputTokens, got.Overall.OutputTokens}} {
		w, g := d[0], d[1]
		if w.N != g.N || w.Min != g.Min || w.Max != g.Max {
			t.Errorf("%s: %+v, want %+v", name, g, w)
		}
		near := func(what string, got, want, share float64) {
			if math.Abs(got-want) > share*want+1e-9 {
				t.Errorf("%s %s = %v, want %v", name, what, got, want)
			}
		}
		near("mean", g.Mean, w.Mean, 1e-9)
		near("stddev", *g.StdDev, *w.StdDev, 1e-9)
		for _, p := range exact.Percentiles {
			near("quantile", g.At(p).Value, w.At(p).Value, SketchError)
		}
	}
	if w, g := want.Overall.Verdict.Tail, got.Overall.Verdict.Tail; math.Abs(g.Delta-w.Delta) > 0.01*w.Delta || g.Cause != w.Cause {
		t.Errorf("tail %+v, want %+v", g, w)
	}
}

// When a sketch takes over does not show: not in which order the requests came,
// nor how they were split.
func TestSketchDoesNotDependOnTheOrder(t *testing.T) {
	o := DefaultOptions()
	o.ExactLimit, o.By = 3000, []Dimension{"model"}
	l := fine(10_000, 2)
	for i := range l {
		if i%3 == 0 { // some whole milliseconds
			l[i].TTFT, l[i].Total = l[i].TTFT.Truncate(time.Millisecond), l[i].Total.Truncate(time.Millisecond)+time.Millisecond
		}
	}
	want := ""
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		parts := make([]*Collector, 1+seed)
		for i := range parts {
			parts[i] = NewCollector(o)
		}
		for _, i := range r.Perm(len(l)) {
			c := parts[r.IntN(len(parts))]
			c.Add(l[i])
			if r.IntN(500) == 0 {
				c.bound()
			}
		}
		for _, p := range parts[1:] {
			parts[0].Merge(p)
		}
		b, err := json.Marshal(parts[0].Report(Tool{}, Inputs{}))
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(b)
		} else if want != string(b) {
			t.Fatalf("seed %d: reports differ:\n%s\n%s", seed, want, b)
		}
	}
}

// A list that takes in a sketch becomes one, and what was looked up before is
// looked up anew.
func TestMergingSketches(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var list, coarse, whole sample
	for i := range 2000 {
		v := 1000 * r.ExpFloat64()
		if i%4 == 0 {
			v = math.Trunc(v)
		}
		whole.add(v)
		if i%2 == 0 {
			list.add(v)
		} else {
			coarse.add(v)
		}
	}
	list.quantile(50)
	coarse.bound(1000)
	if coarse.sketch != nil {
		t.Error("the sketch took over at the limit")
	}
	coarse.bound(999)
	whole.bound(0)
	list.merge(&coarse)
	got, _ := json.Marshal(list.dist([]float64{1, 50, 99}))
	want, _ := json.Marshal(whole.dist([]float64{1, 50, 99}))
	if string(got) != string(want) || list.exact() {
		t.Errorf("merged %s, want %s", got, want)
	}

	a, b := sample{values: []float64{5, 6, 7}}, sample{values: []float64{1, 2}}
	if a.at(0) != 5 {
		t.Error("the smallest of 5, 6, 7")
	}
	if a.merge(&b); a.at(0) != 1 || a.at(4) != 7 {
		t.Errorf("after merging: from %v to %v", a.at(0), a.at(4))
	}
	if a.add(0); a.at(0) != 0 {
		t.Errorf("after adding 0: from %v", a.at(0))
	}
}

// Whole numbers are counted exactly past the limit.
func TestWholeNumbersStayExact(t *testing.T) {
	var s sample
	for i := range 100 {
		s.add(float64(i))
	}
	s.bound(10)
	if !s.exact() || s.quantile(50) != 49.5 {
		t.Errorf("exact %v, median %v", s.exact(), s.quantile(50))
	}
	if s.add(0.5); s.exact() {
		t.Error("0.5 is in the sketch")
	}
}

// Order statistics of a long list are found without sorting it.
func TestPickUnsorted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var s sample
	var list []float64
	for range 3 * tableFrom {
		v := math.Exp(20 * r.NormFloat64())
		if r.IntN(10) == 0 {
			v = 0
		}
		s.add(v)
		list = append(list, v)
	}
	slices.Sort(list)
	ranks := []int{0, 1, 17, len(list) / 2, len(list)/2 + 1, len(list) - 1}
	s.pick(ranks...)
	if s.sorted {
		t.Error("the list was sorted")
	}
	for _, k := range ranks {
		if got := s.at(k); got != list[k] {
			t.Errorf("rank %d: %v, want %v", k, got, list[k])
		}
	}
}

func TestExactSum(t *testing.T) {
	var a, b, c exactSum
	for _, v := range []float64{1e15, 0.1, 3, 1e-300, 0, 5e-324, 1e300} {
		a.add(v)
	}
	b.add(1e15)
	for range 10 {
		b.add(0.1)
	}
	c.add(2.5)
	c.merge(&c)
	var zeros, tiny exactSum
	for range 3 {
		zeros.add(0)
		tiny.add(5e-324)
	}
	if zeros.float() != 0 || tiny.float() != 15e-324 {
		t.Errorf("sums of nothing and of nearly nothing: %v, %v", zeros.float(), tiny.float())
	}
	if a.float() != 1e300 || b.float() != 1e15+1 || c.float() != 5 {
		t.Errorf("%v, %v, %v", a.float(), b.float(), c.float())
	}
}

// Rows come to the same report as their requests one by one.
func TestRowsAreRequests(t *testing.T) {
	o := DefaultOptions()
	o.By = []Dimension{"model"}
	rows := &record.Rows{Pos: record.Pos{File: "a.log", Line: 100}, Models: []string{"m", "n"}}
	for i := range uint32(200) {
		rows.List = append(rows.List, record.Row{Line: i, TTFT: 10 * i, Total: 15*i + 1, Output: i * i, Rate: float64(i) - 1, Model: uint16(i % 3), HasEnd: i%2 == 0, Seconds: int64(i)})
	}
	a, b := NewCollector(o), NewCollector(o)
	a.Add(rows)
	for i := range rows.List {
		r := new(record.Request)
		rows.Request(i, r)
		b.Add(r)
	}
	got, _ := json.Marshal(a.Report(Tool{}, Inputs{}))
	want, _ := json.Marshal(b.Report(Tool{}, Inputs{}))
	if string(got) != string(want) || a.Requests() != 200 {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// oddRows are rows of which some have everything that can be special about one.
func oddRows(r *rand.Rand, n uint32) (l []record.Row) {
	for i := range n {
		w := record.Row{Line: i, TTFT: 50 + r.Uint32N(12_000), Output: r.Uint32N(1500), Rate: -1, Model: uint16(i % 3)}
		w.Total = w.TTFT + 1 + r.Uint32N(60_000)
		switch r.IntN(40) {
		case 0:
			w.Total = w.TTFT
		case 1:
			w.TTFT, w.Total = w.Total+1, max(1, w.TTFT)
		case 2:
			w.Total = w.TTFT + r.Uint32N(3) + 1 // maybe a burst
		case 3:
			w.Total += tableSize
		case 4:
			w.Output = tableSize - 2 + r.Uint32N(4)
		case 5:
			w.Total = tableSize - 2 + r.Uint32N(4)
		case 6:
			w.TTFT = 5000 + r.Uint32N(2) // the limit, and just beyond
		case 7:
			w.Total = w.TTFT + 499 + r.Uint32N(2)
		case 8:
			w.Output = 499 + r.Uint32N(2)
		}
		if r.IntN(2) == 0 {
			w.Rate = float64(w.Output) / (float64(w.Total) / 1000) * (0.9 + 0.6*r.Float64())
		}
		if w.HasEnd = r.IntN(3) > 0; w.HasEnd {
			w.Seconds, w.Nanoseconds = 1_700_000_000+int64(r.IntN(1_000_000)), uint32(r.IntN(1_000_000_000))
		}
		l = append(l, w)
	}
	return l
}

// plainRowsOnly are rows with nothing special: the first, the last and the
// slowest are among them.
func plainRowsOnly(r *rand.Rand, n uint32) (l []record.Row) {
	for i := range n {
		w := record.Row{Line: i, TTFT: 4000 + r.Uint32N(2000), Output: 500 + r.Uint32N(1500), Rate: -1, HasEnd: true,
			Seconds: 1_700_000_000, Nanoseconds: 500_000_000 + i}
		if i%2 == 0 { // the first and the last come late, too
			w.Nanoseconds = 500_000_000 - i
		}
		w.Total = w.TTFT + 20_000 + r.Uint32N(50+i/1000) // the slowest come late
		l = append(l, w)
	}
	return l
}

// So many rows that figures are tables, and the plain ones are added up without
// a request of each: the report is the same, however they are divided.
func TestManyRowsAreRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, c := range []struct {
		name    string
		rows    []record.Row
		options func(*Options)
	}{
		{"as usual", oddRows(r, 90_000), func(*Options) {}},
		{"nothing special", plainRowsOnly(r, 90_000), func(*Options) {}},
		{"no list of the slowest", oddRows(r, 90_000), func(o *Options) { o.Top = 0 }},
		{"limits in between", oddRows(r, 90_000), func(o *Options) { o.SLO = SLOTarget{TTFT: 2500500 * time.Microsecond, TPS: 33.3}; o.MinTokens = 1 }},
		{"with sketches", oddRows(r, 90_000), func(o *Options) { o.ExactLimit = 40_000 }},
		{"by model", oddRows(r, 40_000), func(o *Options) { o.By = []Dimension{byModel} }},
	} {
		o := DefaultOptions()
		c.options(&o)
		a, b := NewCollector(o), NewCollector(o)
		for i := 0; i < len(c.rows); {
			n := min(1+r.IntN(9000), len(c.rows)-i)
			rows := record.Rows{Pos: record.Pos{File: "a.log", Line: 7}, Models: []string{"m", "n"}, List: c.rows[i : i+n]}
			a.Add(&rows)
			for k := range rows.List {
				q := new(record.Request)
				rows.Request(k, q)
				b.Add(q)
			}
			if i += n; i < 50_000 && i > 40_000 { // a report in between changes nothing
				a.Report(Tool{}, Inputs{})
			}
		}
		if plain := a.plainBelow > 0; plain != (len(o.By) == 0) {
			t.Errorf("%s: plain rows %v", c.name, plain)
		}
		if a.overall.lateStarts != b.overall.lateStarts {
			t.Errorf("%s: late starts took %v, want %v", c.name, a.overall.lateStarts, b.overall.lateStarts)
		}
		got, _ := json.Marshal(a.Report(Tool{}, Inputs{}))
		want, _ := json.Marshal(b.Report(Tool{}, Inputs{}))
		if string(got) != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

func BenchmarkCollector(b *testing.B) {
	o := DefaultOptions()
	for name, by := range map[string][]Dimension{"overall": nil, "by model": {"model"}} {
		b.Run(name, func(b *testing.B) {
			o.By = by
			rows := &record.Rows{Pos: record.Pos{File: "a.log"}, Models: []string{"m", "n"}}
			r := rand.New(rand.NewPCG(1, 1))
			for i := range uint32(1 << 14) {
				ttft := 100 + r.Uint32N(3000)
				rows.List = append(rows.List, record.Row{Line: i, TTFT: ttft, Total: ttft + 1 + r.Uint32N(20_000), Output: r.Uint32N(2000), Rate: -1, Model: uint16(i % 3)})
			}
			c := NewCollector(o)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%64 == 63 { // a million requests are enough for a log
					c = NewCollector(o)
				}
				rows.Line = int64(n) << 14
				c.Add(rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows.List)), "ns/request")
		})
	}
}

func BenchmarkReport(b *testing.B) {
	c := NewCollector(DefaultOptions())
	for _, r := range fine(200_000, 3) {
		c.Add(r)
	}
	for b.Loop() {
		c.Report(Tool{}, Inputs{})
	}
}
