package requestline

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/record"
	"codexlag/parse/timestamp"
)

// A field is what a key means.
type field uint8

const (
	fieldNone field = iota

	// numbers
	fieldTTFT
	fieldTTFTSeconds
	fieldTTFTUnit // a key without a unit: counts only with one on the value
	fieldTotal
	fieldTotalSeconds
	fieldTotalUnit
	fieldDuration // total under a second name: a total_ms beside it wins
	fieldDurationUnit
	fieldDurationSeconds
	fieldTotalTokens
	fieldOutput
	fieldInput
	fieldCached
	fieldReasoning
	fieldTPS

	// names
	fieldTime
	fieldModel
	fieldProvider
	fieldEffort
	fieldSession
	fieldTurn
	fieldLabel
	fieldID
	fieldVersion
	fieldStatus
	fieldError
	fieldMessage
)

func (f field) isNumber() bool { return f > fieldNone && f <= fieldTPS }

func lookup(key []byte) field {
	switch string(key) {
	case "first_token_ms", "ttft_ms", "time_to_first_token_ms":
		return fieldTTFT
	case "ttft_s", "first_token_s", "time_to_first_token_s", "ttft_seconds", "time_to_first_token_seconds":
		return fieldTTFTSeconds
	case "ttft", "first_token", "time_to_first_token":
		return fieldTTFTUnit
	case "total_ms":
		return fieldTotal
	case "total_s", "total_seconds":
		return fieldTotalSeconds
	case "total":
		return fieldTotalUnit
	case "duration_ms", "elapsed_ms", "latency_ms":
		return fieldDuration
	case "duration_s", "elapsed_s", "latency_s", "duration_seconds":
		return fieldDurationSeconds
	case "duration", "elapsed", "latency":
		return fieldDurationUnit
	case "total_tokens":
		return fieldTotalTokens
	case "output_tokens", "completion_tokens", "generated_tokens":
		return fieldOutput
	case "input_tokens", "prompt_tokens":
		return fieldInput
	case "cached_tokens", "cached_input_tokens":
		return fieldCached
	case "reasoning_tokens", "reasoning_output_tokens":
		return fieldReasoning
	case "tokens_per_sec", "tokens_per_second", "tps":
		return fieldTPS
	case "timestamp", "ts", "time", "@timestamp":
		return fieldTime
	case "model":
		return fieldModel
	case "provider", "model_provider":
		return fieldProvider
	case "effort", "reasoning_effort", "model_reasoning_effort":
		return fieldEffort
	case "session", "session_id", "conversation_id", "conversation.id", "thread_id":
		return fieldSession
	case "turn", "turn_id", "turn.id":
		return fieldTurn
	case "label":
		return fieldLabel
	case "id", "request_id", "response_id":
		return fieldID
	case "version", "codex_version", "app.version":
		return fieldVersion
	case "status", "http_status", "status_code":
		return fieldStatus
	case "error", "err":
		return fieldError
	case "msg", "message":
		return fieldMessage
	}
	return fieldNone
}

// fields are the values of one line as they stand in it.
type fields struct {
	location *time.Location

	ttft, total, second       time.Duration // second: total under its second name
	hasTTFT, hasTotal, hasSec bool
	keyTTFT, keyTotal         bool // the key is there, whatever its value
	keyTokens                 bool

	totalTokens, output, input, cached, reasoning record.Tokens

	tps    float64
	hasTPS bool

	unreadable bool // a figure has a value that is neither a number that can be nor a word for none

	time                                                                  time.Time
	model, provider, effort, session, turn, label, id, version, status, e []byte
}

// set takes one value. A value that says "unknown" (None, n/a, null, -1, …) or
// cannot be read leaves the figure unknown. The first of two equal keys counts.
func (f *fields) set(k field, v []byte, ignore bool) {
	if ignore || k == fieldNone || k == fieldMessage {
		return
	}
	switch k {
	case fieldTTFT, fieldTTFTSeconds, fieldTTFTUnit:
		f.keyTTFT = f.keyTTFT || k != fieldTTFTUnit
		f.check(setDuration(&f.ttft, &f.hasTTFT, v, unitOf(k, fieldTTFT, fieldTTFTSeconds)), v)
	case fieldTotal, fieldTotalSeconds, fieldTotalUnit:
		f.keyTotal = f.keyTotal || k != fieldTotalUnit
		f.check(setDuration(&f.total, &f.hasTotal, v, unitOf(k, fieldTotal, fieldTotalSeconds)), v)
	case fieldDuration, fieldDurationSeconds, fieldDurationUnit:
		f.keyTotal = f.keyTotal || k != fieldDurationUnit
		f.check(setDuration(&f.second, &f.hasSec, v, unitOf(k, fieldDuration, fieldDurationSeconds)), v)
	case fieldTotalTokens:
		f.keyTokens = true
		f.check(setTokens(&f.totalTokens, v), v)
	case fieldOutput:
		f.keyTokens = true
		f.check(setTokens(&f.output, v), v)
	case fieldInput:
		f.check(setTokens(&f.input, v), v)
	case fieldCached:
		f.check(setTokens(&f.cached, v), v)
	case fieldReasoning:
		f.check(setTokens(&f.reasoning, v), v)
	case fieldTPS:
		n, ok := number(v)
		f.check(ok && n <= maxRate, v)
		if ok && n >= 0 && n <= maxRate && !f.hasTPS {
			f.tps, f.hasTPS = n, true
		}
	case fieldTime:
		if f.time.IsZero() {
			f.setTime(v)
		}
	default:
		if dst := f.name(k); len(*dst) == 0 && !isUnknown(v) {
			*dst = v
		}
	}
}

// check notes a value that was not readable, unless it says that there is none.
func (f *fields) check(readable bool, v []byte) {
	if !readable && !isNone(v) {
		f.unreadable = true
	}
}

// setWhole is set for a whole number, not negative, of up to 15 digits.
func (f *fields) setWhole(k field, n int64) {
	ok := true
	switch k {
	case fieldTTFT:
		f.keyTTFT = true
		ok = setMillis(&f.ttft, &f.hasTTFT, n)
	case fieldTotal:
		f.keyTotal = true
		ok = setMillis(&f.total, &f.hasTotal, n)
	case fieldDuration:
		f.keyTotal = true
		ok = setMillis(&f.second, &f.hasSec, n)
	case fieldTotalTokens:
		f.keyTokens = true
		ok = setCount(&f.totalTokens, n)
	case fieldOutput:
		f.keyTokens = true
		ok = setCount(&f.output, n)
	case fieldInput:
		ok = setCount(&f.input, n)
	case fieldCached:
		ok = setCount(&f.cached, n)
	case fieldReasoning:
		ok = setCount(&f.reasoning, n)
	case fieldTPS:
		if ok = n <= maxRate; ok && !f.hasTPS {
			f.tps, f.hasTPS = float64(n), true
		}
	case fieldTTFTSeconds:
		f.keyTTFT = true
		ok = setMillis(&f.ttft, &f.hasTTFT, n*1000)
	case fieldTotalSeconds:
		f.keyTotal = true
		ok = setMillis(&f.total, &f.hasTotal, n*1000)
	case fieldDurationSeconds:
		f.keyTotal = true
		ok = setMillis(&f.second, &f.hasSec, n*1000)
	}
	if !ok {
		f.unreadable = true
	}
}

func (f *fields) name(k field) *[]byte {
	switch k {
	case fieldModel:
		return &f.model
	case fieldProvider:
		return &f.provider
	case fieldEffort:
		return &f.effort
	case fieldSession:
		return &f.session
	case fieldTurn:
		return &f.turn
	case fieldLabel:
		return &f.label
	case fieldID:
		return &f.id
	case fieldVersion:
		return &f.version
	case fieldStatus:
		return &f.status
	default:
		return &f.e
	}
}

// merge takes what o knows and f doesn't; o's numbers win.
func (f *fields) merge(o *fields) {
	names := [...]field{fieldModel, fieldProvider, fieldEffort, fieldSession, fieldTurn, fieldLabel, fieldID, fieldVersion, fieldStatus, fieldError}
	before := *f
	*f = *o
	for _, k := range names {
		if dst := f.name(k); len(*dst) == 0 {
			*dst = *before.name(k)
		}
	}
	if f.time.IsZero() {
		f.time = before.time
	}
}

// speaksForItself reports whether an unmarked line is a request all the same.
func (f *fields) speaksForItself() bool {
	return (f.keyTTFT || f.hasTTFT) && (f.keyTotal || f.hasTotal || f.hasSec || f.keyTokens)
}

func (f *fields) hasNumber() bool {
	return f.hasTTFT || f.hasTotal || f.hasSec || f.totalTokens.Known || f.output.Known || f.hasTPS
}

// fill makes the record of the line's values.
func (f *fields) fill(r *record.Request, names *intern.Table) {
	r.End = f.time
	r.Model, r.Provider, r.Effort = names.Get(f.model), names.Get(f.provider), names.Get(f.effort)
	r.Session, r.Turn, r.Label = names.Get(f.session), names.Get(f.turn), names.Get(f.label)
	r.Version = names.Get(f.version)
	if len(f.id) > 0 {
		r.ID = intern.Clean(f.id)
	}
	if f.hasTTFT {
		r.TTFT, r.Quality = f.ttft, record.Measured
	}
	if !f.hasTotal {
		f.total, f.hasTotal = f.second, f.hasSec
	}
	if f.hasTotal && f.total > 0 {
		r.Total = f.total
	}
	r.Output = f.output
	if !r.Output.Known {
		r.Output = f.totalTokens
	}
	r.Input, r.Cached, r.Reasoning = f.input, f.cached, f.reasoning
	r.ReportedTPS, r.HasReportedTPS = f.tps, f.hasTPS
	if r.Quality == record.None {
		f.deriveTTFT(r)
	}
	if !r.End.IsZero() && r.Total > 0 {
		r.Start = r.End.Add(-r.Total)
	}
	f.setStatus(r)
}

// deriveTTFT computes the TTFT of a line that prints the rate instead
// (metrics.md: ttft = total − 1000 · output_tokens / tokens_per_sec).
func (f *fields) deriveTTFT(r *record.Request) {
	if !f.hasTPS || f.tps <= 0 || r.Total <= 0 || !r.Output.Known || f.keyTTFT {
		return
	}
	ms := float64(r.Total)/float64(time.Millisecond) - 1000*float64(r.Output.N)/f.tps
	if ms < 0 {
		return
	}
	r.TTFT, r.Quality = milliseconds(ms), record.Derived
}

func (f *fields) setStatus(r *record.Request) {
	if len(f.e) > 0 {
		r.Status, r.Error.Kind = record.Failed, record.ErrOther
		if containsFold(f.e, "timeout") || containsFold(f.e, "timed out") {
			r.Error.Kind = record.ErrTimeout
		}
	}
	if len(f.status) == 0 {
		return
	}
	if code, err := strconv.Atoi(string(f.status)); err == nil {
		if code >= 400 && code < 600 {
			r.Status, r.Error.HTTPStatus = record.Failed, code
		}
		return
	}
	switch string(bytes.ToLower(f.status)) {
	case "failed", "failure", "error":
		r.Status = record.Failed
	case "timeout":
		r.Status, r.Error.Kind = record.Failed, record.ErrTimeout
	case "disconnected":
		r.Status, r.Error.Kind = record.Failed, record.ErrDisconnected
	case "aborted", "cancelled", "canceled", "interrupted":
		r.Status = record.Aborted
	case "warmup":
		r.Status = record.Warmup
	}
}

func containsFold(b []byte, sub string) bool { return bytes.Contains(bytes.ToLower(b), []byte(sub)) }

// setTime takes a timestamp: RFC 3339, the same without a zone or with a comma
// before the fraction, or Unix seconds, milliseconds, microseconds or
// nanoseconds, told apart by their size.
func (f *fields) setTime(v []byte) {
	if t, ok := timestamp.Parse(v); ok {
		f.time = t
		return
	}
	if n, ok := number(v); ok {
		for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
			if s := n / unit; s >= 1e8 && s < 1e10 { // 1973 … 2286
				whole := math.Floor(s)
				f.time = time.Unix(int64(whole), int64(math.Round((s-whole)*1e6))*1000).UTC()
				return
			}
		}
		return
	}
	f.time = zoneless(v, f.location)
}

// zoneless reads a timestamp without a zone as one of location.
func zoneless(v []byte, location *time.Location) time.Time {
	if len(v) < len("2026-09-10T09:00:00") || len(v) > 32 || v[4] != '-' || v[13] != ':' || location == nil {
		return time.Time{}
	}
	var buf [40]byte
	b := append(buf[:0], v...)
	if len(b) > 19 && b[19] == ',' {
		b[19] = '.'
	}
	t, ok := timestamp.Parse(append(b, 'Z'))
	if !ok {
		return time.Time{}
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), location)
}
