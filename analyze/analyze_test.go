package analyze

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	moremath "github.com/aclements/go-moremath/stats"
	"github.com/montanaflynn/stats"

	"codexlag/parse/record"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// line is a request as a request line tells it; a negative figure is unknown.
func line(ttft, total float64, tokens int64) *record.Request {
	r := &record.Request{Format: record.FormatRequest, Output: record.Count(tokens)}
	if ttft >= 0 {
		r.TTFT, r.Quality = time.Duration(ttft*1000)*time.Microsecond, record.Measured
	}
	if total >= 0 {
		r.Total = time.Duration(total*1000) * time.Microsecond
	}
	return r
}

func report(o Options, records ...*record.Request) *Report {
	c := NewCollector(o)
	for _, r := range records {
		c.Add(r)
	}
	return c.Report(Tool{}, Inputs{})
}

// The worked values of the definitions.
func TestWorkedValues(t *testing.T) {
	o := DefaultOptions()
	long, short := line(2840, 3120, 3), line(320, 48200, 2180)
	q := NewRequest(long, &o)
	near(t, "decode", *q.Decode, 280)
	near(t, "tps", math.Round(*q.TPS*1000)/1000, 10.714)
	near(t, "tpot", *q.TPOT, 140)
	near(t, "share", math.Round(*q.PrefillShare*1e4)/1e4, 0.9103)
	near(t, "relative error", math.Round(*q.TPSError*100)/100, 0.34)
	if *q.Phase != "prefill" || !slices.Equal(q.Flags, []Flag{FewTokens, ShortDecode}) {
		t.Errorf("phase %s, flags %v", *q.Phase, q.Flags)
	}
	q = NewRequest(short, &o)
	near(t, "decode", *q.Decode, 47880)
	near(t, "tps", math.Round(*q.TPS*1000)/1000, 45.53)
	near(t, "tpot", math.Round(*q.TPOT*1000)/1000, 21.973)
	near(t, "share", math.Round(*q.PrefillShare*1e4)/1e4, 0.0066)
	if *q.Phase != "decode" || len(q.Flags) != 0 {
		t.Errorf("phase %s, flags %v", *q.Phase, q.Flags)
	}

	g := report(o, long, short).Overall
	near(t, "ttft p50", g.TTFT.At(50).Value, 1580)
	near(t, "ttft p90", g.TTFT.At(90).Value, 2588)
	near(t, "all TPS p50", math.Round(g.TPS.All.At(50).Value*1000)/1000, 28.122)
	near(t, "clean TPS p50", math.Round(g.TPS.Clean.At(50).Value*1000)/1000, 45.53)
	near(t, "pooled TPS", math.Round(*g.TPS.Pooled*1000)/1000, 45.328)
	near(t, "prefill share", math.Round(*g.Time.PrefillShare*1e4)/1e4, 0.0616)
	if g.TPS.Clean.N != 1 || g.Verdict.Phase != PhaseDecode || g.Verdict.Confidence != ConfidenceLow || g.Verdict.Tail != nil {
		t.Errorf("clean n=%d, verdict %+v", g.TPS.Clean.N, g.Verdict)
	}
}

func TestFlags(t *testing.T) {
	with := func(r *record.Request, f func(*record.Request)) *record.Request { f(r); return r }
	for _, c := range []struct {
		name  string
		r     *record.Request
		flags string
		tps   bool
	}{
		{"clean", line(100, 10100, 1000), "", true},
		{"499 tokens", line(100, 10100, 499), "few_tokens", true},
		{"decode of 499 ms", line(100, 599, 500), "short_decode", true},
		{"decode of 500 ms", line(100, 600, 500), "", true},
		{"2001 tokens/s", line(0, 1000, 2001), "burst", true},
		{"2000 tokens/s", line(0, 1000, 2000), "", true},
		{"all at once", line(1000, 1000, 700), "burst", false},
		{"two tokens at once", line(1000, 1000, 2), "few_tokens burst", false},
		{"one token at once", line(1000, 1000, 1), "few_tokens", false},
		{"one token", line(100, 1000, 1), "few_tokens", true},
		{"no first token", line(-1, 1000, 700), "no_ttft", false},
		{"no total", line(100, -1, 700), "no_total", false},
		{"no tokens", line(100, 1000, -1), "no_tokens", false},
		{"no token generated", line(100, 1000, 0), "few_tokens", false},
		{"first token after the end", line(1100, 1000, 700), "ttft_after_total", false},
		{"reported rate 6 % off", with(line(100, 10100, 1000), func(r *record.Request) { r.ReportedTPS, r.HasReportedTPS = 106, true }), "tps_mismatch", true},
		{"reported rate 4 % off", with(line(100, 10100, 1000), func(r *record.Request) { r.ReportedTPS, r.HasReportedTPS = 104, true }), "", true},
		{"reported rate off by more than rounding", with(line(0, 100_000, 100), func(r *record.Request) { r.ReportedTPS, r.HasReportedTPS = 1.11, true }), "few_tokens tps_mismatch", true},
		{"reported rate off by rounding", with(line(0, 100_000, 60), func(r *record.Request) { r.ReportedTPS, r.HasReportedTPS = 0.7, true }), "few_tokens", true},
		{"a reported rate where none can be derived", with(line(-1, 10_000, 700), func(r *record.Request) { r.ReportedTPS, r.HasReportedTPS = 70, true }), "no_ttft", false},
		{"an upper bound beyond the limit is no slow start", with(line(9000, 10_000, 700), func(r *record.Request) { r.Quality = record.Bound }), "", false},
		{"stream at the limit", line(0, 50_000, 1000), "", true},
		{"slow start", line(5001, 15001, 1000), "slow_start", true},
		{"start at the limit", line(5000, 15000, 1000), "", true},
		{"slow stream", line(100, 100_100, 1000), "slow_stream", true},
		{"a noisy rate is no slow stream", line(100, 100_100, 100), "few_tokens", true},
		{"both are slow", line(6000, 106_000, 1000), "slow_start slow_stream", true},
		{"a burst's first token is none", line(9990, 10000, 800), "short_decode burst", true},
		{"warm-up", with(line(37, -1, 0), func(r *record.Request) { r.Status = record.Warmup }), "warmup", false},
		{"failed", with(line(-1, 90, -1), func(r *record.Request) { r.Status = record.Failed }), "failed", false},
		{"aborted", with(line(100, 1000, 5), func(r *record.Request) { r.Status = record.Aborted }), "aborted", false},
		{"an upper bound is no first-token time", with(line(100, 1000, 700), func(r *record.Request) { r.Quality = record.Bound }), "", false},
		{"hidden reasoning before the first token", with(line(1000, 11000, 700), func(r *record.Request) { r.FirstVisible, r.Reasoning = true, record.Count(300) }), "few_tokens", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := DefaultOptions()
			m := derive(c.r, &o)
			var flags []string
			for _, f := range m.flags.list() {
				flags = append(flags, string(f))
			}
			if got := strings.Join(flags, " "); got != c.flags {
				t.Errorf("flags %q, want %q", got, c.flags)
			}
			if m.hasTPS != c.tps {
				t.Errorf("tps defined: %v, want %v", m.hasTPS, c.tps)
			}
		})
	}
}

func TestPhase(t *testing.T) {
	for share, want := range map[float64]string{0: PhaseDecode, 0.4: PhaseDecode, 0.401: PhaseBalanced, 0.599: PhaseBalanced, 0.6: PhasePrefill, 1: PhasePrefill} {
		if got := phase(share); got != want {
			t.Errorf("a share of %v: %s, want %s", share, got, want)
		}
	}
}

// Hidden reasoning is subtracted where it is known, comes before the first
// token, and is part of the output.
func TestDecodeTokens(t *testing.T) {
	unknown := record.Tokens{}
	for _, c := range []struct {
		output, reasoning record.Tokens
		visible           bool
		want              record.Tokens
	}{
		{record.Count(700), record.Count(300), true, record.Count(400)},
		{record.Count(700), record.Count(300), false, record.Count(700)},
		{record.Count(700), record.Count(700), true, record.Count(0)},
		{record.Count(700), record.Count(701), true, record.Count(700)},
		{record.Count(700), unknown, true, record.Count(700)},
		{unknown, record.Count(0), true, unknown},
	} {
		if got := decodeTokens(&record.Request{Output: c.output, Reasoning: c.reasoning, FirstVisible: c.visible}); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// What a flag keeps out of which distribution.
func TestWhatCounts(t *testing.T) {
	failed := line(100, 1000, 700)
	failed.Status = record.Failed
	warm := line(37, 40, 0)
	warm.Status = record.Warmup
	bound := line(100, 1000, 700)
	bound.Quality = record.Bound
	g := report(DefaultOptions(), line(100, 10100, 1000), line(1000, 1000, 700), line(900, 800, 40), failed, warm, bound, line(50, 1050, 100)).Overall
	for _, c := range []struct {
		name string
		d    *Dist
		n    int
	}{{"ttft", g.TTFT, 2}, {"total", g.Total, 4}, {"decode", g.Decode, 2}, {"clean", g.TPS.Clean, 1}, {"all", g.TPS.All, 2}, {"tpot", g.TPOT, 1}, {"output", g.OutputTokens, 5}} {
		if c.d.N != c.n {
			t.Errorf("%s: n = %d, want %d", c.name, c.d.N, c.n)
		}
	}
	if g.Requests != 7 || g.Failed != 1 || g.Warmup != 1 || g.Time.Requests != 2 || g.SLO.Met+g.SLO.Missed != 6 || g.SLO.Met != 4 { // the bound of 100 ms proves that it kept the limit
		t.Errorf("%+v", g)
	}
	near(t, "unsplit", g.Time.Unsplit, 2000)
}

// A request whose TTFT is not known well enough misses the limits, and is told
// apart from those that went beyond.
func TestLimitsNotKnown(t *testing.T) {
	bound := func(ttft float64) *record.Request {
		r := line(ttft, 20_000, 700)
		r.Quality = record.Bound
		return r
	}
	failed := line(-1, 1000, 700)
	failed.Status = record.Failed
	for _, c := range []struct {
		name string
		r    *record.Request
		want SLO
	}{
		{"within", line(5000, 6000, 700), SLO{Met: 1, Share: num(1)}},
		{"beyond", line(5001, 6000, 700), SLO{Missed: 1, SlowStart: 1, Share: num(0)}},
		{"slow stream", line(5000, 105_000, 700), SLO{Missed: 1, SlowStream: 1, Share: num(0)}},
		{"both slow", line(5001, 105_000, 700), SLO{Missed: 1, SlowStart: 1, SlowStream: 1, Both: 1, Share: num(0)}},
		{"in one piece, beyond", line(6000, 6000, 700), SLO{Missed: 1, LateBursts: 1, Share: num(0)}},
		{"in one piece, within", line(5000, 5000, 700), SLO{Met: 1, Share: num(1)}},
		{"failed", failed, SLO{Missed: 1, Share: num(0)}},
		{"no TTFT", line(-1, 6000, 700), SLO{Missed: 1, Unknown: 1, Share: num(0)}},
		{"TTFT after the end", line(900, 800, 700), SLO{Missed: 1, Unknown: 1, Share: num(0)}},
		{"bound within", bound(5000), SLO{Met: 1, Share: num(1)}},
		{"bound beyond", bound(5001), SLO{Missed: 1, Unknown: 1, Share: num(0)}},
		{"TTFT alone", line(100, -1, -1), SLO{Met: 1, Share: num(1)}},
	} {
		if got := report(DefaultOptions(), c.r).Overall.SLO; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestUndefinedIsAbsent(t *testing.T) {
	b, err := json.Marshal(report(DefaultOptions(), line(-1, -1, 5)).Overall)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ttft_ms":null`, `"tps":{"clean":null,"all":null,"pooled":null}`, `"prefill_share":null`, `"tail":null`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
	o := DefaultOptions()
	b, _ = json.Marshal(NewRequest(line(-1, 1000, 5), &o))
	for _, want := range []string{`"ttft_ms":null`, `"decode_ms":null`, `"tps":null`, `"model":null`, `"flags":["few_tokens","no_ttft"]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
}

func TestLimitsAreKeptAtTheLimit(t *testing.T) {
	bound := line(5000, 10_000, 50)
	bound.Quality = record.Bound
	if s := report(DefaultOptions(), line(5000, 55_000, 1000), bound).Overall.SLO; s.Met != 2 || s.Missed != 0 {
		t.Errorf("at the limits: %+v", s)
	}
	late := line(5000.001, 10_000, 50)
	late.Quality = record.Bound // it may have been in time: not proved
	if s := report(DefaultOptions(), line(5000.001, 55_000, 1000), late, line(-1, 1000, 50)).Overall.SLO; s.Met != 0 || s.Missed != 3 {
		t.Errorf("beyond the limits: %+v", s)
	}
}

// A time per token needs two tokens and time between them.
func TestTimePerTokenNeedsGaps(t *testing.T) {
	o := DefaultOptions()
	o.MinTokens = 1
	for _, r := range []*record.Request{line(1000, 1000, 700), line(100, 10_000, 1), line(100, 10_000, 0), line(100, 10_000, -1), line(-1, 10_000, 700), line(1000, 900, 700)} {
		if q := NewRequest(r, &o); q.TPOT != nil {
			t.Errorf("%+v: TPOT %v", r, *q.TPOT)
		}
		if d := report(o, r).Overall.TPOT; d != nil {
			t.Errorf("%+v: %+v", r, d)
		}
	}
	near(t, "two tokens", *NewRequest(line(100, 10_000, 2), &o).TPOT, 9900)
}

// numpy.percentile([15, 20, 35, 40, 50], p), method linear.
func TestQuantilesAreType7(t *testing.T) {
	var s sample
	for _, v := range []float64{50, 15, 40, 20, 35} {
		s.add(v)
	}
	for p, want := range map[float64]float64{0: 15, 5: 16, 25: 20, 30: 23, 40: 29, 50: 35, 90: 46, 99: 49.6, 100: 50} {
		near(t, fmt.Sprint("p", p), s.quantile(p), want)
	}
}

func TestThinQuantiles(t *testing.T) {
	for p, n := range map[float64]int{50: 2, 90: 10, 95: 20, 99: 100, 99.9: 1000, 10: 2, 100: 1} {
		if got := SamplesFor(p); got != n {
			t.Errorf("p%v needs %d samples, want %d", p, got, n)
		}
	}
}

// The interval is the narrowest pair of ranks that covers 95 %, and is missing
// where no pair does.
func TestQuantileCI(t *testing.T) {
	ranks := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i + 1)
		}
		return x
	}
	quantileCI := func(x []float64, p float64) *[2]float64 { return (&sample{values: x}).quantileCI(p) }
	if quantileCI(ranks(5), 50) != nil {
		t.Error("the median of 5 has an interval")
	}
	for n, want := range map[int][2]int{1e8: {49_990_200, 50_009_800}, 1e4: {4_902, 5_098}} { // n/2 ± 1.96·√n/2, to a rank or two
		l, u, ok := quantileOrders(n, 50)
		if !ok || l+u != n+1 && l+u != n || max(l-want[0], want[0]-l) > 2 || max(u-want[1], want[1]-u) > 2 {
			t.Errorf("the median of %d: %d..%d, want %v", n, l, u, want)
		}
	}
	for _, p := range []float64{1e-9, 100 - 1e-9, 0, 100} {
		if l, u, ok := quantileOrders(1e9, p); ok {
			t.Errorf("p%v has an interval %d..%d", p, l, u)
		}
	}
	if ci := quantileCI(ranks(6), 50); ci == nil || *ci != [2]float64{1, 6} {
		t.Errorf("the median of 6: %v, want 1..6", ci)
	}
	for _, p := range []float64{10, 50, 90, 95, 99} {
		for _, n := range []int{7, 20, 29, 31, 64, 100} {
			b := moremath.BinomialDist{N: n, P: p / 100}
			cover := func(l, u int) (c float64) {
				for k := l; k < u; k++ {
					c += b.PMF(float64(k))
				}
				return c
			}
			width := 0 // of the narrowest pair, by trying all
			for w := 1; w < n && width == 0; w++ {
				for l := 1; l+w <= n; l++ {
					if cover(l, l+w) >= 0.95 {
						width = w
						break
					}
				}
			}
			ci := quantileCI(ranks(n), p)
			if ci == nil {
				if width != 0 {
					t.Errorf("p%v n=%d: none, want width %d", p, n, width)
				}
				continue
			}
			l, u := int(ci[0]), int(ci[1])
			if cover(l, u) < 0.95 || u-l != width {
				t.Errorf("p%v n=%d: %d..%d covers %v, narrowest width is %d", p, n, l, u, cover(l, u), width)
			}
		}
	}
}

func TestTailPartsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		cause string
		slow  func() *record.Request
	}{
		{CauseSlowStart, func() *record.Request { return line(20_000+1000*r.Float64(), 32_000, 600) }},
		{CauseLongOutput, func() *record.Request { return line(500, 60_500, 3000) }},
		{CauseSlowStream, func() *record.Request { return line(500, 60_500, 600) }},
	} {
		c1 := NewCollector(DefaultOptions())
		for i := range 100 {
			if i%10 == 0 {
				c1.Add(c.slow())
				continue
			}
			c1.Add(line(400+200*r.Float64(), 12_500+500*r.Float64(), 550+r.Int64N(100)))
		}
		tail := c1.Report(Tool{}, Inputs{}).Overall.Verdict.Tail
		if tail == nil || tail.Cause != c.cause || tail.Requests != 10 {
			t.Fatalf("%s: %+v", c.cause, tail)
		}
		near(t, c.cause+": parts", tail.TTFT+tail.Length+tail.Speed, tail.Delta)
	}
	if rep := report(DefaultOptions(), slices.Repeat([]*record.Request{line(100, 1000, 50)}, 30)...); rep.Overall.Verdict.Tail != nil {
		t.Error("equal requests have a tail")
	}
}

func TestVerdict(t *testing.T) {
	repeat := func(n int, r *record.Request) []*record.Request { return slices.Repeat([]*record.Request{r}, n) }
	estimated := line(9000, 10_000, 600)
	estimated.Quality = record.Estimated
	derived := line(9000, 10_000, 600)
	derived.Quality = record.Derived
	for _, c := range []struct {
		name                       string
		requests                   []*record.Request
		phase, confidence, contain string
	}{
		{"nothing", nil, PhaseNone, ConfidenceNone, "nothing can be said"},
		{"no first token anywhere", repeat(12, line(-1, 1000, 600)), PhaseNone, ConfidenceNone, "RUST_LOG"},
		{"prefill", repeat(12, line(9000, 10_000, 600)), PhasePrefill, ConfidenceHigh, "Prefill dominates: 90.0 %"},
		{"decode", repeat(12, line(1000, 21_000, 600)), PhaseDecode, ConfidenceHigh, "that is above the limit of 20 tok/s"},
		{"slow decode", repeat(12, line(1000, 101_000, 600)), PhaseDecode, ConfidenceHigh, "the stream is slow"},
		{"balanced", repeat(12, line(5000, 10_000, 600)), PhaseBalanced, ConfidenceHigh, "share the time"},
		{"few", repeat(9, line(9000, 10_000, 600)), PhasePrefill, ConfidenceLow, "Prefill"},
		{"mostly estimated", append(repeat(12, estimated), repeat(11, line(9000, 10_000, 600))...), PhasePrefill, ConfidenceLow, "Prefill"},
		{"half estimated", append(repeat(12, estimated), repeat(12, line(9000, 10_000, 600))...), PhasePrefill, ConfidenceHigh, "Prefill"},
		{"measured, derived and estimated alike", slices.Concat(repeat(8, estimated), repeat(8, derived), repeat(8, line(9000, 10_000, 600))), PhasePrefill, ConfidenceHigh, "Prefill"},
		{"just enough", repeat(10, line(9000, 10_000, 600)), PhasePrefill, ConfidenceHigh, "Prefill"},
		{"half unsplit", append(repeat(12, line(9000, 10_000, 600)), repeat(12, line(-1, 10_000, 600))...), PhasePrefill, ConfidenceHigh, "Prefill"},
		{"mostly unsplit", append(repeat(12, line(9000, 10_000, 600)), repeat(13, line(-1, 10_000, 600))...), PhasePrefill, ConfidenceLow, "Prefill"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := report(DefaultOptions(), c.requests...).Overall.Verdict
			if v.Phase != c.phase || v.Confidence != c.confidence || !strings.Contains(strings.ToLower(v.Headline), strings.ToLower(c.contain)) {
				t.Errorf("got %+v", v)
			}
			if (v.Confidence == ConfidenceLow) != (len(v.Doubts) > 0) {
				t.Errorf("confidence %s with doubts %q", v.Confidence, v.Doubts)
			}
		})
	}
}

func TestTurnParts(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }
	known, unknown := line(1000, 3000, 60), line(-1, 4000, 60)
	turn := &record.Turn{Duration: 20 * time.Second, Requests: []*record.Request{known, unknown},
		Tools: []record.Interval{{Start: at(1), End: at(4)}, {Start: at(2), End: at(3)}, {Start: at(3.5), End: at(6)}, {Start: at(9), End: at(8)}}}
	c := NewCollector(DefaultOptions())
	c.Add(turn)
	c.Add(&record.Turn{Duration: time.Second, Requests: []*record.Request{unknown}}) // parts beyond the duration
	c.Add(&record.Turn{Status: record.Aborted})
	got := c.Report(Tool{}, Inputs{}).Overall.Turns
	if got.Count != 3 || got.Aborted != 1 || got.Duration.N != 2 {
		t.Errorf("%+v", got)
	}
	for _, p := range []struct {
		name      string
		got, want float64
	}{{"prefill", got.Prefill, 1000}, {"decode", got.Decode, 2000}, {"model", got.Model, 8000}, {"tool", got.Tool, 5000}, {"other", got.Other, 8000}} {
		near(t, p.name, p.got, p.want)
	}
}

// What was waited for in vain is told apart: in turns as a part of the parts,
// and of all requests beside them.
func TestFailedTime(t *testing.T) {
	broken := func(s record.Status, r *record.Request) *record.Request {
		r.Status = s
		return r
	}
	cut, refused := broken(record.Failed, line(1000, 3000, 60)), broken(record.Aborted, line(-1, 4000, -1))
	untold, contradictory := broken(record.Failed, line(-1, -1, -1)), broken(record.Failed, line(900, 800, 60))
	all := []*record.Request{cut, refused, untold, contradictory, line(1000, 21_000, 1000)}
	parts := []*Collector{NewCollector(DefaultOptions()), NewCollector(DefaultOptions())}
	for i, r := range all {
		parts[i%2].Add(r)
	}
	parts[0].Add(&record.Turn{Duration: 40 * time.Second, Requests: all})
	parts[1].Add(&record.Turn{Duration: 40 * time.Second, Requests: []*record.Request{refused}})
	parts[1].Add(&record.Turn{Requests: all}) // of unknown length
	parts[0].Merge(parts[1])
	g := parts[0].Report(Tool{}, Inputs{}).Overall
	if g.Time.FailedRequests != 2 {
		t.Errorf("%d failed requests tell their time", g.Time.FailedRequests)
	}
	for _, p := range []struct {
		name      string
		got, want float64
	}{{"requests", g.Time.Failed, 7000}, {"split", g.Time.Total, 21_000}, {"unsplit", g.Time.Unsplit, 0},
		{"prefill", g.Turns.Prefill, 2000}, {"failed prefill", g.Turns.FailedPrefill, 1000}, {"failed decode", g.Turns.FailedDecode, 2000},
		{"model", g.Turns.Model, 8800}, {"failed model", g.Turns.FailedModel, 8800}} {
		near(t, p.name, p.got, p.want)
	}
}

// Turns are counted by how they ended, merged or not.
func TestTurnCounts(t *testing.T) {
	turn := func(s record.Status, ttft time.Duration) *record.Turn {
		return &record.Turn{Status: s, Duration: 10 * time.Second, TTFT: ttft, HasTTFT: ttft > 0}
	}
	l := []*record.Turn{turn(record.OK, time.Second), turn(record.Failed, 0), turn(record.Failed, 3*time.Second), turn(record.Aborted, 0),
		turn(record.Unfinished, 0), turn(record.Unfinished, 0), turn(record.Unfinished, 0)}
	for parts := 1; parts <= 3; parts++ {
		collectors := make([]*Collector, parts)
		for i := range collectors {
			collectors[i] = NewCollector(DefaultOptions())
		}
		for i, turn := range l {
			collectors[i%parts].Add(turn)
		}
		for _, c := range collectors[1:] {
			collectors[0].Merge(c)
		}
		got := collectors[0].Report(Tool{}, Inputs{}).Overall.Turns
		if got.Count != 7 || got.Failed != 2 || got.Aborted != 1 || got.Unfinished != 3 || got.Duration.N != 7 {
			t.Errorf("%d parts: %+v", parts, got)
		}
		if d := got.TTFT; d == nil || d.N != 2 || d.Min != 1000 || d.Max != 3000 {
			t.Errorf("%d parts: TTFT of turns %+v", parts, d)
		}
	}
}

// Any split of the records, in any order, gives the same report.
func TestMergeAndOrderDoNotMatter(t *testing.T) {
	o := DefaultOptions()
	o.By = []Dimension{"model", "hour", "output-size"}
	o.Top = 5
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		var records []record.Record
		for i := range 500 {
			tokens := r.Int64N(900)
			q := line(float64(r.IntN(8000))/10, 500+float64(r.IntN(10_000))/3+20*float64(tokens), tokens)
			q.Pos = record.Pos{File: "a.log", Line: int64(i)}
			q.Model = []string{"", "a", "b", "c"}[r.IntN(4)]
			q.End = time.Unix(int64(r.IntN(1000)), 0) // many at once: ties and requests in flight together
			q.Status = []record.Status{record.OK, record.OK, record.OK, record.Failed, record.Warmup}[r.IntN(5)]
			q.Quality = record.Quality(r.IntN(5))
			q.Start = q.End.Add(-q.Total)
			q.Input = record.Count(r.Int64N(50_000) - 1000)
			if q.Cached = record.Count(0); r.IntN(4) > 0 {
				q.Cached = record.Count(r.Int64N(q.Input.N + 1))
			}
			q.Reasoning, q.FirstVisible = record.Count(r.Int64N(q.Output.N+1)), r.IntN(2) == 0
			records = append(records, q)
			if i%10 == 0 {
				records = append(records, &record.Turn{Pos: q.Pos, Model: q.Model, Start: q.Start, Duration: time.Duration(r.IntN(1e6)) * time.Millisecond, Requests: []*record.Request{q}})
				records = append(records, &record.Dropped{Reason: record.BadJSON})
			}
		}
		want := ""
		for range 4 {
			r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			parts := make([]*Collector, 1+r.IntN(5))
			for i := range parts {
				parts[i] = NewCollector(o)
			}
			for _, rec := range records {
				parts[r.IntN(len(parts))].Add(rec)
			}
			whole := parts[0]
			for _, p := range parts[1:] {
				whole.Merge(p)
			}
			rep := whole.Report(Tool{}, Inputs{})
			if g := rep.Overall; len(g.RequestModels) == 0 || g.PrefillModel == nil || g.Concurrency == nil || len(g.Concurrency.Bands) < 2 || len(g.TTFTByCache) < 4 || g.Reasoning == nil {
				t.Fatalf("seed %d: a figure that should be compared is missing: %+v", seed, g)
			}
			b, err := json.Marshal([]any{rep, whole.Charts(rep)})
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
}

func TestSumsBeyond64Bits(t *testing.T) {
	var s sum
	for range 40 {
		s.add(math.MaxInt64 / 2)
	}
	near(t, "sum", s.float(), 40*float64(math.MaxInt64/2))
}

func TestFilter(t *testing.T) {
	r := line(1, 2, 3)
	r.Model, r.Session, r.End = "gpt-5.4-mini", "s1", time.Date(2026, 9, 10, 23, 30, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones on this machine")
	}
	for _, c := range []struct {
		where string
		want  bool
	}{{"model=gpt-5.4-mini", true}, {"model=gpt-5.4", false}, {"model=gpt-5.4,gpt-5.4-mini", true}, {"model=gpt-*", true}, {"model=", false}, {"effort=", true}, {"day=2026-09-11", true}} {
		cond, err := ParseCondition(c.where)
		if err != nil {
			t.Fatal(err)
		}
		f := Filter{Where: []Condition{cond}, Location: berlin}
		if f.Keeps(r) != c.want {
			t.Errorf("%s keeps: %v", c.where, !c.want)
		}
	}
	for _, c := range []struct {
		f    Filter
		want bool
	}{{Filter{Since: r.End}, true}, {Filter{Until: r.End}, false}, {Filter{Since: r.End.Add(1)}, false}, {Filter{Until: r.End.Add(1)}, true}} {
		if c.f.Keeps(r) != c.want {
			t.Errorf("%+v keeps: %v", c.f, !c.want)
		}
	}
	if (&Filter{Since: r.End}).Keeps(line(1, 2, 3)) {
		t.Error("a request without a time passes --since")
	}
	for _, bad := range []string{"model", "colour=red", "model=["} {
		if _, err := ParseCondition(bad); err == nil {
			t.Errorf("%q is taken for a condition", bad)
		}
	}
}

// A population beyond its bound is a sample that does not depend on the order,
// and that merging arrives at as well.
func TestPopulationIsBounded(t *testing.T) {
	o := DefaultOptions()
	n := maxRows + maxRows/2
	add := func(p *population, i int) {
		r := line(100, 1000, 50)
		r.Pos = record.Pos{File: "a.log", Line: int64(i)}
		m := derive(r, &o)
		p.add(r, &m)
	}
	keys := func(p *population) []uint64 {
		var k []uint64
		for _, r := range p.all() {
			k = append(k, r.key)
		}
		slices.Sort(k)
		return k
	}
	var up, down, odd, even population
	for i := range n {
		add(&up, i)
		add(&down, n-1-i)
		if i%2 == 0 {
			add(&even, i)
		} else {
			add(&odd, i)
		}
	}
	odd.merge(&even)
	want := keys(&up)
	if share, yes := up.sampled(); !yes || share != 0.5 || len(want) > maxRows || len(want) < n/2-n/50 {
		t.Errorf("%d rows of %d, share %v", len(want), n, share)
	}
	if !slices.Equal(want, keys(&down)) || !slices.Equal(want, keys(&odd)) {
		t.Error("the sample depends on the order")
	}
}

// A table of counts gives what the list of values gives, to the last digit, and
// merging in whatever form arrives there.
func TestTablesEqualLists(t *testing.T) {
	ps := []float64{1, 50, 90, 95, 99, 99.9, 100}
	for name, value := range map[string]func(*rand.Rand) float64{
		"whole ms":          func(r *rand.Rand) float64 { return float64(r.IntN(40_000)) },
		"some beyond":       func(r *rand.Rand) float64 { return float64(r.IntN(2 * tableSize)) },
		"some with decimal": func(r *rand.Rand) float64 { return float64(r.IntN(100_000)) / 2 },
		"mostly decimals":   func(r *rand.Rand) float64 { return r.ExpFloat64() * 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(4, 4))
			var whole, a, b sample
			var list []float64
			for i := range 3 * tableFrom {
				v := value(r)
				list = append(list, v)
				whole.add(v)
				if i%3 == 0 {
					a.add(v)
				} else {
					b.add(v)
				}
			}
			a.merge(&b)
			got, _ := json.Marshal(whole.dist(ps))
			if merged, _ := json.Marshal(a.dist(ps)); string(merged) != string(got) {
				t.Errorf("merged:\n%s\nwhole:\n%s", merged, got)
			}
			slices.Sort(list)
			if !slices.Equal(list, whole.ordered()) {
				t.Error("the ordered values differ")
			}
			d := whole.dist(ps)
			near(t, "min", d.Min, list[0])
			near(t, "max", d.Max, list[len(list)-1])
			for _, p := range ps {
				want, _ := stats.Percentile(list, p)
				if got := d.At(p).Value; got != want {
					t.Errorf("p%v = %v, want %v", p, got, want)
				}
			}
			mean, _ := stats.Mean(list)
			sd, _ := stats.StandardDeviationSample(list)
			near(t, "mean", d.Mean, mean)
			near(t, "stddev", *d.StdDev, sd)
		})
	}
}

// What a table has no place for stays what it is.
func TestBeyondTheTable(t *testing.T) {
	for name, add := range map[string]func(s *sample, n int64){
		"add":      func(s *sample, n int64) { s.add(float64(n)) },
		"addTime":  func(s *sample, n int64) { s.addTime(time.Duration(n) * time.Millisecond) },
		"addCount": func(s *sample, n int64) { s.addCount(n) },
	} {
		var s sample
		for range tableFrom {
			add(&s, 5)
		}
		if s.table == nil {
			t.Fatalf("%s: no table of %d values", name, s.n())
		}
		for _, n := range []int64{tableSize - 1, tableSize, tableSize + 1} {
			add(&s, n)
			if got := s.at(s.n() - 1); got != float64(n) {
				t.Errorf("%s: %d became %v", name, n, got)
			}
		}
		if s.add(7.5); s.tabled != tableFrom+1 || s.at(tableFrom) != 7.5 {
			t.Errorf("%s: %d in the table, then %v", name, s.tabled, s.at(tableFrom))
		}
	}
}

// What was looked up before more values came is looked up anew: a report that is
// written again while following.
func TestLookingUpAgain(t *testing.T) {
	var again, once sample
	add := func(v float64) { again.add(v); once.add(v) }
	for i := range tableFrom {
		add(float64(1000 + i%7))
	}
	ps := []float64{50, 90, 99}
	again.dist(ps)
	again.at(0)
	for i := range 40 {
		add(float64(i))
		again.at(again.n() / 2)
	}
	got, _ := json.Marshal(again.dist(ps))
	want, _ := json.Marshal(once.dist(ps))
	if string(got) != string(want) || again.at(0) != 0 || again.at(30) != 30 {
		t.Errorf("%s, smallest %v, want %s", got, again.at(0), want)
	}
}

func TestSortFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 100, radixFrom, 3*radixFrom + 1} {
		for name, value := range map[string]func() float64{"spread": func() float64 { return math.Exp(50 * r.NormFloat64()) }, "equal": func() float64 { return 7 },
			"few": func() float64 { return float64(r.IntN(3)) }, "negative": r.NormFloat64} {
			x := make([]float64, n)
			for i := range x {
				x[i] = value()
			}
			want := slices.Clone(x)
			slices.Sort(want)
			if sortFloats(x); !slices.Equal(x, want) {
				t.Errorf("%s values, n=%d: not sorted", name, n)
			}
		}
	}
}

// Beyond the limit, what is told apart depends on the keys, not on their order
// nor on merging, and no request is lost.
func TestKeysAreBounded(t *testing.T) {
	o := DefaultOptions()
	o.By = []Dimension{"model"}
	n := 3 * maxKeys
	add := func(c *Collector, i int) {
		r := line(100, 1000, 50)
		r.Model, r.Line = fmt.Sprint("m", i), int64(i)
		c.Add(r)
	}
	up, down, odd, even := NewCollector(o), NewCollector(o), NewCollector(o), NewCollector(o)
	for i := range n {
		add(up, i)
		add(down, n-1-i)
		if i%2 == 0 {
			add(even, i)
		} else {
			add(odd, i)
		}
	}
	odd.Merge(even)
	counts := func(c *Collector) map[string]int {
		m := map[string]int{}
		for key, g := range c.groups["model"].groups {
			m[key] = g.requests
		}
		return m
	}
	want := counts(up)
	sum := 0
	for _, k := range want {
		sum += k
	}
	if len(want) > maxKeys+1 || len(want) < maxKeys/3 || sum != n || want[OtherKey] < n/2 {
		t.Errorf("%d groups with %d requests, %d of them shared", len(want), sum, want[OtherKey])
	}
	if !maps.Equal(want, counts(down)) || !maps.Equal(want, counts(odd)) {
		t.Error("the groups depend on the order")
	}
}

// Readers use a request's memory again: what is kept must not point into it.
func TestRequestsAreCopied(t *testing.T) {
	r := line(100, 300, 5)
	r.Status, r.Error.HTTPStatus = record.Failed, 429
	o := DefaultOptions()
	q := NewRequest(r, &o)
	want, _ := json.Marshal(q)
	*r = record.Request{Error: record.Error{HTTPStatus: 500}}
	if got, _ := json.Marshal(q); string(got) != string(want) {
		t.Errorf("%s, was %s", got, want)
	}
}

// The numbers of the definitions: other tests name the constants, and would
// follow a slip.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"prefill from", prefillFrom, 0.6}, {"decode up to", decodeUpTo, 0.4},
		{"tokens of a clean rate", DefaultMinTokens, 500}, {"shortest decode, ms", milliseconds(minDecode), 500}, {"fastest stream", maxTPS, 2000},
		{"mismatch, share", tpsMismatchShare, 0.05}, {"mismatch, rate", tpsMismatchRate, 0.1},
		{"requests of a tail", minTail, 20}, {"of a sure verdict", minConfident, 10}, {"of a clean headline", minClean, 6},
		{"of a request model", minRequestModel, 50}, {"of a prefill model", minPrefillModel, 20}, {"sure model", minExplained, 0.7},
		{"Huber's constant", huber, 1.345}, {"MAD to sigma", madToSigma, 1.4826},
		{"confidence of an interval", confidence, 0.95}, {"level of a test", Alpha, 0.05}, {"samples of a test", MinTest, 4},
		{"pairs of a correlation", minCorrelation, 10}, {"values of a slow hour", minMedian, 10}, {"sides of a change", minSide, 20}, {"slow hour", slowHour, 1.5},
		{"sketch error", SketchError, 1.0 / 2048},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
