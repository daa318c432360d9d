package analyze

import (
	"cmp"
	"slices"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// rules are all that is looked for. The order decides between findings of the
// same severity and the same waiting.
var rules = []func(*facts) []found{
	http401, http404, http429, http5xx, timeouts, droppedStreams, commonCeiling,
	slowStart, slowStream, bufferedStream, noFirstToken,
	toolsDominate, waitsDominate,
	promptBound, overheadBound, cacheMisses, contention, longOutput,
	changePoint, slowHours,
	longInput, fewClean, modelsDiffer, tokenMismatch, unreadable,
}

// facts is what the rules look at.
type facts struct {
	lang.Language
	rows       []*row  // in the order of time, whatever their status
	population []row   // the same
	share      float64 // of all requests that the rows hold: 1 unless there were too many to keep
	all        *Group
	ttft       *sample // ms, of all requests that have one that counts
	lateStarts sum     // Σ TTFT beyond the limit, µs
	groups     []named
	quality    *Quality
	inputs     *Inputs
	options    *Options
	over       [len(speeds)]*series // by time, once they are asked for
}

// A named is a keyed group with its requests.
type named struct {
	by  Dimension
	key string
	*group
}

// A found is a finding with the waiting that it is about, in µs.
type found struct {
	Finding
	stake int64
}

// findings lists what is worth knowing, the worst first, then what concerns
// most of the waiting. r holds the figures so far.
func (c *Collector) findings(r *Report) []Finding {
	f := c.facts(r)
	var all []found
	for _, rule := range rules {
		all = append(all, rule(f)...)
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), cmp.Compare(b.stake, a.stake))
	})
	l := []Finding{}
	for _, x := range all {
		l = append(l, x.Finding)
	}
	return l
}

func (c *Collector) facts(r *Report) *facts {
	share, _ := c.overall.population.sampled()
	rows := c.overall.population.ordered()
	f := &facts{
		Language: c.options.Language,
		rows:     make([]*row, len(rows)), population: rows, share: share, all: r.Overall,
		ttft: &c.overall.ttft, lateStarts: c.overall.lateStarts, quality: &r.Quality, inputs: &r.Inputs, options: &c.options,
	}
	for i := range rows {
		f.rows[i] = &rows[i]
	}
	for _, k := range r.Groups {
		by := Dimension(k.By)
		f.groups = append(f.groups, named{by, k.Key, c.existing(by, k.Key)})
	}
	return f
}

func severityRank(s string) int {
	return slices.Index([]string{SeverityBad, SeverityWarn, SeverityInfo}, s)
}

// one is the result of a rule with a single finding.
func one(severity, id string, stake int64, title, evidence, advice string) []found {
	return []found{{Finding{ID: id, Severity: severity, Title: title, Evidence: evidence, Advice: advice}, stake}}
}

// inconclusive says why there is no answer to a question that the user will ask.
func (f *facts) inconclusive(id, title, evidence, advice string) []found {
	return one(SeverityInfo, id, 0, f.Sprintf("Inconclusive: %s", title), evidence, advice)
}

// scaled turns a number of rows into one of requests.
func (f *facts) scaled(rows int) int {
	if f.share == 1 {
		return rows
	}
	return int(float64(rows)/f.share + 0.5)
}

// requests writes how many requests so many rows stand for.
func (f *facts) requests(rows int) string {
	s := lang.Plural(f.Language, f.scaled(rows), "request")
	if f.share < 1 {
		s = f.Sprintf("about %s", s)
	}
	return s
}

// count is like requests, without the noun.
func (f *facts) count(rows int) string {
	s := human.Count(f.scaled(rows))
	if f.share < 1 {
		s = f.Sprintf("about %s", s)
	}
	return s
}

// minSteady: fewer tokens have too few gaps between them for a rate.
const minSteady = 16

// firstToken returns the request's TTFT in ms, if it has one that counts.
func (w *row) firstToken() (ms float64, ok bool) {
	if !w.ok() || w.ttft < 0 || w.flags&burstBit != 0 {
		return 0, false
	}
	return float64(w.ttft) / 1000, true
}

// streamRate returns the request's TPS, if it has one that is not of a burst;
// clean says whether it is also not noisy.
func (w *row) streamRate() (tps float64, clean, ok bool) {
	if !w.ok() || w.ttft < 0 || w.total <= w.ttft || w.decodeTokens < 1 || w.flags&burstBit != 0 {
		return 0, false, false
	}
	return float64(w.decodeTokens) / (float64(w.total-w.ttft) / 1e6), w.flags&(fewTokensBit|shortDecodeBit) == 0, true
}

// waited is the time of the request, in µs, as far as it is known.
func (w *row) waited() int64 { return max(0, w.total) }

// steadyRate is a TPS to compare medians with: it need not be clean, because
// few requests of an agent are, but is no rate of a handful of tokens.
func (w *row) steadyRate() (tps float64, ok bool) {
	tps, _, ok = w.streamRate()
	return tps, ok && w.flags&shortDecodeBit == 0 && w.decodeTokens >= minSteady
}

// rowsWith returns the rows that have a figure, in order.
func (f *facts) rowsWith(figure func(*row) (float64, bool)) []*row {
	l := make([]*row, 0, len(f.rows))
	for _, w := range f.rows {
		if _, ok := figure(w); ok {
			l = append(l, w)
		}
	}
	return l
}

// mostUsed returns the rows of the model that most of the rows are of, in
// order: speeds differ between models, and a shift from one to another would
// look like a change of speed.
func mostUsed(rows []*row) (model string, of []*row) {
	n := make(map[string]int)
	for _, w := range rows {
		n[w.model()]++
	}
	for m, k := range n {
		if k > n[model] || k == n[model] && m < model {
			model = m
		}
	}
	of = make([]*row, 0, n[model])
	for _, w := range rows {
		if w.model() == model {
			of = append(of, w)
		}
	}
	return model, of
}

// of names the model whose requests the evidence is about.
func (f *facts) of(model string) string {
	if model == "" {
		return ""
	}
	return f.Sprintf(" of %s", model)
}

// A contrast sets the values of two sets of requests against each other.
type contrast struct {
	a, b   sample
	ma, mb float64 // medians
	tested *float64
}

// contrasted compares two samples; ok is false where one has fewer than atLeast values.
func contrasted(a, b []float64, atLeast int) (c *contrast, ok bool) {
	c = &contrast{a: sample{values: a}, b: sample{values: b}}
	if len(a) < max(atLeast, MinTest) || len(b) < max(atLeast, MinTest) {
		return c, false
	}
	c.ma, c.mb = c.a.quantile(50), c.b.quantile(50)
	return c, true
}

// factor is how many times as large b is as a; 0 where that is not defined.
func (c *contrast) factor() float64 {
	if c.ma <= 0 {
		return 0
	}
	return c.mb / c.ma
}

// p is that of the Mann–Whitney test. It is the dear part: ask for the factor first.
func (c *contrast) p() float64 {
	if c.tested == nil {
		c.tested, _ = mannWhitney(c.a.ordered(), c.b.ordered())
	}
	return valueOr(c.tested, 1)
}

// values collects a figure of the rows that have it.
func values(rows []*row, figure func(*row) (float64, bool)) []float64 {
	var l []float64
	for _, w := range rows {
		if v, ok := figure(w); ok {
			l = append(l, v)
		}
	}
	return l
}

// times writes a factor: 2.1×.
func times(v float64) string { return human.Number(v) + "×" }
