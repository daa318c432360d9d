package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

// CompareJSON writes a comparison with an indent, for scripts and for reading.
func CompareJSON(w io.Writer, c *analyze.Comparison) error {
	out, err := marshal(c, "  ")
	if err != nil {
		return fmt.Errorf("comparison as JSON: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// Comparison builds the document of a comparison: the answer, what it stands
// on, then the groups.
func Comparison(c *analyze.Comparison) *Document {
	b := &comparison{c: c, builder: builder{Language: c.Options.Language}}
	b.answer()
	b.sides()
	b.medians()
	b.spread()
	b.shares()
	b.groups()
	b.definitions()
	return &Document{Language: b.Language, Title: b.Text("Codex latency: before and after"), Blocks: b.blocks}
}

// A comparison collects the blocks of one comparison.
type comparison struct {
	c *analyze.Comparison
	builder
}

// A changeRow is one metric of a comparison.
type changeRow struct {
	title string
	m     *analyze.MetricChange
	write func(float64) string
	time  bool // its values are in ms
}

func (b *comparison) changeRows(g *analyze.GroupChange) []changeRow {
	return []changeRow{
		{"TTFT", g.TTFT, human.Duration, true},
		{b.Sprintf("TPS %s, tok/s", b.Word(g.TPS.Samples)), g.TPS, human.Number, false},
		{b.Text("TPOT (clean)"), g.TPOT, human.Duration, true},
		{b.Text("Total"), g.Total, human.Duration, true},
		{b.Text("Output tokens"), g.OutputTokens, human.Quantity, false},
	}
}

func (b *comparison) answer() {
	b.paragraph(Span{Text: b.c.Sentence, Style: Strong})
	for _, d := range b.c.Doubts {
		b.paragraph(plain(d))
	}
}

func (b *comparison) sides() {
	side := func(title string, s analyze.Side) Item {
		scope := builder{
			Language: b.Language,
			r:        &analyze.Report{Inputs: s.Inputs},
			all:      &analyze.Group{Requests: s.Requests, Failed: s.Failed, Aborted: s.Aborted, Warmup: s.Warmup},
			zone:     zone(b.c.Options.Timezone),
		}
		return Item{Text: Inline{strong(title), plain(b.Text(": ")), name(s.Name), plain(b.Text(": ") + scope.scope())}}
	}
	b.add(List{[]Item{side(b.Text("Before"), b.c.Before), side(b.Text("After"), b.c.After)}})
	b.filters(b.c.Options.Filters)
}

// medians is the table with the tests.
func (b *comparison) medians() {
	b.section(b.Text("Medians"))
	t := Table{Columns: []Column{{Title: b.Text("Metric")},
		{Title: b.Text("Before p50"), Right: true}, {Title: b.Text("95 % CI before"), Right: true, Drop: 20},
		{Title: b.Text("After p50"), Right: true}, {Title: b.Text("95 % CI after"), Right: true, Drop: 20},
		{Title: b.Text("Change"), Right: true}, {Title: b.Text("Test"), Right: true, Drop: 10}, {Title: b.Text("Verdict"), Fit: Wrap}}}
	few, mixed := false, false
	for _, r := range b.changeRows(b.c.Overall) {
		few = few || r.m.Verdict == analyze.TooFew
		mixed = mixed || r.m.ByMix
		c := r.m.At(50)
		t.Rows = append(t.Rows, []Cell{cell(r.title), figureCell(c.Before, r.write), intervalCell(r.m.Before, r), figureCell(c.After, r.write), intervalCell(r.m.After, r),
			deltaCell(r.m), cell(testText(r.m)), b.verdictCell(r.m)})
	}
	b.add(t)
	if few {
		b.note(thinMark, b.Sprintf("no test: fewer than %d samples on a side", analyze.MinTest))
	}
	if mixed {
		b.note(mixMark, b.Text("no model by itself: that can be the mix of models alone"))
	}
	if tps := b.c.Overall.TPS; tps.Samples == analyze.SamplesAll && tps.N != [2]int{} {
		b.note("", b.Sprintf("TPS: all rates are shown, since fewer than %d are clean on a side; those of short answers are noise and are not compared", minClean))
	}
}

func figureCell(v *float64, write func(float64) string) Cell {
	if v == nil {
		return cell(human.Undefined)
	}
	return cell(write(*v))
}

func intervalCell(d *analyze.Dist, r changeRow) Cell {
	q := d.At(50)
	switch {
	case q == nil || q.CI == nil:
		return cell(human.Undefined)
	case r.time:
		return cell(human.DurationInterval(*q.CI, q.Value))
	}
	return cell(human.Interval(*q.CI, r.write))
}

// deltaCell is the change, or ~ where it can be chance: a number there would
// be taken for one.
func deltaCell(m *analyze.MetricChange) Cell {
	if m.Samples == analyze.SamplesAll {
		return cell(human.Undefined)
	}
	if m.P != nil && !m.Significant() {
		return cell("~")
	}
	c := cell(human.ChangeOr(m.At(50).Relative))
	if m.P == nil && c.Text != human.Undefined {
		c.Mark, c.Tone = thinMark, Warn
	}
	return c
}

func testText(m *analyze.MetricChange) string {
	n := "n=" + strconv.Itoa(m.N[0]) + "+" + strconv.Itoa(m.N[1])
	if m.P == nil {
		return n
	}
	return human.PValue(*m.P) + " " + n
}

func (b *comparison) verdictCell(m *analyze.MetricChange) Cell {
	c := cell(b.Word(m.Verdict))
	switch m.Verdict {
	case analyze.Better:
		c.Tone = Info
	case analyze.Worse:
		c.Tone = Bad
	case analyze.Unchanged:
		c.Text = b.Text("no difference shown")
	case analyze.Small:
		c.Text = b.Text("real but small")
	case analyze.Noise:
		c.Text, c.Tone = b.Text("noise, not compared"), Warn
	case analyze.TooFew:
		c.Text, c.Tone = b.Text("not enough samples"), Warn
	}
	if m.ByMix {
		c.Mark, c.Tone = mixMark, Warn
	}
	return c
}

// mixMark marks a change that the mix of models can have made.
const mixMark = "†"

// spread is the rest of the distributions: what the medians do not tell.
func (b *comparison) spread() {
	ps := slices.DeleteFunc(slices.Clone(b.c.Options.Percentiles), func(p float64) bool { return p == 50 })
	b.section(b.Text("Percentiles and means"))
	t := Table{Columns: []Column{{Title: b.Text("Metric")}}}
	for i, p := range ps {
		t.Columns = append(t.Columns, Column{Title: analyze.Quantile{P: p}.Name(), Right: true, Drop: 2 * i})
	}
	t.Columns = append(t.Columns, Column{Title: b.Text("mean"), Right: true, Drop: 100})
	thin := false
	for _, r := range b.changeRows(b.c.Overall) {
		row := []Cell{cell(r.title)}
		for _, p := range ps {
			c := movedCell(r.m.At(p), r.write)
			if isThin(r.m.Before.At(p)) || isThin(r.m.After.At(p)) {
				c.Mark, c.Tone, thin = thinMark, Warn, true
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, append(row, movedCell(r.m.Mean(), r.write)))
	}
	b.add(t)
	if thin {
		b.note(thinMark, b.Text("n is too small on a side: little more than the maximum"))
	}
}

func isThin(q *analyze.Quantile) bool { return q != nil && q.Thin }

// movedCell writes both sides and the change: 1.20 s → 1.62 s, +35 %.
func movedCell(c analyze.Change, write func(float64) string) Cell {
	if c.Before == nil && c.After == nil {
		return cell(human.Undefined)
	}
	s := figureCell(c.Before, write).Text + " → " + figureCell(c.After, write).Text
	if c.Relative != nil {
		s += ", " + human.Change(*c.Relative)
	}
	return cell(s)
}

func (b *comparison) shares() {
	kept := b.Sprintf("Requests that keep the limits (TTFT %s, TPS %s): %s", human.Limit(b.c.Options.SLO.TTFTms), human.LimitRate(b.c.Options.SLO.TPS), shareText(b.c.Overall.SLO))
	if n := b.c.Overall.SLOUnknown; n != [2]int{} {
		kept += b.Sprintf("; not known of %s before and %s after (counted as not met)", human.Count(n[0]), human.Count(n[1]))
	}
	b.add(List{[]Item{
		{Text: text(b.Sprintf("Prefill share of the summed time: %s", shareText(b.c.Overall.PrefillShare)))},
		{Text: text(kept)},
	}})
}

func shareText(c analyze.Change) string {
	return human.PercentOr(c.Before) + " → " + human.PercentOr(c.After)
}

// groups are one table a dimension, with what only one side has below it.
func (b *comparison) groups() {
	if len(b.c.Options.By) == 0 {
		return
	}
	b.section(b.Text("Groups"))
	for _, by := range b.c.Options.By {
		var of []analyze.KeyedChange
		for _, k := range b.c.Groups {
			if k.By == by {
				of = append(of, k)
			}
		}
		b.part(b.Sprintf("By %s", b.Word(by)))
		b.groupTable(by, of)
		b.oneSided(b.Text("Only before"), by, b.c.OnlyBefore)
		b.oneSided(b.Text("Only after"), by, b.c.OnlyAfter)
	}
}

func (b *comparison) groupTable(by string, groups []analyze.KeyedChange) {
	if len(groups) == 0 {
		b.paragraph(plain(b.Sprintf("No %s has requests on both sides.", b.Word(by))))
		return
	}
	t := Table{Columns: []Column{{Title: b.Word(by), Fit: Shorten}, {Title: "n", Right: true},
		{Title: "TTFT p50", Right: true, Drop: 3}, {Title: b.Text("TTFT change"), Right: true}, {Title: "TTFT n", Right: true, Drop: 2},
		{Title: "TPS p50, tok/s", Right: true, Drop: 4}, {Title: b.Text("TPS change"), Right: true},
		{Title: b.Text("Total p50"), Right: true, Drop: 5}, {Title: b.Text("Total change"), Right: true, Drop: 1}}}
	const ttftN = 4
	few, all, fewer := false, false, false
	for _, k := range groups[:min(maxGroups, len(groups))] {
		g := k.Group
		key := b.keyCell(by, k.Key)
		row := []Cell{key, bothCell(g.Requests)}
		fewer = fewer || g.TTFT.N != g.Requests
		for _, r := range []changeRow{{m: g.TTFT, write: human.Duration}, {m: g.TPS, write: human.Number}, {m: g.Total, write: human.Duration}} {
			moved := r.m.At(50)
			moved.Relative = nil // in its own column, with the test
			c := movedCell(moved, r.write)
			if r.m.Samples == analyze.SamplesAll && c.Text != human.Undefined {
				c.Text, all = c.Text+" "+b.Text("all"), true
			}
			d := deltaCell(r.m)
			few = few || d.Mark != ""
			if r.m.Significant() && d.Text != human.Undefined {
				d.Text += ", " + human.PValue(*r.m.P)
			}
			if row = append(row, c, d); len(row) == ttftN {
				row = append(row, bothCell(g.TTFT.N))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if !fewer {
		t = t.without(ttftN)
	}
	b.add(t)
	if more := len(groups) - maxGroups; more > 0 {
		b.paragraph(plain(b.Sprintf("… and %s more (see --format json).", human.Count(more))))
	}
	if few {
		b.note(thinMark, b.Sprintf("no test: fewer than %d samples on a side", analyze.MinTest))
	}
	if all {
		b.note("", b.Sprintf("all: every defined TPS, where fewer than %d are clean on a side; not compared, since those of short answers are noise", minClean))
	}
}

// bothCell is a number of the side before and of that after: 28+26.
func bothCell(n [2]int) Cell { return cell(human.Count(n[0]) + "+" + human.Count(n[1])) }

// oneSided lists the groups that the other side lacks: they cannot be compared.
func (b *comparison) oneSided(title, by string, counts []analyze.KeyedCount) {
	in := Inline{strong(title), plain(b.Text(": "))}
	n := 0
	for _, k := range counts {
		if k.By != by {
			continue
		}
		if n++; n > maxGroups {
			continue
		}
		if n > 1 {
			in = append(in, plain(b.Text(", ")))
		}
		in = append(in, b.keyCell(by, k.Key).Span, plain(b.Sprintf(" (%s)", human.Count(k.Requests))))
	}
	if n > maxGroups {
		in = append(in, plain(b.Sprintf(", … and %s more (see --format json)", human.Count(n-maxGroups))))
	}
	if n > 0 {
		b.add(Paragraph{append(in, plain(b.Text(".")))})
	}
}

func (b *comparison) definitions() {
	b.section(b.Text("How to read this"))
	b.add(List{[]Item{
		{Text: text(b.Text("p is from a Mann–Whitney U test with tie correction over all samples of a metric, n=before+after: how often chance alone would make two sets differ so much. ~ stands for p ≥ 0.05."))},
		{Text: text(b.Sprintf("The verdict weighs the medians: below %.4g %% (--threshold) a difference is small even if it is real. No difference shown: p ≥ 0.05, which does not mean that there is none. Unsure: the medians differ by more, but that can be chance; more requests would tell.", 100*b.c.Threshold))},
		{Text: text(b.Text("95 % CI: the interval in which the true median lies with 95 % confidence, from order statistics. Percentiles are linear (type 7)."))},
		{Text: text(b.Text("A test sees that two sets differ, not why: different prompts, models or hours do it too. --by and --where compare like with like."))},
	}})
}
