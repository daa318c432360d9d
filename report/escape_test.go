package report

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"codexlag/analyze"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "gpt-5.1", "gpt-5.1"},
		{"wide letters stay", wide, wide},
		{"escape", "a\x1b[31m", "a␛[31m"},
		{"newline and tab", "a\nb\tc\r", "a␊b␉c␍"},
		{"nul and delete", "\x00\x7f", "␀␡"},
		{"c1 control", "a\u009b31m", "a\ufffd31m"},
		{"bidirectional override", "a\u202eb\u2066c", "a\ufffdb\ufffdc"},
		{"zero width", "a\u200bb\ufeffc", "a\ufffdb\ufffdc"},
		{"line separator", "a\u2028b\u2029c", "a\ufffdb\ufffdc"},
		{"tag characters", "a\U000e0041b", "a\ufffdb"},
		{"no utf-8", "a\xffb", "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := visible(c.in); got != c.want {
				t.Errorf("visible(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits", "abcdef", 6, "abcdef"},
		{"middle goes", "abcdefghij", 7, "abc…hij"},
		{"odd room goes to the end", "abcdefghij", 6, "ab…hij"},
		{"wide letters", "模型模型模型", 7, "模…型"},
		{"no room", "abc", 1, "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := shorten(c.in, c.limit)
			if got != c.want {
				t.Errorf("shorten(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
			}
			if width(got) > c.limit {
				t.Errorf("shorten(%q, %d) is %d columns wide", c.in, c.limit, width(got))
			}
		})
	}
}

func TestMarkdownText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "gpt-5.1", "gpt-5.1"},
		{"table's border", "x|y", `x\|y`},
		{"tag", "<blink>", "&lt;blink>"},
		{"less than a number", "<0.1 %", "<0.1 %"},
		{"entity", "&lt;", "&amp;lt;"},
		{"code and emphasis", "`a` *b* ~~c~~", "\\`a\\` \\*b\\* \\~\\~c\\~\\~"},
		{"underlines at the edge", "__init__ a_b", `\_\_init\_\_ a_b`},
		{"link", "[a](b) ![c](d)", `\[a\](b) !\[c\](d)`},
		{"backslash", `a\|b`, `a\\\|b`},
		{"newline", "a\n# b", "a␊# b"},
		{"heading", "# a", `\# a`},
		{"issue", "see #12", "see #&#8203;12"},
		{"list", "- a", `\- a`},
		{"rule after spaces", "  ---", `  \---`},
		{"numbered list", "1. a", `1\. a`},
		{"numbered list with a bracket", "1) a", `1\) a`},
		{"difference is no list", "+1.20 s", "+1.20 s"},
		{"plus list", "+ a", `\+ a`},
		{"number is no list", "1.5 s", "1.5 s"},
		{"mention", "@octocat", "@&#8203;octocat"},
		{"address", "https://e.com www.e.com", "https:&#8203;//e.com www&#8203;.e.com"},
		{"emoji", ":tada: :100:", ":&#8203;tada: :&#8203;100:"},
		{"time is no emoji", "09:12:00", "09:12:00"},
		{"mathematics", "$x$", "&#36;&#8203;x&#36;&#8203;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := markdownText(c.in); got != c.want {
				t.Errorf("markdownText(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestMarkdownName(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"code", "my_model", "`my_model`"},
		{"inert in code", "@a #1 :tada: https://e.com", "`@a #1 :tada: https://e.com`"},
		{"windows path", `C:\logs\a.log`, "`C:\\logs\\a.log`"},
		{"would end the code", "a`b", "a\\`b"},
		{"would end the cell", "a|b", `a\|b`},
		{"tag", "<blink>", "&lt;blink>"},
		{"spaces only", "  ", ""},
		{"undefined", "—", "—"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := markdownName(c.in); got != c.want {
				t.Errorf("markdownName(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestTerminalText(t *testing.T) {
	for _, c := range []struct {
		name, in string
		unicode  bool
		want     string
	}{
		{"escape", "a\x1b[31mb", true, "a␛[31mb"},
		{"escape in ASCII", "a\x1b[31mb", false, "a?[31mb"},
		{"own signs in ASCII", "a — b ≤ c ± d…", false, "a - b <= c +- d..."},
		{"wide letters in ASCII", wide, false, "??-?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := terminalText(c.in, c.unicode); got != c.want {
				t.Errorf("terminalText(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCSVText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "gpt-5.1", "gpt-5.1"},
		{"formula", "=HYPERLINK(1)", "'=HYPERLINK(1)"},
		{"plus", "+1", "'+1"},
		{"minus", "-1", "'-1"},
		{"at", "@SUM(1)", "'@SUM(1)"},
		{"tab", "\t=1", "'␉=1"},
		{"after spaces", "  =1", "'  =1"},
		{"full width", "＝1", "'＝1"},
		{"newline", "a\nb", "a␊b"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := csvText(c.in); got != c.want {
				t.Errorf("csvText(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// A name from a log may be as long as a line; no escaper may take its square.
func TestLongNamesAreQuick(t *testing.T) {
	for _, unit := range []string{"a", ".", "1.", "www.", "\\", "|", "`", "~", ":a", "_", "-", "#", " ", "模", "\x1b", "\xff", "\u200b", "e\u0301", "a "} {
		s := strings.Repeat(unit, 100_000/len(unit))
		start := time.Now()
		d := &Document{Title: s, Blocks: []Block{Paragraph{text(s)},
			Table{[]Column{{Title: s, Fit: Shorten}, {Title: "m", Fit: Wrap}}, [][]Cell{{nameCell(s), cell(s)}}}}}
		for _, write := range []func(io.Writer, *Document) error{Markdown, HTML, func(w io.Writer, d *Document) error {
			return Text(w, d, TextOptions{Width: 80})
		}} {
			if err := write(io.Discard, d); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q 100 kB long takes %v", unit, took)
		}
	}
}

// A sign that GitHub would act on, where no backslash is before it.
var (
	escaped      = regexp.MustCompile(`\\[[:punct:]]`)
	liveMarkdown = regexp.MustCompile("[|`*\\[\\]~]|<[A-Za-z/!?]|@[A-Za-z0-9]|://|(?i:www)\\.")
)

func FuzzMarkdownCell(f *testing.F) {
	for _, s := range []string{hostile, multiline, mention, bidi, wide, `\~*`, `\`, `\\|`, "1. a", "a\xff|", "``", "www.a.b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{markdownCell(cell(s)), markdownCell(nameCell(s))} {
			if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) {
				t.Fatalf("%q comes out as %q", s, got)
			}
			if inner, code := strings.CutPrefix(got, "`"); code && strings.HasSuffix(inner, "`") {
				if strings.ContainsAny(strings.TrimSuffix(inner, "`"), "`|<>") {
					t.Fatalf("%q ends its code: %q", s, got)
				}
				continue
			}
			got = escaped.ReplaceAllString(got, " ")
			if strings.Count(got, "~") == 1 { // a lone one strikes nothing
				got = strings.Replace(got, "~", "", 1)
			}
			if live := liveMarkdown.FindString(got); live != "" {
				t.Fatalf("%q comes out as %q with a live %q", s, got, live)
			}
		}
	})
}

func FuzzTerminal(f *testing.F) {
	for _, s := range []string{hostile, multiline, mention, bidi, wide, "\u009b31m", "a\xff"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) {
		for _, o := range []TextOptions{{Width: columns % 200, Unicode: true}, {Width: columns % 200}} {
			var b strings.Builder
			d := &Document{Title: s, Blocks: []Block{Heading{2, s}, Paragraph{text(s)}, List{[]Item{{Text: text(s), More: []Inline{text(s)}}}}, Note{"*", s},
				Table{[]Column{{Title: s, Fit: Shorten}, {Title: "n", Right: true, Drop: 1}, {Title: "m", Fit: Wrap}}, [][]Cell{{nameCell(s), cell(s), cell(s)}}}}}
			if err := Text(&b, d, o); err != nil {
				t.Fatal(err)
			}
			for _, r := range b.String() {
				if r != '\n' && hidden(r) || !o.Unicode && r >= 0x80 {
					t.Fatalf("%q comes out with %q:\n%s", s, r, b.String())
				}
			}
			if !utf8.ValidString(b.String()) {
				t.Fatalf("%q comes out as no UTF-8", s)
			}
		}
	})
}

// Whatever a log names its models and files, a page with charts stays one: no
// name opens a tag, ends an attribute or hides.
func FuzzFigures(f *testing.F) {
	for _, s := range []string{hostile, multiline, mention, bidi, wide, `"><script>alert(1)</script>`, "' onload='x", "</svg></figure>", "a\xff"} {
		f.Add(s)
	}
	draw := func(r *analyze.Report) string {
		b := &builder{r: r, all: r.Overall}
		b.figures()
		var out strings.Builder
		p := &page{Writer: bufio.NewWriter(&out), anchors: make(map[string]int)}
		p.block(b.blocks[0])
		p.Flush()
		return out.String()
	}
	r := full()
	want := draw(r)
	f.Fuzz(func(t *testing.T, s string) {
		r.Charts.Time[1].Key, r.Charts.SlowTurns[0].Source, r.Charts.SlowTurns[0].Phases[1].Label = s, s, s
		got := draw(r)
		for _, mark := range []string{"<", `"`, "<script", "<figure", "</svg>"} {
			if n, usual := strings.Count(got, mark), strings.Count(want, mark); n > usual+2 && mark != "<" && mark != `"` || n > usual+8 { // a shortened name keeps the whole in a title
				t.Fatalf("%q brings %d %s, %d is usual", s, n, mark, usual)
			}
		}
		for _, c := range got {
			if (c < 0x20 || c >= 0x7f) && c != '\n' && (hidden(c) || c == utf8.RuneError && !utf8.ValidString(got)) {
				t.Fatalf("%q comes out with %q", s, c)
			}
		}
	})
}
