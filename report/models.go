package report

import (
	"slices"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

// models are the fitted splits. They are guesses and named so.
func (b *builder) models() {
	requests, prefills := b.requestModels(), b.prefillModels()
	if len(requests.Rows)+len(prefills.Rows) == 0 {
		return
	}
	b.section(b.Text("Modelled, not measured"))
	if len(requests.Rows) > 0 {
		b.paragraph(plain(b.Text("Modelled total = overhead + uncached input / prefill rate + output tokens · TPOT. It splits the requests that no log splits; overhead and prompt are what passes before the first token, so both count as modelled prefill:")))
		b.add(requests)
		if slices.ContainsFunc(b.all.RequestModels, func(m analyze.ModelFit) bool { return m.TTFTRequests > 0 }) {
			b.note("", b.Text("Against TTFT: median of modelled − known, where some of the same requests do have a TTFT; the percentage is of the median known TTFT. Codex's TTFT of a turn holds set-up that the model knows nothing of."))
		}
	}
	if len(prefills.Rows) > 0 {
		b.paragraph(plain(b.Text("Modelled TTFT = overhead + uncached input / prefill rate. A large overhead means queue, network, set-up or hidden reasoning, not the prompt:")))
		b.add(prefills)
	}
	b.note("", b.Text("Explained: share of the spread that the model accounts for; below 70 % it is a weak witness. Prefill rate —: the time does not grow with the prompt, or the prompts are of one size."))
	if s := b.all.SampledShare; s != nil {
		b.note("", b.Sprintf("The models stand on a random %s of the requests: there are too many to keep each.", human.Percent(*s)))
	}
}

// requestModels lists a fit for each model, then those of other groups.
func (b *builder) requestModels() Table {
	t := Table{Columns: []Column{{Title: b.Text("Requests of"), Fit: Shorten}, {Title: "n", Right: true, Drop: 2}, {Title: b.Text("Overhead"), Right: true},
		{Title: b.Text("Prefill rate"), Right: true}, {Title: "TPOT", Right: true, Drop: 1}, {Title: b.Text("Explained"), Right: true, Drop: 4},
		{Title: b.Text("Against TTFT"), Right: true, Drop: 3}, {Title: b.Text("Modelled prefill"), Right: true}}}
	add := func(of Cell, m *analyze.RequestModel) {
		if len(t.Rows) < b.rows {
			t.Rows = append(t.Rows, []Cell{of, cell(human.Count(m.Requests)), cell(human.Duration(m.Overhead)), rateCell(m.PrefillRate),
				cell(human.Duration(m.TPOT)), cell(human.Percent(m.Explained)), againstCell(m), cell(human.PercentOr(m.PrefillShare))})
		}
	}
	listed := make(map[string]bool)
	for i := range b.all.RequestModels {
		m := &b.all.RequestModels[i]
		listed[m.Model] = true
		add(b.groupCell("model", m.Model), &m.RequestModel)
	}
	for _, k := range b.r.Groups {
		if k.Group != nil && k.Group.RequestModel != nil && !(k.By == "model" && listed[k.Key]) {
			add(b.groupCell(k.By, k.Key), k.Group.RequestModel)
		}
	}
	return t
}

func (b *builder) prefillModels() Table {
	t := Table{Columns: []Column{{Title: b.Text("Requests of"), Fit: Shorten}, {Title: "n", Right: true, Drop: 2}, {Title: b.Text("Overhead"), Right: true},
		{Title: b.Text("Prefill rate"), Right: true}, {Title: b.Text("Explained"), Right: true, Drop: 3}}}
	add := func(of Cell, g *analyze.Group) {
		if g == nil || g.PrefillModel == nil || len(t.Rows) >= b.rows {
			return
		}
		m := g.PrefillModel
		t.Rows = append(t.Rows, []Cell{of, cell(human.Count(m.Requests)), cell(human.Duration(m.Overhead)), rateCell(m.Rate), cell(human.Percent(m.Explained))})
	}
	add(cell(b.Text("all")), b.all)
	for _, k := range b.r.Groups {
		add(b.groupCell(k.By, k.Key), k.Group)
	}
	return t
}

func (b *builder) groupCell(by, key string) Cell {
	c := b.keyCell(by, key)
	c.Text = b.Word(by) + " " + c.Text
	return c
}

// againstCell says how far a model is from the TTFTs that are known.
func againstCell(m *analyze.RequestModel) Cell {
	if m.TTFTError == nil {
		return cell(human.Undefined)
	}
	s := human.Difference(*m.TTFTError)
	if m.TTFTErrorShare != nil {
		s += " (" + human.Change(*m.TTFTErrorShare) + ")"
	}
	return cell(s)
}

func rateCell(v *float64) Cell {
	if v == nil {
		return cell(human.Undefined)
	}
	return cell(human.Rate(*v))
}
