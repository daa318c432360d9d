package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"codexlag/parse/record"
)

// steady makes requests and turns whose times are whole ms, and so far from the
// fixed limits (short decode, burst) that a factor of ten does not reach them.
func steady(r *rand.Rand, n int) (requests []*record.Request, turns []*record.Turn) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ms := func(v float64) time.Duration { return time.Duration(v) * time.Millisecond }
	for i := range n {
		tokens, input := 300+r.Int64N(1500), 2000+r.Int64N(60_000)
		cached := int64(float64(input) * r.Float64())
		ttft := ms((500 + float64(input-cached)/8) * (0.7 + 0.6*r.Float64()))
		q := &record.Request{Pos: record.Pos{File: "a.log", Line: int64(i)}, Model: "m", Format: record.FormatRequest, Quality: record.Measured, TTFT: ttft,
			Total: ttft + ms(float64(tokens)*(12+20*r.Float64())), Output: record.Count(tokens), Input: record.Count(input), Cached: record.Count(cached)}
		at = at.Add(ms(float64(r.IntN(40_000))))
		q.Start, q.End = at, at.Add(q.Total)
		if r.IntN(8) == 0 {
			q.Quality = record.None
		}
		requests = append(requests, q)
		if i%9 == 0 {
			tool := q.End.Add(ms(float64(r.IntN(3000))))
			turns = append(turns, &record.Turn{Pos: q.Pos, Model: "m", Start: q.Start, End: tool.Add(9 * time.Second), Duration: q.Total + 14*time.Second,
				Requests: []*record.Request{q}, Tools: []record.Interval{{Start: q.End, End: tool}, {Start: q.End.Add(ms(500)), End: tool.Add(ms(700))}}})
		}
	}
	return requests, turns
}

// changed applies f to the times and spans of all records.
func changed(requests []*record.Request, turns []*record.Turn, at func(time.Time) time.Time, span func(time.Duration) time.Duration) (l []record.Record) {
	change := func(q *record.Request) *record.Request {
		c := *q
		c.Start, c.End, c.TTFT, c.Total = at(q.Start), at(q.End), span(q.TTFT), span(q.Total)
		return &c
	}
	for _, q := range requests {
		l = append(l, change(q))
	}
	for _, t := range turns {
		c := *t
		c.Start, c.End, c.Duration = at(t.Start), at(t.End), span(t.Duration)
		c.Requests, c.Tools = nil, nil
		for _, q := range t.Requests {
			c.Requests = append(c.Requests, change(q))
		}
		for _, i := range t.Tools {
			c.Tools = append(c.Tools, record.Interval{Start: at(i.Start), End: at(i.End)})
		}
		l = append(l, &c)
	}
	return l
}

func collected(o Options, l []record.Record) *Collector {
	c := NewCollector(o)
	for _, r := range l {
		c.Add(r)
	}
	return c
}

func sameTime(t time.Time) time.Time         { return t }
func sameSpan(d time.Duration) time.Duration { return d }
func times10(d time.Duration) time.Duration  { return 10 * d }
func pointers(values ...*float64) (l []float64) {
	for _, v := range values {
		l = append(l, valueOr(v, math.NaN()))
	}
	return l
}

// numbers lists what a distribution says, in a fixed order.
func (d *Dist) numbers() []float64 {
	l := append(pointers(d.StdDev), d.Min, d.Mean, d.Max)
	for _, q := range d.Quantiles {
		l = append(l, q.Value, q.CI[0], q.CI[1])
	}
	return l
}

// With all times ten times as long, times are ten times and rates a tenth of
// what they were, and counts, shares, causes and tests stay.
func TestScalingTimesScalesFigures(t *testing.T) {
	o := DefaultOptions()
	o.Percentiles = []float64{10, 50, 90, 95}
	for seed := range uint64(5) {
		requests, turns := steady(rand.New(rand.NewPCG(seed, 8)), 300)
		origin := requests[0].Start
		later := func(t time.Time) time.Time { return origin.Add(10 * t.Sub(origin)) }
		before := collected(o, changed(requests, turns, sameTime, sameSpan)).Report(Tool{}, Inputs{}).Overall
		after := collected(o, changed(requests, turns, later, times10)).Report(Tool{}, Inputs{}).Overall
		figures := func(g *Group) map[string][3][]float64 { // ×10, ÷10, the same
			v := &g.Verdict
			return map[string][3][]float64{
				"ttft":      {g.TTFT.numbers()},
				"total":     {g.Total.numbers()},
				"decode":    {g.Decode.numbers()},
				"tps":       {nil, append(g.TPS.All.numbers(), *g.TPS.Pooled)},
				"clean":     {g.TPOT.numbers(), g.TPS.Clean.numbers(), {float64(g.TPOT.N)}},
				"output":    {nil, nil, g.OutputTokens.numbers()},
				"time":      {{g.Time.Prefill, g.Time.Decode, g.Time.Unsplit}, nil, pointers(g.Time.PrefillShare)},
				"tail":      {{v.Tail.Delta, v.Tail.TTFT, v.Tail.Length, v.Tail.Speed}, nil, {float64(v.Tail.Requests)}},
				"prefill":   {{g.PrefillModel.Overhead}, pointers(g.PrefillModel.Rate), {g.PrefillModel.Explained}},
				"model":     {{g.RequestModel.Overhead, g.RequestModel.TPOT, *g.RequestModel.TTFTError}, pointers(g.RequestModel.PrefillRate), append(pointers(g.RequestModel.PrefillShare), g.RequestModel.Explained)},
				"in flight": {nil, nil, append(pointers(g.Concurrency.Correlation), g.Concurrency.Mean, g.Concurrency.Max)},
				"turns":     {{g.Turns.Prefill, g.Turns.Decode, g.Turns.Model, g.Turns.Tool, g.Turns.Other}},
			}
		}
		want, got := figures(before), figures(after)
		for name, w := range want {
			for i, factor := range []float64{10, 0.1, 1} {
				for k, v := range w[i] {
					within(t, fmt.Sprintf("seed %d, %s, %d.%d", seed, name, i, k), got[name][i][k], factor*v, 1e-9)
				}
			}
		}
		if before.Verdict.Phase != after.Verdict.Phase || before.Verdict.Tail.Cause != after.Verdict.Tail.Cause {
			t.Errorf("seed %d: verdicts %+v and %+v", seed, before.Verdict, after.Verdict)
		}
	}
}

// Whatever the unit of the times, a comparison comes to the same.
func TestScalingTimesChangesNoComparison(t *testing.T) {
	o := DefaultOptions()
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 9))
		a, _ := steady(r, 60+r.IntN(100))
		b, _ := steady(r, 10+r.IntN(100))
		compare := func(span func(time.Duration) time.Duration) *GroupChange {
			return Compare(Tool{}, Set{Collected: collected(o, changed(a, nil, sameTime, span))}, Set{Collected: collected(o, changed(b, nil, sameTime, span))}, 0.05).Overall
		}
		want, got := compare(sameSpan), compare(times10)
		for name, m := range map[string][2]*MetricChange{"ttft": {want.TTFT, got.TTFT}, "total": {want.Total, got.Total}, "tps": {want.TPS, got.TPS}, "tpot": {want.TPOT, got.TPOT}} {
			within(t, name+" p", *m[1].P, *m[0].P, 1e-12)
			within(t, name+" change", *m[1].At(50).Relative, *m[0].At(50).Relative, 1e-9)
			if m[0].Verdict != m[1].Verdict {
				t.Errorf("seed %d, %s: %s, with other units %s", seed, name, m[0].Verdict, m[1].Verdict)
			}
		}
	}
}

// A clock that is wrong by the same time everywhere changes when, not how long.
func TestShiftingClocksChangesNoFigure(t *testing.T) {
	o := DefaultOptions()
	o.By = []Dimension{"model"}
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 10))
		requests, turns := steady(r, 300)
		figures := func(by time.Duration) string {
			rep := collected(o, changed(requests, turns, func(t time.Time) time.Time { return t.Add(by) }, sameSpan)).Report(Tool{}, Inputs{})
			b, err := json.Marshal([]any{rep.Overall, rep.Groups, rep.Quality})
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		want := figures(0)
		for range 5 {
			by := time.Duration(r.Int64N(2e12)-1e12) * time.Microsecond // up to 11 days
			if got := figures(by); got != want {
				t.Errorf("seed %d: shifted by %v:\n%s\nwant\n%s", seed, by, got, want)
			}
		}
	}
}
