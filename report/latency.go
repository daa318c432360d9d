package report

import (
	"math"
	"slices"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A metric is one row of the percentile table.
type metric struct {
	title string
	key   string // its name in JSON and CSV
	unit  string // of its values in CSV
	dist  func(*analyze.Group) *analyze.Dist
	write func(float64) string
}

var metrics = []metric{
	{"TTFT", "ttft_ms", "ms", func(g *analyze.Group) *analyze.Dist { return g.TTFT }, human.Duration},
	{lang.Mark("Decode"), "decode_ms", "ms", func(g *analyze.Group) *analyze.Dist { return g.Decode }, human.Duration},
	{lang.Mark("TPS clean, tok/s"), "tps_clean", "tokens/s", func(g *analyze.Group) *analyze.Dist { return g.TPS.Clean }, human.Number},
	{lang.Mark("TPS all, tok/s"), "tps_all", "tokens/s", func(g *analyze.Group) *analyze.Dist { return g.TPS.All }, human.Number},
	{lang.Mark("TPOT (clean)"), "tpot_ms", "ms", func(g *analyze.Group) *analyze.Dist { return g.TPOT }, human.Duration},
	{lang.Mark("Total"), "total_ms", "ms", func(g *analyze.Group) *analyze.Dist { return g.Total }, human.Duration},
	{lang.Mark("Output tokens"), "output_tokens", "tokens", func(g *analyze.Group) *analyze.Dist { return g.OutputTokens }, human.Quantity},
}

// minClean is how many clean samples a rate needs before it is the headline;
// below that the pooled rate is (metrics.md, Flags).
const minClean = 6

// thinMark marks a figure that has too few samples behind it.
const thinMark = "*"

// latency is the percentile table with what must be known to read it.
func (b *builder) latency() {
	if b.all.Requests == 0 {
		return
	}
	b.section(b.Text("Latency"))
	ps := b.percentiles()
	b.add(b.percentileTable(ps))
	if used := b.thin(b.all, ps); used != "" {
		b.note(thinMark, b.Sprintf("n is too small: little more than the maximum (%s samples)", used))
	}
	if n := b.r.Quality.Flags[analyze.Burst]; n > 0 {
		b.paragraph(plain(b.Sprintf("Decode, TPS all and TPS pooled hold %s that came in one piece (burst), whose rate means nothing.", lang.Plural(b.Language, n, "answer"))))
	}
	b.pooled()
	b.missingTTFT()
}

func (b *builder) percentileTable(ps []float64) Table {
	ci := slices.ContainsFunc(metrics, func(m metric) bool {
		q := m.dist(b.all).At(50)
		return q != nil && q.CI != nil
	})
	t := Table{Columns: []Column{{Title: b.Text("Metric")}, {Title: "n", Right: true}}}
	for i, p := range ps {
		drop := 0
		if p != 50 && p != 90 && len(ps) > 2 {
			drop = 2 + i // the outermost first
		}
		t.Columns = append(t.Columns, Column{Title: analyze.Quantile{P: p}.Name(), Right: true, Drop: drop})
		if p == 50 && ci {
			t.Columns = append(t.Columns, Column{Title: b.Text("95 % CI of p50"), Right: true, Drop: 20})
		}
	}
	t.Columns = append(t.Columns, Column{Title: b.Text("min"), Right: true, Drop: 40},
		Column{Title: b.Text("max"), Right: true, Drop: 10}, Column{Title: b.Text("mean"), Right: true, Drop: 30})
	for _, m := range metrics {
		t.Rows = append(t.Rows, b.percentileRow(m, m.dist(b.all), ps, ci))
	}
	return t
}

func (b *builder) percentileRow(m metric, d *analyze.Dist, ps []float64, ci bool) []Cell {
	if d == nil {
		d = &analyze.Dist{Min: math.NaN(), Max: math.NaN(), Mean: math.NaN()}
	}
	row := []Cell{cell(b.Word(m.title)), cell(human.Count(d.N))}
	for _, p := range ps {
		q := d.At(p)
		row = append(row, quantileCell(q, m.write))
		if p != 50 || !ci {
			continue
		}
		switch {
		case q == nil || q.CI == nil:
			row = append(row, cell(human.Undefined))
		case m.unit == "ms":
			row = append(row, cell(human.DurationInterval(*q.CI, q.Value)))
		default:
			row = append(row, cell(human.Interval(*q.CI, m.write)))
		}
	}
	return append(row, cell(m.write(d.Min)), cell(m.write(d.Max)), cell(m.write(d.Mean)))
}

func quantileCell(q *analyze.Quantile, write func(float64) string) Cell {
	if q == nil {
		return cell(human.Undefined)
	}
	c := cell(write(q.Value))
	if q.Thin {
		c.Mark, c.Tone = thinMark, Warn
	}
	return c
}

// thin lists the percentiles that are marked somewhere with what they need:
// p90 needs 10, p99 100.
func (b *builder) thin(g *analyze.Group, ps []float64) string {
	var needs []string
	for _, p := range ps {
		marked := slices.ContainsFunc(metrics, func(m metric) bool {
			q := m.dist(g).At(p)
			return q != nil && q.Thin
		})
		if n := analyze.SamplesFor(p); marked {
			needs = append(needs, b.Sprintf("%s needs %s", analyze.Quantile{P: p}.Name(), human.Count(n)))
		}
	}
	return strings.Join(needs, b.Text(", "))
}

func (b *builder) pooled() {
	if b.all.TPS.Pooled == nil {
		return
	}
	over := ""
	if all := b.all.TPS.All; all != nil {
		over = b.Sprintf(" over %s", lang.Plural(b.Language, all.N, "request"))
	}
	s := b.Sprintf(" (decode tokens / decode time, both summed%s).", over)
	clean := 0
	if b.all.TPS.Clean != nil {
		clean = b.all.TPS.Clean.N
	}
	if clean < minClean {
		s += b.Sprintf(" It is the rate to quote here: %s, %d needed.", lang.Plural(b.Language, clean, "clean sample"), minClean)
	}
	b.paragraph(plain(b.Text("TPS pooled: ")), strong(human.Rate(*b.all.TPS.Pooled)), plain(s))
}

// missingTTFT is told always: without it nobody can say what was prefill.
func (b *builder) missingTTFT() {
	none, bound := b.r.Quality.TTFT["none"], b.r.Quality.TTFT["bound"]
	if none+bound == 0 && b.all.TTFT != nil {
		return
	}
	if b.all.TTFT == nil {
		b.paragraph(strong(b.Text("No TTFT")), plain(b.Text(" is known for any request: these logs cannot tell prefill from decode.")+b.boundText(bound)))
		return
	}
	b.paragraph(strong(b.Text("TTFT missing")), plain(b.Sprintf(" for %s of %s; the TTFT row is about %s of the others: those that completed and did not come in one piece.%s",
		human.Count(none+bound), lang.Plural(b.Language, b.r.Quality.Requests, "request"), human.Count(b.all.TTFT.N), b.boundText(bound))))
}

func (b *builder) boundText(n int) string {
	if n == 0 {
		return ""
	}
	return b.Sprintf(" For %s only an upper bound is known.", human.Count(n))
}
