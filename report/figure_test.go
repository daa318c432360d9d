package report

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/analyze"
)

// charts are all that a page can draw, with hostile names in them.
func charts() *analyze.Charts {
	spread := func(from float64) *analyze.Spread {
		return &analyze.Spread{
			Clean: dist(21, from, 2*from, 4*from, 2*from, 3*from, 3.5*from, 4*from), All: dist(30, from, 2*from, 4*from, 2*from, 3*from, 3.5*from, 4*from),
			Bins:  []analyze.Bin{{From: from, To: 2 * from, Clean: 9}, {From: 2 * from, To: 4.1 * from, Clean: 12, Noisy: 8}},
			Curve: []analyze.CurvePoint{{X: from}, {X: 2 * from, Clean: 9.0 / 21, All: 0.3}, {X: 4.1 * from, Clean: 1, All: 29.0 / 30}}, Beyond: 1,
		}
	}
	dots := []analyze.Dot{{X: 100, Y: 900, Phase: "prefill"}, {X: 4000, Y: 2000, Phase: "decode"}, {X: 9000, Y: 3000}}
	scatter := func() *analyze.Scatter {
		return &analyze.Scatter{N: 9, Points: dots, MinX: 100, MaxX: 9000, MinY: 900, MaxY: 3000, Beyond: 1}
	}
	prompt, crowd := scatter(), scatter()
	prompt.Model = &analyze.PrefillModel{Requests: 9, Overhead: 800, Rate: p(4000.0), Explained: 0.7}
	crowd.Medians = []analyze.BandMedian{{Key: "1", N: 5, X: 1, Y: 60}, {Key: "2", N: 4, X: 2, Y: 40}}
	course := &analyze.Course{N: 14, Width: time.Hour, Percentiles: []float64{50, 90}, Buckets: []analyze.Bucket{
		{Start: *at(8, 0, 0), N: 10, Values: []*float64{p(900.0), p(1900.0)}}, {Start: *at(9, 0, 0), Values: []*float64{nil, nil}}, {Start: *at(10, 0, 0), N: 4, Values: []*float64{p(800.0), nil}}}}
	hours := &analyze.HourMap{N: 14}
	hours.Cells[3][9] = analyze.HourCell{N: 13, P50: p(900.0), P90: p(4000.0)}
	hours.Cells[4][10] = analyze.HourCell{N: 1}
	return &analyze.Charts{
		SampledShare: p(0.25), TTFT: spread(300), TPS: spread(20),
		Time:     []analyze.TimeBar{{Requests: 60, Prefill: 88_830, Decode: 601_600, Unsplit: 221_570}, {By: "model", Key: hostile, Requests: 4, Decode: 5000}, {By: "model", Key: multiline + bidi, Requests: 4, Prefill: 5000}},
		TurnTime: []analyze.TurnBar{{Turns: analyze.Turns{Count: 9, Prefill: 21_300, Decode: 143_000, Model: 221_570, Tool: 402_000, Other: 340_130}}},
		Prompt:   prompt, Length: scatter(), Crowd: crowd, TTFTOverTime: course, TPSOverTime: course, Hours: hours,
		SlowTurns: []analyze.Lane{{Source: hostile + ".jsonl:7", Duration: 90_000, Requests: 1, Tools: 1, Left: 2, Phases: []analyze.Phase{
			{Kind: analyze.KindPrefill, Label: "request 1", End: 2 * time.Second}, {Kind: analyze.KindTool, Label: hostile, Start: 3 * time.Second, End: 80 * time.Second}}}},
	}
}

func pageOf(t *testing.T, r *analyze.Report) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, New(r)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var inlined = regexp.MustCompile(`(?s)(<style>|<script>|'sha256-).*?(</style>|</script>|')`)

// withoutInlined leaves out style and script: they are files of their own.
func withoutInlined(page string) string { return inlined.ReplaceAllString(page, "$1…$2") }

// Each link leads somewhere, each place is there once, and each chart has a
// title, units, n and words for those who can't see it.
func TestPageHoldsTogether(t *testing.T) {
	page := withoutInlined(pageOf(t, full()))
	ids := make(map[string]int)
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]]++; ids[m[1]] > 1 {
			t.Errorf("the place %s is there twice", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if place, inside := strings.CutPrefix(m[1], "#"); !inside || ids[place] == 0 {
			t.Errorf("a link leads to %s", m[1])
		}
	}
	for _, id := range []string{"ttft", "tps", "time", "turn-time", "prompt", "length", "crowd", "ttft-over-time", "tps-over-time", "hours", "slowest-turns"} {
		_, figure, found := strings.Cut(page, `<figure id="chart-`+id+`"`)
		figure, _, _ = strings.Cut(figure, "</figure>")
		if !found || !strings.Contains(figure, "n = ") || !regexp.MustCompile(`<h3>[^<]*\(.+\)</h3>|<h3>[^<]*requests in flight</h3>`).MatchString(figure) ||
			!regexp.MustCompile(`role="img" tabindex="0" aria-label="[^"]{20,}"`).MatchString(figure) || !strings.Contains(figure, "data-t=") {
			t.Errorf("chart %s lacks something: %.300s", id, figure)
		}
		if !strings.Contains(figure, "sample") && slices.Contains([]string{"prompt", "length", "hours", "ttft-over-time", "tps-over-time"}, id) {
			t.Errorf("chart %s does not say that it shows a sample", id)
		}
	}
	if !strings.Contains(page, `<a href="#chart-tps">`) || !strings.Contains(page, `<a href="#finding-1">`) {
		t.Error("no link from a finding to its chart and back")
	}
}

// What the page needs is in it, and its policy forbids the rest. As XML it is
// well-formed but for a few tags, so nothing breaks out of an attribute.
func TestPageIsSelfContained(t *testing.T) {
	page := pageOf(t, full())
	for _, want := range []string{"default-src 'none'", "style-src '" + contentHash(styleCSS) + "'", "script-src '" + contentHash(scriptJS) + "'", `<html lang="en">`, `<main id="main">`, "<nav aria-label="} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, not := range []string{"http:", "https://", "src=", "style=", "@import", "url("} {
		if strings.Contains(strings.ReplaceAll(withoutInlined(page), mention, ""), not) {
			t.Errorf("the page holds %s", not)
		}
	}
	body := withoutInlined(page)
	body = strings.ReplaceAll(body[strings.Index(body, "<body>"):strings.Index(body, "</html>")], "<br>", "")
	body = strings.ReplaceAll(body, "<table data-sort>", "<table>")
	d := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(body, " hidden>", ">")))
	for {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestChartsWithoutDataAreLeftOut(t *testing.T) {
	r := full()
	r.Charts = &analyze.Charts{}
	r.Slowest = nil
	if page := pageOf(t, r); strings.Contains(page, "<figure") || strings.Contains(page, ">Charts<") || strings.Contains(page, "#chart-") {
		t.Error("a chart without data is drawn")
	}
}

// No figure, however odd, breaks a page.
func TestOddCharts(t *testing.T) {
	same := &analyze.Scatter{N: 2, Points: []analyze.Dot{{X: 5, Y: 5}, {X: 5, Y: 5}}, MinX: 5, MaxX: 5, MinY: 5, MaxY: 5}
	zero := &analyze.Scatter{N: 2, Points: []analyze.Dot{{}, {}}, Model: &analyze.PrefillModel{Rate: p(0.0)}}
	hours := &analyze.HourMap{N: 2}
	hours.Cells[0][0].P50 = p(0.0)
	for name, c := range map[string]*analyze.Charts{
		"all the same": {Prompt: same, Length: same, Crowd: same},
		"all zero":     {Prompt: zero, Length: zero, Crowd: zero, Hours: hours, Time: []analyze.TimeBar{{}}, TurnTime: []analyze.TurnBar{{}}},
		"empty":        {TTFT: &analyze.Spread{}, Prompt: &analyze.Scatter{}, TTFTOverTime: &analyze.Course{}, Hours: &analyze.HourMap{}},
		"huge": {TTFT: &analyze.Spread{Bins: []analyze.Bin{{From: 1e-300, To: 1e300, Clean: 1}}, Curve: []analyze.CurvePoint{{X: 1e-300}, {X: 1e300, Clean: 1, All: 1}}},
			Prompt: &analyze.Scatter{N: 2, Points: []analyze.Dot{{X: 1e300, Y: math.MaxFloat64}}, MaxX: 1e300, MaxY: math.MaxFloat64},
			Length: &analyze.Scatter{N: 2, Points: []analyze.Dot{{X: 1e300, Y: 1e300}}, MinX: 1e-300, MaxX: 1e300, MinY: 1e-300, MaxY: 1e300}},
	} {
		r := full()
		r.Charts = c
		if page := pageOf(t, r); strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%s: NaN or Inf on the page", name)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(s scale, most int, steps []float64) string {
		var l []string
		for _, v := range s.ticks(most, steps) {
			l = append(l, s.write(v))
		}
		return strings.Join(l, " ")
	}
	for _, c := range []struct {
		name  string
		s     scale
		steps []float64
		want  string
	}{
		{"durations", scale{hi: 11_200, write: shortDuration}, durationSteps, "0 5 s 10 s"},
		{"tokens", scale{hi: 48_000, write: shortNumber}, decimalSteps, "0 10 k 20 k 30 k 40 k"},
		{"a wide logarithmic axis", scale{lo: 300, hi: 7_200_000, log: true, round: roundDurations, write: shortDuration}, durationSteps, "1 s 10 s 1 min 10 min 1 h"},
		{"a logarithmic axis", scale{lo: 300, hi: 12_000, log: true, round: roundDurations, write: shortDuration}, durationSteps, "500 ms 1 s 2 s 5 s 10 s"},
		{"a narrow logarithmic axis", scale{lo: 36, hi: 66, log: true, round: roundDecimals, write: shortNumber}, decimalSteps, "40 50 60"},
	} {
		if got := labels(c.s, 5, c.steps); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
