package analyze

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"codexlag/parse/record"
)

// CompareSchema names the shape of a comparison's JSON. Keys are only ever added.
const CompareSchema = "codexlag.compare/1"

// A Comparison is two sets of requests side by side.
type Comparison struct {
	Schema     string        `json:"schema"`
	Tool       Tool          `json:"tool"`
	Options    OptionsOut    `json:"options"`
	Threshold  float64       `json:"threshold"` // a relative change below is no practical difference
	Before     Side          `json:"before"`
	After      Side          `json:"after"`
	Tests      int           `json:"tests"` // how many p there are, groups included
	Sentence   string        `json:"sentence"`
	Doubts     []string      `json:"doubts"` // what to know before relying on it
	Overall    *GroupChange  `json:"overall"`
	Groups     []KeyedChange `json:"groups"` // those that both sides have
	OnlyBefore []KeyedCount  `json:"only_before"`
	OnlyAfter  []KeyedCount  `json:"only_after"`
	Mix        *Mix          `json:"mix"` // of models; nil where none is known
}

// A Side is one of the two sets.
type Side struct {
	Name     string `json:"name"` // the path, or the span of time
	Inputs   Inputs `json:"inputs"`
	Requests int    `json:"requests"` // all, whatever their status
	Failed   int    `json:"failed"`
	Aborted  int    `json:"aborted"`
	Warmup   int    `json:"warmup"`
}

// A GroupChange is how the figures of one set of requests changed.
type GroupChange struct {
	Requests     [2]int        `json:"requests"`
	TTFT         *MetricChange `json:"ttft_ms"`
	Total        *MetricChange `json:"total_ms"`
	TPS          *MetricChange `json:"tps"` // clean, or all, untested, where a side has too few clean ones
	TPOT         *MetricChange `json:"tpot_ms"`
	OutputTokens *MetricChange `json:"output_tokens"`
	PrefillShare Change        `json:"prefill_share"` // of the summed time, 0..1
	SLO          Change        `json:"slo"`           // share of the requests that keep the limits
	// SLOUnknown counts the requests before and after of which too little is
	// known to say whether they keep the limits.
	SLOUnknown [2]int `json:"-"`
	// Estimated is the share of the TTFTs that come from timestamps.
	Estimated Change `json:"ttft_estimated_share"`
}

// KeyedChange is the change of the requests that share one value of a dimension.
type KeyedChange struct {
	By    string       `json:"by"`
	Key   string       `json:"key"`
	Group *GroupChange `json:"group"`
}

// KeyedCount is a group that only one side has.
type KeyedCount struct {
	By       string `json:"by"`
	Key      string `json:"key"`
	Requests int    `json:"requests"`
}

// A Change is one figure before and after; nil where it is not defined.
type Change struct {
	Before   *float64 `json:"before"`
	After    *float64 `json:"after"`
	Relative *float64 `json:"change"` // 0.2 is 20 % more; nil from 0
}

// Judgements of a metric's change.
const (
	Better    = "better"
	Worse     = "worse"
	More      = "more" // of output tokens, which are neither good nor bad
	Fewer     = "fewer"
	Small     = "small"     // real, but below the threshold
	Unchanged = "unchanged" // no difference found, and the medians are close
	Unsure    = "unsure"    // the medians differ, but that can be chance
	TooFew    = "too_few"   // samples for a test
	Noise     = "noise"     // rates of short answers: shown, never judged
)

// Samples of the TPS that a comparison is about.
const (
	SamplesClean = "clean"
	SamplesAll   = "all"
)

// A MetricChange is how the distribution of one metric changed.
type MetricChange struct {
	Samples       string // of TPS and TPOT: clean, all; "" elsewhere
	N             [2]int
	Before, After *Dist    // nil for n = 0
	P             *float64 // Mann–Whitney, two-sided; nil with too few samples or only noise
	Verdict       string
	// ByMix says of the change over all requests that the mix of models can have
	// made it alone: no model shows it by itself.
	ByMix bool

	percentiles []float64
}

// At returns the change of the percentile p.
func (m *MetricChange) At(p float64) Change {
	value := func(q *Quantile) *float64 {
		if q == nil {
			return nil
		}
		return &q.Value
	}
	return newChange(value(m.Before.At(p)), value(m.After.At(p)))
}

// Mean returns the change of the mean.
func (m *MetricChange) Mean() Change {
	value := func(d *Dist) *float64 {
		if d == nil {
			return nil
		}
		return &d.Mean
	}
	return newChange(value(m.Before), value(m.After))
}

// Significant reports whether the difference is more than chance at 5 %.
func (m *MetricChange) Significant() bool { return m.P != nil && *m.P < Alpha }

// MarshalJSON writes each figure under its name; the median has the test.
func (m *MetricChange) MarshalJSON() ([]byte, error) {
	out := map[string]any{"mean": m.Mean(), "verdict": m.Verdict}
	if m.Samples != "" {
		out["samples"] = m.Samples
	}
	if m.ByMix {
		out["by_mix"] = true
	}
	for _, p := range m.percentiles {
		out[Quantile{P: p}.Name()] = m.At(p)
	}
	out["p50"] = struct {
		Change
		P        *float64    `json:"p"`
		N        [2]int      `json:"n"`
		BeforeCI *[2]float64 `json:"before_ci95"`
		AfterCI  *[2]float64 `json:"after_ci95"`
	}{m.At(50), m.P, m.N, interval(m.Before), interval(m.After)}
	return json.Marshal(out)
}

func interval(d *Dist) *[2]float64 {
	if q := d.At(50); q != nil {
		return q.CI
	}
	return nil
}

func newChange(before, after *float64) Change {
	c := Change{Before: before, After: after}
	switch {
	case before == nil || after == nil:
	case *before == *after:
		c.Relative = num(0)
	case *before != 0:
		c.Relative = num((*after - *before) / math.Abs(*before))
	}
	return c
}

// A Set is one side to compare: what was read and what it came to.
type Set struct {
	Name      string
	Inputs    Inputs
	Collected *Collector
}

// Compare sets two sets side by side. Both must have been collected with the
// same options: the median among their percentiles, and Mix set. A relative
// change of a median below threshold is no practical difference.
func Compare(tool Tool, before, after Set, threshold float64) *Comparison {
	a, b := before.Collected, after.Collected
	o := &a.options
	c := &comparer{ps: o.Percentiles, threshold: threshold, ranked: a.ranked}
	r := &Comparison{
		Schema: CompareSchema, Tool: tool, Options: o.out(), Threshold: threshold,
		Before: before.side(), After: after.side(),
		Overall:    c.group(&a.overall, &b.overall),
		Groups:     []KeyedChange{},
		OnlyBefore: a.without(b), OnlyAfter: b.without(a),
		Mix: mixOf(a, b),
	}
	for _, by := range o.By {
		r.Groups = append(r.Groups, c.groups(by, a, b)...)
	}
	var models []KeyedChange
	if r.Mix.differs() {
		models = r.byModel()
		if !slices.Contains(o.By, byModel) {
			models = c.groups(byModel, a, b)
		}
		markMix(r.Overall, models)
	}
	r.Tests = c.tests
	r.Sentence = conclusion(r.Overall, r.Options.Language)
	r.Doubts = doubts(r)
	if r.Mix.differs() {
		r.Doubts = append([]string{r.Mix.doubt(r, models)}, r.Doubts...)
	}
	return r
}

// byModel returns the groups by model.
func (c *Comparison) byModel() []KeyedChange {
	return slices.DeleteFunc(slices.Clone(c.Groups), func(k KeyedChange) bool { return k.By != string(byModel) })
}

func (s *Set) side() Side {
	in, g := s.Inputs, &s.Collected.overall
	in.First, in.Last = timeOrNil(s.Collected.first), timeOrNil(s.Collected.last)
	return Side{Name: s.Name, Inputs: in, Requests: g.requests, Failed: g.failed, Aborted: g.aborted, Warmup: g.warmup}
}

// existing returns the group of a key, nil where there is none.
func (c *Collector) existing(by Dimension, key string) *group {
	if k := c.groups[by]; k != nil {
		return k.groups[key]
	}
	return nil
}

// without lists the groups of c that o lacks, the largest first.
func (c *Collector) without(o *Collector) []KeyedCount {
	l := []KeyedCount{}
	for _, by := range c.options.By {
		for key, g := range c.keyed(by).groups {
			if other := o.existing(by, key); g.requests > 0 && (other == nil || other.requests == 0) {
				l = append(l, KeyedCount{string(by), key, g.requests})
			}
		}
	}
	rank := rankOf(c.options.By)
	slices.SortFunc(l, func(a, b KeyedCount) int {
		return cmp.Or(cmp.Compare(rank[a.By], rank[b.By]), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Key, b.Key))
	})
	return l
}

func rankOf(by []Dimension) map[string]int {
	rank := make(map[string]int)
	for i, d := range by {
		rank[string(d)] = i
	}
	return rank
}

// A comparer compares groups and counts its tests.
type comparer struct {
	ps        []float64
	threshold float64
	tests     int
	ranked    map[[2]*sample]rankCounts // what a database knows of two samples that are there
}

// groups compares the groups of a dimension that both have, the largest first.
func (c *comparer) groups(by Dimension, before, after *Collector) []KeyedChange {
	var l []KeyedChange
	for key, a := range before.keyed(by).groups {
		if b := after.existing(by, key); b != nil && a.requests > 0 && b.requests > 0 {
			l = append(l, KeyedChange{string(by), key, c.group(a, b)})
		}
	}
	slices.SortFunc(l, func(a, b KeyedChange) int {
		requests := func(k KeyedChange) int { return k.Group.Requests[0] + k.Group.Requests[1] }
		return cmp.Or(cmp.Compare(requests(b), requests(a)), cmp.Compare(a.Key, b.Key))
	})
	return l
}

func (c *comparer) group(a, b *group) *GroupChange {
	g := &GroupChange{
		Requests:     [2]int{a.requests, b.requests},
		TTFT:         c.metric(&a.ttft, &b.ttft, Worse, Better),
		Total:        c.metric(&a.total, &b.total, Worse, Better),
		TPOT:         c.metric(&a.tpot, &b.tpot, Worse, Better),
		OutputTokens: c.metric(&a.output, &b.output, More, Fewer),
		PrefillShare: newChange(a.prefillShare(), b.prefillShare()),
		SLO:          newChange(a.sloShare(), b.sloShare()),
		SLOUnknown:   [2]int{a.sloUnknown, b.sloUnknown},
		Estimated:    newChange(a.estimatedShare(), b.estimatedShare()),
	}
	g.TPOT.Samples = SamplesClean
	if a.tpsClean.n() >= minClean && b.tpsClean.n() >= minClean {
		g.TPS = c.metric(&a.tpsClean, &b.tpsClean, Better, Worse)
		g.TPS.Samples = SamplesClean
	} else {
		g.TPS = c.untested(&a.tpsAll, &b.tpsAll)
		g.TPS.Samples = SamplesAll
		if min(g.TPS.N[0], g.TPS.N[1]) >= MinTest {
			g.TPS.Verdict = Noise
		}
	}
	return g
}

func (g *group) prefillShare() *float64 {
	return num(g.splitPrefill.ms() / (g.splitPrefill.ms() + g.splitDecode.ms()))
}

func (g *group) sloShare() *float64 { return num(float64(g.sloMet) / float64(g.sloMet+g.sloMissed)) }

func (g *group) estimatedShare() *float64 {
	q := &g.qualities
	return num(float64(q[record.Estimated]) / float64(q[record.Measured]+q[record.Derived]+q[record.Estimated]))
}

// metric compares two samples; up and down are what larger and smaller values mean.
func (c *comparer) metric(a, b *sample, up, down string) *MetricChange {
	m := c.untested(a, b)
	var direction float64
	if ranks, ok := c.ranked[[2]*sample{a, b}]; ok {
		m.P, direction = ranks.mannWhitney()
	} else {
		m.P, direction = mannWhitney(a.ordered(), b.ordered())
	}
	if m.P != nil {
		c.tests++
	}
	m.Verdict = c.judge(m, direction, up, down)
	return m
}

// untested sets two samples side by side without a test.
func (c *comparer) untested(a, b *sample) *MetricChange {
	return &MetricChange{N: [2]int{a.n(), b.n()}, Before: a.dist(c.ps), After: b.dist(c.ps), Verdict: TooFew, percentiles: c.ps}
}

// judge weighs the test against the size of the change. direction is that of
// the ranks.
func (c *comparer) judge(m *MetricChange, direction float64, up, down string) string {
	if m.P == nil {
		return TooFew
	}
	median := m.At(50)
	small := median.Relative != nil && math.Abs(*median.Relative) < c.threshold
	difference := *median.After - *median.Before
	switch {
	case !m.Significant() && (small || difference == 0):
		return Unchanged
	case !m.Significant():
		return Unsure
	case small || difference == 0:
		return Small
	case difference > 0 && direction > 0:
		return up
	case difference < 0 && direction < 0:
		return down
	}
	return Unsure // the medians moved one way, the ranks the other
}
