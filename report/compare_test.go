package report

import (
	"strings"
	"testing"
	"time"

	"codexlag/analyze"
	"codexlag/parse/record"
)

// hostileComparison has groups of every kind, with the worst names of a log.
func hostileComparison(groups int) *analyze.Comparison {
	o := analyze.DefaultOptions()
	o.By = []analyze.Dimension{"model", "effort"}
	set := func(path string, scale time.Duration, names ...string) analyze.Set {
		c := analyze.NewCollector(o)
		for i := range groups {
			names = append(names, strings.Repeat("m", i+1))
		}
		for i, n := range names {
			for k := range 3 + i {
				ttft := scale * time.Duration(900+10*k)
				c.Add(&record.Request{Model: n, TTFT: ttft, Quality: record.Measured, Total: ttft + 20*time.Second, Output: record.Count(1000)})
			}
		}
		return analyze.Set{Name: path, Inputs: analyze.Inputs{Files: 1}, Collected: c}
	}
	return analyze.Compare(analyze.Tool{}, set(hostile, time.Millisecond, "", hostile, multiline, wide, "gone"), set(mention, 2*time.Millisecond, "", hostile, multiline, bidi), 0.05)
}

func TestComparisonIsHarmless(t *testing.T) {
	d := Comparison(hostileComparison(0))
	var md, txt, page strings.Builder
	for _, err := range []error{Markdown(&md, d), Text(&txt, d, TextOptions{Width: 80, Unicode: true}), HTML(&page, d)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for format, s := range map[string]string{"markdown": md.String(), "text": txt.String(), "html": page.String()} {
		if strings.ContainsAny(s, "\x1b\u202e") || format != "text" && strings.Contains(s, "<blink>") {
			t.Errorf("%s lets through what a log says:\n%s", format, s)
		}
		if !strings.Contains(s, "模型-大") || !strings.Contains(s, "(not stated)") || !strings.Contains(s, "Only before") {
			t.Errorf("%s lacks a group:\n%s", format, s)
		}
	}
	for line := range strings.Lines(txt.String()) {
		if n := width(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("at 80 columns a line has %d: %s", n, line)
		}
	}
}

func TestComparisonOfManyGroups(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b, Comparison(hostileComparison(40))); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(b.String(), "\n| `m"); rows > maxGroups || rows < maxGroups/2 {
		t.Errorf("%d groups are shown, want at most %d", rows, maxGroups)
	}
	if !strings.Contains(b.String(), "more (see --format json)") {
		t.Error("the others are not told of")
	}
}

func TestComparisonOfNothing(t *testing.T) {
	o := analyze.DefaultOptions()
	none := analyze.Set{Collected: analyze.NewCollector(o)}
	c := analyze.Compare(analyze.Tool{}, none, none, 0.05)
	var b strings.Builder
	if err := Markdown(&b, Comparison(c)); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "| 0 |") || !strings.Contains(s, "Not enough samples") {
		t.Errorf("nothing looks like something:\n%s", s)
	}
	if err := CompareJSON(&b, c); err != nil {
		t.Error(err)
	}
}
