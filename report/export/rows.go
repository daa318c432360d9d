package export

import (
	"math"
	"reflect"
	"strings"
	"time"

	"codexlag/analyze"
)

// A requestRow is a row of the table requests: the columns of
// codexlag requests --format csv under the same names, typed. The tag doc is the
// description that each file carries.
type requestRow struct {
	Source       string   `parquet:"source" doc:"log file and line, file:line"`
	Format       string   `parquet:"format,dict" doc:"kind of log: request, rollout, trace, otlp, sqlite, bundle"`
	Time         *int64   `parquet:"time,optional,timestamp(microsecond:utc)" doc:"when the request ended, UTC"`
	Session      *string  `parquet:"session,optional,dict" doc:"thread or conversation id"`
	Turn         *string  `parquet:"turn,optional,dict" doc:"turn id"`
	Model        *string  `parquet:"model,optional,dict" doc:"name of the model"`
	Provider     *string  `parquet:"provider,optional,dict" doc:"who serves the model"`
	Effort       *string  `parquet:"effort,optional,dict" doc:"reasoning effort"`
	Label        *string  `parquet:"label,optional,dict" doc:"the user's own mark (label=…)"`
	TTFT         *float64 `parquet:"ttft_ms,optional" doc:"time to first token, ms; with ttft_quality bound, an upper limit of it"`
	TTFTQuality  string   `parquet:"ttft_quality,dict" doc:"where ttft_ms comes from: measured, derived, estimated, bound (only an upper limit), none"`
	Total        *float64 `parquet:"total_ms,optional" doc:"request sent until last token, ms"`
	Decode       *float64 `parquet:"decode_ms,optional" doc:"total_ms - ttft_ms, ms, where above 0"`
	OutputTokens *int64   `parquet:"output_tokens,optional" doc:"generated tokens, hidden reasoning included"`
	DecodeTokens *int64   `parquet:"decode_tokens,optional" doc:"tokens generated during decode_ms"`
	InputTokens  *int64   `parquet:"input_tokens,optional" doc:"tokens of the prompt, cached ones included"`
	CachedTokens *int64   `parquet:"cached_tokens,optional" doc:"tokens of the prompt that came from the cache"`
	Reasoning    *int64   `parquet:"reasoning_tokens,optional" doc:"tokens of hidden reasoning, part of output_tokens"`
	TPS          *float64 `parquet:"tps,optional" doc:"decode_tokens / decode time, tokens/s, always derived"`
	ReportedTPS  *float64 `parquet:"reported_tps,optional" doc:"tokens/s as the log prints it"`
	TPOT         *float64 `parquet:"tpot_ms,optional" doc:"time per output token, decode_ms / (decode_tokens - 1), ms"`
	PrefillShare *float64 `parquet:"prefill_share,optional" doc:"ttft_ms / total_ms, 0..1"`
	Phase        *string  `parquet:"phase,optional,dict" doc:"prefill where prefill_share is at least 0.6, decode where at most 0.4, else balanced"`
	Status       string   `parquet:"status,dict" doc:"ok, failed, aborted or warmup"`
	Flags        []string `parquet:"flags,list" parquet-element:",dict" doc:"why a figure must not be trusted, or which limit was missed: few_tokens, short_decode, burst, no_ttft, no_total, no_tokens, ttft_after_total, tps_mismatch, warmup, failed, aborted, slow_start, slow_stream; never null"`
	TPSError     *float64 `parquet:"tps_error,optional" doc:"relative error of tps, 1/decode_tokens + 1/decode_ms"`
	HTTPStatus   *int32   `parquet:"http_status,optional" doc:"HTTP status of a failed request"`
	Error        *string  `parquet:"error,optional,dict" doc:"kind of error of a failed request: timeout, disconnected, other"`
}

// A turnRow is a row of the table turns.
type turnRow struct {
	Source    string   `parquet:"source" doc:"log file and line that the turn ends on, file:line"`
	Format    string   `parquet:"format,dict" doc:"kind of log: rollout, trace, otlp, sqlite, bundle, exec"`
	Time      *int64   `parquet:"time,optional,timestamp(microsecond:utc)" doc:"when the turn ended, UTC"`
	Session   *string  `parquet:"session,optional,dict" doc:"thread or conversation id"`
	Turn      *string  `parquet:"turn,optional,dict" doc:"turn id, that of its rows in requests"`
	Model     *string  `parquet:"model,optional,dict" doc:"name of the model"`
	Provider  *string  `parquet:"provider,optional,dict" doc:"who serves the model"`
	Effort    *string  `parquet:"effort,optional,dict" doc:"reasoning effort"`
	Version   *string  `parquet:"version,optional,dict" doc:"version of Codex"`
	Status    string   `parquet:"status,dict" doc:"ok, failed, aborted or unfinished"`
	Duration  *float64 `parquet:"duration_ms,optional" doc:"start to end of the turn, ms"`
	TTFT      *float64 `parquet:"ttft_ms,optional" doc:"start of the turn to its first visible output, as Codex states it, ms"`
	Prefill   *float64 `parquet:"prefill_ms,optional" doc:"summed TTFT of its requests whose split is known, ms"`
	Decode    *float64 `parquet:"decode_ms,optional" doc:"summed decode of the same, ms"`
	ModelTime *float64 `parquet:"model_ms,optional" doc:"summed total of its requests whose split is not known, ms"`
	Tool      *float64 `parquet:"tool_ms,optional" doc:"union of the intervals of its tool calls, waits for approval included, ms"`
	Other     *float64 `parquet:"other_ms,optional" doc:"the rest of duration_ms, never negative, ms"`
	Requests  int64    `parquet:"requests" doc:"calls of the model"`
	Tools     int64    `parquet:"tools" doc:"calls of tools"`
}

func newRequestRow(q *analyze.Request) requestRow {
	r := requestRow{
		Source: utf8(q.Source), Format: q.Format, Time: microseconds(q.Time), Session: optional(q.Session), Turn: optional(q.Turn),
		Model: optional(q.Model), Provider: optional(q.Provider), Effort: optional(q.Effort), Label: optional(q.Label),
		TTFT: finite(q.TTFT), TTFTQuality: q.TTFTQuality, Total: finite(q.Total), Decode: finite(q.Decode),
		OutputTokens: q.OutputTokens, DecodeTokens: q.DecodeTokens, InputTokens: q.InputTokens, CachedTokens: q.CachedTokens, Reasoning: q.Reasoning,
		TPS: finite(q.TPS), ReportedTPS: finite(q.ReportedTPS), TPOT: finite(q.TPOT), PrefillShare: finite(q.PrefillShare),
		Phase: q.Phase, Status: q.Status, TPSError: finite(q.TPSError), Error: optional(q.Error),
	}
	for _, f := range q.Flags {
		r.Flags = append(r.Flags, string(f))
	}
	if q.HTTPStatus != nil {
		status := int32(*q.HTTPStatus)
		r.HTTPStatus = &status
	}
	return r
}

func newTurnRow(t *analyze.Turn) turnRow {
	return turnRow{
		Source: utf8(t.Source), Format: t.Format, Time: microseconds(t.Time), Session: optional(t.Session), Turn: optional(t.Turn),
		Model: optional(t.Model), Provider: optional(t.Provider), Effort: optional(t.Effort), Version: optional(t.Version), Status: t.Status,
		Duration: finite(t.Duration), TTFT: finite(t.TTFT), Prefill: finite(t.Prefill), Decode: finite(t.Decode),
		ModelTime: finite(t.ModelTime), Tool: finite(t.Tool), Other: finite(t.Other), Requests: t.Requests, Tools: t.Tools,
	}
}

// utf8 is s as Parquet wants it: names of files can be any bytes.
func utf8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func optional(s *string) *string {
	if s == nil {
		return nil
	}
	v := utf8(*s)
	return &v
}

// microseconds is t in Unix time. Nanoseconds are cut off: Spark reads none. A
// year that no date of SQL can have is no time.
func microseconds(t *time.Time) *int64 {
	if t == nil || t.Year() < 1 || t.Year() > 9999 {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

// finite is v where it is a number: engines sort and sum NaN each in its own way.
func finite(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// A Column describes a column of a table.
type Column struct {
	Name string
	Type string // in words of SQL
	Doc  string // with its unit
}

// Columns lists the columns of the tables requests and turns, in their order.
func Columns(table string) []Column {
	switch table {
	case "requests":
		return columnsOf(reflect.TypeFor[requestRow]())
	case "turns":
		return columnsOf(reflect.TypeFor[turnRow]())
	}
	return nil
}

func columnsOf(t reflect.Type) []Column {
	var l []Column
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		l = append(l, Column{name, sqlType(f.Type, options), f.Tag.Get("doc")})
	}
	return l
}

// sqlType is what DuckDB calls the type of a column.
func sqlType(t reflect.Type, options string) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case strings.Contains(options, "timestamp"):
		return "timestamptz"
	case t.Kind() == reflect.Int64:
		return "bigint"
	case t.Kind() == reflect.Int32:
		return "integer"
	case t.Kind() == reflect.Float64:
		return "double"
	case t.Kind() == reflect.Slice:
		return "varchar[]"
	}
	return "varchar"
}
