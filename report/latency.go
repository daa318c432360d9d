package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
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
	{"Decode", "decode_ms", "ms", func(g *analyze.Group) *analyze.Dist { return g.Decode }, human.Duration},
	{"TPS clean, tok/s", "tps_clean", "tokens/s", func(g *analyze.Group) *analyze.Dist { return g.TPS.Clean }, human.Number},
	{"TPS all, tok/s", "tps_all", "tokens/s", func(g *analyze.Group) *analyze.Dist { return g.TPS.All }, human.Number},
	{"TPOT (clean)", "tpot_ms", "ms", func(g *analyze.Group) *analyze.Dist { return g.TPOT }, human.Duration},
	{"Total", "total_ms", "ms", func(g *analyze.Group) *analyze.Dist { return g.Total }, human.Duration},
	{"Output tokens", "output_tokens", "tokens", func(g *analyze.Group) *analyze.Dist { return g.OutputTokens }, human.Quantity},
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
	b.section("Latency")
	ps := b.percentiles()
	b.add(b.percentileTable(ps))
	if used := b.thin(b.all, ps); used != "" {
		b.note(thinMark, "n is too small: little more than the maximum ("+used+" samples)")
	}
	b.pooled()
	b.missingTTFT()
}

func (b *builder) percentileTable(ps []float64) Table {
	ci := slices.ContainsFunc(metrics, func(m metric) bool {
		q := m.dist(b.all).At(50)
		return q != nil && q.CI != nil
	})
	t := Table{Columns: []Column{{Title: "Metric"}, {Title: "n", Right: true}}}
	for i, p := range ps {
		drop := 0
		if p != 50 && p != 90 && len(ps) > 2 {
			drop = 2 + i // the outermost first
		}
		t.Columns = append(t.Columns, Column{Title: analyze.Quantile{P: p}.Name(), Right: true, Drop: drop})
		if p == 50 && ci {
			t.Columns = append(t.Columns, Column{Title: "95 % CI of p50", Right: true, Drop: 20})
		}
	}
	t.Columns = append(t.Columns, Column{Title: "min", Right: true, Drop: 40},
		Column{Title: "max", Right: true, Drop: 10}, Column{Title: "mean", Right: true, Drop: 30})
	for _, m := range metrics {
		t.Rows = append(t.Rows, percentileRow(m, m.dist(b.all), ps, ci))
	}
	return t
}

func percentileRow(m metric, d *analyze.Dist, ps []float64, ci bool) []Cell {
	if d == nil {
		d = &analyze.Dist{Min: math.NaN(), Max: math.NaN(), Mean: math.NaN()}
	}
	row := []Cell{cell(m.title), cell(human.Count(d.N))}
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
			needs = append(needs, analyze.Quantile{P: p}.Name()+" needs "+human.Count(n))
		}
	}
	return strings.Join(needs, ", ")
}

func (b *builder) pooled() {
	if b.all.TPS.Pooled == nil {
		return
	}
	s := " (decode tokens / decode time, both summed"
	if all := b.all.TPS.All; all != nil {
		s += " over " + human.Plural(all.N, "request")
	}
	s += ")."
	clean := 0
	if b.all.TPS.Clean != nil {
		clean = b.all.TPS.Clean.N
	}
	if clean < minClean {
		s += " It is the rate to quote here: " + human.Plural(clean, "clean sample") + ", " + strconv.Itoa(minClean) + " needed."
	}
	b.paragraph(plain("TPS pooled: "), strong(human.Rate(*b.all.TPS.Pooled)), plain(s))
}

// missingTTFT is told always: without it nobody can say what was prefill.
func (b *builder) missingTTFT() {
	none, bound := b.r.Quality.TTFT["none"], b.r.Quality.TTFT["bound"]
	if none+bound == 0 && b.all.TTFT != nil {
		return
	}
	if b.all.TTFT == nil {
		b.paragraph(strong("No TTFT"), plain(" is known for any request: these logs cannot tell prefill from decode."+boundText(bound)))
		return
	}
	b.paragraph(strong("TTFT missing"), plain(" for "+human.Count(none+bound)+" of "+human.Plural(b.r.Quality.Requests, "request")+
		"; the TTFT row is about "+human.Count(b.all.TTFT.N)+" others that completed and did not come in one piece."+boundText(bound)))
}

func boundText(n int) string {
	if n == 0 {
		return ""
	}
	return " For " + human.Count(n) + " only an upper bound is known."
}
