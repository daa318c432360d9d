package report

import (
	"slices"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

// A Tile is one of the key numbers on a page's first screen.
type Tile struct {
	Label, Value, More string
	Tone               Tone
}

// Tiles are the key numbers. Only pages show them.
type Tiles struct{ Tiles []Tile }

// A Figure is one chart with what must be known to read it.
type Figure struct {
	ID     string
	Title  string // with the units
	Legend []Key
	Note   string // n, and what is not drawn
	// Numbers is the chart as a table, for those who rather read; or nil.
	Numbers *Table
	// From are the findings that point here.
	From []Link

	svg string
}

// A Key is an entry of a legend.
type Key struct{ Class, Text string }

// A Link leads to another place of the page.
type Link struct{ Anchor, Text string }

// Figures are the charts of a report. Only pages show them.
type Figures struct{ Figures []Figure }

// anchor is the figure's place on the page.
func (f *Figure) anchor() string { return "chart-" + f.ID }

func (Tiles) block()   {}
func (Figures) block() {}

// pageOnly reports whether a block has nothing for formats without pictures.
func pageOnly(b Block) bool {
	switch b.(type) {
	case Tiles, Figures:
		return true
	}
	return false
}

// readable returns the blocks that a format without pictures shows.
func readable(blocks []Block) []Block {
	return slices.DeleteFunc(slices.Clone(blocks), pageOnly)
}

// tiles are what a reader wants to know before anything else.
func (b *builder) tiles() {
	if b.all.Requests == 0 {
		return
	}
	var t []Tile
	quantile := func(what string, d *analyze.Dist, write func(float64) string, tone Tone) {
		ps := b.groupPercentiles()
		if d == nil || len(ps) == 0 || d.At(ps[0]) == nil {
			return
		}
		q := d.At(ps[0])
		more := "n = " + human.Count(d.N)
		if len(ps) > 1 && d.At(ps[1]) != nil {
			more = d.At(ps[1]).Name() + " " + write(d.At(ps[1]).Value) + " · " + more
		}
		t = append(t, Tile{what + " " + q.Name(), write(q.Value), more, tone})
	}
	quantile("TTFT", b.all.TTFT, human.Duration, Prefill)
	if cleanCount(b.all) >= minClean {
		quantile(b.Text("TPS clean"), b.all.TPS.Clean, human.Rate, Decode)
	} else if v := b.all.TPS.Pooled; v != nil {
		t = append(t, Tile{b.Text("TPS pooled"), human.Rate(*v), b.Text("Σ tokens / Σ decode time"), Decode})
	}
	quantile(b.Text("Total"), b.all.Total, human.Duration, NoTone)
	if s := b.all.Time.PrefillShare; b.all.Verdict.Basis == analyze.BasisModelled && b.all.RequestModel != nil && b.all.RequestModel.PrefillShare != nil {
		s = b.all.RequestModel.PrefillShare
		t = append(t, Tile{b.Text("Prefill of the waiting"), human.Percent(*s), b.Sprintf("decode %s, modelled", human.Percent(1-*s)), Prefill})
	} else if s != nil {
		t = append(t, Tile{b.Text("Prefill of the waiting"), human.Percent(*s), b.Sprintf("decode %s of %s", human.Percent(1-*s), human.Duration(b.all.Time.Total)), Prefill})
	}
	if d := b.all.Turns.Duration; d != nil {
		quantile(b.Text("Turn"), d, human.Duration, NoTone)
	}
	if s := b.all.SLO.Share; s != nil {
		l := b.r.Options.SLO
		more := b.Sprintf("TTFT ≤ %s, TPS ≥ %s", human.Limit(l.TTFTms), human.LimitRate(l.TPS))
		if n := b.all.SLO.Unknown; n > 0 {
			more += " · " + b.Sprintf("%s of %s not known", human.Count(n), human.Count(b.all.SLO.Met+b.all.SLO.Missed))
		}
		t = append(t, Tile{b.Text("Within the limits"), human.Percent(*s), more, NoTone})
	}
	b.add(Tiles{t})
}

// figures adds the charts that have data.
func (b *builder) figures() {
	c := b.r.Charts
	if c == nil {
		return
	}
	d := drawer{Language: b.Language, Charts: c, r: b.r, all: b.all}
	var f []Figure
	for _, draw := range []func() *Figure{d.ttft, d.tps, d.time, d.turnTime, d.prompt, d.length, d.crowd, d.ttftOverTime, d.tpsOverTime, d.hours, d.slowest} {
		if x := draw(); x != nil {
			f = append(f, *x)
		}
	}
	if len(f) == 0 {
		return
	}
	for i, finding := range b.r.Findings {
		if to := chartOf(&finding, f); to != nil {
			to.From = append(to.From, Link{findingAnchor(i), finding.Title})
			b.linkFinding(i, Link{to.anchor(), to.Title})
		}
	}
	b.add(Figures{f})
}

// linkFinding lets the finding's point, which is there already, lead to its chart.
func (b *builder) linkFinding(i int, chart Link) {
	for _, block := range b.blocks {
		l, ok := block.(List)
		for k := range l.Items {
			if ok && l.Items[k].Anchor == findingAnchor(i) {
				l.Items[k].Chart = chart
			}
		}
	}
}

// findingCharts are the charts that show what a finding is about, the best first.
var findingCharts = map[string][]string{
	"slow_start":               {"ttft"},
	"slow_stream":              {"tps"},
	"buffered_stream":          {"tps"},
	"few_clean_samples":        {"tps"},
	"common_ceiling":           {"tps"},
	"prompt_bound_ttft":        {"prompt", "ttft"},
	"overhead_bound_ttft":      {"prompt", "ttft"},
	"cache_misses":             {"prompt", "ttft"},
	"long_input_no_difference": {"prompt", "ttft"},
	"short_prompt_long_answer": {"length", "time"},
	"long_output":              {"length"},
	"contention":               {"crowd"},
	"slow_hours":               {"hours", "ttft-over-time"},
	"change_point":             {"ttft-over-time", "tps-over-time"},
	"models_differ":            {"time"},
	"no_first_token":           {"time"},
	"tools_dominate":           {"turn-time"},
	"waits_dominate":           {"turn-time"},
}

// chartOf returns the figure that a finding links to, or nil.
func chartOf(f *analyze.Finding, figures []Figure) *Figure {
	ids := findingCharts[f.ID]
	if strings.Contains(f.Title, "TPS") && len(ids) > 1 {
		ids = append([]string{"tps-over-time"}, ids...)
	}
	for _, id := range ids {
		if i := slices.IndexFunc(figures, func(x Figure) bool { return x.ID == id }); i >= 0 {
			return &figures[i]
		}
	}
	return nil
}
