package analyze

import (
	"math"
	"strings"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// conclusion says in one sentence what changed, the changes first.
func conclusion(g *GroupChange, l lang.Language) string {
	rate := l.Text("decode rate")
	if g.TPS.Samples == SamplesAll {
		rate = l.Text("decode rate (all TPS)")
	}
	var changed, same []string
	verdicts := map[string]bool{}
	for _, x := range []struct {
		title string
		m     *MetricChange
		write func(float64) string
	}{
		{"TTFT", g.TTFT, human.Duration}, {rate, g.TPS, human.Rate}, {l.Text("total"), g.Total, human.Duration}, {l.Text("output tokens"), g.OutputTokens, human.Quantity},
	} {
		tokens := x.m == g.OutputTokens
		switch x.m.Verdict {
		case Better, Worse, More, Fewer:
			changed = append(changed, x.title+" "+x.m.Describe(l, 50, x.write))
		case TooFew:
			if x.m.N != [2]int{} && !tokens {
				same = append(same, l.Sprintf("%s: not enough samples (n=%d+%d)", x.title, x.m.N[0], x.m.N[1]))
			}
		case Small:
			same = append(same, l.Sprintf("%s %s, a real but small change", x.title, x.m.Describe(l, 50, x.write)))
		case Unsure:
			if !tokens { // they are told only where they changed
				same = append(same, l.Sprintf("%s unsure (%s, %s)", x.title, human.ChangeOr(x.m.At(50).Relative), human.PValue(*x.m.P)))
			}
		case Unchanged:
			if !tokens {
				same = append(same, l.Sprintf("%s unchanged (~)", x.title))
			}
		}
		if !tokens {
			verdicts[x.m.Verdict] = true
		}
	}
	s := lead(verdicts, l)
	if clauses := append(changed, same...); len(clauses) > 0 {
		s += l.Text(": ") + strings.Join(clauses, l.Text("; "))
	}
	s += l.Text(".")
	if v := g.OutputTokens.Verdict; (v == More || v == Fewer) && (g.Total.Verdict == Better || g.Total.Verdict == Worse) {
		s += l.Text(" The answers differ in length, which moves the total: judge by TTFT and decode rate.")
	}
	return s
}

// lead sums up the verdicts about speed.
func lead(verdicts map[string]bool, l lang.Language) string {
	switch {
	case verdicts[Worse] && verdicts[Better]:
		return l.Text("Mixed")
	case verdicts[Worse]:
		return l.Text("After is slower")
	case verdicts[Better]:
		return l.Text("After is faster")
	case verdicts[Small]:
		return l.Text("No practical difference")
	case verdicts[Unsure]:
		return l.Text("No difference that could not be chance")
	case verdicts[Unchanged]:
		return l.Text("No difference found")
	}
	return l.Sprintf("Not enough samples to compare (%d on each side needed)", MinTest)
}

// qualityGap is the difference in the shares of estimated TTFTs from which the
// two sides no longer measure the same thing.
const qualityGap = 0.25

// doubts lists what must be known before relying on a comparison.
func doubts(c *Comparison) []string {
	say, l := c.Options.Language, []string{}
	if c.Tests > 1 {
		l = append(l, say.Sprintf("%d tests at 5 %%: one in twenty differs by chance alone. With so many, only p<%.2g is safe (Bonferroni).",
			c.Tests, Alpha/float64(c.Tests)))
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
