package analyze

import (
	"slices"
	"testing"

	"codexlag/parse/record"
)

func TestFailures(t *testing.T) {
	ok := func(n int) []record.Record { return requests("ok.log", n, nil) }
	bad := func(n, code int, kind string) []record.Record {
		return requests("bad.log", n, func(_ int, r *record.Request) { failed(r, code, kind) })
	}
	for _, c := range []struct {
		id string
		findingCase
	}{
		{"http_401", findingCase{name: "one is enough", records: slices.Concat(ok(100), bad(1, 401, "")), want: SeverityBad, says: []string{"1 of 101 requests", "key"}}},
		{"http_401", findingCase{name: "another status", records: slices.Concat(ok(100), bad(1, 403, ""))}},
		{"http_401", findingCase{name: "tried again and done", records: requests("a", 9, func(_ int, r *record.Request) { r.Error.HTTPStatus = 401 })}},
		{"http_404", findingCase{name: "one is enough", records: slices.Concat(ok(100), bad(1, 404, "")), want: SeverityBad, says: []string{"1 of 101 requests", "/v1"}}},
		{"http_404", findingCase{name: "none", records: ok(100)}},
		{"http_429", findingCase{name: "some", records: slices.Concat(ok(96), bad(4, 429, "")), want: SeverityWarn, says: []string{"4 of 100 requests (4.0 %)"}}},
		{"http_429", findingCase{name: "many", records: slices.Concat(ok(95), bad(5, 429, "")), want: SeverityBad}},
		{"http_5xx", findingCase{name: "several statuses", records: slices.Concat(ok(96), bad(1, 500, ""), requests("b2.log", 2, func(_ int, r *record.Request) { failed(r, 503, "") })),
			want: SeverityWarn, says: []string{"3 of 99", "503 (2×), 500 (1×)"}}},
		{"http_5xx", findingCase{name: "failures alone", records: slices.Concat(ok(96), bad(4, 503, ""), bad(1, 600, ""), requests("r", 3, func(_ int, r *record.Request) { r.Error.HTTPStatus = 502 })),
			want: SeverityWarn, says: []string{"4 of 104", "HTTP 503 (4×)"}, silent: []string{"502", "600"}}},
		{"http_5xx", findingCase{name: "a client's fault", records: bad(5, 499, "")}},
		{"timeouts", findingCase{name: "by kind", records: slices.Concat(ok(99), bad(1, 0, record.ErrTimeout)), want: SeverityWarn, says: []string{"1 of 100", "11.0 s of waiting"}}},
		{"timeouts", findingCase{name: "by status", records: slices.Concat(ok(9), bad(1, 408, "")), want: SeverityBad}},
		{"timeouts", findingCase{name: "a gateway's time-out is the server's", records: bad(4, 504, record.ErrTimeout)}},
		{"dropped_streams", findingCase{name: "lost", records: slices.Concat(ok(99), bad(1, 0, record.ErrDisconnected)), want: SeverityWarn, says: []string{"1 of 100"}}},
		{"dropped_streams", findingCase{name: "another error", records: slices.Concat(ok(99), bad(1, 0, record.ErrOther))}},
		{"dropped_streams", findingCase{name: "retries, too few to compare", records: slices.Concat(ok(20), requests("r", 3, func(i int, r *record.Request) { r.Retries = i + 1; start(r, 20) })),
			want: SeverityInfo, says: []string{"6 failed attempts before the attempt that worked, in 3 requests"}}},
		{"dropped_streams", findingCase{name: "retries that may cost by chance", records: slices.Concat(requests("ok.log", 20, func(i int, r *record.Request) { start(r, float64(1+9*(i%2))) }),
			requests("r", 5, func(i int, r *record.Request) { r.Retries = 1; start(r, float64(1+9*((i+1)%2))) })), want: SeverityInfo}},
		{"dropped_streams", findingCase{name: "retries that cost", records: slices.Concat(ok(20), requests("r", 6, func(_ int, r *record.Request) { r.Retries = 1; start(r, 4) })),
			want: SeverityWarn, says: []string{"TTFT p50 is 4.00 s with retries (n=6) and 1.00 s without (n=20)"}}},
	} {
		checkFindings(t, c.id, []findingCase{c.findingCase})
	}
}

func TestCommonCeiling(t *testing.T) {
	random := noise(3)
	below := requests("ok.log", 40, func(_ int, r *record.Request) { r.Total = seconds(2 + 20*random()) })
	ending := func(n int, s, apart float64, how record.Status) []record.Record {
		return requests("top.log", n, func(i int, r *record.Request) {
			r.Total, r.Status = seconds(s-apart*float64(i)), how
		})
	}
	checkFindings(t, "common_ceiling", []findingCase{
		{name: "failed at 60 s", records: slices.Concat(below, ending(3, 60, 0.1, record.Failed)), want: SeverityWarn,
			says: []string{"ceiling of 60.0 s", "3 requests", "3 of them not completed"}},
		{name: "completed at 60 s", records: slices.Concat(below, ending(5, 60, 0.1, record.OK)), want: SeverityWarn, says: []string{"0 of them not completed"}},
		{name: "two", records: slices.Concat(below, ending(2, 60, 0.1, record.Failed))},
		{name: "not together", records: slices.Concat(below, ending(4, 60, 2, record.Failed))},
		{name: "not far above the rest", records: slices.Concat(below, ending(4, 23, 0.01, record.Failed))},
		{name: "too few below", records: slices.Concat(below[:9], ending(4, 60, 0.1, record.Failed))},
		{name: "one too near below", records: slices.Concat(below, ending(3, 60, 0.1, record.Failed), ending(1, 57.1, 0, record.OK))},
		{name: "one far enough below", records: slices.Concat(below, ending(3, 60, 0.1, record.Failed), ending(1, 56.9, 0, record.OK)), want: SeverityWarn},
		{name: "one that is just among them", records: slices.Concat(below, ending(2, 60, 0.1, record.Failed), ending(1, 59.41, 0, record.Failed)), want: SeverityWarn},
		{name: "one that is just not", records: slices.Concat(below, ending(2, 60, 0.1, record.Failed), ending(1, 59.39, 0, record.Failed))},
		{name: "just twice as long as most", records: slices.Concat(requests("ok.log", 40, func(_ int, r *record.Request) { r.Total = seconds(30) }), ending(3, 60, 0.1, record.Failed)), want: SeverityWarn},
		{name: "just not twice as long", records: slices.Concat(requests("ok.log", 40, func(_ int, r *record.Request) { r.Total = seconds(30.01) }), ending(3, 60, 0.1, record.Failed))},
		{name: "warm-ups don't count", records: slices.Concat(below, ending(4, 60, 0.1, record.Warmup))},
	})
}
