package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const planted = "PLANTED"

// plantedLogs makes logs of every kind that the tests have, with a mark in every
// name that a log, a file or a directory can have.
func plantedLogs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home-"+planted)
	names := strings.NewReplacer(
		`"gpt-5.4"`, `"gpt-PLANTED"`, "model=gpt-5.4", "model=gpt-PLANTED", `"openai"`, `"PLANTED-inc"`,
		`"medium"`, `"PLANTED-effort"`, "0.157.1", "0.157.1-PLANTED", "0.144.5", "PLANTED-build",
		`"exec_command"`, `"mcp__PLANTED__query"`, `"shell"`, `"PLANTED_shell"`, "01a09eee-1c00", "01a09eee-PLANTED-1c00")
	if err := filepath.Walk("testdata/codexhome", func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || filepath.Ext(path) == ".zst" {
			return err
		}
		text, err := os.ReadFile(path)
		at, _ := filepath.Rel("testdata/codexhome", path)
		write(t, dir, filepath.Join("d-"+planted, at), names.Replace(string(text)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "2026-09-14T10:%02d:00Z [request] first_token_ms=%d total_tokens=800 total_ms=%d label=%s-label session=%[4]s-s%d turn=%[4]s-t id=%[4]s-%d model=ft:gpt-5:%[4]s provider=%[4]s effort=%[4]s version=%[4]s-1.2.3\n",
			i, 300+i, 9000+100*i, planted, i%3, i)
	}
	fmt.Fprintf(&b, "2026-09-14T11:00:00Z [request] status=failed error=%s model=%s\n", planted, planted)
	write(t, dir, "wrapper-"+planted+".log", b.String())
	write(t, dir, "broken-"+planted+".jsonl", `{"first_token_ms":1,"total_ms":2}`+"\n{\"first_token_ms\":1,\"session\":\""+planted+"\n")
	write(t, dir, "cut-"+planted+".log.gz", "\x1f\x8b\x08\x00"+planted)
	everyFormat(t, filepath.Join(dir, "every-"+planted), "prose", planted)
	if err := os.Symlink("nowhere-"+planted, filepath.Join(dir, "link-"+planted)); err != nil {
		t.Log(err) // not everywhere
	}
	return dir
}

// originals lists what the logs call things, as the program itself reads them.
func originals(t *testing.T, logs string) []string {
	t.Helper()
	l := []string{planted}
	for line := range strings.Lines(codexlag(t, "", "requests", "--format", "ndjson", "-q", logs).stdout) {
		var q map[string]any
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"source", "session", "turn", "label"} {
			if s, _ := q[key].(string); s != "" {
				l = append(l, s, filepath.Base(s))
			}
		}
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// Nothing of the originals is left in any format, nor on standard error.
func TestAnonymize(t *testing.T) {
	logs := plantedLogs(t)
	forbidden := append(originals(t, logs), logs, filepath.Dir(logs))
	if len(forbidden) < 60 {
		t.Fatalf("only %d names are planted: %q", len(forbidden), forbidden)
	}
	t.Setenv("CODEX_HOME", "")
	t.Setenv("HOME", filepath.Join(logs, "nobody-"+planted))
	wrapper := filepath.Join(logs, "wrapper-"+planted+".log")
	missing := filepath.Join(logs, "missing-"+planted)
	out := filepath.Join(logs, "no-"+planted, "r") // gets the ending of each format
	calls := [][]string{
		{"--by", "session", "--by", "file", "--by", "dir", "--by", "label", "--by", "model", "--by", "provider", "--by", "effort", "--by", "version", "--by", "source", "--by", "turn", logs},
		{"--strict", logs}, {logs, missing}, {missing}, {"--model", planted + "*", logs}, {"--since", "2030-01-01", logs}, {"--session", planted + "-s1", logs},
		{"--where", "label=" + planted + "-nothing", logs}, {}, {"-o", out, logs},
		{"requests", logs}, {"requests", "--strict", logs}, {"requests", "-o", out, logs},
		{"files", logs}, {"files", logs, missing},
		{"explain", wrapper}, {"explain", wrapper + ":7"}, {"explain", wrapper + ":700"}, {"explain", logs}, {"explain", logs + ":7"}, {"explain", missing},
		{"compare", "--by", "session", "--by", "label", "--by", "model", logs, wrapper}, {"compare", "--at", "2026-09-14T10:20:00Z", "--by", "session", logs},
		{"compare", logs, missing}, {"compare", missing, logs}, {"compare", logs, filepath.Join(logs, "broken-"+planted+".jsonl")}, {"compare", "--at", "2030-01-01", logs},
	}
	told := 0
	for _, call := range calls {
		formats := []string{"text", "markdown", "html", "json"}
		switch {
		case len(call) > 0 && call[0] == "requests":
			formats = []string{"text", "csv", "ndjson"}
		case len(call) > 0 && call[0] == "explain":
			formats = formats[:3]
		case len(call) == 0 || call[0] != "files" && call[0] != "compare":
			formats = append(formats, "csv")
		}
		for _, format := range formats {
			args := append(slices.Clone(call), "--anonymize", "--format", format)
			if i := slices.Index(args, out); i >= 0 {
				args[i] += "." + format
			}
			got := codexlag(t, "", args...)
			if got.code == exitUsage && !slices.Contains(call, logs+":7") {
				t.Errorf("%s: %s", strings.ReplaceAll(strings.Join(call, " "), logs, "LOGS"), got.stderr)
			}
			for _, text := range []string{got.stdout, got.stderr} {
				told += len(text)
				for _, f := range forbidden {
					if i := strings.Index(text, f); i >= 0 {
						t.Errorf("%s --format %s: %q is left: …%s…", strings.ReplaceAll(strings.Join(call, " "), logs, "LOGS"), format, f, text[max(0, i-60):min(len(text), i+80)])
						break
					}
				}
			}
		}
	}
	if told < 100_000 {
		t.Errorf("only %d bytes were looked at", told)
	}
}

// Pseudonyms change no figure, and whoever has the key gets the same ones again.
func TestAnonymizeChangesNoFigure(t *testing.T) {
	numbers := regexp.MustCompile(`"[a-z_0-9]+": [-0-9.]+`)
	args := []string{"--format", "json", "--by", "session", "--by", "file", "testdata/codexhome"}
	plain := codexlag(t, "", args...)
	named := codexlag(t, "", append(args, "--anonymize", "--anonymize-key", "k")...)
	if plain.code != exitOK || named.code != exitOK {
		t.Fatalf("%+v, %+v", plain.code, named.code)
	}
	sorted := func(s string) []string { // groups of equal weight may change places
		l := numbers.FindAllString(s, -1)
		slices.Sort(l)
		return l
	}
	if !slices.Equal(sorted(plain.stdout), sorted(named.stdout)) {
		t.Error("the figures differ")
	}
	if again := codexlag(t, "", append(args, "--anonymize", "--anonymize-key", "k")...); again != named {
		t.Error("the same key makes other pseudonyms")
	}
	if other := codexlag(t, "", append(args, "--anonymize")...); other == named {
		t.Error("no key makes the same pseudonyms as one")
	}
	if got := codexlag(t, "", "--anonymize-key", "k", "testdata/quickstart"); got.code != exitUsage {
		t.Errorf("a key without --anonymize: exit %d", got.code)
	}
}

func TestReplaceWord(t *testing.T) {
	for _, c := range []struct{ s, want string }{
		{"reading a: no", "reading X: no"},
		{"a", "X"},
		{"cat a.log /a a/ \"a\" (a)", "cat a.log /a a/ \"X\" (X)"},
		{"", ""},
	} {
		if got := replaceWord(c.s, "a", "X"); got != c.want {
			t.Errorf("%q: %q, want %q", c.s, got, c.want)
		}
	}
}
