package analyze

import (
	"unicode"
	"unicode/utf8"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A headliner puts a verdict into one or two sentences: what dominates, by how
// much, on how many requests, and what to do.
type headliner struct {
	lang.Language
	*group
	f      *Group
	v      *Verdict
	fits   *requestFits
	limits *SLOTarget
}

func (h *headliner) headline() string {
	if h.f.Requests == 0 && h.f.Turns.Duration == nil {
		return h.Text("No request was found: nothing can be said.")
	}
	lead := h.outside()
	claim, advice := h.model()
	if lead == "" {
		return capital(claim) + h.Text(" ") + advice + h.tailApart() + h.inVain()
	}
	if h.v.Phase == PhaseNone {
		return lead + h.Text(" ") + capital(claim)
	}
	return h.Sprintf("%s Within the model's part, %s", lead, claim)
}

// tailApart tells that what makes the slowest requests slow is not what dominates
// all of them; "" where it is, or nobody knows.
func (h *headliner) tailApart() string {
	t := h.v.Tail
	if t == nil || t.Delta <= 0 {
		return ""
	}
	part, why := t.TTFT, h.Text("wait longer for the first token")
	switch t.Cause {
	case CauseLongOutput:
		part, why = t.Length, h.Text("generate more tokens")
	case CauseSlowStream:
		part, why = t.Speed, h.Text("stream more slowly")
	}
	expected := h.v.Phase == PhasePrefill && t.Cause == CauseSlowStart || h.v.Phase == PhaseDecode && t.Cause == CauseLongOutput
	if expected || h.v.Phase != PhasePrefill && h.v.Phase != PhaseDecode || part < t.Delta/2 {
		return ""
	}
	return h.Sprintf(" But the slowest %s of %s %s.", human.Count(t.Requests), lang.Plural(h.Language, h.f.Time.Requests, "request"), why)
}

// minInVain is the share of all waiting from which a headline tells what failed
// requests took.
const minInVain = 0.1

// inVain tells how much of the waiting was for requests that failed, where that
// is much.
func (h *headliner) inVain() string {
	t := &h.f.Time
	if t.Total+t.Unsplit == 0 || t.Failed < minInVain*(t.Total+t.Unsplit+t.Failed) {
		return ""
	}
	return h.Sprintf(" Requests that failed or were aborted took another %s.", human.Duration(t.Failed))
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// outside tells that most of the time of the turns was not the model's; "" where
// it was. Which phase then dominates the requests matters little.
func (h *headliner) outside() string {
	t := &h.f.Turns
	model := t.Prefill + t.Decode + t.Model
	sum := model + t.Tool + t.Other
	if sum <= 0 || t.Tool+t.Other <= sum/2 {
		return ""
	}
	of := h.Sprintf("%s in %s", human.Duration(sum), lang.Plural(h.Language, t.Duration.N, "turn"))
	part := func(ms float64) string { return human.Percent(ms / sum) }
	if t.Tool >= t.Other {
		return h.Sprintf("Tools dominate, not the model: tools took %s of %s, waiting outside of requests and tools (approvals, queue, set-up) %s, and the model only %s.",
			part(t.Tool), of, part(t.Other), part(model))
	}
	return h.Sprintf("Waiting outside of the model dominates: %s of %s went to neither requests nor tools (approvals, queue, set-up), %s to tools, and only %s to the model.",
		part(t.Other), of, part(t.Tool), part(model))
}

// model says what dominates the requests, and what to do about it.
func (h *headliner) model() (claim, advice string) {
	switch {
	case h.v.Phase == PhaseNone:
		return h.unknown()
	case h.v.Basis == BasisModelled:
		return h.modelled()
	}
	return h.measured()
}

func (h *headliner) measured() (claim, advice string) {
	share := *h.f.Time.PrefillShare
	of := h.Sprintf("%s in %s", human.Duration(h.f.Time.Total), lang.Plural(h.Language, h.f.Time.Requests, "request"))
	if both := h.bothSlowly(); both != "" {
		return h.Sprintf("both are slow, the start and the stream: %s; prefill takes %s of %s, decode %s.",
				both, human.Percent(share), of, human.Percent(1-share)),
			h.Text("Look at what they share: the load of the model or its tier at that time, then a gateway or the network.")
	}
	switch h.v.Phase {
	case PhasePrefill:
		return h.Sprintf("prefill dominates: %s of %s passed before the first token%s.", human.Percent(share), of, h.middleTTFT()),
			h.advisePrefill()
	case PhaseDecode:
		return h.Sprintf("decode dominates: %s of %s went into generating tokens, at %s.", human.Percent(1-share), of, h.rate()),
			h.adviseDecode(h.quoted())
	}
	return h.Sprintf("prefill and decode share the time: %s of %s passed before the first token%s, the rest generating tokens at %s.",
		human.Percent(share), of, h.middleTTFT(), h.rate()), h.adviseBoth()
}

// modelled says what the request model gives to each phase. Nothing in it was
// measured, and it says so.
func (h *headliner) modelled() (claim, advice string) {
	m := h.f.RequestModel
	share := *m.PrefillShare
	of := h.Sprintf("the time of %s", lang.Plural(h.Language, h.fits.requests, "request"))
	if all := h.f.Total; all != nil && all.N > h.fits.requests {
		// Models with few requests have no fit.
		of = h.Sprintf("the time of %s of %s", human.Count(h.fits.requests), lang.Plural(h.Language, all.N, "request"))
	}
	rate := 1000 / m.TPOT
	switch h.v.Phase {
	case PhasePrefill:
		return h.Sprintf("prefill dominates (modelled from token counts): %s of %s passed before the first token.", human.Percent(share), of),
			h.advisePrefill()
	case PhaseDecode:
		return h.Sprintf("decode dominates (modelled from token counts): %s of %s went into generating tokens, at %s.",
			human.Percent(1-share), of, human.Rate(rate)), h.adviseDecode(&rate)
	}
	return h.Sprintf("prefill and decode share the time (modelled from token counts): %s of %s passed before the first token, the rest generating tokens at %s.",
		human.Percent(share), of, human.Rate(rate)), h.adviseBoth()
}

// unknown says why the time cannot be split, and what to switch on.
func (h *headliner) unknown() (claim, advice string) {
	const cannot = "the waiting cannot be split into prefill and decode."
	f := h.f
	t := &f.Turns
	switch {
	case t.Model > 0:
		return h.Sprintf("how the model's %s in %s split into prefill and decode is not known: Codex states one TTFT a turn at most, and a turn has many requests.",
			human.Duration(t.Model), lang.Plural(h.Language, t.Duration.N, "turn")), h.Text(howToTrace)
	case f.Requests == 0:
		return h.Text("no request of theirs was found: nothing can be said of the model."), h.Text(howToTrace)
	case f.Requests == f.Failed+f.Aborted+f.Warmup:
		return h.Sprintf("no request completed (%s failed, %s aborted, %s warm-up): there is no latency to judge.", human.Count(f.Failed), human.Count(f.Aborted), human.Count(f.Warmup)),
			h.Text("Look at the errors first.")
	case f.TTFT != nil:
		return h.Sprintf("no request tells both its first token and its total time%s: %s", h.middleTTFT(), h.Text(cannot)), h.Text("Log total_ms beside first_token_ms.")
	}
	return h.Sprintf("no request tells when its first token came: %s", h.Text(cannot)), h.Text("Log first_token_ms, or run " + codexTrace)
}

const (
	codexTrace = "Codex with RUST_LOG=codex_otel=info and keep its log, which times every request."
	howToTrace = "Run " + codexTrace
)

// bothSlowly says that neither limit is kept by most, and by what it is known;
// "" where one is.
func (h *headliner) bothSlowly() string {
	ttft, tps := human.Limit(milliseconds(h.limits.TTFT)), human.LimitRate(h.limits.TPS)
	if clean := h.tpsClean.n(); clean >= minClean && 2*h.bothSlow >= clean {
		return h.Sprintf("%d of the %d requests with a clean rate have both a TTFT above %s and less than %s", h.bothSlow, clean, ttft, tps)
	}
	if pooled := h.f.TPS.Pooled; pooled != nil && *pooled < h.limits.TPS && h.startIsSlow() {
		return h.Sprintf("TTFT p50 is %s (limit %s), the pooled rate %s (limit %s)",
			human.Duration(h.ttft.quantile(50)), ttft, human.Rate(*pooled), tps)
	}
	return ""
}

func (h *headliner) startIsSlow() bool {
	return h.ttft.n() > 0 && h.ttft.quantile(50) > milliseconds(h.limits.TTFT)
}

// startsKeepLimit reports whether nearly every TTFT is within its limit.
func (h *headliner) startsKeepLimit() bool {
	return h.ttft.n() > 0 && h.ttft.quantile(90) <= milliseconds(h.limits.TTFT)
}

// middleTTFT writes the median TTFT in brackets, if there is one.
func (h *headliner) middleTTFT() string {
	if h.ttft.n() == 0 {
		return ""
	}
	return h.Sprintf(" (TTFT p50 %s)", human.Duration(h.ttft.quantile(50)))
}

// quoted returns the group's output rate: the clean median where there are
// enough clean samples for one, else the pooled rate; nil where there is none.
func (h *headliner) quoted() *float64 {
	if h.tpsClean.n() >= minClean {
		return num(h.tpsClean.quantile(50))
	}
	return h.f.TPS.Pooled
}

// rate writes the quoted rate and says which it is.
func (h *headliner) rate() string {
	r, clean := h.quoted(), h.tpsClean.n()
	switch {
	case r == nil:
		return h.Text("an unknown rate")
	case clean >= minClean:
		return h.Sprintf("%s (median of %d clean samples)", human.Rate(*r), clean)
	}
	return h.Sprintf("%s (pooled: only %s)", human.Rate(*r), lang.Plural(h.Language, clean, "clean sample"))
}

// advisePrefill tells a slow start from short answers, and the prompt from what
// passes whatever the prompt.
func (h *headliner) advisePrefill() string {
	if h.v.Basis == BasisMeasured && h.startsKeepLimit() {
		return h.Sprintf("First tokens do come within the limit of %s: it is the answers that are short. To gain more, look at prompt length, cache hits, the queue and the network.",
			human.Limit(milliseconds(h.limits.TTFT)))
	}
	return h.Text("Look at prompt length, cache hits, the queue and the network before blaming the model's speed.")
}

// adviseDecode tells a slow stream from long answers.
func (h *headliner) adviseDecode(rate *float64) string {
	switch {
	case rate == nil:
		return h.Text("The token counts are missing, so a slow stream cannot be told from long answers.")
	case *rate < h.limits.TPS:
		return h.Sprintf("The stream is slow (below %s): try another model, tier or time of day.", human.LimitRate(h.limits.TPS))
	}
	return h.Sprintf("That is above the limit of %s, so ask for shorter answers or less reasoning effort.", human.LimitRate(h.limits.TPS))
}

func (h *headliner) adviseBoth() string {
	return h.Text("Neither alone would halve the wait: shorter prompts and cache hits for the one, shorter answers or less reasoning effort for the other.")
}
