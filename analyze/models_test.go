package analyze

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/parse/record"
)

// requests makes n requests of a model that behaves as w says, without TTFT.
func (w truth) requests(model string, n int, seed uint64) []*record.Request {
	var l []*record.Request
	for i, p := range w.answers(n, seed, 0.1) {
		r := line(-1, p.y, int64(p.x[2]))
		r.Pos = record.Pos{File: model, Line: int64(i)}
		r.Model = model
		r.Input, r.Cached = record.Count(int64(p.x[1])+2000), record.Count(2000)
		l = append(l, r)
	}
	return l
}

func TestRequestModels(t *testing.T) {
	a, b := truth{2000, 5000, 18}, truth{1600, 9000, 60}
	all := slices.Concat(b.requests("b", 600, 2), a.requests("a", 1000, 1), a.requests("few", minRequestModel-1, 3))
	g := report(DefaultOptions(), all...).Overall
	if len(g.RequestModels) != 2 || g.RequestModels[0].Model != "a" || g.RequestModels[1].Model != "b" || g.RequestModel.Requests != 1000 {
		t.Fatalf("%+v", g.RequestModels)
	}
	prefill, modelled := 0.0, 0.0
	for i, w := range []truth{a, b} {
		m := g.RequestModels[i]
		within(t, m.Model+" overhead", m.Overhead, w.overhead, 0.1)
		within(t, m.Model+" rate", *m.PrefillRate, w.rate, 0.1)
		within(t, m.Model+" tpot", m.TPOT, w.tpot, 0.1)
		p, d := 0.0, 0.0
		for _, r := range all {
			if r.Model == m.Model {
				p += m.Overhead + 1000*float64(r.Input.N-2000) / *m.PrefillRate
				d += m.TPOT * float64(r.Output.N)
			}
		}
		near(t, m.Model+" share", *m.PrefillShare, p/(p+d))
		prefill, modelled = prefill+p, modelled+p+d
		if m.TTFTRequests != 0 || m.TTFTError != nil || m.TTFTErrorShare != nil {
			t.Errorf("compared with TTFTs that are not known: %+v", m)
		}
	}
	near(t, "share of all", *g.RequestModel.PrefillShare, prefill/modelled)
	if g.RequestModel.Overhead != g.RequestModels[0].Overhead {
		t.Error("the group's model is not the one with most requests")
	}
}

// Only requests that completed, that tell total, input and output, and whose
// answer did not come in one piece count.
func TestRequestModelCounts(t *testing.T) {
	l := truth{2000, 5000, 18}.requests("m", minRequestModel, 1)
	for _, c := range []struct {
		name  string
		spoil func(*record.Request)
	}{
		{"no input", func(r *record.Request) { r.Input = record.Tokens{} }},
		{"more cached than input", func(r *record.Request) { r.Cached.N = r.Input.N + 1 }},
		{"no output", func(r *record.Request) { r.Output = record.Tokens{} }},
		{"no total", func(r *record.Request) { r.Total = 0 }},
		{"failed", func(r *record.Request) { r.Status = record.Failed }},
		{"of another model", func(r *record.Request) { r.Model = "other" }},
		{"a burst", func(r *record.Request) { r.TTFT, r.Quality = r.Total, record.Measured }},
	} {
		if report(DefaultOptions(), l...).Overall.RequestModel == nil {
			t.Fatal("no model of enough requests")
		}
		spoilt := *l[0]
		c.spoil(&spoilt)
		if m := report(DefaultOptions(), append(slices.Clone(l[1:]), &spoilt)...).Overall.RequestModel; m != nil {
			t.Errorf("%s: counts", c.name)
		}
	}
}

// The model tells when the first token came. A TTFT of the first visible output
// has hidden reasoning before it, at the model's own rate.
func TestRequestModelAgainstTTFT(t *testing.T) {
	for _, visible := range []bool{false, true} {
		l := truth{2000, 5000, 20}.requests("m", 1000, 1)
		for i, r := range l {
			first := 2000 + float64(r.Input.N-2000)/5
			if r.Reasoning = record.Count(r.Output.N / 2); visible {
				r.FirstVisible = true
				first += 20 * float64(r.Reasoning.N)
			}
			if i%2 == 0 {
				first = min(first-300, milliseconds(r.Total)*0.9) // noise may have ended it before
				r.TTFT, r.Quality = time.Duration(first*1000)*time.Microsecond, record.Measured
			}
		}
		m := report(DefaultOptions(), l...).Overall.RequestModel
		var known []float64
		for _, r := range l {
			if r.Quality == record.Measured {
				known = append(known, milliseconds(r.TTFT))
			}
		}
		near(t, "share of the error", *m.TTFTErrorShare, *m.TTFTError/median(known))
		if m.TTFTRequests != 500 || m.TTFTError == nil || m.TTFTErrorShare == nil {
			t.Fatalf("%+v", m)
		}
		if *m.TTFTError < 150 || *m.TTFTError > 450 || *m.TTFTErrorShare < 0.03 || *m.TTFTErrorShare > 0.16 {
			t.Errorf("first visible %v: off by %v ms, %v; 300 ms were taken from each TTFT", visible, *m.TTFTError, *m.TTFTErrorShare)
		}
	}
}

// A model that does not tell what a token takes splits nothing.
func TestNoRequestModelWithoutOutputs(t *testing.T) {
	l := truth{2000, 5000, 20}.requests("m", 200, 1)
	for i, r := range l {
		r.Output, r.Total = record.Count(400), time.Duration(4000+10*i)*time.Millisecond
	}
	if m := report(DefaultOptions(), l...).Overall.RequestModel; m != nil {
		t.Errorf("%+v", m)
	}
}

func TestPrefillModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	make := func(n int, rate float64) []*record.Request {
		var l []*record.Request
		for range n {
			uncached := 500 + r.Int64N(40_000)
			ttft := (800 + 1000*float64(uncached)/rate) * (0.8 + 0.4*r.Float64())
			if r.IntN(10) == 0 {
				ttft *= 20
			}
			q := line(ttft, ttft+20_000, 600)
			q.Input, q.Cached = record.Count(uncached+10_000), record.Count(10_000)
			l = append(l, q)
		}
		return l
	}
	m := report(DefaultOptions(), make(1000, 4000)...).Overall.PrefillModel
	if m == nil || m.Requests != 1000 || m.Rate == nil || m.Explained < 0.8 {
		t.Fatalf("%+v", m)
	}
	within(t, "overhead", m.Overhead, 800, 0.1)
	within(t, "rate", *m.Rate, 4000, 0.1)

	few := make(minPrefillModel, 4000)
	if report(DefaultOptions(), few...).Overall.PrefillModel == nil || report(DefaultOptions(), few[1:]...).Overall.PrefillModel != nil {
		t.Error("20 requests give a model, 19 none")
	}
	if m := report(DefaultOptions(), slices.Repeat(few[:1], 30)...).Overall.PrefillModel; m != nil {
		t.Errorf("there is nothing to explain in one TTFT: %+v", m)
	}
	for _, q := range few {
		q.TTFT = q.Total
	}
	if m := report(DefaultOptions(), few...).Overall.PrefillModel; m != nil {
		t.Errorf("bursts have no TTFT: %+v", m)
	}
}

func TestTTFTByCache(t *testing.T) {
	with := func(ttft float64, input, cached int64) *record.Request {
		r := line(ttft, 10_000, 600)
		r.Input, r.Cached = record.Count(input), record.Count(cached)
		return r
	}
	got := report(DefaultOptions(), with(100, 1000, 950), with(300, 1000, 900), with(700, 1000, 100), with(900, 1000, 0),
		with(5, 1000, -1), with(5, -1, 5), line(5, 10_000, 600)).Overall.TTFTByCache
	want := []Band{{"0 %", 1, num(900)}, {"below 50 %", 1, num(700)}, {"90–100 %", 2, num(200)}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if b := got[i]; b.Key != w.Key || b.Requests != w.Requests || *b.TTFT != *w.TTFT {
			t.Errorf("%+v, want %+v", b, w)
		}
	}
}

func TestCacheBandsAreComplete(t *testing.T) {
	for cached := range int64(101) {
		if key := cacheBand(&record.Request{Input: record.Count(100), Cached: record.Count(cached)}); !slices.Contains(cacheBands, key) {
			t.Errorf("%d %%: %q is not listed", cached, key)
		}
	}
}

func TestReasoning(t *testing.T) {
	with := func(output, reasoning int64) *record.Request {
		r := line(100, 1000, output)
		r.Reasoning = record.Count(reasoning)
		return r
	}
	failed := with(100, 100)
	failed.Status = record.Failed
	g := report(DefaultOptions(), with(100, 80), with(300, 0), with(50, -1), with(10, 11), with(-1, 0), failed).Overall
	if r := g.Reasoning; r == nil || r.Requests != 2 || r.Reasoning != 80 || r.Output != 400 || *r.Share != 0.2 {
		t.Errorf("%+v", r)
	}
	if r := report(DefaultOptions(), with(0, 0)).Overall.Reasoning; r.Share != nil {
		t.Errorf("a share of nothing: %v", *r.Share)
	}
	if r := report(DefaultOptions(), with(50, -1)).Overall.Reasoning; r != nil {
		t.Errorf("%+v", r)
	}
}

func TestVerdictBasis(t *testing.T) {
	decode := slices.Repeat([]*record.Request{line(1000, 21_000, 600)}, 12)
	prefill, slow := truth{500, 200, 5}.requests("m", 200, 1), truth{500, 5000, 60}.requests("m", 200, 1)
	scattered := truth{500, 5000, 60}.requests("m", 200, 1)
	r := rand.New(rand.NewPCG(1, 1))
	for _, q := range scattered {
		q.Total = time.Duration(float64(q.Total) * math.Exp(1.5*r.NormFloat64()))
	}
	for _, c := range []struct {
		name                     string
		requests                 []*record.Request
		phase, basis, confidence string
	}{
		{"modelled prefill", prefill, PhasePrefill, BasisModelled, ConfidenceHigh},
		{"modelled decode", slow, PhaseDecode, BasisModelled, ConfidenceHigh},
		{"modelled, with a few that are split", slices.Concat(decode, prefill), PhasePrefill, BasisModelled, ConfidenceHigh},
		{"most of it split", slices.Concat(slices.Repeat(decode, 20), truth{2000, 5000, 18}.requests("m", 60, 1)), PhaseDecode, BasisMeasured, ConfidenceHigh},
		{"the model explains little", scattered, PhaseDecode, BasisModelled, ConfidenceLow},
		{"too few for a model", slices.Concat(decode, prefill[:49]), PhaseDecode, BasisMeasured, ConfidenceLow},
		{"the model covers too little", slices.Concat(slices.Repeat([]*record.Request{line(-1, 600_000, 600)}, 100), slow), PhaseDecode, BasisModelled, ConfidenceLow},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := report(DefaultOptions(), c.requests...).Overall.Verdict
			if v.Phase != c.phase || v.Basis != c.basis || v.Confidence != c.confidence {
				t.Errorf("%+v", v)
			}
			if said := strings.Contains(v.Headline, "modelled"); said != (c.basis == BasisModelled) {
				t.Errorf("headline of a %s verdict: %s", c.basis, v.Headline)
			}
		})
	}
}

// Whatever a log claims, nothing panics and every figure can be written.
func TestModelsOfAnything(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		odd := func() int64 { return []int64{-1, 0, 1, 2, 500, math.MaxInt64, 1e15, r.Int64N(1000)}[r.IntN(8)] }
		at := func() time.Time { return time.Unix(odd()%1e11, 0) }
		c := NewCollector(DefaultOptions())
		for i := range 60 + r.IntN(60) {
			q := &record.Request{Pos: record.Pos{File: "a", Line: int64(i)}, Start: at(), End: at(), FirstVisible: r.IntN(2) == 0,
				TTFT: time.Duration(odd()), Quality: record.Quality(r.IntN(5)), Total: time.Duration(odd()),
				Input: record.Count(odd()), Cached: record.Count(odd()), Output: record.Count(odd()), Reasoning: record.Count(odd())}
			if r.IntN(4) > 0 { // mostly good enough for a model
				q.Total, q.Status = time.Duration(1e6+r.Int64N(1e15)), record.OK
				q.Input, q.Output, q.Cached = record.Count(r.Int64()), record.Count(r.Int64N(1e6)), record.Tokens{}
			}
			c.Add(q)
		}
		if _, err := json.Marshal(c.Report(Tool{}, Inputs{})); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
