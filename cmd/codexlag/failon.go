package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

const failOnForm = "write METRIC:STAT>LIMIT or METRIC:STAT<LIMIT, such as ttft:p90>+20% or tps:p50<20"

// A gate is a condition of --fail-on: when it holds, the comparison fails.
type gate struct {
	text       string // as it was written
	metric     *gateMetric
	percentile float64 // 0 for the mean, and where the metric has no statistics
	more       bool    // >, else <
	relative   bool    // the limit is a relative change, else a value of the After side
	limit      float64 // 0.2 for 20 %; else in the metric's unit
}

// A gateMetric is a figure that a gate can be set on.
type gateMetric struct {
	name  string
	title string
	of    func(*analyze.GroupChange) *analyze.MetricChange // nil for a share
	time  bool
	write func(float64) string
}

var gateMetrics = []*gateMetric{
	{"ttft", "TTFT", func(g *analyze.GroupChange) *analyze.MetricChange { return g.TTFT }, true, human.Duration},
	{"total", "total", func(g *analyze.GroupChange) *analyze.MetricChange { return g.Total }, true, human.Duration},
	{"tps", "TPS", func(g *analyze.GroupChange) *analyze.MetricChange { return g.TPS }, false, human.Rate},
	{"tpot", "TPOT", func(g *analyze.GroupChange) *analyze.MetricChange { return g.TPOT }, true, human.Duration},
	{"output_tokens", "output tokens", func(g *analyze.GroupChange) *analyze.MetricChange { return g.OutputTokens }, false, human.Quantity},
	{"prefill_share", "prefill share", nil, false, human.Percent},
}

func gateMetricNames() []string {
	names := make([]string, len(gateMetrics))
	for i, m := range gateMetrics {
		names[i] = m.name
	}
	return names
}

// parseFailOn reads a condition: ttft:p90>+20%, tps:mean<-10%, ttft:p90>5s,
// prefill_share>+20%. With % the limit is a relative change, of prefill_share
// too; without, a value of the After side.
func parseFailOn(s string) (gate, error) {
	g := gate{text: strings.TrimSpace(s)}
	at := strings.IndexAny(s, "<>")
	if at < 0 {
		return g, usageError("--fail-on: %q has no > or <: %s", s, failOnForm)
	}
	g.more = s[at] == '>'
	name, stat, hasStat := strings.Cut(s[:at], ":")
	for _, m := range gateMetrics {
		if m.name == strings.TrimSpace(name) {
			g.metric = m
		}
	}
	if g.metric == nil {
		name = strings.TrimSpace(name)
		return g, usageError("--fail-on: %q: unknown metric %q: one of %s%s", s, name, strings.Join(gateMetricNames(), ", "), suggest(name, gateMetricNames()))
	}
	if err := g.parseStat(strings.TrimSpace(stat), hasStat); err != nil {
		return g, err
	}
	return g, g.parseLimit(strings.TrimSpace(s[at+1:]))
}

func (g *gate) parseStat(stat string, given bool) error {
	if g.metric.of == nil {
		if given {
			return usageError("--fail-on: %q: %s is one figure without percentiles: write %[2]s>+20%%", g.text, g.metric.name)
		}
		return nil
	}
	if stat == "mean" {
		return nil
	}
	n, ok := strings.CutPrefix(stat, "p")
	p, err := strconv.ParseFloat(n, 64)
	if !ok || err != nil || !(p > 0 && p <= 100) {
		return usageError("--fail-on: %q: %q is no statistic: mean or a percentile such as p50 or p90; %s", g.text, stat, failOnForm)
	}
	g.percentile = p
	return nil
}

func (g *gate) parseLimit(s string) error {
	n, percent := strings.CutSuffix(s, "%")
	if g.relative = percent; !percent && g.metric.time {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return usageError("--fail-on: %q: %q is neither a change, such as +20%%, nor a length of time, such as 5s or 800ms", g.text, s)
		}
		g.limit = float64(d) / float64(time.Millisecond)
		return nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || !percent && v < 0 {
		return usageError("--fail-on: %q: %q is neither a change, such as +20%%, nor a number of %s", g.text, s, g.metric.title)
	}
	if percent {
		v /= 100
	}
	if g.metric.of == nil && !percent && v > 1 {
		return usageError("--fail-on: %q: a share is from 0 to 1; with %% the limit is a relative change", g.text)
	}
	g.limit = v
	return nil
}

// fails tells why the comparison fails the condition, "" where it passes. What
// cannot be judged fails: a gate that is open for want of figures guards nothing.
func (g *gate) fails(c *analyze.GroupChange) string {
	change, figures := g.figures(c)
	v := change.After
	if g.relative {
		v = change.Relative
	}
	if v == nil {
		return fmt.Sprintf("--fail-on %s cannot be judged, which counts as failed: %s", g.text, figures)
	}
	if order := cmp.Compare(*v, g.limit); g.more && order > 0 || !g.more && order < 0 {
		return fmt.Sprintf("--fail-on %s: %s", g.text, figures)
	}
	return ""
}

// figures returns the change that the gate is about, and how to tell of it.
func (g *gate) figures(c *analyze.GroupChange) (analyze.Change, string) {
	if g.metric.of == nil {
		change := c.PrefillShare
		return change, fmt.Sprintf("%s %s → %s (%s)", g.metric.title, human.PercentOr(change.Before), human.PercentOr(change.After), human.ChangeOr(change.Relative))
	}
	m := g.metric.of(c)
	change, told := m.Mean(), m.DescribeMean(lang.English, g.metric.write)
	if g.percentile > 0 {
		change, told = m.At(g.percentile), m.Describe(lang.English, g.percentile, g.metric.write)
	}
	title := g.metric.title
	if m.Samples == analyze.SamplesAll {
		return analyze.Change{}, fmt.Sprintf("too few rates are clean, the others are noise: %s %s", title, told)
	}
	if m.ByMix {
		told += "; no model by itself: the mix of models changed"
	}
	if m.P != nil && !m.Significant() {
		told += "; the difference can be chance (p ≥ 0.05)"
	}
	return change, title + " " + told
}
