package analyze

import (
	"strconv"
	"time"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
	"codexlag/parse/record"
)

// An Explanation is the arithmetic of one request or turn, step by step.
type Explanation struct {
	lang.Language // of its texts

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
	e := &Explanation{Language: o.Language, Title: o.Language.Sprintf("Request %s", r.Pos), Request: NewRequest(r, o), Length: max(r.Total, 0)}
	e.times(r, &m)
	e.rates(r, &m)
	e.judgement(r, &m, o)
	e.Timeline = requestPhases(r, &m, "", 0, o.Language)
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
	record.Measured:  lang.Mark("the log states it for this very request"),
	record.Derived:   lang.Mark("computed from other figures that the log states"),
	record.Estimated: lang.Mark("from timestamps around the request"),
	record.Bound:     lang.Mark("the first finished item: an upper bound, not a time"),
	record.None:      lang.Mark("the log does not tell"),
}

func (e *Explanation) times(r *record.Request, m *metrics) {
	ttft := human.Undefined
	if r.Quality != record.None {
		ttft = exact(r.TTFT)
	}
	if r.Quality == record.Bound {
		ttft = "≤ " + ttft
	}
	how := e.Word(r.Quality.String()) + e.Text(": ") + e.Word(qualityMeaning[r.Quality])
	if r.FirstVisible {
		how += e.Text("; it ends at the first visible output, so hidden reasoning is inside")
	}
	if m.burst {
		how += e.Text("; but the answer came in one piece, so it tells when that came, and is in no figure")
	}
	if r.Merged {
		how += e.Text("; told by a trace and a session file")
	}
	e.step("TTFT", how, ttft)
	switch {
	case r.Total <= 0:
		e.step(e.Text("total"), e.Text("the log does not tell"), human.Undefined)
	case !r.Start.IsZero() && !r.End.IsZero():
		e.step(e.Text("total"), e.Sprintf("%s to %s", r.Start.UTC().Format(clock), r.End.UTC().Format(clock)), exact(r.Total))
	default:
		e.step(e.Text("total"), e.Text("the log states it"), exact(r.Total))
	}
	switch {
	case m.flags&ttftAfterTotalBit != 0:
		e.step(e.Text("decode"), e.Sprintf("the TTFT lies %s behind the end: one of the two is wrong", exact(r.TTFT-r.Total)), human.Undefined)
	case m.hasShare:
		e.step(e.Text("decode"), e.Sprintf("total − TTFT = %s − %s", exact(m.total), exact(m.ttft)), exact(m.decode))
		e.step(e.Text("prefill share"), e.Sprintf("TTFT / total = %s / %s; prefill from %s, decode up to %s", exact(m.ttft), exact(m.total),
			human.Percent(prefillFrom), human.Percent(decodeUpTo)), human.Percent(m.share())+e.Text(": ")+e.Word(phase(m.share())))
	default:
		e.step(e.Text("decode"), e.Text("needs a TTFT and a total"), human.Undefined)
	}
}

const clock = "15:04:05.000"

func (e *Explanation) rates(r *record.Request, m *metrics) {
	n := m.decodeTokens
	switch {
	case !n.Known:
		e.step(e.Text("decode tokens"), e.Text("the log does not tell"), human.Undefined)
	case n.N != r.Output.N:
		e.step(e.Text("decode tokens"), e.Sprintf("output − hidden reasoning before the first visible token = %s − %s", human.Count(r.Output.N), human.Count(r.Reasoning.N)), human.Count(n.N))
	default:
		e.step(e.Text("decode tokens"), e.Text("all generated tokens, reasoning included"), human.Count(n.N))
	}
	if !m.hasTPS {
		why := e.Text("needs at least one token and a decode time above 0")
		if !m.hasShare {
			why = e.Text("needs a decode time")
		}
		e.step("TPS", why, human.Undefined)
		return
	}
	relative := 1/float64(n.N) + 1/milliseconds(m.decode)
	e.step("TPS", e.Sprintf("decode tokens / decode = %s / %s; error 1/%d + 1/%s = %s", human.Count(n.N), exact(m.decode), n.N,
		strconv.FormatFloat(milliseconds(m.decode), 'f', -1, 64), human.Percent(relative)), human.Rate(m.tps)+" "+human.RelativeError(relative))
	if m.hasTPOT {
		e.step("TPOT", e.Sprintf("decode / (decode tokens − 1) = %s / %s", exact(m.decode), human.Count(n.N-1)), human.Duration(m.tpot()))
	}
	if r.HasReportedTPS {
		e.step(e.Text("TPS as the log prints it"), e.Text("kept beside, never used"), human.Rate(r.ReportedTPS))
	}
	if n, ok := uncachedTokens(r); ok && m.hasTTFT && m.ttft > 0 {
		e.step(e.Text("prefill rate"), e.Sprintf("(input − cached) / TTFT = %s / %s; a lower bound, since TTFT holds queue and network", human.Count(n), exact(m.ttft)),
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
		e.step(e.Sprintf("flag %s", f), e.flagReason(f, m, o), e.flagEffect(f))
	}
	if r.Status != record.OK {
		why := e.Text("it is counted, and in no figure but the time that such requests took")
		if r.Error.HTTPStatus != 0 {
			why += e.Sprintf("; HTTP status %d", r.Error.HTTPStatus)
		}
		if r.Error.Kind != "" {
			why += e.Sprintf("; reason in the log: %s", r.Error.Kind)
		}
		e.step(e.Text("status"), why, e.Word(r.Status.String()))
	}
	if r.Retries > 0 {
		e.step(e.Text("retries"), e.Text("attempts that failed before; their time is inside TTFT and total"), human.Count(r.Retries))
	}
	result := e.Text("missed")
	switch {
	case m.meets(o):
		result = e.Text("met")
	case m.unjudged(o):
		result = e.Text("not known, counted as missed")
	}
	if r.Status != record.Warmup {
		limits := e.Sprintf("TTFT ≤ %s; TPS ≥ %s where it is clean", human.Limit(milliseconds(o.SLO.TTFT)), human.LimitRate(o.SLO.TPS))
		if m.burst {
			limits += e.Text("; judged by when the piece came, since nothing was seen before")
		}
		e.step(e.Text("limits"), limits, result)
	}
}

func (e *Explanation) flagReason(f Flag, m *metrics, o *Options) string {
	switch f {
	case FewTokens:
		return e.Sprintf("%s decode tokens, %s are needed for a rate that is not chance", human.Count(m.decodeTokens.N), human.Count(o.MinTokens))
	case ShortDecode:
		return e.Sprintf("decode of %s, %s are needed", exact(m.decode), exact(minDecode))
	case Burst:
		if m.hasTPS {
			return e.Sprintf("%s: no model streams faster than %d tok/s, so the answer came in one piece", human.Rate(m.tps), maxTPS)
		}
		return e.Text("the first token came with the last: the answer came in one piece")
	case SlowStart:
		return e.Sprintf("TTFT of %s, the limit is %s", human.Duration(milliseconds(m.ttft)), human.Limit(milliseconds(o.SLO.TTFT)))
	case SlowStream:
		return e.Sprintf("%s, the limit is %s", human.Rate(m.tps), human.LimitRate(o.SLO.TPS))
	case TPSMismatch:
		return e.Text("the printed and the derived rate differ by more than 5 % and 0.1 tok/s")
	case TTFTAfterTotal:
		return e.Text("the TTFT is greater than the total")
	case NoTTFT, NoTotal, NoTokens:
		return e.Text("the field is missing or says unknown")
	}
	return e.Text("as the log tells")
}

func (e *Explanation) flagEffect(f Flag) string {
	switch f {
	case FewTokens, ShortDecode:
		return e.Text("out of clean TPS, TPOT")
	case Burst:
		return e.Text("out of TTFT, clean TPS, TPOT")
	case SlowStart, SlowStream, TPSMismatch:
		return e.Text("stays in")
	case NoTTFT, NoTotal, NoTokens, TTFTAfterTotal:
		return e.Text("its metrics are undefined")
	}
	return e.Text("only counted")
}

// requestPhases lays a request on a timeline, from the offset at on.
func requestPhases(r *record.Request, m *metrics, label string, at time.Duration, l lang.Language) []Phase {
	if r.Total <= 0 {
		return nil
	}
	if !m.hasShare {
		return []Phase{{KindModel, label + l.Text("split unknown"), at, at + r.Total}}
	}
	first := at + m.ttft
	name := l.Text("until the first token")
	switch {
	case m.burst:
		name = l.Text("until the answer came in one piece")
	case r.FirstVisible:
		name = l.Text("until the first visible token")
	}
	p := []Phase{{KindPrefill, label + name, at, first}}
	if !m.hasDecode {
		return p
	}
	end, n := at+r.Total, m.decodeTokens.N
	if reasoned := r.Reasoning.N; !r.FirstVisible && reasoned > 0 && reasoned <= n {
		// No log tells when reasoning ended: the tokens come at one rate.
		until := first + time.Duration(float64(m.decode)*float64(reasoned)/float64(n))
		p = append(p, Phase{KindReasoning, label + l.Sprintf("≈ %s of hidden reasoning", lang.Plural(l, reasoned, "token")), first, until})
		if first, n = until, n-reasoned; n == 0 {
			return p
		}
	}
	tokens := l.Text("tokens unknown")
	if r.Output.Known {
		tokens = lang.Plural(l, n, "token")
	}
	return append(p, Phase{KindDecode, label + tokens, first, end})
}
