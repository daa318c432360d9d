package analyze

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"codexlag/analyze/lang"
	"codexlag/analyze/lang/langtest"
	"codexlag/parse/record"
)

// A turn of a minute and more with one request and one tool.
func turnOf(duration, tool time.Duration, q *record.Request) *record.Turn {
	begin := time.Unix(1e6, 0)
	t := &record.Turn{Duration: duration}
	if q != nil {
		t.Requests = []*record.Request{q}
	}
	if tool > 0 {
		t.Tools = []record.Interval{{Start: begin, End: begin.Add(tool)}}
	}
	return t
}

func TestHeadline(t *testing.T) {
	repeat := func(n int, r *record.Request) (l []record.Record) {
		for range n {
			l = append(l, r)
		}
		return l
	}
	all := func(requests []*record.Request) (l []record.Record) {
		for _, r := range requests {
			l = append(l, r)
		}
		return l
	}
	const longAnswers = " That is above the limit of 20 tok/s, so ask for shorter answers or less reasoning effort."
	brokenAfter := func(ms float64) *record.Request {
		q := line(-1, ms, -1)
		q.Status = record.Failed
		return q
	}
	failed, aborted := line(-1, 90, -1), line(-1, 90, -1)
	failed.Status, aborted.Status = record.Failed, record.Aborted
	warmup := line(900, 1000, 0)
	warmup.Status = record.Warmup
	decoded, unsplit := line(1000, 21_000, 600), line(-1, 20_000, 600)
	for _, c := range []struct {
		name    string
		records []record.Record
		want    string
	}{
		{"nothing", nil,
			"No request was found: nothing can be said."},
		{"the two worked lines", []record.Record{line(2840, 3120, 3), line(320, 48_200, 2180)},
			"Decode dominates: 93.8 % of 51.3 s in 2 requests went into generating tokens, at 45.3 tok/s (pooled: only 1 clean sample). That is above the limit of 20 tok/s, so ask for shorter answers or less reasoning effort."},
		{"prefill-bound", repeat(12, line(9000, 10_000, 600)),
			"Prefill dominates: 90.0 % of 120 s in 12 requests passed before the first token (TTFT p50 9.00 s). Look at prompt length, cache hits, the queue and the network before blaming the model's speed."},
		{"prefill, but only because answers are short", repeat(12, line(900, 1000, 5)),
			"Prefill dominates: 90.0 % of 12.0 s in 12 requests passed before the first token (TTFT p50 900 ms). First tokens do come within the limit of 5 s: it is the answers that are short. To gain more, look at prompt length, cache hits, the queue and the network."},
		{"decode-bound, long answers", repeat(12, decoded),
			"Decode dominates: 95.2 % of 252 s in 12 requests went into generating tokens, at 30.0 tok/s (median of 12 clean samples). That is above the limit of 20 tok/s, so ask for shorter answers or less reasoning effort."},
		{"decode-bound, slow stream", repeat(12, line(1000, 101_000, 600)),
			"Decode dominates: 99.0 % of 20.2 min in 12 requests went into generating tokens, at 6.00 tok/s (median of 12 clean samples). The stream is slow (below 20 tok/s): try another model, tier or time of day."},
		{"balanced", repeat(12, line(5000, 10_000, 600)),
			"Prefill and decode share the time: 50.0 % of 120 s in 12 requests passed before the first token (TTFT p50 5.00 s), the rest generating tokens at 120 tok/s (median of 12 clean samples). Neither alone would halve the wait: shorter prompts and cache hits for the one, shorter answers or less reasoning effort for the other."},
		{"both slow, clean", repeat(12, line(20_000, 80_000, 600)),
			"Both are slow, the start and the stream: 12 of the 12 requests with a clean rate have both a TTFT above 5 s and less than 20 tok/s; prefill takes 25.0 % of 16.0 min in 12 requests, decode 75.0 %. Look at what they share: the load of the model or its tier at that time, then a gateway or the network."},
		{"both slow, pooled", repeat(2, line(8000, 18_000, 100)),
			"Both are slow, the start and the stream: TTFT p50 is 8.00 s (limit 5 s), the pooled rate 10.0 tok/s (limit 20 tok/s); prefill takes 44.4 % of 36.0 s in 2 requests, decode 55.6 %. Look at what they share: the load of the model or its tier at that time, then a gateway or the network."},
		{"tool-bound", append(repeat(12, decoded), turnOf(100*time.Second, 70*time.Second, decoded)),
			"Tools dominate, not the model: tools took 70.0 % of 100 s in 1 turn, waiting outside of requests and tools (approvals, queue, set-up) 9.0 %, and the model only 21.0 %. Within the model's part, decode dominates: 95.2 % of 252 s in 12 requests went into generating tokens, at 30.0 tok/s (median of 12 clean samples)."},
		{"waiting-bound, no split", append(repeat(3, unsplit), turnOf(100*time.Second, 10*time.Second, unsplit)),
			"Waiting outside of the model dominates: 70.0 % of 100 s in 1 turn went to neither requests nor tools (approvals, queue, set-up), 10.0 % to tools, and only 20.0 % to the model. How the model's 20.0 s in 1 turn split into prefill and decode is not known: Codex states one TTFT a turn at most, and a turn has many requests."},
		{"turns with nothing but unsplit requests", append(repeat(3, unsplit), turnOf(21*time.Second, 0, unsplit)),
			"How the model's 20.0 s in 1 turn split into prefill and decode is not known: Codex states one TTFT a turn at most, and a turn has many requests. Run Codex with RUST_LOG=codex_otel=info and keep its log, which times every request."},
		{"hopeless", repeat(3, unsplit),
			"No request tells when its first token came: the waiting cannot be split into prefill and decode. Log first_token_ms, or run Codex with RUST_LOG=codex_otel=info and keep its log, which times every request."},
		{"first tokens, no totals", repeat(3, line(700, -1, 600)),
			"No request tells both its first token and its total time (TTFT p50 700 ms): the waiting cannot be split into prefill and decode. Log total_ms beside first_token_ms."},
		{"nothing completed", append(repeat(3, failed), aborted),
			"No request completed (3 failed, 1 aborted, 0 warm-up): there is no latency to judge. Look at the errors first."},
		{"decode-bound, the slowest start late", append(repeat(19, decoded), repeat(3, line(30_000, 50_000, 600))...),
			"Decode dominates: 80.1 % of 9.15 min in 22 requests went into generating tokens, at 30.0 tok/s (median of 22 clean samples)." + longAnswers + " But the slowest 3 of 22 requests wait longer for the first token."},
		{"decode-bound, the slowest stream slowly", append(repeat(19, decoded), repeat(3, line(1000, 31_000, 600))...),
			"Decode dominates: 95.5 % of 8.20 min in 22 requests went into generating tokens, at 30.0 tok/s (median of 22 clean samples)." + longAnswers + " But the slowest 3 of 22 requests stream more slowly."},
		{"decode-bound, the slowest are long", append(repeat(19, decoded), repeat(3, line(1000, 61_000, 1800))...),
			"Decode dominates: 96.2 % of 9.70 min in 22 requests went into generating tokens, at 30.0 tok/s (median of 22 clean samples)." + longAnswers},
		{"prefill-bound, the slowest are long", append(repeat(19, line(9000, 10_000, 600)), repeat(3, line(9000, 16_000, 4200))...),
			"Prefill dominates: 83.2 % of 238 s in 22 requests passed before the first token (TTFT p50 9.00 s). Look at prompt length, cache hits, the queue and the network before blaming the model's speed. But the slowest 3 of 22 requests generate more tokens."},
		{"prefill-bound, the slowest start late", append(repeat(19, line(9000, 10_000, 600)), repeat(3, line(19_000, 20_000, 600))...),
			"Prefill dominates: 91.2 % of 250 s in 22 requests passed before the first token (TTFT p50 9.00 s). Look at prompt length, cache hits, the queue and the network before blaming the model's speed."},
		{"prefill-bound, much failed", append(repeat(12, line(9000, 10_000, 600)), brokenAfter(13_400)),
			"Prefill dominates: 90.0 % of 120 s in 12 requests passed before the first token (TTFT p50 9.00 s). Look at prompt length, cache hits, the queue and the network before blaming the model's speed. Requests that failed or were aborted took another 13.4 s."},
		{"prefill-bound, little failed", append(repeat(12, line(9000, 10_000, 600)), brokenAfter(13_300)),
			"Prefill dominates: 90.0 % of 120 s in 12 requests passed before the first token (TTFT p50 9.00 s). Look at prompt length, cache hits, the queue and the network before blaming the model's speed."},
		{"nothing completed, each in its way", append(repeat(2, failed), aborted, aborted, warmup),
			"No request completed (2 failed, 2 aborted, 1 warm-up): there is no latency to judge. Look at the errors first."},
		{"modelled decode of a part", append(all(truth{500, 5000, 60}.requests("m", 200, 1)), unsplit, unsplit),
			"Decode dominates (modelled from token counts): 92.9 % of the time of 200 of 202 requests went into generating tokens, at 16.7 tok/s. The stream is slow (below 20 tok/s): try another model, tier or time of day."},
		{"modelled decode", all(truth{500, 5000, 60}.requests("m", 200, 1)),
			"Decode dominates (modelled from token counts): 92.9 % of the time of 200 requests went into generating tokens, at 16.7 tok/s. The stream is slow (below 20 tok/s): try another model, tier or time of day."},
		{"modelled, tool-bound", append(all(truth{500, 5000, 30}.requests("m", 200, 1)), turnOf(100*time.Second, 70*time.Second, unsplit)),
			"Tools dominate, not the model: tools took 70.0 % of 100 s in 1 turn, waiting outside of requests and tools (approvals, queue, set-up) 10.0 %, and the model only 20.0 %. Within the model's part, decode dominates (modelled from token counts): 86.9 % of the time of 200 requests went into generating tokens, at 33.4 tok/s."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := verdictOf(c.records, lang.English).Headline; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			v := verdictOf(c.records, lang.Chinese)
			if s := strings.Join(append(v.Doubts, v.Headline), " "); len(langtest.English(s)) > 0 || strings.ContainsRune(s, utf8.RuneError) {
				t.Errorf("English words %q in %s", langtest.English(s), s)
			}
		})
	}
}

func verdictOf(records []record.Record, l lang.Language) Verdict {
	o := DefaultOptions()
	o.Language = l
	c := NewCollector(o)
	for _, r := range slices.Clone(records) {
		c.Add(r)
	}
	return c.Report(Tool{}, Inputs{}).Overall.Verdict
}
