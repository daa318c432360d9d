package analyze

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

const (
	// mixGap is from which on two mixes of models differ enough to move figures
	// over all of them.
	mixGap = 0.1
	// maxMixNames bounds the models that a sentence names.
	maxMixNames = 3
)

// A Mix tells of which models the completed requests of two sides are. Where
// the mixes differ, figures over all models differ too, even if no model got
// faster or slower.
type Mix struct {
	// Moved is the share of one side's requests that would have to be of another
	// model for both sides to have the same mix: 0 the same, 1 no model in common
	// (the total variation distance).
	Moved  float64      `json:"moved"`
	Models []ModelShare `json:"models"` // the most requests first
}

// A ModelShare is the share of the completed requests that are of one model;
// those that name none have the model "".
type ModelShare struct {
	Model  string  `json:"model"`
	Before float64 `json:"before"` // 0..1
	After  float64 `json:"after"`  // 0..1
}

// mixOf returns the mix of two sets that were collected by model; nil where a
// side has no completed request or no model has a name.
func mixOf(a, b *Collector) *Mix {
	type count struct{ before, after int }
	counts, named := map[string]count{}, false
	for i, c := range []*Collector{a, b} {
		for model, g := range c.keyed(byModel).groups {
			n := counts[model]
			if i == 0 {
				n.before = g.completed()
			} else {
				n.after = g.completed()
			}
			if n != (count{}) {
				counts[model] = n
				named = named || model != ""
			}
		}
	}
	before, after := float64(a.overall.completed()), float64(b.overall.completed())
	if !named || before == 0 || after == 0 {
		return nil
	}
	m := &Mix{}
	apart := 0.0
	for model, n := range counts {
		m.Models = append(m.Models, ModelShare{model, float64(n.before) / before, float64(n.after) / after})
	}
	slices.SortFunc(m.Models, func(x, y ModelShare) int {
		return cmp.Or(cmp.Compare(y.Before+y.After, x.Before+x.After), cmp.Compare(x.Model, y.Model))
	})
	for _, s := range m.Models { // in order, so that the sum is always the same
		apart += math.Abs(s.After - s.Before)
	}
	m.Moved = apart / 2
	return m
}

// completed counts the requests that figures are of.
func (g *group) completed() int { return g.requests - g.failed - g.aborted - g.warmup }

// differs reports whether figures over all models can differ by the mix alone.
func (m *Mix) differs() bool { return m != nil && m.Moved >= mixGap }

// markMix marks the changes of all requests that the mix can make alone: those
// that no model shows which both sides have.
func markMix(all *GroupChange, models []KeyedChange) {
	for i, m := range all.metrics() {
		switch m.Verdict {
		case Better, Worse, More, Fewer:
			m.ByMix = !slices.ContainsFunc(models, func(k KeyedChange) bool { return k.Group.metrics()[i].Verdict == m.Verdict })
		}
	}
}

func (g *GroupChange) metrics() [5]*MetricChange {
	return [...]*MetricChange{g.TTFT, g.Total, g.TPS, g.TPOT, g.OutputTokens}
}

// doubt says how the mix moved, and which models did by themselves what all
// together did not.
func (m *Mix) doubt(c *Comparison, models []KeyedChange) string {
	l := c.Options.Language
	moved := slices.Clone(m.Models)
	slices.SortStableFunc(moved, func(x, y ModelShare) int {
		return cmp.Compare(math.Abs(y.After-y.Before), math.Abs(x.After-x.Before))
	})
	var shares []string
	for _, s := range moved[:min(maxMixNames, len(moved))] {
		shares = append(shares, l.Sprintf("%s %s → %s", modelName(s.Model, l), human.Percent(s.Before), human.Percent(s.After)))
	}
	s := l.Sprintf("The mix of models is not the same: %s of the requests.", strings.Join(shares, l.Text(", ")))
	if len(models) == 0 {
		s += l.Text(" No model is on both sides: what changed can be the model.")
	} else {
		s += l.Text(" A change over all of them can be that of the mix.")
	}
	var alone []string
	overall := felts(c.Overall, l)
	for _, k := range models {
		var phrases []string
		for i, f := range felts(k.Group, l) {
			if f.m == k.Group.Total && k.Group.lengthsDiffer() {
				continue // longer answers are no slower model
			}
			if f.decided() && f.m.Verdict != overall[i].m.Verdict {
				phrases = append(phrases, f.phrase())
			}
		}
		if len(phrases) > 0 && len(alone) < maxMixNames {
			alone = append(alone, modelName(k.Key, l)+" "+strings.Join(phrases, l.Text(" and ")))
		}
	}
	if len(alone) > 0 {
		s += l.Sprintf(" By itself, %s.", strings.Join(alone, l.Text("; ")))
	}
	if len(models) > 0 {
		if slices.Contains(c.Options.By, string(byModel)) {
			s += l.Text(" Compare like with like: see the groups by model.")
		} else {
			s += l.Text(" Compare like with like: --by model.")
		}
	}
	return s
}

func modelName(model string, l lang.Language) string {
	if model == "" {
		return l.Text("requests without a model's name")
	}
	return model
}
