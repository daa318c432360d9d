package analyze

import (
	"slices"
	"testing"
	"time"

	"codexlag/parse/record"
)

func hitting(file string, n int, share, ttft float64) []record.Record {
	random := noise(uint64(n))
	return requests(file, n, func(_ int, r *record.Request) {
		r.Input, r.Cached = record.Count(10_000), record.Count(int64(share*10_000))
		start(r, ttft*(0.8+0.4*random()))
	})
}

func TestCacheMisses(t *testing.T) {
	hits, misses := hitting("hit.log", 20, 0.95, 1), hitting("miss.log", 12, 0.1, 3)
	checkFindings(t, "cache_misses", []findingCase{
		{name: "misses start late", records: slices.Concat(hits, misses), want: SeverityInfo,
			says: []string{"of gpt-x", "(n=12)", "(n=20)", "p<0.001"}},
		{name: "misses cost little", records: slices.Concat(hits, hitting("miss.log", 12, 0.1, 1.2))},
		{name: "too few misses", records: slices.Concat(hits, misses[:9])},
		{name: "in between is neither", records: slices.Concat(hits, hitting("half.log", 12, 0.6, 3))},
		{name: "unknown is no miss", records: slices.Concat(hits, requests("u", 12, func(_ int, r *record.Request) { r.Input = record.Count(10_000); start(r, 3) }))},
		{name: "too short to be cached", records: slices.Concat(hits, requests("u", 12, func(_ int, r *record.Request) {
			r.Input, r.Cached = record.Count(1000), record.Count(0)
			start(r, 3)
		}))},
		{name: "another model", records: slices.Concat(hits, hitting("more.log", 20, 0.95, 1), requests("m", 12, func(_ int, r *record.Request) {
			r.Model, r.Input, r.Cached = "slow", record.Count(10_000), record.Count(0)
			start(r, 9)
		}))},
	})
}

// session is one in which the cache hits, but for the requests named.
func session(id string, n int, change func(i int, r *record.Request), lost ...int) []record.Record {
	return requests(id, n, func(i int, r *record.Request) {
		r.Session = id
		r.Input, r.Cached = record.Count(int64(20_000+500*i)), record.Count(int64(19_000+500*i))
		if slices.Contains(lost, i) {
			r.Cached = record.Count(0)
		}
		if change != nil {
			change(i, r)
		}
	})
}

func TestLostPrefixes(t *testing.T) {
	const title = "The prompt cache stops hitting in mid-session"
	checkFindings(t, "cache_misses", []findingCase{
		{name: "lost three times", records: session("s", 12, nil, 3, 6, 9), want: SeverityWarn, says: []string{title, "3 requests", "about 64,500 tokens"}},
		{name: "lost twice", records: session("s", 12, nil, 3, 6)},
		{name: "in three sessions", records: slices.Concat(session("a", 5, nil, 2), session("b", 5, nil, 2), session("c", 5, nil, 2)), want: SeverityWarn},
		{name: "the first of a session cannot hit", records: slices.Concat(session("a", 5, nil, 0), session("b", 5, nil, 0), session("c", 5, nil, 0))},
		{name: "one miss after the other is one loss", records: session("s", 12, nil, 3, 4, 5, 6)},
		{name: "after compaction the prompt is shorter", records: session("s", 12, func(i int, r *record.Request) {
			if r.Cached.N == 0 {
				r.Input = record.Count(9000)
			}
		}, 3, 6, 9)},
		{name: "a pause, a change of model", records: session("s", 12, func(i int, r *record.Request) {
			if i >= 6 {
				r.End = r.End.Add(10 * time.Minute)
			}
			if i == 9 {
				r.Model = "gpt-y"
			}
		}, 3, 6, 9), want: SeverityWarn, says: []string{"1 after a change of model", "1 after a pause of more than 5 min"}},
		{name: "a helper has its own prompts", records: session("s", 12, func(i int, r *record.Request) {
			if r.Cached.N == 0 {
				r.Origin = "guardian"
			}
		}, 3, 6, 9)},
		{name: "without times there is no order", records: session("s", 12, func(_ int, r *record.Request) { r.End = time.Time{} }, 3, 6, 9)},
	})
}
