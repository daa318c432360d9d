package analyze

import (
	"slices"
	"testing"

	"codexlag/parse/record"
)

func TestSlowStart(t *testing.T) {
	late := func(n int, s float64) []record.Record {
		return requests("late.log", n, func(_ int, r *record.Request) { start(r, s) })
	}
	ok := requests("ok.log", 30, nil)
	checkFindings(t, "slow_start", []findingCase{
		{name: "half", records: late(10, 6), want: SeverityBad, says: []string{"p50 6.00 s, p90 6.00 s", "10 of 10 requests", "5 s"}},
		{name: "at the limit", records: late(10, 5)},
		{name: "one in ten", records: slices.Concat(ok, late(5, 6)), want: SeverityWarn, says: []string{"5 of 35 requests"}},
		{name: "one in forty", records: slices.Concat(ok, ok, late(1, 60))},
		{name: "too few for a p90", records: slices.Concat(ok[:4], late(3, 60))},
		{name: "too few", records: late(3, 60)},
		{name: "a burst's is none", records: requests("b", 20, func(_ int, r *record.Request) { r.TTFT, r.Total = seconds(9), seconds(9) })},
		{name: "a bound is none", records: requests("b", 20, func(_ int, r *record.Request) { start(r, 9); r.Quality = record.Bound })},
		{name: "estimates are named", records: requests("e", 10, func(_ int, r *record.Request) { start(r, 9); r.Quality = record.Estimated }),
			want: SeverityBad, says: []string{"10 of the TTFTs estimated"}},
	})
}

// prompted makes requests whose TTFT is overhead + uncached/rate; no rate, no growth.
func prompted(n int, overhead, rate float64, tokens func(i int) int64) []record.Record {
	return requests("p.log", n, func(i int, r *record.Request) {
		u := tokens(i)
		r.Input, r.Cached = record.Count(u+1000), record.Count(1000)
		s := overhead
		if rate > 0 {
			s += float64(u) / rate
		}
		start(r, s)
	})
}

func growing(i int) int64 { return int64(1000 + 500*i) }

func TestPromptBound(t *testing.T) {
	rate := 5000.0
	checkFindings(t, "prompt_bound_ttft", []findingCase{
		{name: "grows", records: prompted(30, 0.2, rate, growing), model: &PrefillModel{30, 200, &rate, 0.98}, want: SeverityInfo,
			says: []string{"98.0 %", "30 requests", "5,000 tok/s", "8,250", "/compact"}},
		{name: "grows, and that is what takes the time", records: prompted(30, 0.2, 500, growing), model: &PrefillModel{30, 200, num(500), 0.98}, want: SeverityWarn},
		{name: "explains little", records: prompted(30, 0.2, rate, growing), model: &PrefillModel{30, 200, &rate, 0.49}},
		{name: "most is overhead", records: prompted(30, 5, rate, growing), model: &PrefillModel{30, 5000, &rate, 0.98}},
		{name: "no growth", records: prompted(30, 1, 0, growing), model: &PrefillModel{30, 1000, nil, 0}},
		{name: "slow, and the prompts unknown", records: requests("a", 30, func(_ int, r *record.Request) { start(r, 8) }), want: undecided,
			says: []string{"0 of 30 requests", "20 are needed"}},
		{name: "slow, and few prompts known", records: slices.Concat(prompted(19, 8, 0, growing), requests("a", 11, func(_ int, r *record.Request) { start(r, 8) })), want: undecided,
			says: []string{"19 of 30 requests"}},
		{name: "nobody asks where starts are quick", records: requests("a", 30, nil)},
	})
}

func TestOverheadBound(t *testing.T) {
	rate := 10_000.0
	checkFindings(t, "overhead_bound_ttft", []findingCase{
		{name: "flat", records: prompted(30, 4, 0, growing), model: &PrefillModel{30, 4000, nil, 0}, want: SeverityInfo, says: []string{"4.00 s", "30 requests", "does not grow"}},
		{name: "flat and beyond the limit", records: prompted(30, 6, 0, growing), model: &PrefillModel{30, 6000, nil, 0}, want: SeverityWarn},
		{name: "grows a little", records: prompted(30, 4, rate, growing), model: &PrefillModel{30, 4000, &rate, 0.3}, want: SeverityInfo, says: []string{"825 ms"}},
		{name: "grows as much", records: prompted(30, 1, rate, growing), model: &PrefillModel{30, 1000, &rate, 0.9}},
		{name: "little overhead", records: prompted(30, 0.9, 0, growing), model: &PrefillModel{30, 900, nil, 0}},
		{name: "prompts of one size say nothing", records: prompted(30, 4, 0, func(int) int64 { return 9000 }), model: &PrefillModel{30, 4000, nil, 0}},
	})
}
