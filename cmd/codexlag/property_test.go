package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// figures returns what a report says of all requests and of the groups.
func figures(t *testing.T, args ...string) string {
	t.Helper()
	got := codexlag(t, "", append([]string{"--format", "json", "--by", "model", "--no-cache"}, args...)...)
	var r struct{ Overall, Groups json.RawMessage }
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != exitOK {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.stderr)
	}
	return string(r.Overall) + string(r.Groups)
}

// rewritten copies the logs below dir, each line changed by f.
func rewritten(t *testing.T, dir string, f func(name, line string) string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || filepath.Ext(path) == ".zst" { // a copy of another
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := ""
		for line := range strings.Lines(string(b)) {
			text += f(rel, line)
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(rel)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), []byte(text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func differ(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s", what, firstDifference(got, want))
	}
}

// What is no record leaves the figures as they are, wherever it stands.
func TestNoiseLinesChangeNothing(t *testing.T) {
	noise := []string{
		"\n", "   \t\r\n", "2026-11-24T09:00:00Z DEBUG gateway: tool call finished name=shell exit=0\n",
		"    at handler (server.js:120:7)\n", `{"level":"info","msg":"started","port":8080}` + "\n", "{\"a\": [1, 2\n", "}\n",
		"\x80\xff\x00 not text \xfe\n", strings.Repeat("x", 100_000) + "\n", "total_ms is what we log, and tokens; see [docs]\n",
	}
	for _, dir := range []string{"testdata/quickstart", "testdata/compare"} {
		want := figures(t, dir)
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 1))
			noisy := rewritten(t, dir, func(_, line string) string {
				for range r.IntN(3) {
					line = noise[r.IntN(len(noise))] + line
				}
				return line
			})
			differ(t, fmt.Sprintf("%s, seed %d", dir, seed), figures(t, noisy), want)
		}
	}
	// A session file is JSON lines; others between them are counted as unreadable.
	want := figures(t, "testdata/codexhome/sessions")
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 2))
		noisy := rewritten(t, "testdata/codexhome/sessions", func(name, line string) string {
			if strings.HasSuffix(name, ".jsonl") && r.IntN(2) == 0 {
				line += noise[r.IntN(len(noise))]
			}
			return line
		})
		differ(t, fmt.Sprintf("sessions, seed %d", seed), figures(t, noisy), want)
	}
}

// A request that is read twice counts once: copies of session files, and
// request lines that carry an id.
func TestDuplicatesChangeNothing(t *testing.T) {
	same := func(_, line string) string { return line }
	twice := rewritten(t, "testdata/codexhome/sessions", same)
	differ(t, "sessions", figures(t, "testdata/codexhome/sessions", twice), figures(t, "testdata/codexhome/sessions"))

	n := 0
	withID := rewritten(t, "testdata/quickstart", func(_, line string) string {
		n++
		id := fmt.Sprintf("req-%d", n)
		if strings.HasPrefix(line, "{") {
			return fmt.Sprintf(`{"id": %q, %s`, id, line[1:])
		}
		return strings.Replace(line, "[request] ", "[request] id="+id+" ", 1)
	})
	want := figures(t, withID)
	differ(t, "a copy", figures(t, withID, rewritten(t, withID, same)), want)
	differ(t, "each line twice", figures(t, rewritten(t, withID, func(_, line string) string { return line + line })), want)
}

// Neither the order of request lines nor the file that they are in shows.
func TestOrderAndFilesDoNotMatter(t *testing.T) {
	want := figures(t, "testdata/quickstart")
	var lines []string
	rewritten(t, "testdata/quickstart", func(_, line string) string { lines = append(lines, line); return line })
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		files := make([]strings.Builder, 1+r.IntN(6))
		for _, line := range lines {
			files[r.IntN(len(files))].WriteString(line)
		}
		dir := t.TempDir()
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part%d.log", i)), []byte(files[i].String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		differ(t, fmt.Sprintf("seed %d", seed), figures(t, dir), want)
	}
}

var (
	timestamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	epochs     = regexp.MustCompile(`_at(_ms)?":\d+`)
)

// A clock that is wrong by weeks changes when requests were, not how long.
func TestShiftedClocksChangeNoFigure(t *testing.T) {
	for _, dir := range []string{"testdata/quickstart", "testdata/codexhome"} {
		want := figures(t, rewritten(t, dir, func(_, line string) string { return line }))
		for _, by := range []time.Duration{-41*24*time.Hour - 7*time.Hour - 59*time.Second, 90*24*time.Hour + 123*time.Second} {
			shifted := rewritten(t, dir, func(_, line string) string {
				line = timestamps.ReplaceAllStringFunc(line, func(s string) string {
					at, err := time.Parse(time.RFC3339Nano, s)
					if err != nil {
						t.Fatal(err)
					}
					digits := ""
					if _, fraction, ok := strings.Cut(strings.TrimSuffix(s, "Z"), "."); ok {
						digits = "." + strings.Repeat("0", len(fraction))
					}
					return at.Add(by).Format("2006-01-02T15:04:05" + digits + "Z")
				})
				return epochs.ReplaceAllStringFunc(line, func(s string) string {
					key, digits, _ := strings.Cut(s, ":")
					unit := time.Second
					if strings.Contains(key, "ms") {
						unit = time.Millisecond
					}
					at, _ := strconv.ParseInt(digits, 10, 64)
					return key + ":" + strconv.FormatInt(at+int64(by/unit), 10)
				})
			})
			differ(t, fmt.Sprintf("%s by %v", dir, by), figures(t, shifted), want)
		}
	}
}
