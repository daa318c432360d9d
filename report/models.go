package report

import (
	"codexlag/analyze"
	"codexlag/analyze/human"
)

// models are the fitted splits. They are guesses and named so.
func (b *builder) models() {
	requests := Table{Columns: []Column{{Title: "Requests of", Fit: Shorten}, {Title: "n", Right: true, Drop: 2}, {Title: "Overhead", Right: true},
		{Title: "Prefill rate", Right: true}, {Title: "TPOT", Right: true, Drop: 1},
		{Title: "Explained", Right: true, Drop: 3}, {Title: "Modelled prefill", Right: true}}}
	prefills := Table{Columns: []Column{{Title: "Requests of", Fit: Shorten}, {Title: "n", Right: true, Drop: 2}, {Title: "Overhead", Right: true},
		{Title: "Prefill rate", Right: true}, {Title: "Explained", Right: true, Drop: 3}}}
	for i, k := range append([]analyze.Keyed{{Group: b.all}}, b.r.Groups...) {
		if k.Group == nil {
			continue
		}
		of := nameCell(k.By + " " + k.Key)
		if i == 0 {
			of = cell("all")
		} else if k.Key == "" {
			of = cell(k.By + " (not stated)")
		}
		if m := k.Group.RequestModel; m != nil && len(requests.Rows) < maxGroups {
			requests.Rows = append(requests.Rows, []Cell{of, cell(human.Count(m.Requests)), cell(human.Duration(m.Overhead)), rateCell(m.PrefillRate),
				cell(human.Duration(m.TPOT)), cell(human.Percent(m.Explained)), cell(human.PercentOr(m.PrefillShare))})
		}
		if m := k.Group.PrefillModel; m != nil && len(prefills.Rows) < maxGroups {
			prefills.Rows = append(prefills.Rows, []Cell{of, cell(human.Count(m.Requests)), cell(human.Duration(m.Overhead)), rateCell(m.Rate), cell(human.Percent(m.Explained))})
		}
	}
	if len(requests.Rows)+len(prefills.Rows) == 0 {
		return
	}
	b.section("Modelled, not measured")
	if len(requests.Rows) > 0 {
		b.paragraph(plain("Modelled total = overhead + uncached input / prefill rate + output tokens · TPOT:"))
		b.add(requests)
	}
	if len(prefills.Rows) > 0 {
		b.paragraph(plain("Modelled TTFT = overhead + uncached input / prefill rate. A large overhead means queue, network or set-up, not the prompt:"))
		b.add(prefills)
	}
	b.note("", "Explained: share of the spread that the model accounts for. Prefill rate —: the time does not grow with the prompt.")
}

func rateCell(v *float64) Cell {
	if v == nil {
		return cell(human.Undefined)
	}
	return cell(human.Rate(*v))
}
