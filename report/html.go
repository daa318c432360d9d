package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"codexlag/analyze/human"
)

//go:embed style.css
var styleCSS string

// HTML writes the document as one page that needs nothing else: no script, no
// font, no image from anywhere, and a policy that forbids them.
func HTML(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	sum := sha256.Sum256([]byte(styleCSS))
	fmt.Fprintf(b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
<h1>%[2]s</h1>
`, base64.StdEncoding.EncodeToString(sum[:]), htmlText(d.Title), styleCSS)
	for _, block := range d.Blocks {
		htmlBlock(b, block)
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.Flush()
}

func htmlBlock(b *bufio.Writer, block Block) {
	switch x := block.(type) {
	case Heading:
		fmt.Fprintf(b, "<h%d>%s</h%[1]d>\n", x.Level, htmlText(x.Text))
	case Paragraph:
		b.WriteString("<p>" + htmlInline(x.Text) + "</p>\n")
	case Note:
		b.WriteString("<p class=\"note\">" + htmlText(noteText(x)) + "</p>\n")
	case List:
		b.WriteString("<ul>\n")
		for _, item := range x.Items {
			b.WriteString("<li>" + htmlInline(item.Text))
			for _, more := range item.More {
				b.WriteString("<br>" + htmlInline(more))
			}
			b.WriteString("</li>\n")
		}
		b.WriteString("</ul>\n")
	case Table:
		htmlTable(b, x)
	case Bars:
		htmlBars(b, x)
	}
}

func htmlTable(b *bufio.Writer, t Table) {
	b.WriteString("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>")
	for _, c := range t.Columns {
		fmt.Fprintf(b, "<th scope=\"col\"%s>%s</th>", htmlClass(column(c), NoTone), htmlText(c.Title))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i, c := range row {
			tag, scope := "td", ""
			if i == 0 {
				tag, scope = "th", ` scope="row"`
			}
			fmt.Fprintf(b, "<%s%s%s>%s</%[1]s>", tag, scope, htmlClass(column(t.Columns[i]), c.Tone), htmlCell(c))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
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

// htmlBars draws with presentation attributes, which the policy allows; style
// attributes would need 'unsafe-inline'.
func htmlBars(b *bufio.Writer, x Bars) {
	b.WriteString("<table class=\"bars\"><tbody>\n")
	for _, bar := range x.Rows {
		fmt.Fprintf(b, "<tr><th scope=\"row\">%s</th><td class=\"bar\"><svg width=\"100%%\" height=\"16\" aria-hidden=\"true\"%s>"+
			"<rect width=\"%.2f%%\" height=\"16\" rx=\"2\"/></svg></td><td class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
			htmlText(bar.Label), htmlClass("", bar.Tone), 100*barShare(bar.Share), htmlText(human.Percent(bar.Share)), htmlText(bar.Value))
	}
	b.WriteString("</tbody></table>\n")
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
		return "<code>" + t + "</code>"
	case s.Style == Strong:
		return "<strong" + htmlClass("", s.Tone) + ">" + t + "</strong>"
	case s.Tone != NoTone:
		return "<span" + htmlClass("", s.Tone) + ">" + t + "</span>"
	}
	return t
}

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
