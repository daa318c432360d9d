package main

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codexlag/analyze/lang/langtest"
)

func TestChineseReports(t *testing.T) {
	const logs, home = "testdata/quickstart", "testdata/codexhome"
	golden(t, "quickstart-zh.md", "--lang", "zh", logs)
	golden(t, "quickstart-zh.txt", "--lang", "zh", "--format", "text", logs)
	golden(t, "codexhome-zh.md", "--lang", "zh", home)
	golden(t, "codexhome-zh.txt", "--lang", "zh", "--format", "text", home)
	golden(t, "codexhome-files-zh.md", "files", "--lang", "zh", home)
	golden(t, "compare-zh.txt", "compare", "--lang", "zh", "--format", "text", "--by", "model", "testdata/compare/before", "testdata/compare/after")
	golden(t, "explain-turn-zh.txt", "explain", "--lang", "zh", "--format", "text", home+"/sessions/2026/07/02/rollout-2026-07-02T13-00-00-019f22ea-2c80-7000-8000-00000000a002.jsonl:66")
}

var (
	unread = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<meta[^>]*>|<code[^>]*>.*?</code>|<text class="label"[^>]*>.*?</text>|<svg[^>]* aria-hidden="true".*?</svg>`)
	read   = regexp.MustCompile(`(?:aria-label|data-t|title)="([^"]*)"`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// pageText is what people read or hear of a page.
func pageText(page string) string {
	page = unread.ReplaceAllString(page, " ")
	var b strings.Builder
	for _, m := range read.FindAllStringSubmatch(page, -1) {
		b.WriteString(m[1] + "\n")
	}
	return html.UnescapeString(b.String() + tags.ReplaceAllString(page, " "))
}

// Nothing English is left in what people read, but names and abbreviations.
func TestNothingIsLeftInEnglish(t *testing.T) {
	const logs, home = "testdata/quickstart", "testdata/codexhome"
	const session = home + "/sessions/2026/07/02/rollout-2026-07-02T13-00-00-019f22ea-2c80-7000-8000-00000000a002.jsonl"
	by := []string{"--by", "model", "--by", "label", "--by", "cache", "--by", "input-size", "--by", "output-size", "--by", "status", "--by", "effort", "--by", "hour",
		"--by", "provider", "--by", "version", "--by", "source", "--by", "format", "--by", "day"}
	for _, args := range [][]string{
		{logs}, {home}, {logs, home}, append([]string{logs, home}, by...), {"--exact-limit", "10", logs}, {"--format", "text", home},
		{"--format", "html", logs}, {"--format", "html", home}, append([]string{"--format", "html", logs, home}, by...),
		{"--since", "2026-11-24", "--format", "text", logs}, {"--slo", "ttft=1ms,tps=1000", logs}, {"--min-tokens", "100000", logs},
		{"requests", home}, {"files", home}, {"files", "--format", "html", logs},
		append([]string{"compare", "testdata/compare/before", "testdata/compare/after"}, by...), append([]string{"compare", logs, home}, by...), {"compare", logs, logs},
		{"compare", "--at", "2026-11-24T10:00", logs}, {"compare", "--format", "html", logs, home},
		{"explain", session}, {"explain", session + ":66"}, {"explain", session + ":8"}, {"explain", "--format", "text", logs + "/gateway.log:62"}, {"explain", logs + "/gateway.log:8"}, {"explain", home + "/log/codex-tui.log"},
	} {
		got := codexlag(t, "", append(args, "--lang", "zh")...)
		if got.code != exitOK {
			t.Fatalf("%v: exit %d: %s", args, got.code, got.stderr)
		}
		text := got.stdout
		if strings.Contains(text, "</html>") {
			if !strings.Contains(text, `<html lang="zh">`) {
				t.Errorf("%v: the page does not tell its language", args)
			}
			text = pageText(text)
		}
		known := known
		if !strings.Contains(text, "`") { // names are not marked
			known = append(slices.Clone(known), "failed", "aborted", "warmup", "burst")
		}
		for _, line := range strings.Split(text, "\n") {
			if l := langtest.English(withoutPaths(line), known...); len(l) > 0 {
				t.Errorf("%v: English words %q in %.300s", args, l, line)
			}
		}
	}
}

// known are values of the test logs: models, labels, tools, kinds of errors.
var known = strings.Fields(`gpt mini long short input gateway openai azure cli vscode shell_command apply_patch shell apply patch medium high low minimal user
	timeout wrapped bare typescript paginated exec experiment replayed repeat xhigh`)

var paths = regexp.MustCompile(`\S*(?:testdata/|…)\S*`)

func withoutPaths(s string) string { return paths.ReplaceAllString(s, " ") }

// In JSON the sentences are translated, keys and values are not.
func TestChineseJSON(t *testing.T) {
	got := codexlag(t, "", "--lang", "zh", "--format", "json", "--by", "cache", "testdata/quickstart")
	want := codexlag(t, "", "--format", "json", "--by", "cache", "testdata/quickstart")
	var zh, en any
	if err := json.Unmarshal([]byte(got.stdout), &zh); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want.stdout), &en); err != nil {
		t.Fatal(err)
	}
	sentences := 0
	sameButSentences(t, "", zh, en, &sentences)
	if sentences == 0 {
		t.Error("no sentence is Chinese")
	}
}

func sameButSentences(t *testing.T, at string, zh, en any, sentences *int) {
	switch en := en.(type) {
	case map[string]any:
		other, _ := zh.(map[string]any)
		if len(other) != len(en) {
			t.Errorf("%s: other keys", at)
		}
		for k, v := range en {
			sameButSentences(t, at+"."+k, other[k], v, sentences)
		}
	case []any:
		other, _ := zh.([]any)
		if len(other) != len(en) {
			t.Fatalf("%s: %d values, not %d", at, len(other), len(en))
		}
		for i, v := range en {
			sameButSentences(t, at+"[]", other[i], v, sentences)
		}
	default:
		switch at[strings.LastIndexByte(at, '.')+1:] {
		case "headline", "title", "evidence", "advice", "doubts[]":
			*sentences++
			if l := langtest.English(zh.(string), known...); len(l) > 0 {
				t.Errorf("%s: English words %q in %s", at, l, zh)
			}
		default:
			if zh != en {
				t.Errorf("%s: %v, not %v", at, zh, en)
			}
		}
	}
}

// The language comes from the flag, a variable or a file, never from the locale.
func TestLanguageIsASetting(t *testing.T) {
	const chinese, english = "Codex 延迟", "Codex latency"
	t.Setenv("LANG", "zh_CN.UTF-8")
	t.Setenv("LC_ALL", "zh_CN.UTF-8")
	title := func(args ...string) string {
		got := codexlag(t, "", append(args, "testdata/quickstart")...)
		title, _, _ := strings.Cut(got.stdout, "\n")
		return title
	}
	if got := title(); !strings.Contains(got, english) {
		t.Errorf("from the locale: %s", got)
	}
	t.Setenv("CODEXLAG_LANG", "zh")
	if got := title(); !strings.Contains(got, chinese) {
		t.Errorf("from the variable: %s", got)
	}
	if got := title("--lang", "en"); !strings.Contains(got, english) {
		t.Errorf("the flag beats the variable: %s", got)
	}
	os.Unsetenv("CODEXLAG_LANG")
	file := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(file, []byte(`lang = "zh"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := title("--config", file); !strings.Contains(got, chinese) {
		t.Errorf("from a file: %s", got)
	}
	if got := codexlag(t, "", "--lang", "de", "testdata/quickstart"); got.code != exitUsage || !strings.Contains(got.stderr, "lang") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
}
