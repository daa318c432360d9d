package analyze

import (
	"slices"
	"testing"

	"codexlag/parse/record"
)

func TestLongOutput(t *testing.T) {
	tail := func(n int, change func(*record.Request)) []record.Record {
		return slices.Concat(requests("ok.log", n-n/10, nil), requests("slow.log", n/10, func(_ int, r *record.Request) { change(r) }))
	}
	long := func(r *record.Request) { r.Output = record.Count(5000); rateOf(r, 50) }
	checkFindings(t, "long_output", []findingCase{
		{name: "long", records: tail(40, long), want: SeverityInfo, says: []string{"4 requests", "90.0 s", "100 %"}},
		{name: "mostly reasoning", records: tail(40, func(r *record.Request) { long(r); r.Reasoning = record.Count(4000) }), want: SeverityInfo,
			says: []string{"reasoning is 80.0 % of the output of 4 requests"}},
		{name: "late", records: tail(40, func(r *record.Request) { start(r, 100) })},
		{name: "slow", records: tail(40, func(r *record.Request) { rateOf(r, 5) })},
		{name: "too few", records: tail(19, long)},
	})
}

func TestSlowStream(t *testing.T) {
	at := func(model string, n int, tokens int64, tps float64) []record.Record {
		return requests(model+".log", n, func(_ int, r *record.Request) {
			r.Model, r.Output = model, record.Count(tokens)
			rateOf(r, tps)
		})
	}
	checkFindings(t, "slow_stream", []findingCase{
		{name: "clean", records: at("slug", 6, 500, 15), want: SeverityBad, says: []string{"20 tok/s", "slug 15.0 tok/s (median, n=6)"}},
		{name: "at the limit", records: at("slug", 6, 500, 20)},
		{name: "one model of two", records: slices.Concat(at("hare", 30, 500, 80), at("slug", 6, 500, 15)), want: SeverityBad, says: []string{"slug"}},
		{name: "pooled", records: at("slug", 20, 200, 15), want: SeverityWarn, says: []string{"slug 15.0 tok/s (pooled, n=20)"}},
		{name: "too few tokens to say", records: at("slug", 20, 10, 15)},
		{name: "too few requests to say", records: at("slug", 3, 400, 15)},
		{name: "many models", records: slices.Concat(at("a", 6, 500, 9), at("b", 6, 500, 8), at("c", 6, 500, 7), at("d", 6, 500, 10)), want: SeverityBad, says: []string{"c 7.00", "b 8.00", "a 9.00", "and 1 more"}},
	})
}

func TestBufferedStream(t *testing.T) {
	at := func(n, bursts int) []record.Record {
		return requests("a", n, func(i int, r *record.Request) {
			if i < bursts {
				r.TTFT = r.Total
			}
		})
	}
	checkFindings(t, "buffered_stream", []findingCase{
		{name: "all", records: at(10, 10), want: SeverityWarn, says: []string{"10 of 10 requests", "proxy"}},
		{name: "a fifth", records: at(20, 4), want: SeverityWarn},
		{name: "less than a fifth", records: at(21, 4)},
		{name: "five of many", records: at(200, 5), want: SeverityInfo},
		{name: "one of one", records: at(1, 1)},
	})
}

func TestContention(t *testing.T) {
	random := noise(5)
	// Four start together, sixteen run alone.
	mixed := func(groups, alone int, crowdedTPS float64) []record.Record {
		together := requests("crowd", 4*groups, func(i int, r *record.Request) {
			rateOf(r, crowdedTPS*(0.9+0.2*random()))
			begin := midnight.Add(seconds(float64(i/4) * 3600))
			r.Start, r.End = begin, begin.Add(r.Total)
		})
		return slices.Concat(together, requests("alone", alone, func(i int, r *record.Request) {
			rateOf(r, 50*(0.9+0.2*random()))
			r.End = midnight.Add(seconds(float64(i)*3600 + 1800))
		}))
	}
	checkFindings(t, "contention", []findingCase{
		{name: "half the rate", records: mixed(5, 16, 25), want: SeverityWarn, says: []string{"of gpt-x", "(n=16)", "(n=20)", "p<0.001"}},
		{name: "the same rate", records: mixed(5, 16, 50)},
		{name: "a tenth less", records: mixed(5, 16, 45)},
		{name: "too few alone, and quick", records: mixed(5, 9, 25)},
		{name: "too few alone, and slow", records: mixed(5, 9, 10), want: undecided, says: []string{"20 requests", "only 9 alone"}},
		{name: "too few together", records: mixed(2, 16, 10)},
		{name: "no times", records: requests("a", 40, func(i int, r *record.Request) {
			r.End = r.End.AddDate(-3000, 0, 0)
			rateOf(r, float64(10+30*(i%2)))
		})},
	})
}

func TestInFlight(t *testing.T) {
	c := NewCollector(DefaultOptions())
	for i, s := range [][2]float64{{0, 10}, {5, 15}, {20, 30}, {30, 40}, {28, 29}, {7, 7}} {
		r := requests("a", 1, nil)[0].(*record.Request)
		r.Line, r.Start, r.End = int64(i), midnight.Add(seconds(s[0])), midnight.Add(seconds(s[1]))
		c.Add(r)
	}
	f := c.facts(c.Report(Tool{}, Inputs{}))
	want := map[int64]float64{0: 1.5, 5: 1.5, 20: 1.1, 30: 1, 28: 2, 7: 0}
	for i, got := range inFlight(f.population) {
		from := (f.rows[i].start - midnight.UnixMicro()) / 1e6
		near(t, "in flight", got, want[from])
	}
}
