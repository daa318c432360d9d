package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// rareTags are what makes a page: those whose number a name must not change, with
// what they may hold. Names are repeated where they are shortened, so that
// other tags may come and go.
var rareTags = regexp.MustCompile(`(?i)<(/?script|/?style|/?html|/?body|/?head|img|iframe|base|link|object|embed|form|input)\b|\son[a-z]+\s*=\s*["']`)

// Whatever a log calls a model, a session or a label, a report in any format
// stays one: whole UTF-8 without control characters, and what its format asks for.
func FuzzReports(f *testing.F) {
	for _, s := range []string{"=1+1|<script>alert(1)</script>\n\x1b[31mred\x1b]0;t\a a\xff\xfe \u202egnp \u2028 \u0000`", `"><img src=x onerror=alert(1)>@someone #1 http://a.b %s%n`, "-模型", " "} {
		for i := range formatsOfAll {
			f.Add(s, uint8(i))
		}
	}
	log := filepath.Join(f.TempDir(), "a.jsonl")
	plain := map[string]int{}
	f.Fuzz(func(t *testing.T, s string, i uint8) {
		if len(s) > 256 {
			t.Skip() // TestReportsOfALongName has one; smaller ones are faster to vary
		}
		soundReports(t, log, s, formatsOfAll[int(i)%len(formatsOfAll)], plain)
	})
}

func TestReportsOfALongName(t *testing.T) {
	log, plain := filepath.Join(t.TempDir(), "a.jsonl"), map[string]int{}
	for _, format := range formatsOfAll {
		soundReports(t, log, strings.Repeat("x", 3000), format, plain)
	}
}

var formatsOfAll = []string{"html", "markdown", "text", "json", "csv", "ndjson"}

// soundReports makes every report in one format of a log with the name s
// everywhere, and fails where one is not as it has to be. plain holds how many
// tags of a kind that names could make a page has with usual names; it is filled
// at first.
func soundReports(t *testing.T, log, s, format string, plain map[string]int) {
	t.Helper()
	if format == "html" && len(plain) == 0 {
		soundReportsOf(t, log, "gpt-5", format, func(key string, tags int) { plain[key] = tags })
	}
	soundReportsOf(t, log, s, format, func(key string, tags int) {
		if tags != plain[key] {
			t.Fatalf("%q: %s: %d tags in the page, %d is usual", s, key, tags, plain[key])
		}
	})
}

func soundReportsOf(t *testing.T, log, name, format string, tags func(key string, n int)) {
	t.Helper()
	quoted, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range 4 {
		fmt.Fprintf(&lines, `{"first_token_ms":%d,"total_tokens":900,"total_ms":%d,"timestamp":"2026-09-10T09:00:%02dZ","model":%s,"session":%[4]s,"label":%[4]s,"turn":%[4]s,"provider":%[4]s,"effort":%[4]s,"version":%[4]s,"status":"failed","error":%[4]s}`+"\n", 300+i, 9000+i*100, i, quoted)
		fmt.Fprintf(&lines, `{"first_token_ms":%d,"total_tokens":900,"total_ms":%d,"model":%s,"session":%[3]s,"label":%[3]s}`+"\n", 300+i, 9000+i*100, quoted)
	}
	if err := os.WriteFile(log, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--by", "model", "--by", "session", "--by", "label", "--by", "provider"}, {"requests"}, {"explain"}, {"compare", "--by", "model"}, {"files"},
	} {
		call := append(args, "--no-cache", "--format", format, log)
		switch {
		case args[0] == "explain":
			call[len(call)-1] += ":2"
		case args[0] == "compare":
			call = append(call, log)
		}
		var out, told bytes.Buffer
		code := run(t.Context(), strings.NewReader(""), &out, &told, call)
		if code == exitUsage {
			continue // has no such format
		}
		if code != exitOK {
			t.Fatalf("%q: %v: exit %d: %s", name, args, code, told.String())
		}
		if format == "html" {
			tags(args[0], len(rareTags.FindAllString(out.String(), -1)))
		}
		sound(t, fmt.Sprintf("%q: %v --format %s", name, args, format), format, out.String())
		sound(t, fmt.Sprintf("%q: %v: messages", name, args), "text", told.String())
	}
}

// sound fails where text is not what its format asks for.
func sound(t *testing.T, what, format, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Fatalf("%s is no UTF-8", what)
	}
	for _, r := range text {
		if r != '\n' && r != '\r' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control) {
			t.Fatalf("%s has a raw %q", what, r)
		}
	}
	switch format {
	case "json":
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s is no JSON", what)
		}
	case "ndjson":
		for line := range strings.Lines(text) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%s: no JSON: %s", what, line)
			}
		}
	case "csv":
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if cell != "" && strings.ContainsAny(cell[:1], "=+@\t\r") {
					t.Fatalf("%s: a formula: %q", what, cell)
				}
			}
		}
	}
}
