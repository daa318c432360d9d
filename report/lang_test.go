package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/lang"
	"codexlag/analyze/lang/langtest"
	"codexlag/parse/record"
)

// chineseFull is the report with every section, without the sentences and names
// of the fixture that are no words of this package.
func chineseFull() *Document {
	r := full()
	r.Options.Language = lang.Chinese
	r.Overall.Verdict.Headline, r.Overall.Verdict.Doubts = "", nil
	r.Findings, r.Slowest = nil, r.Slowest[:2]
	r.Slowest[1].Model = nil
	for reason := range reasonWords {
		r.Quality.Skipped[reason]++
	}
	r.Quality.Repeats = 0
	r.Quality.Skipped[record.Repeat] = 1
	return New(r)
}

func TestChineseDocumentIsWhole(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b, chineseFull()); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.Contains(line, "blink") { // the hostile name
			continue
		}
		if l := langtest.English(line); len(l) > 0 {
			t.Errorf("English words %q in %s", l, line)
		}
	}
}

// Bold text that ends in a full sign is bold only before a space, on GitHub.
func TestChineseBoldIsBold(t *testing.T) {
	r := full()
	r.Options.Language = lang.Chinese
	r.Findings[0].Title = "标题"
	var b strings.Builder
	if err := Markdown(&b, New(r)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "**提示：标题。** ") {
		t.Errorf("no such title in %s", b.String())
	}
	if plain := regexp.MustCompile(`\*\*[^*\n]+[。：）]\*\*\pL.*`).FindString(b.String()); plain != "" {
		t.Errorf("not bold: %s", plain)
	}
}

// Without spaces, lines break between characters, and fit.
func TestChineseLinesFit(t *testing.T) {
	for _, columns := range []int{40, 60, 80} {
		d := chineseFull()
		d.Blocks = slices.DeleteFunc(d.Blocks, func(b Block) bool {
			_, paragraph := b.(Paragraph)
			_, list := b.(List)
			return !paragraph && !list
		})
		var b strings.Builder
		if err := Text(&b, d, TextOptions{Width: columns}); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if strings.HasPrefix(line, "logs/") {
				continue // a place to be copied stays whole
			}
			if width(line) > columns+2 { // a closing sign stays with what it closes
				t.Errorf("%d columns of %d: %s", width(line), columns, line)
			}
			if strings.ContainsAny(line[:min(3, len(line))], "，。；：、）") {
				t.Errorf("a line begins with a sign: %s", line)
			}
		}
	}
}

func TestChunks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"English", "so it goes, 模型-大", "so it goes, 模|型|-|大"},
		{"signs", "是（甲，乙）。", "|是|（甲，|乙）。"},
		{"figures", "共 12.3 min，90 %。", "|共 12.3 min，|90 %。"},
		{"a number and its unit", "3 s of 4.5 min (90 %), 2 seconds", "3_s of 4.5_min (90_%), 2 seconds"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, x := range chunks(c.text) {
				if x.space {
					b.WriteByte(' ')
				}
				if x.breaks && !x.space {
					b.WriteByte('|')
				}
				if !strings.ContainsFunc(x.text, ideograph) && x.text != "12.3 min，" {
					x.text = strings.ReplaceAll(x.text, " ", "_") // no place to break
				}
				b.WriteString(x.text)
			}
			if got := b.String(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestChineseLive(t *testing.T) {
	o := TextOptions{Language: lang.Chinese, Width: 200} // in ASCII, which it has no form in
	q := &analyze.Request{TTFTQuality: "none", Status: "failed", Flags: []analyze.Flag{analyze.SlowStart, analyze.SlowStream}}
	noisy := &analyze.Request{TTFTQuality: "none", TPS: new(3.0), Status: "ok", Flags: []analyze.Flag{analyze.Burst}}
	now := time.Date(2026, 9, 10, 9, 0, 5, 0, time.UTC)
	view := aView()
	view.Status = ""
	lines := append(view.Footer(o, 20), LiveLine(q, now, now, o), LiveLine(noisy, now, now, o))
	for _, line := range lines {
		if l := langtest.English(line); len(l) > 0 || strings.Contains(line, "?") {
			t.Errorf("English words %q in %s", l, line)
		}
	}
}
