package analyze

import (
	"fmt"
	"strconv"
	"time"

	"codexlag/analyze/human"
	"codexlag/parse/record"
)

// An Explanation is the arithmetic of one request or turn, step by step.
type Explanation struct {
	Title string
	// Request is nil where a turn is explained.
	Request *Request
	Steps   []Step
	// Timeline is what happened when, in order of start; empty where no time is known.
	Timeline []Phase
	// Length is what the timeline spans.
	Length time.Duration
}

// A Step is one figure: what it is, how it was computed with its numbers, and
// what came out.
type Step struct{ What, How, Result string }

// Kinds of phases on a timeline.
const (
	KindPrefill   = "prefill"
	KindReasoning = "reasoning" // the part of decode that was hidden reasoning, by its share of the tokens
	KindDecode    = "decode"
	KindModel     = "model" // a request whose split is unknown
	KindTool      = "tool"
	KindWait      = "wait" // nothing that a log tells of
)

// A Phase is a stretch of a timeline; times count from its beginning.
type Phase struct {
	Kind       string
	Label      string
	Start, End time.Duration
}

// ExplainRequest explains one request.
func ExplainRequest(r *record.Request, o *Options) *Explanation {
	m := derive(r, o)
	e := &Explanation{Title: "Request " + r.Pos.String(), Request: NewRequest(r, o), Length: max(r.Total, 0)}
	e.times(r, &m)
	e.rates(r, &m)
	e.judgement(r, &m, o)
	e.Timeline = requestPhases(r, &m, "", 0)
	return e
}

func (e *Explanation) step(what, how, result string) {
	e.Steps = append(e.Steps, Step{what, how, result})
}

// exact writes a time in ms with all its digits.
func exact(d time.Duration) string {
	return strconv.FormatFloat(milliseconds(d), 'f', -1, 64) + " ms"
}

var qualityMeaning = map[record.Quality]string{
	record.Measured:  "the log states it for this very request",
	record.Derived:   "computed from other figures that the log states",
	record.Estimated: "from timestamps around the request",
	record.Bound:     "the first finished item: an upper bound, not a time",
	record.None:      "the log does not tell",
}

func (e *Explanation) times(r *record.Request, m *metrics) {
	ttft := human.Undefined
	if r.Quality != record.None {
		ttft = exact(r.TTFT)
	}
	if r.Quality == record.Bound {
		ttft = "≤ " + ttft
	}
	how := r.Quality.String() + ": " + qualityMeaning[r.Quality]
	if r.FirstVisible {
		how += "; it ends at the first visible output, so hidden reasoning is inside"
	}
	if r.Merged {
		how += "; told by a trace and a session file"
	}
	e.step("TTFT", how, ttft)
	switch {
	case r.Total <= 0:
		e.step("total", "the log does not tell", human.Undefined)
	case !r.Start.IsZero() && !r.End.IsZero():
		e.step("total", fmt.Sprintf("%s to %s", r.Start.UTC().Format(clock), r.End.UTC().Format(clock)), exact(r.Total))
	default:
		e.step("total", "the log states it", exact(r.Total))
	}
	switch {
	case m.flags&ttftAfterTotalBit != 0:
		e.step("decode", fmt.Sprintf("the TTFT lies %s behind the end: one of the two is wrong", exact(r.TTFT-r.Total)), human.Undefined)
	case m.hasShare:
		e.step("decode", fmt.Sprintf("total − TTFT = %s − %s", exact(m.total), exact(m.ttft)), exact(m.decode))
		e.step("prefill share", fmt.Sprintf("TTFT / total = %s / %s; prefill from %s, decode up to %s", exact(m.ttft), exact(m.total),
			human.Percent(prefillFrom), human.Percent(decodeUpTo)), human.Percent(m.share())+": "+phase(m.share()))
	default:
		e.step("decode", "needs a TTFT and a total", human.Undefined)
	}
}

const clock = "15:04:05.000"

func (e *Explanation) rates(r *record.Request, m *metrics) {
	n := m.decodeTokens
	switch {
	case !n.Known:
		e.step("decode tokens", "the log does not tell", human.Undefined)
	case n.N != r.Output.N:
		e.step("decode tokens", fmt.Sprintf("output − hidden reasoning before the first visible token = %s − %s", human.Count(r.Output.N), human.Count(r.Reasoning.N)), human.Count(n.N))
	default:
		e.step("decode tokens", "all generated tokens, reasoning included", human.Count(n.N))
	}
	if !m.hasTPS {
		e.step("TPS", "needs at least one token and a decode time above 0", human.Undefined)
		return
	}
	relative := 1/float64(n.N) + 1/milliseconds(m.decode)
	e.step("TPS", fmt.Sprintf("decode tokens / decode = %s / %s; error 1/%d + 1/%s = %s", human.Count(n.N), exact(m.decode), n.N,
		strconv.FormatFloat(milliseconds(m.decode), 'f', -1, 64), human.Percent(relative)), human.Rate(m.tps)+" "+human.RelativeError(relative))
	if m.hasTPOT {
		e.step("TPOT", fmt.Sprintf("decode / (decode tokens − 1) = %s / %s", exact(m.decode), human.Count(n.N-1)), human.Duration(m.tpot()))
	}
	if r.HasReportedTPS {
		e.step("TPS as the log prints it", "kept beside, never used", human.Rate(r.ReportedTPS))
	}
	if n, ok := uncachedTokens(r); ok && m.hasTTFT && m.ttft > 0 {
		e.step("prefill rate", fmt.Sprintf("(input − cached) / TTFT = %s / %s; a lower bound, since TTFT holds queue and network", human.Count(n), exact(m.ttft)),
			"≥ "+human.Rate(float64(n)/m.ttft.Seconds()))
	}
}

func uncachedTokens(r *record.Request) (int64, bool) {
	if !r.Input.Known || r.Cached.Known && r.Cached.N > r.Input.N {
		return 0, false
	}
	return r.Input.N - r.Cached.N, true
}

func (e *Explanation) judgement(r *record.Request, m *metrics, o *Options) {
	for _, f := range m.flags.list() {
		e.step("flag "+string(f), flagReason(f, m, o), flagEffect(f))
	}
	if r.Status != record.OK {
		why := "it is counted and in no figure"
		if r.Error.HTTPStatus != 0 {
			why += fmt.Sprintf("; HTTP status %d", r.Error.HTTPStatus)
		}
		e.step("status", why, r.Status.String())
	}
	if r.Retries > 0 {
		e.step("retries", "attempts that failed before; their time is inside TTFT and total", human.Count(r.Retries))
	}
	result := "missed"
	if m.meets(o) {
		result = "met"
	}
	if r.Status != record.Warmup {
		e.step("limits", fmt.Sprintf("TTFT ≤ %s; TPS ≥ %s where it is clean", human.Limit(milliseconds(o.SLO.TTFT)), human.LimitRate(o.SLO.TPS)), result)
	}
}

func flagReason(f Flag, m *metrics, o *Options) string {
	switch f {
	case FewTokens:
		return fmt.Sprintf("%s decode tokens, %s are needed for a rate that is not chance", human.Count(m.decodeTokens.N), human.Count(o.MinTokens))
	case ShortDecode:
		return fmt.Sprintf("decode of %s, %s are needed", exact(m.decode), exact(minDecode))
	case Burst:
		if m.hasTPS {
			return fmt.Sprintf("%s: no model streams faster than %d tok/s, so the answer came in one piece", human.Rate(m.tps), maxTPS)
		}
		return "the first token came with the last: the answer came in one piece"
	case SlowStart:
		return fmt.Sprintf("TTFT of %s, the limit is %s", human.Duration(milliseconds(m.ttft)), human.Limit(milliseconds(o.SLO.TTFT)))
	case SlowStream:
		return fmt.Sprintf("%s, the limit is %s", human.Rate(m.tps), human.LimitRate(o.SLO.TPS))
	case TPSMismatch:
		return "the printed and the derived rate differ by more than 5 % and 0.1 tok/s"
	case TTFTAfterTotal:
		return "the TTFT is greater than the total"
	case NoTTFT, NoTotal, NoTokens:
		return "the field is missing or says unknown"
	}
	return "as the log tells"
}

func flagEffect(f Flag) string {
	switch f {
	case FewTokens, ShortDecode:
		return "out of clean TPS, TPOT"
	case Burst:
		return "out of TTFT, clean TPS, TPOT"
	case SlowStart, SlowStream, TPSMismatch:
		return "stays in"
	case NoTTFT, NoTotal, NoTokens, TTFTAfterTotal:
		return "its metrics are undefined"
	}
	return "only counted"
}

// requestPhases lays a request on a timeline, from the offset at on.
func requestPhases(r *record.Request, m *metrics, label string, at time.Duration) []Phase {
	if r.Total <= 0 {
		return nil
	}
	if !m.hasShare {
		return []Phase{{KindModel, label + "split unknown", at, at + r.Total}}
	}
	first := at + m.ttft
	name := "until the first token"
	if r.FirstVisible {
		name = "until the first visible token"
	}
	p := []Phase{{KindPrefill, label + name, at, first}}
	if !m.hasDecode {
		return p
	}
	end, n := at+r.Total, m.decodeTokens.N
	if reasoned := r.Reasoning.N; !r.FirstVisible && reasoned > 0 && reasoned <= n {
		// No log tells when reasoning ended: the tokens come at one rate.
		until := first + time.Duration(float64(m.decode)*float64(reasoned)/float64(n))
		p = append(p, Phase{KindReasoning, label + "≈ " + human.Plural(reasoned, "token") + " of hidden reasoning", first, until})
		if first, n = until, n-reasoned; n == 0 {
			return p
		}
	}
	tokens := "tokens unknown"
	if r.Output.Known {
		tokens = human.Plural(n, "token")
	}
	return append(p, Phase{KindDecode, label + tokens, first, end})
}
