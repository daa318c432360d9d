package report

import (
	"fmt"
	"math"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

func (d *drawer) ttftOverTime() *Figure {
	return d.course(d.TTFTOverTime, "ttft-over-time", d.Text("TTFT over time (ms, s)"), timeAxis, "prefill")
}

func (d *drawer) tpsOverTime() *Figure {
	return d.course(d.TPSOverTime, "tps-over-time", d.Text("TPS over time, bursts left out (tokens/s)"), rateAxis, "decode")
}

const courseHeight = 220

// lineStyles tell the percentiles apart without colour.
var lineStyles = []string{"", " dashed"}

func (d *drawer) course(c *analyze.Course, id, title string, y axis, class string) *Figure {
	if c == nil || len(c.Buckets) < 2 {
		return nil
	}
	top := 0.0
	for _, b := range c.Buckets {
		for _, v := range b.Values {
			if v != nil {
				top = max(top, *v)
			}
		}
	}
	if top == 0 {
		return nil
	}
	p := &plot{height: courseHeight}
	x := scale{lo: 0, hi: float64(len(c.Buckets)), from: plotLeft, to: plotRight}
	fr := frame{x: x, y: scale{lo: 0, hi: top, from: courseHeight - plotBottom, to: plotTop, write: y.label}, ySteps: y.steps}
	p.axes(&fr)
	every := (len(c.Buckets) + 4) / 5
	for i := 0; i < len(c.Buckets); i += every {
		p.xTick(x.at(float64(i)), fr.y.from, d.bucketLabel(c, i))
	}
	f := &Figure{ID: id, Title: title, Numbers: d.courseTable(c, y)}
	for k, q := range c.Percentiles {
		style := class + lineStyles[k%len(lineStyles)]
		drawCourse(p, c, k, &fr, style)
		f.Legend = append(f.Legend, Key{"line " + style, analyze.Quantile{P: q}.Name()})
	}
	for i := range c.Buckets {
		p.mark("hit", x.at(float64(i)), plotTop, x.at(1)-x.at(0), fr.y.from-plotTop, d.bucketTip(c, i, y))
	}
	f.svg = p.svg(d.Sprintf("%s: %s in steps of %s, from %s to %s, n = %s", title, d.percentileNames(c), d.widthName(c.Width),
		bucketTime(c, 0), bucketTime(c, len(c.Buckets)-1), human.Count(c.N)))
	f.Note = d.Sprintf("n = %s, by the time at which they ended (%s), in steps of %s; a gap has too few requests for that percentile%s.",
		lang.Plural(d.Language, c.N, "request"), d.r.Options.Timezone, d.widthName(c.Width), d.sampled())
	return f
}

// drawCourse draws a percentile; a bucket between two gaps is a dot.
func drawCourse(p *plot, c *analyze.Course, k int, f *frame, style string) {
	points := make([]*[2]float64, len(c.Buckets))
	for i, b := range c.Buckets {
		if v := b.Values[k]; v != nil {
			points[i] = &[2]float64{f.x.at(float64(i) + 0.5), f.y.at(*v)}
		}
	}
	p.path("line "+style, points)
	for i, q := range points {
		if q != nil && (i == 0 || points[i-1] == nil) && (i == len(points)-1 || points[i+1] == nil) {
			p.rect(style, q[0]-2, q[1]-2, 4, 4)
		}
	}
}

func (d *drawer) percentileNames(c *analyze.Course) string {
	s := ""
	for i, q := range c.Percentiles {
		if i > 0 {
			s += d.Text(" and ")
		}
		s += analyze.Quantile{P: q}.Name()
	}
	return s
}

func bucketTime(c *analyze.Course, i int) string {
	layout := "2006-01-02 15:04"
	switch {
	case c.Width >= 24*time.Hour:
		layout = "2006-01-02"
	case c.Width < time.Minute:
		layout = "2006-01-02 15:04:05"
	}
	return c.Buckets[i].Start.Format(layout)
}

// bucketLabel is short: the date alone where the axis spans days.
func (d *drawer) bucketLabel(c *analyze.Course, i int) string {
	span := c.Width * time.Duration(len(c.Buckets))
	switch {
	case c.Width >= 24*time.Hour || span > 5*24*time.Hour:
		return c.Buckets[i].Start.Format(d.Text("2 Jan"))
	case span > 24*time.Hour:
		return c.Buckets[i].Start.Format(d.Text("2 Jan 15h"))
	case c.Width < time.Minute:
		return c.Buckets[i].Start.Format("15:04:05")
	}
	return c.Buckets[i].Start.Format("15:04")
}

func (d *drawer) bucketTip(c *analyze.Course, i int, y axis) string {
	s := d.Sprintf("from %s: ", bucketTime(c, i))
	for k, q := range c.Percentiles {
		if v := c.Buckets[i].Values[k]; v != nil {
			s += analyze.Quantile{P: q}.Name() + " " + y.tell(*v) + d.Text(", ")
		}
	}
	return s + "n = " + human.Count(c.Buckets[i].N)
}

func (d *drawer) courseTable(c *analyze.Course, y axis) *Table {
	t := &Table{Columns: []Column{{Title: d.Text("From")}, {Title: "n", Right: true}}}
	for _, q := range c.Percentiles {
		t.Columns = append(t.Columns, Column{Title: analyze.Quantile{P: q}.Name(), Right: true})
	}
	for i, b := range c.Buckets {
		if b.N == 0 {
			continue
		}
		row := []Cell{cell(bucketTime(c, i)), cell(human.Count(b.N))}
		for _, v := range b.Values {
			if v == nil {
				row = append(row, cell(human.Undefined))
			} else {
				row = append(row, cell(y.tell(*v)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// widthName is the length of a step in words.
func (d *drawer) widthName(w time.Duration) string {
	switch {
	case w >= 24*time.Hour:
		return lang.Plural(d.Language, int(w/(24*time.Hour)), "day")
	case w >= time.Hour:
		return lang.Plural(d.Language, int(w/time.Hour), "hour")
	case w >= time.Minute:
		return lang.Plural(d.Language, int(w/time.Minute), "minute")
	}
	return lang.Plural(d.Language, int(w/time.Second), "second")
}

var weekdays = [...]string{lang.Mark("Mon"), lang.Mark("Tue"), lang.Mark("Wed"), lang.Mark("Thu"), lang.Mark("Fri"), lang.Mark("Sat"), lang.Mark("Sun")}

const (
	heatLeft, heatTop = 32, 4
	heatCell, heatRow = (plotWidth - heatLeft) / 24.0, 22
	heatLevels        = 5
	// heatSpan is what the colours span at least: hours that hardly differ look alike.
	heatSpan = 2
)

// hours is the map of TTFT p50 by weekday and hour; days without requests are
// left out.
func (d *drawer) hours() *Figure {
	m := d.Hours
	if m == nil {
		return nil
	}
	lo, hi := math.Inf(1), 0.0
	for _, day := range m.Cells {
		for _, c := range day {
			if c.P50 != nil && *c.P50 > 0 {
				lo, hi = min(lo, *c.P50), max(hi, *c.P50)
			}
		}
	}
	if hi == 0 {
		return nil
	}
	hi = max(hi, heatSpan*lo)
	f := &Figure{ID: "hours", Title: d.Text("TTFT p50 by weekday and hour (ms, s)"),
		Numbers: &Table{Columns: []Column{{Title: d.Text("Hour")}, {Title: "n", Right: true}, {Title: "TTFT p50", Right: true}, {Title: "TTFT p90", Right: true}}}}
	p, rows := &plot{}, 0
	for day, cells := range m.Cells {
		if !anyRequests(&cells) {
			continue
		}
		y := heatTop + heatRow*float64(rows)
		rows++
		p.text("tick", "end", heatLeft-5, y+heatRow/2+4, d.Word(weekdays[day]))
		for hour, c := range cells {
			when := fmt.Sprintf("%s %02d:00", d.Word(weekdays[day]), hour)
			if c.N == 0 {
				p.rect("q empty", heatLeft+heatCell*float64(hour)+0.5, y+0.5, heatCell-1, heatRow-1)
				continue
			}
			p.mark(heatClass(c.P50, lo, hi), heatLeft+heatCell*float64(hour)+0.5, y+0.5, heatCell-1, heatRow-1,
				d.Sprintf("%s: p50 %s, p90 %s, n = %s", when, human.DurationOr(c.P50), human.DurationOr(c.P90), human.Count(c.N)))
			f.Numbers.Rows = append(f.Numbers.Rows, []Cell{cell(when), cell(human.Count(c.N)), cell(human.DurationOr(c.P50)), cell(human.DurationOr(c.P90))})
		}
	}
	bottom := heatTop + heatRow*float64(rows)
	for hour := 0; hour < 24; hour += 3 {
		p.text("tick", "middle", heatLeft+heatCell*(float64(hour)+0.5), bottom+14, fmt.Sprintf("%02dh", hour))
	}
	p.height = bottom + 20
	for i := range heatLevels {
		from, to := heatLimit(i, lo, hi), heatLimit(i+1, lo, hi)
		f.Legend = append(f.Legend, Key{fmt.Sprintf("q q%d", i), human.Duration(from) + " – " + human.Duration(to)})
	}
	f.svg = p.svg(d.Sprintf("Map of the median TTFT by weekday and hour, the lowest %s, n = %s", human.Duration(lo), human.Count(m.N)))
	f.Note = d.Sprintf("n = %s, by the hour in which they ended (%s); outlined: one request%s.", lang.Plural(d.Language, m.N, "request"), d.r.Options.Timezone, d.sampled())
	return f
}

func anyRequests(cells *[24]analyze.HourCell) bool {
	for _, c := range cells {
		if c.N > 0 {
			return true
		}
	}
	return false
}

// heatLimit is the lower end of a level: equal steps of the logarithm.
func heatLimit(level int, lo, hi float64) float64 {
	return lo * math.Pow(hi/lo, float64(level)/heatLevels)
}

func heatClass(v *float64, lo, hi float64) string {
	if v == nil {
		return "q none"
	}
	level := 0
	for level < heatLevels-1 && *v >= heatLimit(level+1, lo, hi) {
		level++
	}
	return fmt.Sprintf("q q%d", level)
}
