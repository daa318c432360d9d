package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/parse/record"
)

func charts(o Options, records ...record.Record) *Charts {
	c := NewCollector(o)
	for _, r := range records {
		c.Add(r)
	}
	return c.Charts(c.Report(Tool{}, Inputs{}))
}

func TestSpreadHoldsEveryValue(t *testing.T) {
	var clean, noisy sample
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		clean.add(math.Exp(r.NormFloat64()))
		noisy.add(5000 * r.Float64())
	}
	clean.add(0)
	const limit = 2000
	s := newSpread(clean.each, noisy.each, limit)
	var n [2]int
	for i, b := range s.Bins {
		var want [2]int
		for k, of := range [...]*sample{&clean, &noisy} {
			for _, v := range of.ordered() {
				if v < b.To && (v >= b.From || i == 0) {
					want[k]++
				}
			}
		}
		if want != [2]int{b.Clean, b.Noisy} {
			t.Errorf("bin %v – %v holds %d and %d, want %v", b.From, b.To, b.Clean, b.Noisy, want)
		}
		n[0] += b.Clean
		n[1] += b.Noisy
	}
	if n[0] != 1001 || n[1]+s.Beyond != 1000 || s.Beyond == 0 || len(s.Bins) > maxBins {
		t.Errorf("%v in %d bins, %d beyond", n, len(s.Bins), s.Beyond)
	}
	last := s.Curve[len(s.Curve)-1]
	near(t, "share of the clean below the end", last.Clean, 1)
	near(t, "share of all below the end", last.All, 1-float64(s.Beyond)/2001)
	for i := 1; i < len(s.Curve); i++ {
		if s.Curve[i].X <= s.Curve[i-1].X || s.Curve[i].Clean < s.Curve[i-1].Clean {
			t.Fatalf("the curve turns back at %d", i)
		}
	}
}

func TestLogEdgesHoldTheRange(t *testing.T) {
	for _, c := range [][2]float64{{1, 1}, {1, 10}, {0.001, 1e12}, {352, 11_234}, {1e-300, 1e300}, {99.99, 100}, {5, math.Nextafter(5, 6)}} {
		e := logEdges(c[0], c[1])
		if e[0] > c[0] || e[len(e)-1] <= c[1] || (len(e)-1)%perBin != 0 {
			t.Errorf("%v: %v to %v in %d steps", c, e[0], e[len(e)-1], len(e)-1)
		}
		for i := 1; i < len(e); i++ {
			if e[i] <= e[i-1] {
				t.Errorf("%v: edge %d is not above the one before", c, i)
			}
		}
	}
}

func TestCourse(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	request := func(at string, ttft float64) record.Record {
		q := line(ttft, 10_000, 600)
		q.End, err = time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		q.Line = int64(ttft)
		return q
	}
	o := DefaultOptions()
	o.Location = berlin
	c := charts(o, request("2026-03-01T23:30:00Z", 100), request("2026-03-01T23:40:00Z", 300), request("2026-03-20T11:00:00Z", 500))
	got := c.TTFTOverTime
	if got == nil || got.Width != day || len(got.Buckets) != 19 || got.Buckets[0].Start.Format("2006-01-02") != "2026-03-02" {
		t.Fatalf("%+v", got)
	}
	near(t, "p50 of the first day", *got.Buckets[0].Values[0], 200)
	if got.Buckets[0].Values[1] != nil || got.Buckets[1].N != 0 || got.Buckets[18].Values[0] != nil {
		t.Errorf("a percentile of too few requests is told: %+v", got.Buckets)
	}
	if m := c.Hours; m.N != 3 || m.Cells[0][0].N != 2 || m.Cells[4][12].N != 1 || m.Cells[4][12].P50 != nil {
		t.Errorf("%+v", m)
	}
	if c := charts(o, request("2026-03-01T23:30:00Z", 100), request("2026-03-01T23:30:00Z", 300)); c.TTFTOverTime != nil || c.Hours != nil {
		t.Error("a single moment is no course of time")
	}
}

func TestWeeksBeginOnMondays(t *testing.T) {
	for _, s := range []int64{0, 3 * 86400, 4 * 86400, -3*86400 - 1, 1_790_000_000} {
		start := bucketStart(bucketOf(s, 7*day), 7*day)
		if d := s - start.Unix(); start.Weekday() != time.Monday || d < 0 || d >= 7*86400 {
			t.Errorf("%d is in the week of %s", s, start)
		}
	}
}

func TestScatterIsBounded(t *testing.T) {
	var dots []Dot
	for i := range 5000 {
		dots = append(dots, Dot{X: float64(i), Y: float64(i % 100), key: record.Mix(uint64(i))})
	}
	dots = append(dots, Dot{X: 1, Y: 1e6}, Dot{X: 1e9, Y: 1})
	s := newScatter(dots, false)
	if s.N != 5002 || len(s.Points) != maxDots || s.Beyond != 2 || s.MaxX > 7500 || s.MaxY > 150 {
		t.Errorf("n %d, drawn %d, beyond %d, axes to %v and %v", s.N, len(s.Points), s.Beyond, s.MaxX, s.MaxY)
	}
}

// What the dots of each scatter are, by hand.
func TestScattersTell(t *testing.T) {
	prompt := func(r *record.Request, input, cached int64) *record.Request {
		r.Input, r.Cached = record.Count(input), record.Count(cached)
		return r
	}
	failed, noFirst := prompt(line(700, 1000, 100), 5000, 0), prompt(line(-1, 2000, 100), 5000, 0)
	failed.Status = record.Failed
	burst := prompt(line(900, 900, 50), 5000, 0)
	ch := charts(DefaultOptions(), prompt(line(700, 1000, 100), 4000, 1000), prompt(line(1000, 2000, 40), 2000, 0), prompt(line(100, 1000, 0), 100, 0),
		line(300, 1000, 10), failed, noFirst, burst)
	dots := func(s *Scatter) string {
		var l []string
		for _, d := range s.Points {
			l = append(l, fmt.Sprint(d.X, " ", d.Y, " ", d.Phase))
		}
		slices.Sort(l)
		return strings.Join(l, ", ")
	}
	if got, want := dots(ch.Prompt), "100 100 decode, 2000 1000 balanced, 3000 700 prefill"; got != want || ch.Prompt.N != 3 || ch.Prompt.MinX != 0 || ch.Prompt.MinY != 0 || ch.Prompt.MaxX != 3000 {
		t.Errorf("prompts %s, want %s: %+v", got, want, ch.Prompt)
	}
	if got, want := dots(ch.Length), "10 1000 decode, 100 1000 prefill, 100 2000 , 40 2000 balanced, 50 900 "; got != want || ch.Length.MinX != 10 || ch.Length.MinY != 900 || ch.Length.MaxY != 2000 {
		t.Errorf("lengths %s, want %s: %+v", got, want, ch.Length)
	}
	if ch.Crowd != nil {
		t.Errorf("without times: %+v", ch.Crowd)
	}
}

func TestCrowdScatter(t *testing.T) {
	at := func(from, to float64, tokens int64) *record.Request {
		r := during(from, to)
		r.TTFT, r.Output = 0, record.Count(tokens)
		return r
	}
	silent, unknown := at(20, 40, 0), at(0, 1, 300)
	unknown.Start = time.Time{}
	ch := charts(DefaultOptions(), at(0, 10, 500), at(20, 30, 300), at(20, 30, 100), at(20, 40, 400), silent, unknown, at(50, 60, 700))
	s := ch.Crowd
	if s == nil || s.N != 5 || s.MaxX != 4 || s.MaxY != 70 {
		t.Fatalf("%+v", s)
	}
	// The one of 20 s has four beside it, itself included, for 10 s, then one: 3.
	want := []BandMedian{{"1", 2, 1, 60}, {"3–4", 3, (4 + 4 + 3) / 3.0, 20}}
	if !slices.Equal(s.Medians, want) {
		t.Errorf("medians %+v, want %+v", s.Medians, want)
	}
	if s := charts(DefaultOptions(), at(0, 10, 500), at(20, 30, 300)).Crowd; s != nil {
		t.Errorf("one after the other: %+v", s)
	}
}

// Groups of several dimensions share the room: of each at least three.
func TestBarsOfManyGroups(t *testing.T) {
	o := DefaultOptions()
	o.By = []Dimension{"model", "label", "session", "output-size"}
	var l []record.Record
	for i := range 12 {
		r := line(100, 1000+100*float64(i), 100)
		r.Line, r.Model, r.Label, r.Session = int64(i), string(rune('a'+i)), "all", string(rune('a'+i%4))
		l = append(l, r, &record.Turn{Pos: r.Pos, Model: r.Model, Session: r.Session, Duration: time.Minute, Requests: []*record.Request{r}})
	}
	ch := charts(o, l...)
	keys := func(n int, bar func(i int) (string, string)) string {
		var l []string
		for i := range n {
			by, key := bar(i)
			l = append(l, by+"="+key)
		}
		return strings.Join(l, " ")
	}
	const want = "= model=l model=k model=j label=all session=d session=c session=b output-size=100–499"
	if got := keys(len(ch.Time), func(i int) (string, string) { return ch.Time[i].By, ch.Time[i].Key }); got != want {
		t.Errorf("bars %s, want %s", got, want)
	}
	if got := keys(len(ch.TurnTime), func(i int) (string, string) { return ch.TurnTime[i].By, ch.TurnTime[i].Key }); got != "= model=l model=k model=j session=d session=c session=b" {
		t.Errorf("bars of turns %s", got)
	}
}

func TestTimeBars(t *testing.T) {
	a, b, burst := line(1000, 3000, 100), line(500, 1000, 100), line(900, 900, 50)
	a.Model, b.Model, burst.Model = "a", "b", "b"
	a.Line, b.Line, burst.Line = 1, 2, 3
	got := charts(DefaultOptions(), a, b, burst).Time
	want := []TimeBar{{"", "", 3, 1500, 2500, 900}, {"model", "a", 1, 1000, 2000, 0}, {"model", "b", 2, 500, 500, 900}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	o := DefaultOptions()
	o.By = []Dimension{"model"}
	grouped := charts(o, a, b, burst).Time
	for i := range want {
		if grouped[i] != want[i] {
			t.Errorf("grouped: got %+v, want %+v", grouped[i], want[i])
		}
	}
}

func TestSlowTurns(t *testing.T) {
	t0 := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	var records []record.Record
	for i := range 20 {
		q := line(100, 1000, 600)
		q.Start, q.End = t0, t0.Add(q.Total)
		turn := &record.Turn{Pos: record.Pos{File: "a", Line: int64(i)}, Start: t0, Duration: time.Duration(1+i) * time.Minute, Requests: []*record.Request{q}}
		for k := range 200 {
			from := t0.Add(time.Duration(k) * time.Second)
			turn.Tools = append(turn.Tools, record.Interval{Start: from, End: from.Add(time.Duration(k+1) * time.Millisecond)})
		}
		records = append(records, turn)
	}
	lanes := charts(DefaultOptions(), records...).SlowTurns
	if len(lanes) != maxLanes || lanes[0].Source != "a:19" || lanes[0].Duration != 20*60_000 || lanes[5].Source != "a:14" {
		t.Fatalf("%d lanes, the first %s", len(lanes), lanes[0].Source)
	}
	l := lanes[0]
	if len(l.Phases) != maxPhases || l.Left != 52 || l.Tools != 200 || l.Requests != 1 || l.Phases[0].Kind != KindPrefill {
		t.Errorf("%d phases, %d left, %d tools, first %v", len(l.Phases), l.Left, l.Tools, l.Phases[0])
	}
}

func TestNoChartsWithoutData(t *testing.T) {
	failed := line(-1, -1, -1)
	failed.Status = record.Failed
	b, err := json.Marshal(charts(DefaultOptions(), failed))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"SampledShare":null,"TTFT":null,"TPS":null,"Time":null,"TurnTime":null,"Prompt":null,"Length":null,"Crowd":null,"TTFTOverTime":null,"TPSOverTime":null,"Hours":null,"SlowTurns":null}`
	if string(b) != want {
		t.Errorf("got %s", b)
	}
}

// Of a sample, counts are scaled, and what a sample can't tell is left out.
func TestChartsOfASample(t *testing.T) {
	c := NewCollector(DefaultOptions())
	q := line(100, 30_000, 600)
	t0 := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	const n = maxRows + 1000
	for i := range n {
		q.Line = int64(i)
		q.Model = []string{"a", "b"}[i%2]
		q.End = t0.Add(time.Duration(i) * time.Second)
		q.Start = q.End.Add(-q.Total)
		c.Add(q)
	}
	ch := c.Charts(c.Report(Tool{}, Inputs{}))
	if ch.SampledShare == nil || *ch.SampledShare != 0.5 || ch.Crowd != nil || len(ch.Length.Points) != maxDots {
		t.Errorf("%v", ch.SampledShare)
	}
	if got := ch.Time[1].Requests + ch.Time[2].Requests; math.Abs(float64(got-n)) > n/50 {
		t.Errorf("%d requests of both models, want about %d", got, n)
	}
	total := 0
	for _, b := range ch.TTFT.Bins {
		total += b.Clean + b.Noisy
	}
	if total != n {
		t.Errorf("%d TTFTs in the histogram, want %d", total, n)
	}
}
