package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const secret = "SECRET"

// noSecret fails where a secret is in what came out.
func noSecret(t *testing.T, where, text string) {
	t.Helper()
	if i := strings.Index(text, secret); i >= 0 {
		t.Errorf("%s: …%s…", where, text[max(0, i-100):min(len(text), i+60)])
	}
}

// holdsNoSecret looks into all files below dir. It returns how many there are.
func holdsNoSecret(t *testing.T, dir string) (n int) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, e := os.ReadFile(path)
			if e != nil {
				t.Error(e)
			}
			noSecret(t, path, string(b))
			n++
		}
		return err
	})
	return n
}

// secretLogs are logs of every format with secrets in them, and those of the
// sample home of Codex.
func secretLogs(t *testing.T) (dir string, lines map[string]string) {
	t.Helper()
	dir = t.TempDir()
	lines = everyFormat(t, dir, secret, "name")
	if err := os.CopyFS(filepath.Join(dir, "home"), os.DirFS("testdata/codexhome")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENAI_API_KEY", "sk-"+secret)
	t.Setenv("CODEXLAG_ANONYMIZE_KEY", secret)
	return dir, lines
}

// Whatever log holds a prompt, a reply, a key, an address or the output of a
// tool, and whatever comes out: they are not in it, nor in the index.
func TestNothingLeaks(t *testing.T) {
	cache := withIndex(t)
	dir, lines := secretLogs(t)
	calls := [][]string{
		{"--by", "session", "--by", "file", "--by", "dir", "--by", "label", "--by", "model", "--by", "provider", "--by", "version", "--by", "source", dir},
		{"--strict", dir}, {"--lang", "zh", dir}, {"--anonymize", dir}, {"requests", dir}, {"files", dir}, {"compare", "--by", "session", dir, filepath.Join(dir, "home")},
		{"compare", "--at", "2026-09-10T09:01:00Z", dir}, {"--model", "nothing", dir},
	}
	for file := range lines {
		calls = append(calls, []string{filepath.Join(dir, file)}, []string{"explain", filepath.Join(dir, file)})
		for _, line := range []string{"1", "2", "8"} {
			calls = append(calls, []string{"explain", filepath.Join(dir, file) + ":" + line})
		}
	}
	for _, file := range []string{"logs_2.sqlite", "cut.log.gz", "old.jsonl.zst", "broken.jsonl", "home/auth.json", "home/history.jsonl"} {
		calls = append(calls, []string{"--strict", filepath.Join(dir, file)}, []string{"explain", filepath.Join(dir, file)}, []string{"files", filepath.Join(dir, file)})
	}
	told, reports := 0, 0
	for _, c := range calls {
		for _, format := range []string{"markdown", "text", "html", "json", "csv", "ndjson"} {
			got := codexlag(t, "", append(slices.Clone(c), "--format", format)...)
			if got.code == exitUsage {
				continue // no such format, or no such line
			}
			if got.code == exitOK {
				reports++
			}
			told += len(got.stdout) + len(got.stderr)
			what := strings.ReplaceAll(strings.Join(c, " "), dir, "LOGS") + " --format " + format
			noSecret(t, what, got.stdout)
			noSecret(t, what+", messages", got.stderr)
		}
	}
	if reports < 60 || told < 500_000 {
		t.Errorf("only %d reports, %d bytes were looked at", reports, told)
	}
	to := t.TempDir()
	if got := codexlag(t, "", "export", to, dir); got.code != exitOK {
		t.Errorf("export: %+v", got)
	}
	for _, table := range []string{"requests", "turns"} {
		rows := exported(t, to, table)
		if len(rows) == 0 {
			t.Errorf("no %s are exported", table)
		}
		noSecret(t, "export of "+table, fmt.Sprintf("%s", rows))
	}
	if holdsNoSecret(t, cache) == 0 {
		t.Error("there is no index")
	}
}

// Nor while following: in lines, in what is written meanwhile, in metrics and on
// the page.
func TestNothingLeaksWhileFollowing(t *testing.T) {
	dir, lines := secretLogs(t)
	outs := t.TempDir()
	args := []string{"--listen", "127.0.0.1:0", "--every", "1s", "-o", "-", "--by", "session"}
	for _, name := range []string{"r.md", "r.txt", "r.html", "r.json", "r.csv"} {
		args = append(args, "-o", filepath.Join(outs, name))
	}
	f := followed(t, append(args, "--format", "text", dir)...)
	readyFor(t, filepath.Join(outs, "r.csv"))
	for file, text := range lines {
		l := logFile{t: t, path: filepath.Join(dir, strings.Replace(file, "rollout-", "new/rollout-", 1))}
		if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
			t.Fatal(err)
		}
		// The same again is known already where requests have ids.
		l.add(strings.TrimSuffix(strings.NewReplacer("-name", "-again", "09:00:", "10:00:").Replace(text), "\n"))
	}
	for _, ttft := range []string{"900 ms", "910 ms", "920 ms"} {
		f.awaitOutput(ttft)
	}
	_, rest, _ := strings.Cut(f.stderr.String(), "metrics on http://")
	addr, _, _ := strings.Cut(rest, "/")
	for _, path := range []string{"/", "/metrics", "/" + secret} {
		_, header, body := get(t, "http://"+addr+path, "")
		for k, v := range header {
			noSecret(t, path+" "+k, strings.Join(v, " "))
		}
		if path != "/"+secret && len(body) < 1000 {
			t.Errorf("%s: %q", path, body)
		}
		noSecret(t, path, body)
	}
	before, err := os.Stat(filepath.Join(outs, "r.csv"))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "written again", func() bool {
		now, err := os.Stat(filepath.Join(outs, "r.csv"))
		return err == nil && !os.SameFile(before, now)
	})
	holdsNoSecret(t, outs)
	if code := f.end(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if n := holdsNoSecret(t, outs); n != 5 {
		t.Errorf("%d files, not 5", n)
	}
	noSecret(t, "standard output", f.stdout.String())
	noSecret(t, "messages", f.stderr.String())
}
