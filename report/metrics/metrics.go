// Package metrics gives the figures of requests to a Prometheus server: numbers,
// and as the only names those of models.
//
// Names and units are OpenTelemetry's for generative AI where it has one
// (gen_ai.server.time_to_first_token in s is
// gen_ai_server_time_to_first_token_seconds here), else our own. What counts in
// a figure is what counts in a report. Histograms are native and classic in
// one: a server takes the one it knows.
package metrics

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"codexlag/analyze"
)

const (
	// MaxModels is how many models have series of their own; the others share
	// one that is called "other".
	MaxModels = 100
	// maxName is the longest name of a model that becomes a label, in bytes.
	maxName = 100

	otherModel   = "other"
	unknownModel = "unknown"
)

// Buckets of the classic histograms, in s: those that OpenTelemetry advises,
// without the ones that no model is fast enough for, and finer and further where
// Codex's requests lie.
var (
	ttftBuckets     = []float64{.1, .25, .5, .75, 1, 1.5, 2.5, 5, 7.5, 10, 15, 30, 60, 120}
	tpotBuckets     = []float64{.005, .01, .015, .02, .025, .03, .04, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	durationBuckets = []float64{.32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68}
	tokenBuckets    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576}
)

// Metrics are the figures of the requests that were observed. They are safe for
// use by several goroutines, Observe and ObserveTurn by one at a time.
type Metrics struct {
	options  *analyze.Options
	registry *prometheus.Registry
	models   map[string]string // the labels of models

	ttft, tpot, duration, tokens                                               *prometheus.HistogramVec
	requests, quality, time, decodeTokens, decodeSeconds, slo, turns, turnTime *prometheus.CounterVec
}

// New returns metrics without any request yet. version is that of the program.
func New(options *analyze.Options, version string) *Metrics {
	m := &Metrics{options: options, registry: prometheus.NewRegistry(), models: make(map[string]string)}
	m.ttft = m.histogram("gen_ai_server_time_to_first_token_seconds",
		"Request sent until the first generated token. Without upper bounds and answers that came in one piece; where a TTFT comes from: codexlag_ttft_quality_total.", ttftBuckets)
	m.tpot = m.histogram("gen_ai_server_time_per_output_token_seconds",
		"Decode time / (decode tokens - 1) of requests that are not noisy.", tpotBuckets)
	m.duration = m.histogram("gen_ai_client_operation_duration_seconds",
		"Request sent until the last token, of completed requests.", durationBuckets)
	m.tokens = m.histogram("gen_ai_client_token_usage",
		"Tokens of completed requests: input with cached ones, output with reasoning.", tokenBuckets, "token_type")
	m.requests = m.counter("codexlag_requests_total", "Requests that ended, by how.", "model", "phase", "status")
	m.quality = m.counter("codexlag_ttft_quality_total", "Requests by where their TTFT comes from.", "model", "quality")
	m.time = m.counter("codexlag_request_time_seconds_total", "Where the time of completed requests went; unsplit: no log says.", "model", "part")
	m.decodeTokens = m.counter("codexlag_decode_tokens_total", "Tokens generated in a known decode time. Divided by codexlag_decode_seconds_total: the pooled rate.", "model")
	m.decodeSeconds = m.counter("codexlag_decode_seconds_total", "Decode time in which codexlag_decode_tokens_total were generated.", "model")
	m.slo = m.counter("codexlag_slo_requests_total", "Requests that kept or missed the limits of --slo.", "model", "result")
	m.turns = m.counter("codexlag_turns_total", "Agent turns of known length that ended.")
	m.turnTime = m.counter("codexlag_turn_time_seconds_total", "Where the time of agent turns went.", "part")
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "codexlag_build_info", Help: "1, with the version of the program."}, []string{"version"})
	m.registry.MustRegister(info)
	info.WithLabelValues(label(version)).Set(1)
	return m
}

func (m *Metrics) histogram(name, help string, buckets []float64, more ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}, append([]string{"model", "phase"}, more...))
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

// Observe counts one request.
func (m *Metrics) Observe(q *analyze.Request) {
	model, phase := m.model(q.Model), "none"
	if q.Phase != nil {
		phase = *q.Phase
	}
	m.requests.WithLabelValues(model, phase, q.Status).Inc()
	m.quality.WithLabelValues(model, q.TTFTQuality).Inc()
	if met, ok := q.MeetsSLO(m.options); ok {
		m.slo.WithLabelValues(model, map[bool]string{true: "met", false: "missed"}[met]).Inc()
	}
	if q.Status != "ok" {
		return
	}
	seconds := func(v *prometheus.HistogramVec, ms *float64) {
		if ms != nil {
			v.WithLabelValues(model, phase).Observe(*ms / 1000)
		}
	}
	if q.CountsInTTFT() {
		seconds(m.ttft, q.TTFT)
	}
	if q.Clean() {
		seconds(m.tpot, q.TPOT)
	}
	seconds(m.duration, q.Total)
	for kind, n := range map[string]*int64{"input": q.InputTokens, "output": q.OutputTokens} {
		if n != nil {
			m.tokens.WithLabelValues(model, phase, kind).Observe(float64(*n))
		}
	}
	if q.TPS != nil {
		m.decodeTokens.WithLabelValues(model).Add(float64(*q.DecodeTokens))
		m.decodeSeconds.WithLabelValues(model).Add(*q.Decode / 1000)
	}
	m.split(model, q)
}

// split files the time of a request as a report does.
func (m *Metrics) split(model string, q *analyze.Request) {
	switch {
	case q.Total == nil:
	case q.PrefillShare != nil && q.CountsInTTFT():
		m.time.WithLabelValues(model, "prefill").Add(*q.TTFT / 1000)
		m.time.WithLabelValues(model, "decode").Add((*q.Total - *q.TTFT) / 1000)
	default:
		m.time.WithLabelValues(model, "unsplit").Add(*q.Total / 1000)
	}
}

// ObserveTurn counts one agent turn; nil is one of unknown length.
func (m *Metrics) ObserveTurn(t *analyze.LiveTurns) {
	if t == nil {
		return
	}
	m.turns.WithLabelValues().Inc()
	for part, ms := range map[string]float64{"prefill": t.Prefill, "decode": t.Decode, "model": t.Model, "tools": t.Tool, "other": t.Other} {
		m.turnTime.WithLabelValues(part).Add(ms / 1000)
	}
}

// model is the label of a model. There are only so many.
func (m *Metrics) model(name *string) string {
	if name == nil {
		return unknownModel
	}
	if l, ok := m.models[*name]; ok {
		return l
	}
	if len(m.models) >= MaxModels {
		return otherModel
	}
	l := label(*name)
	m.models[strings.Clone(*name)] = l
	return l
}

// label makes a name fit for a label, which must be UTF-8.
func label(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "�")
}

// Handler serves the metrics to a Prometheus server.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8, Timeout: 10 * time.Second})
}
