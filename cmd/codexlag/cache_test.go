package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// withIndex lets the program believe stamps at once, in a cache of its own.
func withIndex(t *testing.T) (cache string) {
	cache = t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	indexClock = func() time.Time { return time.Now().Add(time.Hour) }
	t.Cleanup(func() { indexClock = time.Now })
	return filepath.Join(cache, "codexlag")
}

// commands are the calls whose output must be the same with and without the index.
var commands = [][]string{
	{"--format", "json", "--by", "model", "--by", "file"},
	{"requests", "--format", "ndjson"},
	{"files", "--format", "json"},
}

// agree fails where the index shows in what the program says.
func agree(t *testing.T, when string, paths ...string) {
	t.Helper()
	for _, c := range commands {
		args := append(slices.Clone(c), paths...)
		want := codexlag(t, "", append(args, "--no-cache")...)
		for _, jobs := range []string{"1", "3"} {
			if got := codexlag(t, "", append(args, "--jobs", jobs)...); got != want {
				t.Fatalf("%s: %v --jobs %s: exit %d, want %d, %s, stderr %q", when, c, jobs, got.code, want.code, firstDifference(got.stdout, want.stdout), got.stderr)
			}
		}
	}
}

func TestIndexDoesNotShow(t *testing.T) {
	cache := withIndex(t)
	for _, logs := range []string{"testdata/quickstart", "testdata/codexhome", "testdata/compare"} {
		for _, when := range []string{"first", "second"} {
			agree(t, logs+", "+when, logs)
		}
	}
	if list, err := os.ReadDir(cache); err != nil || len(list) == 0 {
		t.Errorf("there is no index: %v", err)
	}
}

// Whatever happens to the logs, the index does not show. Each step changes some
// logs, or the index itself.
func TestIndexFollowsEdits(t *testing.T) {
	cache := withIndex(t)
	var texts []string
	for _, dir := range []string{"testdata/codexhome", "testdata/quickstart", "parse/rollout/testdata"} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if b, e := os.ReadFile(path); e == nil && d.Name() != "auth.json" {
				texts = append(texts, string(b))
			}
			return err
		})
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			e := &edits{t: t, Rand: r, dir: t.TempDir(), texts: texts}
			for range 6 {
				e.fresh()
			}
			for step := range 25 {
				what := e.step(cache)
				time.Sleep(5 * time.Millisecond) // the clock of the file system goes on
				agree(t, fmt.Sprintf("step %d: %s", step, what), e.dir)
			}
		})
	}
}

// edits do to a directory of logs what happens to such.
type edits struct {
	*rand.Rand
	t     *testing.T
	dir   string
	texts []string
	logs  []edited
}

// An edited log holds the first n bytes of a text.
type edited struct {
	path, text string
	n          int
}

func (e *edits) fresh() {
	names := []string{"rollout-2026-09-10T09-00-%02d-x.jsonl", "rollout-2026-09-11T09-00-%02d-x.jsonl", "%02d.jsonl", "%02d.log"}
	text := e.texts[e.IntN(len(e.texts))]
	l := edited{filepath.Join(e.dir, fmt.Sprintf(names[e.IntN(len(names))], len(e.logs))), text, e.IntN(len(text) + 1)}
	e.logs = append(e.logs, l)
	e.write(l)
}

func (e *edits) write(l edited) {
	if err := os.WriteFile(l.path, []byte(l.text[:l.n]), 0o644); err != nil {
		e.t.Fatal(err)
	}
}

// step makes one change and says which.
func (e *edits) step(cache string) string {
	l := &e.logs[e.IntN(len(e.logs))]
	switch what := e.IntN(12); what {
	case 0:
		e.fresh()
		return "new"
	case 1:
		os.Remove(l.path)
		return "removed"
	case 2:
		l.n = e.IntN(l.n + 1)
		e.write(*l)
		return "written anew, shorter"
	case 3:
		os.Truncate(l.path, int64(e.IntN(l.n+1)))
		return "truncated"
	case 4:
		l.text = e.texts[e.IntN(len(e.texts))]
		l.n = len(l.text)
		os.WriteFile(l.path+".new", []byte(l.text), 0o644)
		os.Rename(l.path+".new", l.path)
		return "replaced"
	case 5:
		b := []byte(l.text[:l.n])
		for i := range b {
			if b[i] >= '0' && b[i] <= '9' && e.IntN(20) == 0 {
				b[i] = byte('0' + e.IntN(10))
			}
		}
		info, _ := os.Stat(l.path)
		l.text = string(b) + l.text[l.n:]
		e.write(*l)
		if info != nil {
			os.Chtimes(l.path, info.ModTime(), info.ModTime())
		}
		return "same size, same time"
	case 6:
		damage(e, cache)
		return "the index was damaged"
	default:
		info, err := os.Stat(l.path)
		if err != nil || info.Size() != int64(l.n) {
			e.write(*l)
			return "written anew"
		}
		from := l.n
		l.n += e.IntN(len(l.text) - l.n + 1)
		if e.IntN(2) == 0 { // whole lines
			l.n = from + strings.LastIndexByte(l.text[from:l.n], '\n') + 1
		}
		f, err := os.OpenFile(l.path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			e.t.Fatal(err)
		}
		defer f.Close()
		f.WriteString(l.text[from:l.n])
		return fmt.Sprintf("appended %d bytes to %s", l.n-from, filepath.Base(l.path))
	}
}

func damage(e *edits, cache string) {
	files, _ := filepath.Glob(filepath.Join(cache, "*.index"))
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			continue
		}
		if e.IntN(2) == 0 {
			b[e.IntN(len(b))] ^= byte(1 + e.IntN(255))
		} else {
			b = b[:e.IntN(len(b))]
		}
		os.WriteFile(path, b, 0o600)
	}
}

func TestRunsAtOnceShareTheIndex(t *testing.T) {
	withIndex(t)
	want := codexlag(t, "", "--no-cache", "--format", "json", "testdata/codexhome")
	var runs sync.WaitGroup
	for range 6 {
		runs.Go(func() {
			var out, err bytes.Buffer
			if code := run(t.Context(), strings.NewReader(""), &out, &err, []string{"--format", "json", "testdata/codexhome"}); code != want.code || out.String() != want.stdout {
				t.Errorf("exit %d: %s", code, firstDifference(out.String(), want.stdout))
			}
		})
	}
	runs.Wait()
}

// Times without a zone are read anew where another zone holds.
func TestIndexKnowsTheZone(t *testing.T) {
	withIndex(t)
	log := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(log, []byte("2026-09-10T09:00:00 [request] first_token_ms=320 total_tokens=2180 total_ms=48200\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, zone := range []string{"UTC", "UTC", "Asia/Tokyo", "Asia/Tokyo", "UTC"} {
		want := codexlag(t, "", "requests", "--no-cache", "--format", "ndjson", "--timezone", zone, log)
		if got := codexlag(t, "", "requests", "--format", "ndjson", "--timezone", zone, log); got != want {
			t.Errorf("%s: %s", zone, firstDifference(got.stdout, want.stdout))
		}
	}
}

func TestNoPlaceForTheIndex(t *testing.T) {
	withIndex(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	agree(t, "no place", "testdata/quickstart")
}

func TestCacheClear(t *testing.T) {
	cache := withIndex(t)
	if got := codexlag(t, "", "cache", "clear"); got.code != exitOK || !strings.HasPrefix(got.stdout, "removed 0 files") {
		t.Errorf("nothing there: %+v", got)
	}
	codexlag(t, "", "--no-cache", "testdata/quickstart")
	if _, err := os.Stat(cache); err == nil {
		t.Error("--no-cache writes an index")
	}
	codexlag(t, "", "testdata/quickstart")
	if got := codexlag(t, "", "cache", "clear"); got.code != exitOK || !strings.HasPrefix(got.stdout, "removed 1 file ") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(cache); err == nil {
		t.Error("the directory is still there")
	}
}

// The index holds no word that anybody wrote.
func TestNothingPrivateIsInTheIndex(t *testing.T) {
	cache := withIndex(t)
	codexlag(t, "", "testdata/codexhome")
	files, _ := filepath.Glob(filepath.Join(cache, "*"))
	for _, path := range files {
		if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, []byte("SECRET")) {
			t.Errorf("%s: %v, or a secret is in it", path, err)
		}
	}
	if len(files) == 0 {
		t.Error("there is no index")
	}
}
