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

func collect(o Options, requests ...*record.Request) *Collector {
	c := NewCollector(o)
	for _, r := range requests {
		c.Add(r)
	}
	return c
}

func compared(before, after []*record.Request) *Comparison {
	o := DefaultOptions()
	o.Mix = true
	return Compare(Tool{}, Set{Collected: collect(o, before...)}, Set{Collected: collect(o, after...)}, 0.05)
}

// lines are n requests with TTFTs from a lognormal distribution around median
// ms, all with a decode of 20 s and 1,000 tokens.
func lines(r *rand.Rand, n int, median, sigma float64) []*record.Request {
	l := make([]*record.Request, n)
	for i := range l {
		ttft := median * math.Exp(sigma*r.NormFloat64())
		l[i] = line(ttft, ttft+20_000, 1000)
	}
	return l
}

// The p of tiny samples can be counted by hand: of the C(8,4) = 70 ways to
// deal eight ranks to two sides, two separate them fully.
func TestMannWhitney(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		p    float64 // NaN: no test
		sign float64
	}{
		{"4+4 apart", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70, 1},
		{"4+4 apart, the other way", []float64{5, 6, 7, 8}, []float64{1, 2, 3, 4}, 2.0 / 70, -1},
		{"4+4, one pair crossed", []float64{1, 2, 3, 5}, []float64{4, 6, 7, 8}, 4.0 / 70, 1},
		{"5+5 apart", []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252, 1},
		{"4+4 woven", []float64{1, 4, 5, 8}, []float64{2, 3, 6, 7}, 1, 0},
		// Ranks 1.5 1.5 3.5 3.5 | 5.5 5.5 7.5 7.5: still two of 70 deals.
		{"4+4 apart with ties", []float64{1, 1, 2, 2}, []float64{3, 3, 4, 4}, 2.0 / 70, 1},
		{"all the same", []float64{3, 3, 3, 3}, []float64{3, 3, 3, 3, 3}, 1, 0},
		{"3+4", []float64{1, 2, 3}, []float64{4, 5, 6, 7}, math.NaN(), 0},
		{"4+3", []float64{1, 2, 3, 4}, []float64{5, 6, 7}, math.NaN(), 0},
		{"none", nil, nil, math.NaN(), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, after := mannWhitney(c.a, c.b)
			if p == nil {
				if !math.IsNaN(c.p) {
					t.Fatal("no test")
				}
				return
			}
			if math.IsNaN(c.p) {
				t.Fatalf("p = %v with too few samples", *p)
			}
			near(t, "p", *p, c.p)
			if (after > 0) != (c.sign > 0) || (after < 0) != (c.sign < 0) {
				t.Errorf("direction %v, want %v", after, c.sign)
			}
		})
	}
}

// The normal approximation for large samples, by its formula: n = 60+60, b
// shifted by 20 places. Pairs with a > b: 40·39/2, ties 40, so U = 800; the 40
// tied pairs of ranks correct σ by Σ(t³−t) = 240.
func TestMannWhitneyOfManySamples(t *testing.T) {
	var a, b []float64
	for i := range 60 {
		a, b = append(a, float64(i)), append(b, float64(i+20))
	}
	n := 120.0
	sigma := math.Sqrt(3600.0 / 12 * (n + 1 - 240/(n*(n-1))))
	z := (1800 - 800 - 0.5) / sigma
	p, after := mannWhitney(a, b)
	if p == nil || after != 1000 {
		t.Fatalf("p %v, direction %v", p, after)
	}
	if want := math.Erfc(z / math.Sqrt2); math.Abs(*p-want) > 1e-12 {
		t.Errorf("p = %v, want %v", *p, want)
	}
}

// Millions of equal values do not overflow: 4 of 3,000,000 differ, and
// p = 0.04550023 by the formula in R.
func TestMannWhitneyOfMillionsOfTies(t *testing.T) {
	a, b := make([]float64, 3_000_000), make([]float64, 3_000_000)
	for i := range 4 {
		b[len(b)-1-i] = 1
	}
	p, after := mannWhitney(a, b)
	within(t, "p", *p, 0.04550023, 1e-6)
	near(t, "direction", after, 6_000_000)
}

// A difference that is beyond doubt has a p that is small, not 0.
func TestMannWhitneyOfLittleDoubt(t *testing.T) {
	a, b := make([]float64, 100), make([]float64, 100)
	for i := range a {
		a[i], b[i] = float64(i), float64(200+i)
	}
	p, after := mannWhitney(a, b)
	near(t, "direction", after, 5000)
	within(t, "p", *p, 2.562144e-34, 1e-6) // wilcox.test(0:99, 200:299, exact = FALSE)
	if p, after := mannWhitney(a, a); *p != 1 || after != 0 {
		t.Errorf("of one sample with itself p = %v, direction %v", *p, after)
	}
	p, after = mannWhitney([]float64{1, 1, 1, 1, 1}, append(slices.Repeat([]float64{1}, 59), 2))
	within(t, "p of nearly one value", *p, 0.8174, 1e-4) // the same in R
	near(t, "direction", after, 2.5)
	same := make([]float64, 60)
	if p, after := mannWhitney(same, same[:7]); *p != 1 || after != 0 {
		t.Errorf("of one value everywhere p = %v, direction %v", *p, after)
	}
}

// Which side comes first decides about the sign only.
func TestMannWhitneyIsSymmetric(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a, b := make([]float64, 4+r.IntN(70)), make([]float64, 4+r.IntN(70))
		for _, s := range [][]float64{a, b} {
			for i := range s {
				s[i] = float64(r.IntN(8))
			}
			slices.Sort(s)
		}
		p, up := mannWhitney(a, b)
		q, down := mannWhitney(b, a)
		if *p != *q || up != -down || *p < 0 || *p > 1 {
			t.Fatalf("%v %v: p %v and %v, direction %v and %v", a, b, *p, *q, up, down)
		}
	}
}

// Two halves of one population differ in one of twenty cases, as a test at 5 %
// must have it.
func TestSamePopulationIsFoundSameUsually(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 1000 {
		c := compared(lines(r, 100, 1000, 0.5), lines(r, 100, 1000, 0.5))
		if c.Overall.TTFT.Significant() {
			found++
		}
	}
	if found < 30 || found > 70 {
		t.Errorf("%d of 1000 comparisons of the same differ, want about 50", found)
	}
}

func TestShiftIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 200 {
		c := compared(lines(r, 100, 1000, 0.3), lines(r, 100, 1200, 0.3))
		if c.Overall.TTFT.Verdict == Worse && strings.HasPrefix(c.Sentence, "After starts later, but ") {
			found++
		}
	}
	if found < 190 {
		t.Errorf("a shift of 20 %% was found in %d of 200 cases", found)
	}
}

func TestCompareVerdicts(t *testing.T) {
	// steps are n TTFTs from lo to hi, so that medians are known.
	steps := func(n int, lo, hi float64, decode float64, tokens int64) []*record.Request {
		var l []*record.Request
		for i := range n {
			ttft := lo + (hi-lo)*float64(i)/float64(max(1, n-1))
			l = append(l, line(ttft, ttft+decode, tokens))
		}
		return l
	}
	base := steps(40, 900, 1100, 20_000, 1000)
	for _, c := range []struct {
		name                     string
		before, after            []*record.Request
		ttft, tps, total, output string
		sentence                 string
	}{
		{"the same", base, base, Unchanged, Unchanged, Unchanged, Unchanged, "No difference could be shown: total: no difference shown (~, p=1.000); TTFT: no difference shown (~, p=1.000); decode rate: no difference shown (~, p=1.000)."},
		{"slower start", base, steps(40, 1400, 1600, 20_000, 1000), Worse, Unchanged, Small, Unchanged, "After starts later, but the total hardly changes: TTFT p50 1.00 s → 1.50 s (+50 %, p<0.001, n=40+40); total p50 21.0 s → 21.5 s (+2.4 %, p<0.001, n=40+40), a real but small change; decode rate: no difference shown (~, p=1.000)."},
		{"faster start", steps(40, 1400, 1600, 20_000, 1000), base, Better, Unchanged, Small, Unchanged, "After starts sooner, but the total hardly changes: TTFT p50 1.50 s → 1.00 s (−33 %"},
		{"slower decode", base, steps(40, 900, 1100, 40_000, 1000), Unchanged, Worse, Worse, Unchanged, "After is slower: total p50 21.0 s → 41.0 s (+95 %, p<0.001, n=40+40); decode rate p50 50.0 tok/s → 25.0 tok/s (−50 %"},
		{"faster start, slower decode", base, steps(40, 400, 500, 40_000, 1000), Better, Worse, Worse, Unchanged, "After is slower, but starts sooner: total p50 21.0 s → 40.4 s (+93 %, p<0.001, n=40+40); decode rate p50 50.0 tok/s → 25.0 tok/s (−50 %, p<0.001, n=40+40); the other way: TTFT p50 1.00 s → 450 ms (−55 %"},
		{"real but small", base, steps(40, 930, 1130, 20_000, 1000), Small, Unchanged, Small, Unchanged, "TTFT p50 1.00 s → 1.03 s (+3.0 %, p=0.049, n=40+40), a real but small change"},
		{"slower start, faster decode of equal length in all", steps(40, 900, 1100, 20_000, 1000), steps(40, 11_100, 11_300, 9_800, 1000), Worse, Better, Unchanged, Unchanged,
			"After starts later, but streams faster and no difference in the total could be shown: TTFT p50 1.00 s → 11.2 s (+1,020 %, p<0.001, n=40+40); the other way: decode rate p50 50.0 tok/s → 102 tok/s (+104 %"},
		{"faster decode, twice the total by chance", append(steps(4, 900, 1100, 20_000, 1000), steps(3, 900, 1100, 80_000, 4000)...), append(steps(3, 900, 1100, 18_000, 1000), steps(4, 900, 1100, 72_000, 4000)...),
			Unchanged, Better, Unsure, Unsure, "After streams faster, but no difference in the total could be shown: decode rate p50 50.0 tok/s → 55.6 tok/s (+11 %, p<0.001, n=7+7); total: no difference shown (~), p50 21.1 s → 72.9 s (+245 %, p=0.318, n=7+7) can be chance"},
		{"longer answers", base, steps(40, 900, 1100, 40_000, 2000), Unchanged, Unchanged, Worse, More, "The answers differ in length"},
		{"sides of unlike size", base, steps(30, 1400, 1600, 20_000, 1000), Worse, Unchanged, Small, Unchanged, "(+50 %, p<0.001, n=40+30)"},
		{"few and unsure", steps(5, 900, 1500, 20_000, 1000), steps(5, 1000, 1700, 20_000, 1000), Unsure, Noise, Unchanged, Unchanged, "TTFT: no difference shown (~), p50 1.20 s → 1.35 s (+12 %, p=0.460, n=5+5) can be chance"},
		{"too few", steps(3, 900, 1100, 20_000, 1000), base, TooFew, TooFew, TooFew, TooFew, "Not enough samples to compare (4 on each side needed): total: not enough samples (n=3+40); TTFT: not enough samples (n=3+40)"},
		{"no TTFT at all", []*record.Request{line(-1, 5000, 10)}, []*record.Request{line(-1, 5000, 10)}, TooFew, TooFew, TooFew, TooFew, "total: not enough samples (n=1+1)."},
		{"nothing", nil, nil, TooFew, TooFew, TooFew, TooFew, "Not enough samples to compare (4 on each side needed)."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compared(c.before, c.after)
			g := r.Overall
			got := []string{g.TTFT.Verdict, g.TPS.Verdict, g.Total.Verdict, g.OutputTokens.Verdict}
			if want := []string{c.ttft, c.tps, c.total, c.output}; !slices.Equal(got, want) {
				t.Errorf("verdicts %v, want %v", got, want)
			}
			if !strings.Contains(r.Sentence, c.sentence) {
				t.Errorf("sentence %q lacks %q", r.Sentence, c.sentence)
			}
			if differ := (c.output == More || c.output == Fewer) && r.Overall.Total.Verdict == Worse; differ != strings.Contains(r.Sentence, "differ in length") {
				t.Errorf("sentence %q", r.Sentence)
			}
		})
	}
}

// Medians over all models move with the mix of models, and then no model shows
// it by itself.
func TestCompareMixes(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	of := func(model string, n int, ttft, tpot float64, tokens int) []*record.Request {
		var l []*record.Request
		for range n {
			first, out := ttft*math.Exp(0.1*r.NormFloat64()), tokens+r.IntN(100)
			q := line(first, first+float64(out)*tpot*math.Exp(0.01*r.NormFloat64()), int64(out))
			q.Model = model
			l = append(l, q)
		}
		return l
	}
	add := func(parts ...[]*record.Request) []*record.Request { return slices.Concat(parts...) }
	for _, c := range []struct {
		name          string
		before, after []*record.Request
		moved         float64
		sentence      string
		doubt         string // "" for none about the mix
		verdict       string // of the TPS
		byMix         bool
	}{
		{"the mix alone", add(of("big", 30, 1000, 20, 600), of("mini", 10, 1000, 10, 600)), add(of("big", 10, 1000, 20, 600), of("mini", 30, 1000, 10, 600)), 0.5,
			"After is faster, but that can be the mix of models alone: total", "mini 25.0 % → 75.0 % of the requests. A change over all of them can be that of the mix. Compare like with like: --by model.", Better, true},
		{"a model by itself, the mix too", add(of("big", 30, 1000, 20, 600), of("mini", 10, 1000, 10, 600)), add(of("big", 20, 1000, 12, 600), of("mini", 20, 1000, 10, 600)), 0.25,
			"After is faster: total", "A change over all of them can be that of the mix. Compare", Better, false},
		{"both models slower, more of the fast one", add(of("big", 34, 1000, 20, 600), of("mini", 6, 1000, 10, 600)), add(of("big", 6, 1000, 25, 600), of("mini", 34, 1000, 12.5, 600)), 0.7,
			"After is faster, but that can be the mix of models alone", "By itself, big is slower and streams more slowly; mini is slower and streams more slowly. Compare", Better, true},
		{"longer answers of a model are no slower model", add(of("big", 30, 1000, 20, 600), of("mini", 10, 1000, 10, 600)), add(of("big", 10, 1000, 20, 600), of("mini", 30, 1000, 10, 1000)), 0.5,
			"output tokens", "can be that of the mix. Compare", Better, true},
		{"the same mix", add(of("big", 30, 1000, 20, 600), of("mini", 10, 1000, 10, 600)), add(of("big", 30, 1000, 20, 600), of("mini", 10, 1000, 10, 600)), 0, "No difference", "", Unchanged, false},
		{"nearly the same mix", of("big", 40, 1000, 20, 600), add(of("big", 37, 1000, 10, 600), of("mini", 3, 1000, 10, 600)), 0.075, "After is faster: total", "", Better, false},
		{"no model in common", of("big", 20, 1000, 20, 600), of("mini", 20, 1000, 10, 600), 1,
			"that can be the mix of models alone", "big 100 % → 0 %, mini 0 % → 100 % of the requests. No model is on both sides: what changed can be the model.", Better, true},
		{"no names", of("", 20, 1000, 20, 600), of("", 20, 1000, 10, 600), -1, "After is faster: total", "", Better, false},
		{"names on one side", of("", 20, 1000, 20, 600), of("mini", 20, 1000, 10, 600), 1, "mix of models alone", "requests without a model's name 100 % → 0 %", Better, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compared(c.before, c.after)
			if c.moved < 0 {
				if got.Mix != nil {
					t.Errorf("mix %+v", got.Mix)
				}
			} else if near(t, "moved", got.Mix.Moved, c.moved); len(got.Groups) > 0 {
				t.Errorf("groups %+v that nobody asked for", got.Groups)
			}
			if !strings.Contains(got.Sentence, c.sentence) {
				t.Errorf("sentence %q lacks %q", got.Sentence, c.sentence)
			}
			if all := strings.Join(got.Doubts, "\n"); !strings.Contains(all, c.doubt) || (c.doubt == "") == strings.Contains(all, "mix") {
				t.Errorf("doubts %q lack %q", all, c.doubt)
			}
			if told := strings.Contains(got.Sentence, ", no model by itself") || strings.Contains(got.Sentence, "the mix of models alone"); told != c.byMix {
				t.Errorf("sentence %q", got.Sentence)
			}
			if m := got.Overall.TPS; m.Verdict != c.verdict || m.ByMix != c.byMix {
				t.Errorf("TPS %s, by mix %v", m.Verdict, m.ByMix)
			}
		})
	}
}

// The mix lists the models with most requests first, and its sentence those
// that moved most.
func TestMixOfManyModels(t *testing.T) {
	var before, after []*record.Request
	add := func(model string, n, m int) {
		for i := range n + m {
			r := line(1000, 21_000, 1000)
			r.Model = model
			if i < n {
				before = append(before, r)
			} else {
				after = append(after, r)
			}
		}
	}
	add("e", 50, 50)
	add("d", 20, 10)
	add("c", 10, 25)
	add("b", 16, 11)
	add("a", 4, 4)
	c := compared(before, after)
	near(t, "moved", c.Mix.Moved, 0.15)
	var order string
	for _, m := range c.Mix.Models {
		order += m.Model
	}
	if order != "ecdba" {
		t.Errorf("models in the order %s", order)
	}
	if want := "c 10.0 % → 25.0 %, d 20.0 % → 10.0 %, b 16.0 % → 11.0 % of the requests."; !strings.Contains(c.Doubts[0], want) {
		t.Errorf("%q lacks %q", c.Doubts[0], want)
	}
	// Half as much is no other mix, and nobody is told of it.
	before, after = nil, nil
	add("a", 91, 100)
	add("b", 9, 0)
	if c := compared(before, after); c.Mix.differs() || strings.Contains(strings.Join(c.Doubts, " "), "mix") {
		t.Errorf("%+v, doubts %q", c.Mix, c.Doubts)
	}
}

// Requests that did not complete are in no figure and in no mix.
func TestMixIsOfCompletedRequests(t *testing.T) {
	var before, after []*record.Request
	for i := range 20 {
		a, b := line(1000, 21_000, 1000), line(1000, 21_000, 1000)
		a.Model, b.Model = "big", "big"
		if i >= 10 {
			b.Model, b.Status = "mini", []record.Status{record.Failed, record.Aborted, record.Warmup}[i%3]
		}
		before, after = append(before, a), append(after, b)
	}
	if c := compared(before, after); c.Mix.Moved != 0 || len(c.Mix.Models) != 1 {
		t.Errorf("mix %+v", c.Mix)
	}
}

// The clean rates are compared where both sides have six of them; else all are
// shown, and not compared.
func TestCompareRates(t *testing.T) {
	of := func(clean, noisy int) []*record.Request {
		var l []*record.Request
		for range clean {
			l = append(l, line(1000, 21_000, 1000))
		}
		for range noisy {
			l = append(l, line(1000, 3000, 20))
		}
		return l
	}
	for _, c := range []struct {
		before, after []*record.Request
		samples       string
		n             [2]int
	}{
		{of(6, 10), of(7, 10), SamplesClean, [2]int{6, 7}},
		{of(5, 10), of(40, 10), SamplesAll, [2]int{15, 50}},
		{of(40, 10), of(0, 10), SamplesAll, [2]int{50, 10}},
	} {
		r := compared(c.before, c.after)
		m := r.Overall.TPS
		if m.Samples != c.samples || m.N != c.n {
			t.Errorf("%s %v, want %s %v", m.Samples, m.N, c.samples, c.n)
		}
		if noise := c.samples == SamplesAll; noise != (m.Verdict == Noise) || noise != (m.P == nil) || noise != strings.Contains(r.Sentence, "decode rate: not compared") {
			t.Errorf("%s: verdict %s, p %v: %s", c.samples, m.Verdict, m.P, r.Sentence)
		}
	}
}

// Test and medians must agree: what is no more than chance, small, or of two
// minds is no change.
func TestJudge(t *testing.T) {
	dist := func(median float64) *Dist { return &Dist{N: 9, Quantiles: []Quantile{{P: 50, Value: median}}} }
	for _, c := range []struct {
		name                     string
		before, after, p, weight float64 // weight is the direction of the ranks
		want                     string
	}{
		{"up", 100, 120, 0.01, 1, Worse},
		{"down", 120, 100, 0.01, -1, Better},
		{"up, at the threshold", 100, 105, 0.01, 1, Worse},
		{"up, the ranks down", 100, 120, 0.01, -1, Unsure},
		{"down, the ranks up", 120, 100, 0.01, 1, Unsure},
		{"up, can be chance", 100, 120, 0.06, 1, Unsure},
		{"up, at the level", 100, 120, 0.05, 1, Unsure},
		{"a little up", 100, 104, 0.01, 1, Small},
		{"a little up, can be chance", 100, 104, 0.5, 1, Unchanged},
		{"from 0, up", 0, 3, 0.01, 1, Worse},
		{"0 on both sides", 0, 0, 0.01, 1, Small},
		{"0 on both sides, can be chance", 0, 0, 0.5, 1, Unchanged},
	} {
		m := &MetricChange{Before: dist(c.before), After: dist(c.after), P: &c.p}
		if got := (&comparer{threshold: 0.05}).judge(m, c.weight, Worse, Better); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCompareSides(t *testing.T) {
	at := func(hour int, q *record.Request) *record.Request {
		q.End = time.Date(2026, 5, 1, hour, 0, 0, 0, time.UTC)
		return q
	}
	r := compared([]*record.Request{at(3, line(100, 1000, 50)), at(1, line(6000, 9000, 50)), at(2, line(100, 1000, 50))}, []*record.Request{at(5, line(6000, 9000, 50))})
	if r.Before.Inputs.First.Hour() != 1 || r.Before.Inputs.Last.Hour() != 3 || r.After.Inputs.First.Hour() != 5 {
		t.Errorf("sides %+v and %+v", r.Before.Inputs, r.After.Inputs)
	}
	near(t, "SLO before", *r.Overall.SLO.Before, 2.0/3)
	near(t, "SLO after", *r.Overall.SLO.After, 0)
}

func TestCompareGroups(t *testing.T) {
	of := func(model string, n int) []*record.Request {
		var l []*record.Request
		for range n {
			r := line(1000, 21_000, 1000)
			r.Model = model
			l = append(l, r)
		}
		return l
	}
	o := DefaultOptions()
	o.By = []Dimension{"model"}
	c := Compare(Tool{}, Set{Name: "a", Collected: collect(o, slices.Concat(of("small", 4), of("big", 20), of("old", 3))...)},
		Set{Name: "b", Collected: collect(o, slices.Concat(of("big", 10), of("small", 3), of("new", 2), of("newer", 5))...)}, 0.05)
	if len(c.Groups) != 2 || c.Groups[0].Key != "big" || c.Groups[0].Group.Requests != [2]int{20, 10} || c.Groups[1].Key != "small" {
		t.Errorf("groups %+v", c.Groups)
	}
	if !slices.Equal(c.OnlyBefore, []KeyedCount{{"model", "old", 3}}) || !slices.Equal(c.OnlyAfter, []KeyedCount{{"model", "newer", 5}, {"model", "new", 2}}) {
		t.Errorf("only before %v, only after %v", c.OnlyBefore, c.OnlyAfter)
	}
	if c.Tests != 10 { // five metrics, overall and of big; small has too few
		t.Errorf("%d tests, want 10", c.Tests)
	}
	if !slices.ContainsFunc(c.Doubts, func(s string) bool { return strings.HasPrefix(s, "10 tests") && strings.Contains(s, "p<0.005 ") }) {
		t.Errorf("doubts %q", c.Doubts)
	}
}

func TestCompareDoubts(t *testing.T) {
	estimated := lines(rand.New(rand.NewPCG(7, 8)), 10, 1000, 0.3)
	for _, r := range estimated {
		r.Quality = record.Estimated
	}
	failed := line(-1, 1000, 0)
	failed.Status = record.Failed
	aborted := *failed
	aborted.Status = record.Aborted
	// One failed, one aborted: neither makes up for the other.
	if c := compared(estimated, append(slices.Clone(estimated), failed, &aborted)); !strings.Contains(strings.Join(c.Doubts, " "), "0 of 10 before, 2 of 12 after") {
		t.Errorf("doubts %q", c.Doubts)
	}
	if c := compared(append(slices.Clone(estimated), failed, &aborted), estimated); !strings.Contains(strings.Join(c.Doubts, " "), "2 of 12 before, 0 of 10 after") {
		t.Errorf("doubts %q", c.Doubts)
	}
	// The sides know as much, or one of them nothing: no doubt.
	for _, other := range [][]*record.Request{estimated, {line(-1, 1000, 10)}} {
		if c := compared(estimated, other); strings.Contains(strings.Join(c.Doubts, " "), "estimated from timestamps") {
			t.Errorf("doubts %q", c.Doubts)
		}
		if c := compared(other, estimated); strings.Contains(strings.Join(c.Doubts, " "), "estimated from timestamps") {
			t.Errorf("doubts %q", c.Doubts)
		}
	}
	c := compared(lines(rand.New(rand.NewPCG(9, 10)), 10, 1000, 0.3), append(estimated, failed))
	all := strings.Join(c.Doubts, "\n")
	for _, want := range []string{"0 % are estimated from timestamps before, 100 % after", "0 of 10 before, 1 of 11 after"} {
		if !strings.Contains(all, want) {
			t.Errorf("doubts %q lack %q", c.Doubts, want)
		}
	}
}

// The JSON keeps its shape: absent figures are null, never missing.
func TestCompareJSON(t *testing.T) {
	c := compared([]*record.Request{line(1000, 21_000, 1000)}, []*record.Request{line(1200, -1, 1000)})
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Overall map[string]any }
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	at := func(metric, stat string) map[string]any {
		t.Helper()
		m, _ := got.Overall[metric].(map[string]any)
		if stat != "" {
			m, _ = m[stat].(map[string]any)
		}
		if m == nil {
			t.Fatalf("no %s %s in %s", metric, stat, b)
		}
		return m
	}
	for _, metric := range []string{"ttft_ms", "total_ms", "tps", "tpot_ms", "output_tokens"} {
		for _, stat := range []string{"p50", "p90", "p99", "mean"} {
			at(metric, stat)
		}
	}
	ttft := at("ttft_ms", "p50")
	if near(t, "change", ttft["change"].(float64), 0.2); ttft["before"] != 1000.0 || ttft["after"] != 1200.0 {
		t.Errorf("%v", ttft)
	}
	for _, k := range []string{"p", "before_ci95", "after_ci95"} {
		if v, ok := ttft[k]; !ok || v != nil {
			t.Errorf("ttft_ms.p50.%s = %v, %v, want null", k, v, ok)
		}
	}
	total := at("total_ms", "p90")
	if v, ok := total["after"]; total["before"] != 21_000.0 || !ok || v != nil || total["change"] != nil {
		t.Errorf("total_ms.p90 %v", total)
	}
	if share := at("prefill_share", ""); share["after"] != nil || share["before"] == nil {
		t.Errorf("prefill_share %v", share)
	}
}

func TestChangeFromZero(t *testing.T) {
	zero, five := 0.0, 5.0
	if c := newChange(&zero, &five); c.Relative != nil {
		t.Errorf("0 → 5 is %v", *c.Relative)
	}
	if c := newChange(&zero, &zero); c.Relative == nil || *c.Relative != 0 {
		t.Error("0 → 0 is no change")
	}
	if c := newChange(nil, &five); c.Relative != nil {
		t.Error("nothing → 5 has a change")
	}
}
