package analyze

import (
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

const (
	// notable: a factor between two medians below which nobody would do anything.
	notable = 1.3
	// minP90: fewer samples make p90 an echo of the maximum.
	minP90 = 10

	// promptExplains: from this share of the TTFT spread on, the prompt is the cause.
	promptExplains = 0.5
	// promptPart: the part of a typical TTFT that is reading the prompt.
	promptPartHigh, promptPartLow = 0.5, 0.25
	// minOverhead: less is what any remote service takes, in ms.
	minOverhead = 1000
	// minSpread: prompts must differ by so many tokens before a flat TTFT says anything.
	minSpread = 2000
)

// slowStart tells that the typical request, or one in ten, waits longer for its
// first token than the limit.
func slowStart(f *facts) []found {
	limit := milliseconds(f.options.SLO.TTFT)
	s := f.ttft
	if s.n() < MinTest {
		return nil
	}
	p50, p90 := s.quantile(50), s.quantile(90)
	severity := SeverityBad
	switch {
	case p50 > limit:
	case s.n() >= minP90 && p90 > limit:
		severity = SeverityWarn
	default:
		return nil
	}
	beyond, waited := f.quality.Flags[SlowStart], int64(f.lateStarts.lo)
	evidence := f.Sprintf("TTFT p50 %s", human.Duration(p50))
	if s.n() >= minP90 {
		evidence += f.Sprintf(", p90 %s", human.Duration(p90))
	}
	evidence += f.Sprintf("; %s of %s wait longer than %s%s", human.Count(beyond), lang.Plural(f.Language, s.n(), "request"), human.Limit(limit), f.estimated())
	return one(severity, "slow_start", waited, f.Text("Answers start late"), evidence,
		f.Text("See below and in the groups (--by model, hour, cache, input-size) whether it is the prompt, the cache, the hour or the model; where none of them is, suspect the queue or the network"))
}

// estimated adds a doubt where TTFTs come from timestamps.
func (f *facts) estimated() string {
	if n := f.all.TTFTQualities["estimated"]; n > 0 {
		return f.Sprintf("; %s of the TTFTs estimated from timestamps", human.Count(n))
	}
	return ""
}

// prompts returns the uncached prompt tokens of the requests that have a TTFT.
func (f *facts) prompts() *sample {
	return &sample{values: values(f.rows, func(w *row) (float64, bool) {
		n, known := w.uncached()
		_, ok := w.firstToken()
		return float64(n), known && ok
	})}
}

// promptBound tells that TTFT grows with the part of the prompt that is not cached.
func promptBound(f *facts) []found {
	m := f.all.PrefillModel
	if m == nil {
		return f.whyStartIsSlow()
	}
	if m.Rate == nil || *m.Rate <= 0 || m.Explained < promptExplains {
		return nil
	}
	var reading, waiting int64 // µs: the prompt's part of TTFT, and TTFT
	for _, w := range f.rows {
		n, known := w.uncached()
		if _, ok := w.firstToken(); ok && known {
			reading += min(w.ttft, int64(float64(n) / *m.Rate * 1e6))
			waiting += w.ttft
		}
	}
	if waiting == 0 || float64(reading) < promptPartHigh*float64(waiting) {
		return nil
	}
	p := f.prompts()
	return one(f.startSeverity(), "prompt_bound_ttft", reading, f.Text("TTFT grows with the prompt"),
		f.Sprintf("The tokens that are not cached explain %s of the spread of TTFT over %s: they are read at %s, on top of %s; prompts bring %s of them at the median, %s at p90",
			human.Percent(m.Explained), lang.Plural(f.Language, m.Requests, "request"), human.Rate(*m.Rate), human.Duration(m.Overhead),
			human.Quantity(p.quantile(50)), human.Quantity(p.quantile(90))),
		f.Text("Send less: /compact or a new session for a new task, smaller files and tool outputs, fewer tools; and keep the beginning of the prompt the same so that the cache hits"))
}

// overheadBound tells that TTFT is long whatever the prompt.
func overheadBound(f *facts) []found {
	m := f.all.PrefillModel
	if m == nil || m.Overhead < minOverhead {
		return nil
	}
	p := f.prompts()
	if p.n() < MinTest || p.quantile(90)-p.quantile(10) < minSpread {
		return nil // with prompts of one size a constant part cannot be told from the prompt's
	}
	reading, slope := 0.0, f.Text("TTFT does not grow with them") // ms
	if m.Rate != nil && *m.Rate > 0 {
		reading = 1000 * p.quantile(50) / *m.Rate
		slope = f.Sprintf("reading those takes %s", human.Duration(reading))
	}
	if reading > promptPartLow*(m.Overhead+reading) {
		return nil
	}
	return one(f.startSeverity(), "overhead_bound_ttft", int64(m.Overhead*1000*float64(m.Requests)), f.Text("TTFT is long whatever the prompt"),
		f.Sprintf("%s pass before the first token over %s, apart from the prompt: it brings %s uncached tokens at the median, %s at p90, and %s",
			human.Duration(m.Overhead), lang.Plural(f.Language, m.Requests, "request"), human.Quantity(p.quantile(50)), human.Quantity(p.quantile(90)), slope),
		f.Text("A shorter prompt will not help. Look at the queue of the provider (other hours, another tier), at the network and any gateway or proxy, at hidden reasoning before the first token, and at set-up such as MCP servers"))
}

// startSeverity is warn where the wait for the first token matters: a large
// part of all waiting, or beyond the limit.
func (f *facts) startSeverity() string {
	s := f.ttft
	share := f.all.Time.PrefillShare
	if share != nil && *share > decodeUpTo || s.n() >= MinTest && s.quantile(50) > milliseconds(f.options.SLO.TTFT) {
		return SeverityWarn
	}
	return SeverityInfo
}

// whyStartIsSlow says what is missing to tell a long prompt from a long queue,
// where answers start late.
func (f *facts) whyStartIsSlow() []found {
	s := f.ttft
	if s.n() < MinTest || s.quantile(50) <= milliseconds(f.options.SLO.TTFT) {
		return nil
	}
	n := f.prompts().n()
	if n >= minModelled {
		return nil // the model was tried and says nothing
	}
	return f.inconclusive("prompt_bound_ttft", f.Text("is it the prompt or the queue?"),
		f.Sprintf("%s of %s with a TTFT tell how long the prompt was, %d are needed", f.count(n), lang.Plural(f.Language, s.n(), "request"), minModelled),
		f.Text("Log prompt_tokens and cached_tokens with first_token_ms, for prompts of different lengths"))
}

// minModelled is from how many requests on there is a prefill model.
const minModelled = 20
