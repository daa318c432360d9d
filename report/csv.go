package report

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"codexlag/analyze/human"

	"codexlag/analyze"
)

// requestColumns are the names of the JSON, in its order.
var requestColumns = []string{"source", "format", "time", "session", "turn", "model", "provider", "effort", "label",
	"ttft_ms", "ttft_quality", "total_ms", "decode_ms", "output_tokens", "decode_tokens", "input_tokens", "cached_tokens",
	"reasoning_tokens", "tps", "reported_tps", "tpot_ms", "prefill_share", "phase", "status", "flags", "tps_error", "http_status", "error"}

// A csvWriter writes a line per request; what is not defined is empty.
type csvWriter struct {
	b   *bufio.Writer
	c   *csv.Writer
	err error // of the header
	row []string
}

func (w *csvWriter) Write(q *analyze.Request) error {
	if w.err != nil {
		return w.err
	}
	status := ""
	if q.HTTPStatus != nil {
		status = strconv.Itoa(*q.HTTPStatus)
	}
	w.row = append(w.row[:0], csvText(q.Source), csvText(q.Format), csvTime(q.Time), csvOptional(q.Session), csvOptional(q.Turn),
		csvOptional(q.Model), csvOptional(q.Provider), csvOptional(q.Effort), csvOptional(q.Label),
		csvNumber(q.TTFT), csvText(q.TTFTQuality), csvNumber(q.Total), csvNumber(q.Decode), csvCount(q.OutputTokens), csvCount(q.DecodeTokens),
		csvCount(q.InputTokens), csvCount(q.CachedTokens), csvCount(q.Reasoning), csvNumber(q.TPS), csvNumber(q.ReportedTPS),
		csvNumber(q.TPOT), csvNumber(q.PrefillShare), csvOptional(q.Phase), csvText(q.Status), csvText(flagList(q.Flags, ";")),
		csvNumber(q.TPSError), status, csvOptional(q.Error))
	w.err = w.c.Write(w.row)
	return w.err
}

func (w *csvWriter) Close() error {
	if w.err != nil {
		return w.err
	}
	w.c.Flush()
	if err := w.c.Error(); err != nil {
		return err
	}
	return w.b.Flush()
}

// CSV writes the figures of a report in long form, one figure a line:
//
//	by      dimension of the group (model, day, …), or "overall"
//	key     the group's value; empty for overall and where the logs state none
//	metric  as in JSON: ttft_ms, tps_clean, requests, prefill_ms, slo, …
//	stat    count, sum, share, value, delta (slow tail against the others), or of
//	        a distribution: min, mean, stddev, p50, p50_ci95_low, p50_ci95_high, …, max,
//	        or the band (of …_by_cache, …_by_in_flight) whose p50 the value is
//	value   the number; a figure that is not defined has no line
//	unit    ms, tokens/s, tokens, requests, turns, or 1 for shares
//	n       the samples behind the figure; empty where it is not known
func CSV(w io.Writer, r *analyze.Report) error {
	b := bufio.NewWriter(w)
	c := &figureWriter{c: csv.NewWriter(b), by: "overall"}
	c.c.Write([]string{"by", "key", "metric", "stat", "value", "unit", "n"})
	if r.Overall != nil {
		c.group(r.Overall)
	}
	for _, k := range r.Groups {
		if k.Group == nil {
			continue
		}
		c.by, c.key = csvText(k.By), csvText(k.Key)
		if k.WaitingShare != nil {
			c.figure("waiting", "share", *k.WaitingShare, "1", -1)
		}
		c.group(k.Group)
	}
	c.c.Flush()
	if err := c.c.Error(); err != nil {
		return err
	}
	return b.Flush()
}

// A figureWriter writes the lines of one group after another. Its csv.Writer
// keeps the first error.
type figureWriter struct {
	c       *csv.Writer
	by, key string
}

func (w *figureWriter) figure(metric, stat string, v float64, unit string, n int) {
	if !human.Defined(v) {
		return
	}
	samples := ""
	if n >= 0 {
		samples = strconv.Itoa(n)
	}
	w.c.Write([]string{w.by, w.key, metric, stat, strconv.FormatFloat(v, 'f', -1, 64), unit, samples})
}

func (w *figureWriter) optional(metric, stat string, v *float64, unit string, n int) {
	if v != nil {
		w.figure(metric, stat, *v, unit, n)
	}
}

func (w *figureWriter) group(g *analyze.Group) {
	n := g.Requests
	w.figure("requests", "count", float64(g.Requests), "requests", n)
	w.figure("failed", "count", float64(g.Failed), "requests", n)
	w.figure("aborted", "count", float64(g.Aborted), "requests", n)
	w.figure("warmup", "count", float64(g.Warmup), "requests", n)
	for _, m := range metrics {
		w.dist(m.key, m.unit, m.dist(g))
	}
	if g.TPS.All != nil {
		w.optional("tps_pooled", "value", g.TPS.Pooled, "tokens/s", g.TPS.All.N)
	}
	if t := g.Time; t.Requests > 0 {
		w.figure("prefill_ms", "sum", t.Prefill, "ms", t.Requests)
		w.figure("decode_ms", "sum", t.Decode, "ms", t.Requests)
		w.figure("total_ms", "sum", t.Total, "ms", t.Requests)
		w.optional("prefill", "share", t.PrefillShare, "1", t.Requests)
	}
	if g.Time.Unsplit > 0 {
		w.figure("unsplit_ms", "sum", g.Time.Unsplit, "ms", -1)
	}
	if n := g.Time.FailedRequests; n > 0 {
		w.figure("failed_ms", "sum", g.Time.Failed, "ms", n)
	}
	w.turns(g.Turns)
	if t := g.Verdict.Tail; t != nil {
		w.figure("tail_total_ms", "delta", t.Delta, "ms", t.Requests)
		w.figure("tail_ttft_ms", "delta", t.TTFT, "ms", t.Requests)
		w.figure("tail_length_ms", "delta", t.Length, "ms", t.Requests)
		w.figure("tail_speed_ms", "delta", t.Speed, "ms", t.Requests)
	}
	if kept := g.SLO.Met + g.SLO.Missed; kept > 0 {
		w.figure("slo_met", "count", float64(g.SLO.Met), "requests", kept)
		w.figure("slo_missed", "count", float64(g.SLO.Missed), "requests", kept)
		w.figure("slo_unknown", "count", float64(g.SLO.Unknown), "requests", kept)
		w.optional("slo", "share", g.SLO.Share, "1", kept)
	}
	w.models(g)
	w.influences(g)
	if r := g.Reasoning; r != nil {
		w.figure("reasoning_tokens", "sum", r.Reasoning, "tokens", r.Requests)
		w.optional("reasoning", "share", r.Share, "1", r.Requests)
	}
	for _, q := range []string{"measured", "derived", "estimated", "bound", "none"} {
		w.figure("ttft_"+q, "count", float64(g.TTFTQualities[q]), "requests", n)
	}
}

// influences are the figures by band: of the prompt's cached part, and of the
// requests in flight.
func (w *figureWriter) influences(g *analyze.Group) {
	w.optional("sampled", "share", g.SampledShare, "1", g.Requests)
	for _, b := range g.TTFTByCache {
		w.optional("ttft_ms_by_cache", b.Key, b.TTFT, "ms", b.Requests)
	}
	c := g.Concurrency
	if c == nil {
		return
	}
	w.figure("in_flight", "mean", c.Mean, "requests", c.Requests)
	w.figure("in_flight", "max", c.Max, "requests", c.Requests)
	for _, b := range c.Bands {
		w.optional("ttft_ms_by_in_flight", b.InFlight, b.TTFT, "ms", b.TTFTRequests)
		w.optional("tps_by_in_flight", b.InFlight, b.TPS, "tokens/s", b.TPSRequests)
	}
	w.optional("tps_in_flight_rank_correlation", "value", c.Correlation, "1", c.CorrelationRequests)
}

func (w *figureWriter) turns(t analyze.Turns) {
	if t.Count == 0 {
		return
	}
	w.figure("turns", "count", float64(t.Count), "turns", t.Count)
	w.figure("turns_failed", "count", float64(t.Failed), "turns", t.Count)
	w.figure("turns_aborted", "count", float64(t.Aborted), "turns", t.Count)
	w.figure("turns_unfinished", "count", float64(t.Unfinished), "turns", t.Count)
	w.dist("turn_duration_ms", "ms", t.Duration)
	w.dist("turn_ttft_ms", "ms", t.TTFT)
	for _, x := range []struct {
		metric string
		ms     float64
	}{{"turn_prefill_ms", t.Prefill}, {"turn_decode_ms", t.Decode}, {"turn_model_ms", t.Model}, {"turn_tool_ms", t.Tool}, {"turn_other_ms", t.Other},
		{"turn_failed_prefill_ms", t.FailedPrefill}, {"turn_failed_decode_ms", t.FailedDecode}, {"turn_failed_model_ms", t.FailedModel}} {
		w.figure(x.metric, "sum", x.ms, "ms", t.Count)
	}
}

func (w *figureWriter) models(g *analyze.Group) {
	if m := g.PrefillModel; m != nil {
		w.figure("prefill_model_overhead_ms", "value", m.Overhead, "ms", m.Requests)
		w.optional("prefill_model_rate", "value", m.Rate, "tokens/s", m.Requests)
		w.figure("prefill_model_explained", "share", m.Explained, "1", m.Requests)
	}
	if m := g.RequestModel; m != nil {
		w.figure("request_model_overhead_ms", "value", m.Overhead, "ms", m.Requests)
		w.optional("request_model_prefill_rate", "value", m.PrefillRate, "tokens/s", m.Requests)
		w.figure("request_model_tpot_ms", "value", m.TPOT, "ms", m.Requests)
		w.figure("request_model_explained", "share", m.Explained, "1", m.Requests)
		w.optional("request_model_prefill", "share", m.PrefillShare, "1", m.Requests)
		w.optional("request_model_ttft_error_ms", "value", m.TTFTError, "ms", m.TTFTRequests)
	}
}

func (w *figureWriter) dist(metric, unit string, d *analyze.Dist) {
	if d == nil {
		return
	}
	w.figure(metric, "min", d.Min, unit, d.N)
	w.figure(metric, "mean", d.Mean, unit, d.N)
	w.optional(metric, "stddev", d.StdDev, unit, d.N)
	for _, q := range d.Quantiles {
		w.figure(metric, q.Name(), q.Value, unit, d.N)
		if q.CI != nil {
			w.figure(metric, q.Name()+"_ci95_low", q.CI[0], unit, d.N)
			w.figure(metric, q.Name()+"_ci95_high", q.CI[1], unit, d.N)
		}
	}
	w.figure(metric, "max", d.Max, unit, d.N)
}

// csvText makes text from a log harmless in a spreadsheet: a cell that begins
// like a formula is told to be text by a leading apostrophe.
func csvText(s string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " "))
	if strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + visible(s)
	}
	return visible(s)
}

func csvOptional(s *string) string {
	if s == nil {
		return ""
	}
	return csvText(*s)
}

func csvNumber(v *float64) string {
	if v == nil || !human.Defined(*v) {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func csvCount(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func csvTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
