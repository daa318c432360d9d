package analyze

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"codexlag/analyze/lang"
	"codexlag/parse/record"
)

// Schema names the shape of a report's JSON. Keys are only ever added.
const Schema = "codexlag.report/1"

// A Report is all figures of one run. Its JSON is the contract with scripts.
// A nil pointer is a figure that is not defined: null in JSON, never 0.
type Report struct {
	Schema   string     `json:"schema"`
	Tool     Tool       `json:"tool"`
	Inputs   Inputs     `json:"inputs"`
	Options  OptionsOut `json:"options"`
	Overall  *Group     `json:"overall"`
	Groups   []Keyed    `json:"groups"`
	Findings []Finding  `json:"findings"`
	Slowest  []*Request `json:"slowest"`
	Quality  Quality    `json:"quality"`
	// Charts are for pages only; nil where nobody asked for them.
	Charts *Charts `json:"-"`
}

// Tool names the program that made the report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Inputs is what was read.
type Inputs struct {
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Lines   int64          `json:"lines"`
	Formats map[string]int `json:"formats"` // files by format
	// First and Last are when the earliest and the latest request ended; nil
	// where no request has a time.
	First *time.Time `json:"first"`
	Last  *time.Time `json:"last"`
}

// OptionsOut is what shaped the figures.
type OptionsOut struct {
	MinTokens      int64     `json:"min_tokens"`
	Percentiles    []float64 `json:"percentiles"`
	QuantileMethod string    `json:"quantile_method"`
	Exact          bool      `json:"exact"`
	// SketchError is how far a percentile may be from the exact one, as a share
	// of it, where Exact is false.
	SketchError *float64  `json:"sketch_error,omitempty"`
	Timezone    string    `json:"timezone"`
	SLO         SLOLimits `json:"slo"`
	By          []string  `json:"by"`
	Filters     []string  `json:"filters"` // flags that left out requests
	// Language is that of the sentences, and to be that of the pages.
	Language lang.Language `json:"-"`
}

// SLOLimits are the limits that a request must keep.
type SLOLimits struct {
	TTFTms float64 `json:"ttft_ms"`
	TPS    float64 `json:"tps"`
}

// Keyed is the group of the requests that share one value of a dimension.
type Keyed struct {
	By           string   `json:"by"`
	Key          string   `json:"key"`           // "" where the requests have no such value
	WaitingShare *float64 `json:"waiting_share"` // Σ total of the group / Σ total of all, 0..1
	Group        *Group   `json:"group"`
}

// A Group is the figures of a set of requests and turns.
type Group struct {
	Requests int `json:"requests"` // all, whatever their status
	Failed   int `json:"failed"`
	Aborted  int `json:"aborted"`
	Warmup   int `json:"warmup"`

	TTFT         *Dist     `json:"ttft_ms"`  // measured, derived and estimated ones; no bursts
	Total        *Dist     `json:"total_ms"` // all where defined
	Decode       *Dist     `json:"decode_ms"`
	TPS          TPS       `json:"tps"`
	TPOT         *Dist     `json:"tpot_ms"` // clean requests
	OutputTokens *Dist     `json:"output_tokens"`
	Time         TimeSplit `json:"time"`
	Turns        Turns     `json:"turns"`
	Verdict      Verdict   `json:"verdict"`
	SLO          SLO       `json:"slo"`

	PrefillModel *PrefillModel `json:"prefill_model"`
	// RequestModel is the fit of the model with the most requests. Its prefill
	// share is over the requests of all fits.
	RequestModel  *RequestModel `json:"request_model"`
	RequestModels []ModelFit    `json:"request_models"` // one a model, the one with the most requests first
	TTFTByCache   []Band        `json:"ttft_by_cache"`  // by the part of the prompt that came from the cache
	// Concurrency is of all requests only, and of no sample: a group or a
	// sample doesn't know what else was in flight.
	Concurrency *Concurrency `json:"concurrency"`
	Reasoning   *Reasoning   `json:"reasoning"`
	// SampledShare is the part of the requests that models and bands stand on;
	// nil where it is all of them.
	SampledShare *float64 `json:"sampled_share"`

	// TTFTQualities counts the TTFTs of the group by where they came from.
	TTFTQualities map[string]int `json:"ttft_qualities"`
}

// TPS shows the output rate three ways, in tokens/s; see metrics.md.
type TPS struct {
	Clean  *Dist    `json:"clean"`  // no flag that excludes the request
	All    *Dist    `json:"all"`    // every defined rate
	Pooled *float64 `json:"pooled"` // Σ decode tokens / Σ decode over all defined ones
}

// TimeSplit is where the time of the requests with a known split went. They
// are not failed, aborted, warm-up or burst, and have both TTFT and total.
type TimeSplit struct {
	Requests     int      `json:"requests"`
	Prefill      float64  `json:"prefill_ms"`
	Decode       float64  `json:"decode_ms"`
	Total        float64  `json:"total_ms"`
	PrefillShare *float64 `json:"prefill_share"` // 0..1
	// Unsplit is Σ total of the completed requests whose split is unknown.
	Unsplit float64 `json:"unsplit_ms"`
	// Failed is Σ total of the failed and aborted requests that tell it, and
	// FailedRequests how many these are. It is in no other part.
	Failed         float64 `json:"failed_ms"`
	FailedRequests int     `json:"failed_requests"`
}

// Turns is where the time of agent turns went, in ms. The five parts add up
// to the summed duration; other is the rest and never negative.
type Turns struct {
	Count      int     `json:"count"`
	Failed     int     `json:"failed"`
	Aborted    int     `json:"aborted"`
	Unfinished int     `json:"unfinished"`
	Duration   *Dist   `json:"duration_ms"`
	TTFT       *Dist   `json:"ttft_ms"` // turn start to first visible output, as Codex states it
	Prefill    float64 `json:"prefill_ms"`
	Decode     float64 `json:"decode_ms"`
	Model      float64 `json:"model_ms"` // requests whose split is unknown
	Tool       float64 `json:"tool_ms"`  // union of the tool intervals
	Other      float64 `json:"other_ms"`
	// What the requests of the turns that failed or were aborted took of the
	// parts. Those that no log of the turn tells of are in other.
	FailedPrefill float64 `json:"failed_prefill_ms"`
	FailedDecode  float64 `json:"failed_decode_ms"`
	FailedModel   float64 `json:"failed_model_ms"`
}

// Phases and bases of a verdict.
const (
	PhasePrefill  = "prefill"
	PhaseDecode   = "decode"
	PhaseBalanced = "balanced"
	PhaseNone     = "none"

	BasisMeasured = "measured"
	BasisModelled = "modelled"

	ConfidenceHigh = "high"
	ConfidenceLow  = "low"
	ConfidenceNone = "none"
)

// A Verdict says which phase dominates and how sure that is.
type Verdict struct {
	Phase      string `json:"phase"`      // prefill, decode, balanced, none
	Basis      string `json:"basis"`      // measured, modelled
	Confidence string `json:"confidence"` // high, low, none
	Headline   string `json:"headline"`
	// Doubts are the reasons why the confidence is not high.
	Doubts []string `json:"doubts"`
	Tail   *Tail    `json:"tail"` // nil below 20 requests
}

// Causes of a slow tail.
const (
	CauseSlowStart  = "slow_start"
	CauseLongOutput = "long_output"
	CauseSlowStream = "slow_stream"
)

// A Tail says why the slow requests (total ≥ p90) are slower than the others.
// The three parts add up to Delta; all are differences of means, in ms.
type Tail struct {
	Requests int     `json:"requests"`
	Cause    string  `json:"cause"`
	Delta    float64 `json:"delta_total_ms"`
	TTFT     float64 `json:"ttft_ms"`
	Length   float64 `json:"length_ms"`
	Speed    float64 `json:"speed_ms"`
}

// SLO counts the requests that kept the limits and those that did not.
type SLO struct {
	Met    int      `json:"met"`
	Missed int      `json:"missed"` // all others: what is not known to be kept is missed
	Share  *float64 `json:"share"`  // of the met in both, 0..1
	// Unknown is how many of the missed completed and tell too little of their
	// TTFT to say whether it was within the limit.
	Unknown int `json:"unknown"`
	// Why the others missed that completed: the TTFT was above its limit, the
	// clean TPS below, both of it (in the two before as well), or the answer came
	// in one piece after the limit of the TTFT.
	SlowStart  int `json:"slow_start"`
	SlowStream int `json:"slow_stream"`
	Both       int `json:"both"`
	LateBursts int `json:"late_bursts"`
}

// A PrefillModel is ttft = overhead + uncached input / rate, fitted robustly.
type PrefillModel struct {
	Requests  int      `json:"requests"`
	Overhead  float64  `json:"overhead_ms"`
	Rate      *float64 `json:"rate"`      // tokens/s; nil where TTFT does not grow with the prompt
	Explained float64  `json:"explained"` // share of the spread, 0..1
}

// A RequestModel is total = overhead + uncached input / prefill rate +
// output · tpot, fitted robustly: the split of what no log splits.
type RequestModel struct {
	Requests    int      `json:"requests"`
	Overhead    float64  `json:"overhead_ms"`
	PrefillRate *float64 `json:"prefill_rate"` // tokens/s; nil where the total does not grow with the prompt, or prompts do not differ
	TPOT        float64  `json:"tpot_ms"`
	Explained   float64  `json:"explained"` // share of the spread of the totals, 0..1
	// PrefillShare is Σ (overhead + uncached input / prefill rate) / Σ modelled
	// total: the overhead passes before the first token, so it counts as prefill.
	PrefillShare *float64 `json:"prefill_share"`

	// How far the model is from the TTFTs that are known: the median of modelled
	// − known, and that as a part of the median known TTFT.
	TTFTRequests   int      `json:"ttft_requests"`
	TTFTError      *float64 `json:"ttft_error_ms"`
	TTFTErrorShare *float64 `json:"ttft_error_share"`
}

// A ModelFit is the request model of the requests of one model.
type ModelFit struct {
	Model string `json:"model"` // "" where the log does not name it
	RequestModel
}

// A Band is the requests with a figure in one range.
type Band struct {
	Key      string   `json:"key"`
	Requests int      `json:"requests"`
	TTFT     *float64 `json:"ttft_p50_ms"`
}

// Concurrency is how the latency goes with the number of requests in flight: of
// each request the mean over its time, itself included, rounded to a band.
type Concurrency struct {
	Requests int               `json:"requests"` // with known start and end
	Mean     float64           `json:"mean"`     // of their means
	Max      float64           `json:"max"`
	Bands    []ConcurrencyBand `json:"bands"`
	// Correlation is Spearman's, of TPS with the number in flight, −1..1; nil
	// with fewer than 10 rates or where one of the two is the same everywhere.
	Correlation         *float64 `json:"tps_rank_correlation"`
	CorrelationRequests int      `json:"tps_rank_correlation_requests"`
}

// A ConcurrencyBand is the requests that ran with so many in flight.
type ConcurrencyBand struct {
	InFlight     string   `json:"in_flight"` // 1, 2, 3–4, 5+
	Requests     int      `json:"requests"`
	TTFTRequests int      `json:"ttft_requests"`
	TTFT         *float64 `json:"ttft_p50_ms"`
	TPSRequests  int      `json:"tps_requests"`
	TPS          *float64 `json:"tps_p50"`
}

// Reasoning is how much of the output was hidden reasoning, over the completed
// requests that tell both.
type Reasoning struct {
	Requests  int      `json:"requests"`
	Reasoning float64  `json:"reasoning_tokens"`
	Output    float64  `json:"output_tokens"`
	Share     *float64 `json:"share"` // 0..1
}

// A Dist is the distribution of a figure. Nil stands for n = 0.
type Dist struct {
	N              int
	Min, Mean, Max float64
	StdDev         *float64 // sample standard deviation; nil below 2
	Quantiles      []Quantile
}

// A Quantile is one point of a distribution with its doubt.
type Quantile struct {
	P     float64 // percent
	Value float64
	// CI is the 95 % confidence interval from order statistics; nil where n is too small.
	CI *[2]float64
	// Thin says that n is too small for the quantile to be more than an echo
	// of the maximum: n < ⌈1/(1−p/100)⌉.
	Thin bool
}

// At returns the quantile p (percent), or nil where it was not asked for or d is nil.
func (d *Dist) At(p float64) *Quantile {
	if d == nil {
		return nil
	}
	for i := range d.Quantiles {
		if d.Quantiles[i].P == p {
			return &d.Quantiles[i]
		}
	}
	return nil
}

// Name is the quantile's name in reports: p50, p99.9.
func (q Quantile) Name() string { return "p" + strconv.FormatFloat(q.P, 'f', -1, 64) }

// MarshalJSON writes the quantiles as keys (p50, p90) beside n, min, mean, max.
func (d *Dist) MarshalJSON() ([]byte, error) {
	m := map[string]any{"n": d.N, "min": d.Min, "mean": d.Mean, "max": d.Max}
	if d.StdDev != nil {
		m["stddev"] = *d.StdDev
	}
	ci := map[string][2]float64{}
	for _, q := range d.Quantiles {
		m[q.Name()] = q.Value
		if q.CI != nil {
			ci[q.Name()] = *q.CI
		}
	}
	if len(ci) > 0 {
		m["ci95"] = ci
	}
	return json.Marshal(m)
}

// A Finding is one thing worth knowing, with its evidence and what to do.
type Finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"` // info, warn, bad
	Title    string `json:"title"`
	Evidence string `json:"evidence"`
	Advice   string `json:"advice"`
}

// Severities of a finding.
const (
	SeverityInfo = "info"
	SeverityWarn = "warn"
	SeverityBad  = "bad"
)

// Quality says how much of what was read can be trusted, and what was left out.
type Quality struct {
	Requests   int                   `json:"requests"`
	Skipped    map[record.Reason]int `json:"skipped"`
	Flags      map[Flag]int          `json:"flags"`
	TTFT       map[string]int        `json:"ttft"` // measured, derived, estimated, bound, none
	Repeats    int                   `json:"repeats"`
	Replayed   int                   `json:"replayed"`
	Duplicates int                   `json:"duplicates"`
	Merged     int                   `json:"merged"`
}

// A Request is one request with everything that is derived from it.
type Request struct {
	Source       string     `json:"source"` // file:line
	Format       string     `json:"format"`
	Time         *time.Time `json:"time"` // when it ended
	Session      *string    `json:"session"`
	Turn         *string    `json:"turn"`
	Model        *string    `json:"model"`
	Provider     *string    `json:"provider"`
	Effort       *string    `json:"effort"`
	Label        *string    `json:"label"`
	TTFT         *float64   `json:"ttft_ms"`
	TTFTQuality  string     `json:"ttft_quality"`
	Total        *float64   `json:"total_ms"`
	Decode       *float64   `json:"decode_ms"`
	OutputTokens *int64     `json:"output_tokens"`
	DecodeTokens *int64     `json:"decode_tokens"`
	InputTokens  *int64     `json:"input_tokens"`
	CachedTokens *int64     `json:"cached_tokens"`
	Reasoning    *int64     `json:"reasoning_tokens"`
	TPS          *float64   `json:"tps"`
	ReportedTPS  *float64   `json:"reported_tps"`
	TPOT         *float64   `json:"tpot_ms"`
	PrefillShare *float64   `json:"prefill_share"`
	Phase        *string    `json:"phase"`
	Status       string     `json:"status"`
	Flags        []Flag     `json:"flags"`
	// TPSError is the relative error of TPS, 1/decode tokens + 1/decode ms; nil where TPS is.
	TPSError *float64 `json:"tps_error"`
	// HTTPStatus and Error tell why a failed request failed.
	HTTPStatus *int    `json:"http_status"`
	Error      *string `json:"error"`
}

// A Flag says why a figure of a request must not be trusted; see metrics.md.
type Flag string

// Flags in the order in which they are reported.
const (
	FewTokens      Flag = "few_tokens"       // decode tokens below the minimum: out of clean TPS and TPOT
	ShortDecode    Flag = "short_decode"     // decode below 500 ms: out of clean TPS and TPOT
	Burst          Flag = "burst"            // the answer came in one piece: out of clean TPS, TPOT and TTFT
	NoTTFT         Flag = "no_ttft"          // the field is missing or says unknown
	NoTotal        Flag = "no_total"         //
	NoTokens       Flag = "no_tokens"        //
	TTFTAfterTotal Flag = "ttft_after_total" // all timing metrics undefined
	TPSMismatch    Flag = "tps_mismatch"     // reported and derived TPS differ; stays, counted
	FlagWarmup     Flag = "warmup"           // out of everything but the count
	FlagFailed     Flag = "failed"           // out of all metrics, misses every SLO
	FlagAborted    Flag = "aborted"          //
	SlowStart      Flag = "slow_start"       // TTFT beyond the limit of --slo
	SlowStream     Flag = "slow_stream"      // clean TPS below the limit of --slo
)

func num(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
