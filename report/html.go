package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

//go:embed style.css
var styleCSS string

// scriptJS sorts tables and tells a chart's numbers; the page is whole without it.
//
//go:embed script.js
var scriptJS string

// HTML writes the document as one page that needs nothing else: no font, no
// image, no script from anywhere, and a policy that forbids them.
func HTML(w io.Writer, d *Document) error {
	p := &page{Language: d.Language, Writer: bufio.NewWriter(w), anchors: make(map[string]int)}
	fmt.Fprintf(p, `<!doctype html>
<html lang="%[5]s">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '%[1]s'; script-src '%[2]s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%[3]s</title>
<style>%[4]s</style>
</head>
<body>
<a class="skip" href="#main">%[6]s</a>
<header>
<h1>%[3]s</h1>
`, contentHash(styleCSS), contentHash(scriptJS), htmlText(d.Title), styleCSS, cmp.Or(d.Language, lang.English), htmlText(d.Language.Text("Skip to the report")))
	head, sections := firstScreen(d.Blocks)
	for _, block := range head {
		p.block(block)
	}
	p.navigation(sections)
	p.WriteString("</header>\n<main id=\"main\">\n")
	open := false
	for _, block := range sections {
		if startsSection(block) {
			p.WriteString(sectionEnd(open) + "<section>\n")
			open = true
		}
		p.block(block)
	}
	p.WriteString(sectionEnd(open) + "</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>" + scriptJS + "</script>\n</body>\n</html>\n")
	return p.Flush()
}

// contentHash is how a policy names an inline style or script.
func contentHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// firstScreen returns what stands before the first section, and the rest.
func firstScreen(blocks []Block) (head, rest []Block) {
	for i, b := range blocks {
		if startsSection(b) {
			return blocks[:i], blocks[i:]
		}
	}
	return blocks, nil
}

func startsSection(b Block) bool {
	switch x := b.(type) {
	case Heading:
		return x.Level == 2
	case Figures:
		return true
	}
	return false
}

func sectionEnd(open bool) string {
	if open {
		return "</section>\n"
	}
	return ""
}

// A page is a document on its way out.
type page struct {
	lang.Language
	*bufio.Writer
	anchors map[string]int // how often each was used
	heading string         // the last one: what a table without words of its own is about
}

// chartsTitle heads the charts.
const chartsTitle = "Charts"

// navigation links to the sections, where there are enough to get lost.
func (p *page) navigation(blocks []Block) {
	var links strings.Builder
	n, seen := 0, make(map[string]int)
	for _, b := range blocks {
		if startsSection(b) {
			title := p.Text(chartsTitle)
			if h, ok := b.(Heading); ok {
				title = h.Text
			}
			n++
			fmt.Fprintf(&links, "<li><a href=\"#%s\">%s</a></li>\n", anchor(title, seen), htmlText(title))
		} else if h, ok := b.(Heading); ok {
			anchor(h.Text, seen)
		}
	}
	if n >= 3 {
		p.WriteString("<nav aria-label=\"" + htmlText(p.Text("Sections")) + "\"><ul>\n" + links.String() + "</ul></nav>\n")
	}
}

// anchor makes a title a place on the page: the second of a name gets a number.
func anchor(title string, seen map[string]int) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 0x80 && unicode.IsLetter(r):
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, title)
	slug = "s-" + strings.Trim(slug, "-")
	if seen[slug]++; seen[slug] > 1 {
		slug += fmt.Sprintf("-%d", seen[slug])
	}
	return slug
}

func (p *page) block(block Block) {
	switch x := block.(type) {
	case Heading:
		p.heading = x.Text
		fmt.Fprintf(p, "<h%d id=\"%s\">%s</h%[1]d>\n", x.Level, anchor(x.Text, p.anchors), htmlText(x.Text))
	case Paragraph:
		p.WriteString("<p>" + htmlInline(x.Text) + "</p>\n")
	case Note:
		p.WriteString("<p class=\"note\">" + htmlText(noteText(x)) + "</p>\n")
	case List:
		p.list(x)
	case Table:
		p.table(x, p.heading)
	case Bars:
		p.bars(x)
	case Tiles:
		p.tiles(x)
	case Figures:
		p.figures(x)
	}
}

func (p *page) list(l List) {
	p.WriteString("<ul>\n")
	for _, item := range l.Items {
		id := ""
		if item.Anchor != "" {
			id = ` id="` + item.Anchor + `" tabindex="-1"`
		}
		p.WriteString("<li" + id + ">" + htmlInline(item.Text))
		for _, more := range item.More {
			p.WriteString("<br>" + htmlInline(more))
		}
		if item.Chart != (Link{}) {
			p.WriteString("<br><a href=\"#" + item.Chart.Anchor + "\">" + htmlText(p.Sprintf("Chart: %s", item.Chart.Text)) + "</a>")
		}
		p.WriteString("</li>\n")
	}
	p.WriteString("</ul>\n")
}

func (p *page) tiles(x Tiles) {
	p.WriteString("<dl class=\"tiles\">\n")
	for _, t := range x.Tiles {
		fmt.Fprintf(p, "<div><dt>%s</dt><dd><b%s>%s</b> <span>%s</span></dd></div>\n",
			htmlText(t.Label), htmlClass("", t.Tone), htmlText(t.Value), htmlText(t.More))
	}
	p.WriteString("</dl>\n")
}

func (p *page) figures(x Figures) {
	p.block(Heading{2, p.Text(chartsTitle)})
	p.WriteString("<p class=\"note hint\">" + htmlText(p.Text("Point at a chart, or focus it and use the arrow keys, for its numbers.")) + "</p>\n<div class=\"figures\">\n")
	for i := range x.Figures {
		p.figure(&x.Figures[i])
	}
	p.WriteString("</div>\n")
}

func (p *page) figure(f *Figure) {
	fmt.Fprintf(p, "<figure id=\"%s\" tabindex=\"-1\">\n<figcaption><h3>%s</h3>", f.anchor(), htmlText(f.Title))
	if len(f.Legend) > 0 {
		p.WriteString("<ul class=\"legend\">")
		for _, k := range f.Legend {
			p.WriteString("<li>" + legendKey(k.Class) + htmlText(k.Text) + "</li>")
		}
		p.WriteString("</ul>")
	}
	p.WriteString("</figcaption>\n" + f.svg + "\n<p class=\"note\">" + htmlText(f.Note) + "</p>\n")
	if f.Numbers != nil && len(f.Numbers.Rows) > 0 {
		p.WriteString("<details><summary>" + htmlText(p.Text("Numbers")) + "</summary>\n")
		p.table(*f.Numbers, f.Title)
		p.WriteString("</details>\n")
	}
	for _, l := range f.From {
		p.WriteString("<p class=\"back\"><a href=\"#" + l.Anchor + "\">" + htmlText(p.Sprintf("Back to the finding: %s", l.Text)) + "</a></p>\n")
	}
	p.WriteString("</figure>\n")
}

// legendKey is a patch of what the chart draws: an area, or a line.
func legendKey(class string) string {
	shape := `<rect width="14" height="10" rx="2"`
	if strings.HasPrefix(class, "line") {
		shape = `<path d="M0 5H14"`
	}
	return `<svg width="14" height="10" viewBox="0 0 14 10" aria-hidden="true">` + shape + ` class="` + class + `"/></svg>`
}

func (p *page) table(t Table, caption string) {
	sort := ""
	if len(t.Rows) > 2 {
		sort = " data-sort"
	}
	fmt.Fprintf(p, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table%s>\n<caption>%s</caption>\n<thead><tr>", htmlText(p.Sprintf("Table: %s", caption)), sort, htmlText(caption))
	for _, c := range t.Columns {
		fmt.Fprintf(p, "<th scope=\"col\"%s>%s</th>", htmlClass(column(c), NoTone), htmlText(c.Title))
	}
	p.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		p.WriteString("<tr>")
		for i, c := range row {
			tag, scope := "td", ""
			if i == 0 {
				tag, scope = "th", ` scope="row"`
			}
			fmt.Fprintf(p, "<%s%s%s>%s</%[1]s>", tag, scope, htmlClass(column(t.Columns[i]), c.Tone), htmlCell(c))
		}
		p.WriteString("</tr>\n")
	}
	p.WriteString("</tbody></table></div>\n")
}

// htmlCell keeps the whole of a shortened name for those who point at it.
func htmlCell(c Cell) string {
	short := tableText(c)
	s := htmlSpan(Span{Text: short, Style: c.Style})
	if whole := visible(c.Text); whole != short {
		s = `<span title="` + html.EscapeString(whole) + `">` + s + "</span>"
	}
	if c.Mark != "" {
		s += "<sup>" + htmlText(c.Mark) + "</sup>"
	}
	return s
}

// bars draws with presentation attributes, which the policy allows; style
// attributes would need 'unsafe-inline'.
func (p *page) bars(x Bars) {
	p.WriteString("<table class=\"bars\"><caption>" + htmlText(p.heading) + "</caption><tbody>\n")
	for _, bar := range x.Rows {
		fmt.Fprintf(p, "<tr><th scope=\"row\">%s</th><td class=\"bar\"><svg width=\"100%%\" height=\"16\" aria-hidden=\"true\"%s>"+
			"<rect width=\"%.2f%%\" height=\"16\" rx=\"2\"/></svg></td><td class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
			htmlText(bar.Label), htmlClass("", bar.Tone), 100*barShare(bar.Share), htmlText(human.Percent(bar.Share)), htmlText(bar.Value))
	}
	p.WriteString("</tbody></table>\n")
}

// barShare is a share that can be drawn.
func barShare(v float64) float64 {
	if !human.Defined(v) {
		return 0
	}
	return min(max(v, 0), 1)
}

func htmlInline(in Inline) string {
	var b strings.Builder
	for _, s := range in {
		b.WriteString(htmlSpan(s))
	}
	return b.String()
}

func htmlSpan(s Span) string {
	t := htmlText(s.Text)
	switch {
	case s.Style == Name && t != human.Undefined:
		return "<code>" + lineNumber.ReplaceAllString(t, `<span class="place">$0</span>`) + "</code>"
	case s.Style == Strong:
		return "<strong" + htmlClass("", s.Tone) + ">" + t + "</strong>"
	case s.Tone != NoTone:
		return "<span" + htmlClass("", s.Tone) + ">" + t + "</span>"
	}
	return t
}

// lineNumber ends a place in a log. It stays whole where the place is broken.
var lineNumber = regexp.MustCompile(`:[0-9]+$`)

func htmlText(s string) string { return html.EscapeString(visible(s)) }

// column is the class of a column's cells: numbers right, prose may wrap.
func column(c Column) string {
	switch {
	case c.Right:
		return "r"
	case c.Fit == Wrap:
		return "w"
	}
	return ""
}

var toneClass = map[Tone]string{Info: "info", Warn: "warn", Bad: "bad", Prefill: "prefill", Decode: "decode", Other: "other"}

func htmlClass(class string, t Tone) string {
	class = strings.TrimSpace(class + " " + toneClass[t])
	if class == "" {
		return ""
	}
	return ` class="` + class + `"`
}
