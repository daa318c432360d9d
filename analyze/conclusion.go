package analyze

import (
	"math"
	"slices"
	"strings"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A felt metric is one that a conclusion weighs.
type felt struct {
	title string
	m     *MetricChange
	write func(float64) string
	// What the other side is like where the metric got worse or better.
	worse, better string
}

// decided reports whether the metric got better or worse, by more than chance
// and than the threshold.
func (f *felt) decided() bool { return f.m.Verdict == Better || f.m.Verdict == Worse }

func (f *felt) phrase() string {
	if f.m.Verdict == Worse {
		return f.worse
	}
	return f.better
}

// felts are the metrics that people feel, the most first.
func felts(g *GroupChange, l lang.Language) [3]felt {
	return [...]felt{
		{l.Text("total"), g.Total, human.Duration, l.Text("is slower"), l.Text("is faster")},
		{"TTFT", g.TTFT, human.Duration, l.Text("starts later"), l.Text("starts sooner")},
		{l.Text("decode rate"), g.TPS, human.Rate, l.Text("streams more slowly"), l.Text("streams faster")},
	}
}

// conclusion says in one sentence what changed. It judges by what people feel
// first: the total, where that does not decide the TTFT, then the decode rate.
// What went the other way is named in the same breath.
func conclusion(g *GroupChange, l lang.Language) string {
	all := felts(g, l)
	metrics := all[:]
	var changed, other, rest []string
	first := slices.IndexFunc(metrics, func(f felt) bool { return f.decided() })
	// Where the mix can have made all of it, the lead says so, and no clause again.
	byItself := slices.ContainsFunc(metrics, func(f felt) bool { return f.decided() && !f.m.ByMix })
	for i := range metrics {
		f := &metrics[i]
		switch {
		case !f.decided():
			if s := f.undecided(l); s != "" {
				rest = append(rest, s)
			}
		case f.m.Verdict == metrics[first].m.Verdict:
			changed = append(changed, f.describe(l, byItself))
		default:
			other = append(other, l.Sprintf("the other way: %s", f.describe(l, byItself)))
		}
	}
	if g.lengthsDiffer() { // told only where they do
		other = append(other, l.Text("output tokens")+" "+g.OutputTokens.Describe(l, 50, human.Quantity))
	}
	s := lead(metrics, first, l)
	if clauses := slices.Concat(changed, other, rest); len(clauses) > 0 {
		s += l.Text(": ") + strings.Join(clauses, l.Text("; "))
	}
	s += l.Text(".")
	if g.lengthsDiffer() && metrics[0].decided() {
		s += l.Text(" The answers differ in length, which moves the total: judge by TTFT and decode rate.")
	}
	return s
}

// describe tells the change; withMix also whether the mix can have made it alone.
func (f *felt) describe(l lang.Language, withMix bool) string {
	s := f.title + " " + f.m.Describe(l, 50, f.write)
	if withMix && f.m.ByMix {
		s += l.Text(", no model by itself")
	}
	return s
}

// lengthsDiffer reports whether the answers got longer or shorter.
func (g *GroupChange) lengthsDiffer() bool {
	return g.OutputTokens.Verdict == More || g.OutputTokens.Verdict == Fewer
}

// undecided says of a metric why it is not decided; "" where there is nothing
// to say. That a test shows no difference does not mean that there is none.
func (f *felt) undecided(l lang.Language) string {
	switch f.m.Verdict {
	case TooFew:
		if f.m.N != [2]int{} {
			return l.Sprintf("%s: not enough samples (n=%d+%d)", f.title, f.m.N[0], f.m.N[1])
		}
	case Noise:
		return l.Sprintf("%s: not compared, fewer than %d rates are clean on a side", f.title, minClean)
	case Small:
		return l.Sprintf("%s %s, a real but small change", f.title, f.m.Describe(l, 50, f.write))
	case Unsure:
		if f.m.Significant() {
			return l.Sprintf("%s %s: unclear, the medians moved one way and the ranks the other", f.title, f.m.Describe(l, 50, f.write))
		}
		return l.Sprintf("%s: no difference shown (~), %s can be chance", f.title, f.m.Describe(l, 50, f.write))
	case Unchanged:
		return l.Sprintf("%s: no difference shown (~, %s)", f.title, human.PValue(*f.m.P))
	}
	return ""
}

// lead sums up the verdicts about speed. first is the metric that decides, −1
// where none does.
func lead(metrics []felt, first int, l lang.Language) string {
	has := func(verdict string) bool {
		return slices.ContainsFunc(metrics, func(f felt) bool { return f.m.Verdict == verdict })
	}
	if first < 0 {
		switch {
		case has(Small):
			return l.Text("No practical difference could be shown")
		case has(Unsure), has(Unchanged):
			return l.Text("No difference could be shown")
		}
		return l.Sprintf("Not enough samples to compare (%d on each side needed)", MinTest)
	}
	s := l.Sprintf("After %s", metrics[first].phrase())
	var but []string
	if metrics[first].m.ByMix {
		but = append(but, l.Text("that can be the mix of models alone"))
	}
	for _, f := range metrics[first+1:] {
		if f.decided() && f.m.Verdict != metrics[first].m.Verdict {
			but = append(but, f.phrase())
		}
	}
	if total := metrics[0].m.Verdict; total == Unsure || total == Unchanged {
		but = append(but, l.Text("no difference in the total could be shown"))
	} else if total == Small {
		but = append(but, l.Text("the total hardly changes"))
	}
	if len(but) > 0 {
		s += l.Text(", but ") + strings.Join(but, l.Text(" and "))
	}
	return s
}

// qualityGap is the difference in the shares of estimated TTFTs from which the
// two sides no longer measure the same thing.
const qualityGap = 0.25

// doubts lists what must be known before relying on a comparison.
func doubts(c *Comparison) []string {
	say, l := c.Options.Language, []string{}
	switch safe := Alpha / float64(c.Tests); {
	case c.Tests <= 1:
	case c.Mix.differs() && !slices.Contains(c.Options.By, string(byModel)): // that nobody sees
		l = append(l, say.Sprintf("%d tests at 5 %%, those of each model included: one in twenty differs by chance alone. With so many, only p<%.2g is safe (Bonferroni).", c.Tests, safe))
	default:
		l = append(l, say.Sprintf("%d tests at 5 %%: one in twenty differs by chance alone. With so many, only p<%.2g is safe (Bonferroni).", c.Tests, safe))
	}
	if e := c.Overall.Estimated; e.Before != nil && e.After != nil && math.Abs(*e.After-*e.Before) > qualityGap {
		l = append(l, say.Sprintf("The sides know the TTFT in different ways: %s are estimated from timestamps before, %s after. Part of the difference can be that.",
			human.Percent(*e.Before), human.Percent(*e.After)))
	}
	if b, a := c.Before, c.After; b.Failed+b.Aborted+a.Failed+a.Aborted > 0 {
		l = append(l, say.Sprintf("Requests that did not complete are in no figure: %s of %s before, %s of %s after.",
			human.Count(b.Failed+b.Aborted), human.Count(b.Requests), human.Count(a.Failed+a.Aborted), human.Count(a.Requests)))
	}
	return l
}

// Describe writes the change of a percentile with its test: p50 1.20 s →
// 1.62 s (+35 %, p<0.001, n=40+40).
func (m *MetricChange) Describe(l lang.Language, p float64, write func(float64) string) string {
	return Quantile{P: p}.Name() + " " + m.describe(l, m.At(p), write)
}

// DescribeMean is Describe for the mean.
func (m *MetricChange) DescribeMean(l lang.Language, write func(float64) string) string {
	return l.Text("mean") + " " + m.describe(l, m.Mean(), write)
}

func (m *MetricChange) describe(l lang.Language, c Change, write func(float64) string) string {
	value := func(v *float64) string {
		if v == nil {
			return human.Undefined
		}
		return write(*v)
	}
	test := l.Text("no test")
	if m.P != nil {
		test = human.PValue(*m.P)
	}
	return l.Sprintf("%s → %s (%s, %s, n=%d+%d)", value(c.Before), value(c.After), human.ChangeOr(c.Relative), test, m.N[0], m.N[1])
}
