package report

import (
	"slices"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

const (
	maxGroups  = 20 // rows of one dimension at most
	smallGroup = 10 // requests below which a group is a hint (metrics.md, Verdict)
)

// groups are one table a dimension, in the order in which they were asked for.
func (b *builder) groups() {
	var dims []string
	for _, k := range b.r.Groups {
		if k.Group != nil && !slices.Contains(dims, k.By) {
			dims = append(dims, k.By)
		}
	}
	if len(dims) == 0 {
		return
	}
	b.section(b.Text("Groups"))
	small, pooled := false, false
	for _, by := range dims {
		var of []analyze.Keyed
		for _, k := range b.r.Groups {
			if k.By == by && k.Group != nil {
				of = append(of, k)
			}
		}
		b.part(b.Sprintf("By %s", b.Word(by)))
		b.groupTable(by, of)
		for _, k := range of[:min(b.rows, len(of))] {
			small = small || k.Group.Requests < smallGroup || thinGroup(k.Group, b.groupPercentiles())
			pooled = pooled || cleanCount(k.Group) < minClean && k.Group.TPS.Pooled != nil
		}
	}
	if small {
		b.note(thinMark, b.Text("too few samples to rely on: fewer than 10 requests, or too few for that percentile"))
	}
	if pooled {
		b.note("", b.Text("pooled: summed tokens / summed decode time, where fewer than 6 samples are clean; the others are medians of clean TPS"))
	}
}

func (b *builder) groupTable(by string, groups []analyze.Keyed) {
	ps := b.groupPercentiles()
	t := Table{Columns: []Column{{Title: b.Word(by), Fit: Shorten}, {Title: "n", Right: true},
		{Title: b.Text("Waiting"), Right: true, Drop: 2}}}
	for i, p := range ps {
		t.Columns = append(t.Columns, Column{Title: "TTFT " + analyze.Quantile{P: p}.Name(), Right: true, Drop: 3 * i})
	}
	// A TTFT may be known of few of the requests that n counts.
	fewer := slices.ContainsFunc(groups, func(k analyze.Keyed) bool { return ttftCount(k.Group) != k.Group.Requests })
	if fewer {
		t.Columns = append(t.Columns, Column{Title: "TTFT n", Right: true, Drop: 2})
	}
	t.Columns = append(t.Columns, Column{Title: "TPS, tok/s", Right: true})
	for i, p := range ps {
		t.Columns = append(t.Columns, Column{Title: b.Text("Total") + " " + analyze.Quantile{P: p}.Name(), Right: true, Drop: 1 + 3*i})
	}
	t.Columns = append(t.Columns, Column{Title: b.Text("Phase"), Fit: Wrap})
	failed := slices.ContainsFunc(groups, func(k analyze.Keyed) bool { return k.Group.Failed > 0 })
	if failed {
		t.Columns = append(t.Columns, Column{Title: b.Text("Failed"), Right: true, Drop: 5})
	}
	for _, k := range groups[:min(b.rows, len(groups))] {
		row := b.groupRow(k, ps, fewer)
		if failed {
			row = append(row, cell(human.Count(k.Group.Failed)))
		}
		t.Rows = append(t.Rows, row)
	}
	b.add(t)
	if more := len(groups) - b.rows; more > 0 {
		b.paragraph(plain(b.Sprintf("… and %s more (see --format json).", human.Count(more))))
	}
}

// groupRow is the row of one group, with the number of its TTFTs if that is asked for.
func (b *builder) groupRow(k analyze.Keyed, ps []float64, ttfts bool) []Cell {
	g := k.Group
	key := b.keyCell(k.By, k.Key)
	n := cell(human.Count(g.Requests))
	if g.Requests < smallGroup {
		n.Mark, n.Tone = thinMark, Warn
	}
	row := []Cell{key, n, cell(human.PercentOr(k.WaitingShare))}
	for _, p := range ps {
		row = append(row, quantileCell(g.TTFT.At(p), human.Duration))
	}
	if ttfts {
		row = append(row, cell(human.Count(ttftCount(g))))
	}
	row = append(row, cell(b.groupRate(g)))
	for _, p := range ps {
		row = append(row, quantileCell(g.Total.At(p), human.Duration))
	}
	return append(row, b.phaseCell(g.Verdict))
}

// keyCell names a group. Some dimensions have keys that are words of ours.
func (b *builder) keyCell(by, key string) Cell {
	switch {
	case key == "":
		return cell(b.Text("(not stated)"))
	case slices.Contains([]string{"cache", "input-size", "output-size", "status"}, by):
		return nameCell(b.Word(key))
	}
	return nameCell(key)
}

// thinGroup reports whether a quantile that the group's row shows is marked.
func thinGroup(g *analyze.Group, ps []float64) bool {
	return slices.ContainsFunc(ps, func(p float64) bool {
		ttft, total := g.TTFT.At(p), g.Total.At(p)
		return ttft != nil && ttft.Thin || total != nil && total.Thin
	})
}

// ttftCount is how many requests the TTFT percentiles of a group are about.
func ttftCount(g *analyze.Group) int {
	if g.TTFT == nil {
		return 0
	}
	return g.TTFT.N
}

func cleanCount(g *analyze.Group) int {
	if g.TPS.Clean == nil {
		return 0
	}
	return g.TPS.Clean.N
}

// groupRate is the median of the clean rates, or the pooled rate and its name.
func (b *builder) groupRate(g *analyze.Group) string {
	if q := g.TPS.Clean.At(50); q != nil && cleanCount(g) >= minClean {
		return human.Number(q.Value)
	}
	if g.TPS.Pooled == nil {
		return human.Undefined
	}
	return b.Sprintf("%s pooled", human.Number(*g.TPS.Pooled))
}

// phaseCell is the phase of a group; a modelled one says so.
func (b *builder) phaseCell(v analyze.Verdict) Cell {
	if v.Phase == "" || v.Phase == analyze.PhaseNone {
		return cell(human.Undefined)
	}
	c := Cell{Span: Span{Text: b.Word(v.Phase), Tone: phaseTone(v.Phase)}}
	if v.Basis == analyze.BasisModelled {
		c.Text += b.Text(" (modelled)")
	}
	return c
}
