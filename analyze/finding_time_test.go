package analyze

import (
	"math"
	"slices"
	"testing"
	"time"

	"codexlag/parse/record"
)

// spread makes requests ten minutes apart whose TTFT and rate vary by ± 20 %
// around what is said for their time.
func spread(n int, speed func(i int, r *record.Request) (ttft, tps float64)) []record.Record {
	random := noise(11)
	return requests("a.log", n, func(i int, r *record.Request) {
		r.End = midnight.Add(time.Duration(i) * 10 * time.Minute)
		ttft, tps := speed(i, r)
		start(r, ttft*(0.8+0.4*random()))
		rateOf(r, tps*(0.8+0.4*random()))
	})
}

func TestChangePoint(t *testing.T) {
	const day = 144 // requests
	since := func(at int, ttft, tps float64) func(int, *record.Request) (float64, float64) {
		return func(i int, _ *record.Request) (float64, float64) {
			if i < at {
				return 1, 50
			}
			return ttft, tps
		}
	}
	checkFindings(t, "change_point", []findingCase{
		{name: "starts later", records: spread(5*day, since(3*day, 2.1, 50)), want: SeverityWarn,
			says: []string{"Since 6 September 2026 TTFT p50 is 2.1", "of gpt-x", "(n=432)", "(n=288)", "p<0.001"}},
		{name: "within a day", records: spread(100, since(60, 2, 50)), want: SeverityWarn, says: []string{"Since 3 September 2026, 10:00, TTFT", "(n=60)"}},
		{name: "slower tokens", records: spread(100, since(60, 1, 25)), want: SeverityWarn, says: []string{"TPS p50 is", "lower"}},
		{name: "faster tokens are good news", records: spread(100, since(60, 1, 100)), want: SeverityInfo, says: []string{"as high"}},
		{name: "a small change", records: spread(5*day, since(3*day, 1.2, 50))},
		{name: "no change", records: spread(5*day, since(0, 1, 50))},
		{name: "too few after", records: spread(80, since(72, 3, 50))},
		{name: "another model", records: spread(300, func(i int, r *record.Request) (float64, float64) {
			if i >= 200 {
				r.Model = "slow"
				return 4, 20
			}
			return 1, 50
		})},
		{name: "longer prompts", records: spread(300, func(i int, r *record.Request) (float64, float64) {
			if r.Input = record.Count(1000); i >= 150 {
				r.Input = record.Count(40_000)
				return 4, 50
			}
			return 1, 50
		})},
		{name: "shorter prompts", records: spread(300, func(i int, r *record.Request) (float64, float64) {
			if r.Input = record.Count(40_000); i >= 150 {
				r.Input = record.Count(1000)
				return 1, 50
			}
			return 4, 50
		})},
		{name: "longer prompts, of which half after tell none", records: spread(300, func(i int, r *record.Request) (float64, float64) {
			if r.Input = record.Count(1000); i >= 150 {
				if r.Input = record.Count(40_000); i%2 == 0 {
					r.Input = record.Tokens{}
				}
				return 4, 50
			}
			return 1, 50
		})},
		{name: "sooner for prompts of all sizes", records: spread(300, func(i int, r *record.Request) (float64, float64) {
			ttft := 1.0
			if r.Input = record.Count(1000); i%2 == 0 {
				r.Input, ttft = record.Count(40_000), 1.5
			}
			if i < 150 {
				ttft *= 2
			}
			return ttft, 50
		}), want: SeverityInfo},
		{name: "later for prompts of all sizes", records: spread(300, func(i int, r *record.Request) (float64, float64) {
			ttft := 1.0
			if r.Input = record.Count(1000); i%2 == 0 {
				r.Input, ttft = record.Count(40_000), 1.5
			}
			if i >= 150 {
				ttft *= 2
			}
			return ttft, 50
		}), want: SeverityWarn},
		{name: "no times", records: requests("a", 100, func(i int, r *record.Request) {
			r.End = time.Time{}
			if i > 50 {
				start(r, 4)
			}
		})},
		{name: "all at one moment", records: requests("a", 100, func(i int, r *record.Request) {
			if r.End = midnight; i > 50 {
				start(r, 4)
			}
		})},
	})
}

func TestSlowHours(t *testing.T) {
	in := func(hour int, ttft, tps float64) func(int, *record.Request) (float64, float64) {
		return func(i int, r *record.Request) (float64, float64) {
			if r.End.Hour() == hour {
				return ttft, tps
			}
			return 1, 50
		}
	}
	days := func(n int) int { return 144 * n }
	checkFindings(t, "slow_hours", []findingCase{
		{name: "late starts", records: spread(days(4), in(15, 2.5, 50)), want: SeverityWarn,
			says: []string{"From 15:00 to 16:00 TTFT p50 is 2.", "(n=24, on 4 days)", "(n=552)", "24 hours tested"}},
		{name: "slow tokens", records: spread(days(4), in(15, 1, 25)), want: SeverityWarn, says: []string{"From 15:00 to 16:00 TPS p50 is", "lower"}},
		{name: "before midnight", records: spread(days(4), in(23, 1, 25)), want: SeverityWarn, says: []string{"From 23:00 to 00:00"}},
		{name: "a little late", records: spread(days(4), in(15, 1.35, 50))},
		{name: "too few in that hour", records: spread(days(1), in(15, 3, 50))},
		{name: "longer prompts in that hour", records: spread(days(4), func(i int, r *record.Request) (float64, float64) {
			if r.Input = record.Count(1000); r.End.Hour() == 15 {
				r.Input = record.Count(60_000)
				return 3, 50
			}
			return 1, 50
		})},
		{name: "another model in that hour", records: spread(days(4), func(i int, r *record.Request) (float64, float64) {
			if r.End.Hour() == 15 {
				r.Model = "slow"
				return 3, 20
			}
			return 1, 50
		})},
	})
	two := spread(days(4), func(i int, r *record.Request) (float64, float64) {
		switch r.End.Hour() {
		case 15:
			return 3, 50
		case 16:
			return 4, 50
		}
		return 1, 50
	})
	checkFindings(t, "slow_hours", []findingCase{{name: "two hours", records: two, want: SeverityWarn, says: []string{"From 16:00 to 17:00", "; 1 more hour like it", "from 15:00 to 16:00"}}})
}

// The hours are those of the user.
func TestSlowHoursWhereTheUserIs(t *testing.T) {
	o := DefaultOptions()
	o.Location = time.FixedZone("east", 9*3600)
	c := NewCollector(o)
	for _, r := range spread(576, func(i int, r *record.Request) (float64, float64) {
		if r.End.Hour() == 15 {
			return 3, 50
		}
		return 1, 50
	}) {
		c.Add(r)
	}
	f := findingCase{want: SeverityWarn, says: []string{"From 00:00 to 01:00"}}
	f.check(t, "slow_hours", c.Report(Tool{}, Inputs{}).Findings)
}

// The one-pass search finds what trying every split finds.
// Equal values share the mean of their ranks.
func TestRanks(t *testing.T) {
	s := &series{v: []float64{3, 1, 3, 2, 3}, order: []int{1, 3, 0, 2, 4}}
	if ranks, ties := s.ranks(); !slices.Equal(ranks, []float64{4, 1, 4, 2, 4}) || ties != 24 {
		t.Errorf("ranks %v, ties %v", ranks, ties)
	}
}

func TestBestSplit(t *testing.T) {
	random := noise(2)
	for range 20 {
		l := spread(90, func(i int, _ *record.Request) (float64, float64) {
			return math.Round(4+2*random()) + float64(i/50), 50
		})
		c := NewCollector(DefaultOptions())
		for _, r := range l {
			r.(*record.Request).TTFT = r.(*record.Request).TTFT.Round(time.Second) // ties
			c.Add(r)
		}
		s := c.facts(c.Report(Tool{}, Inputs{})).series(0)
		v := s.v
		at, tried := s.bestSplit()
		if want := len(v) - 2*minSide + 1; tried != want {
			t.Errorf("%d tried, want %d", tried, want)
		}
		z := func(k int) float64 { // by counting pairs, ties half
			u := 0.0
			for _, a := range v[:k] {
				for _, b := range v[k:] {
					switch {
					case a > b:
						u++
					case a == b:
						u += 0.5
					}
				}
			}
			n := float64(k * (len(v) - k))
			return math.Abs(u-n/2) / math.Sqrt(n)
		}
		best := slices.MaxFunc(seq(minSide, len(v)-minSide), func(a, b int) int {
			if d := z(a) - z(b); math.Abs(d) > 1e-9 {
				return int(math.Copysign(1, d))
			}
			return 0
		})
		near(t, "statistic", z(at), z(best))
	}
}

func seq(from, to int) []int {
	var l []int
	for i := from; i <= to; i++ {
		l = append(l, i)
	}
	return l
}
