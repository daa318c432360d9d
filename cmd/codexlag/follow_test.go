package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A buffer can be read while the program writes to it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A following is a call of the program with --follow under way.
type following struct {
	t              *testing.T
	stdout, stderr buffer
	interrupt      context.CancelFunc
	code           chan int
}

// followed runs the program with --follow until end is called.
func followed(t *testing.T, args ...string) *following {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{t: t, interrupt: cancel, code: make(chan int, 1)}
	go func() {
		f.code <- run(ctx, strings.NewReader(""), &f.stdout, &f.stderr, append([]string{"--follow"}, args...))
	}()
	t.Cleanup(cancel)
	return f
}

// end interrupts the program and returns its exit code.
func (f *following) end() int {
	f.t.Helper()
	f.interrupt()
	select {
	case code := <-f.code:
		return code
	case <-time.After(patient):
		f.t.Fatalf("does not end; stdout %q, stderr %q", f.stdout.String(), f.stderr.String())
		return 0
	}
}

// patient is how long a test waits for what should come at once.
const patient = 30 * time.Second

// await waits until what says yes.
func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patient); !yes(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// awaitOutput waits until the standard output contains s.
func (f *following) awaitOutput(s string) {
	f.t.Helper()
	await(f.t, s, func() bool { return strings.Contains(f.stdout.String(), s) })
}

// A logFile grows while it is followed.
type logFile struct {
	t    *testing.T
	path string
}

func newLog(t *testing.T, lines ...string) *logFile {
	l := &logFile{t: t, path: filepath.Join(t.TempDir(), "a.log")}
	l.add(lines...)
	return l
}

func (l *logFile) add(lines ...string) {
	l.t.Helper()
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	for _, line := range lines {
		fmt.Fprintln(f, line)
	}
}

// request is a request line.
func request(ttft, tokens, total int, more string) string {
	return fmt.Sprintf("[request] first_token_ms=%d total_tokens=%d total_ms=%d %s", ttft, tokens, total, more)
}

// readyFor waits until the program has read what was there: it writes the file
// of -o then.
func readyFor(t *testing.T, path string) {
	t.Helper()
	await(t, path, func() bool { _, err := os.Stat(path); return err == nil })
}

// Without a terminal there are plain lines of what is new, and at the end the
// report that reading the files afterwards gives.
func TestFollowInAPipe(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, "model=old"))
	copied := filepath.Join(t.TempDir(), "report.json")
	f := followed(t, "-o", copied, "-o", "-", "--format", "markdown", "--every", "1s", log.path)
	readyFor(t, copied)
	log.add(request(2840, 3, 3120, "model=gpt-x"))
	f.awaitOutput("gpt-x")
	log.add(request(320, 2180, 48200, "model=gpt-y"), request(7000, 900, 70000, "model=gpt-z"), `[request] status=429 model=gpt-f`)
	f.awaitOutput("gpt-f")
	if code := f.end(); code != exitOK {
		t.Fatalf("exit %d, stderr %q", code, f.stderr.String())
	}
	out := f.stdout.String()
	if strings.ContainsAny(out, "\x1b\r") {
		t.Error("escapes in a pipe")
	}
	lines, report, _ := strings.Cut(out, "#")
	var got []string
	for line := range strings.Lines(lines) {
		if fields := strings.Fields(line); len(fields) > 1 {
			got = append(got, strings.Join(fields[1:], " "))
		}
	}
	want := []string{
		"gpt-x TTFT 2.84 s 3 tok noisy prefill",
		"gpt-y TTFT 320 ms 2,180 tok 45.5 tok/s decode",
		"gpt-z TTFT 7.00 s 900 tok 14.3 tok/s decode slow start and stream",
		"gpt-f TTFT — — tok — failed (HTTP 429)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("lines:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	batch := codexlag(t, "", "--format", "markdown", log.path)
	if "#"+report != batch.stdout {
		t.Errorf("report differs from that of the files: %s", firstDifference("#"+report, batch.stdout))
	}
	data, err := os.ReadFile(copied)
	if batch := codexlag(t, "", "--format", "json", log.path); err != nil || string(data) != batch.stdout {
		t.Errorf("last -o differs from the report of the files: %v", err)
	}
	if f.stderr.String() != "" {
		t.Errorf("stderr %q", f.stderr.String())
	}
}

// The files of -o are written again while following, when there is news.
func TestFollowRewritesFiles(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, ""))
	out := filepath.Join(t.TempDir(), "report.md")
	f := followed(t, "-o", out, "--every", "1s", log.path)
	readyFor(t, out)
	stat := func() os.FileInfo {
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	holds := func(s string) func() bool {
		return func() bool {
			data, err := os.ReadFile(out)
			return err == nil && strings.Contains(string(data), s)
		}
	}
	if !holds("1 request in 1 file")() {
		t.Fatal("first report is not that of the file")
	}
	log.add(request(500, 900, 9500, ""))
	await(t, "second report", holds("2 requests in 1 file"))
	before := stat()
	time.Sleep(2500 * time.Millisecond) // two chances to write it again
	if !os.SameFile(before, stat()) {
		t.Error("written again without news")
	}
	if code := f.end(); code != exitOK {
		t.Errorf("exit %d, stderr %q", code, f.stderr.String())
	}
}

func TestFollowNewOnly(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, "model=old"))
	f := followed(t, "--new-only", "--format", "json", log.path)
	time.Sleep(time.Second) // nothing tells from outside that the old was passed over
	log.add(request(500, 900, 9500, "model=new"))
	await(t, "line", func() bool { return strings.Contains(f.stderr.String(), "new ") })
	if code := f.end(); code != exitOK {
		t.Errorf("exit %d, stderr %q", code, f.stderr.String())
	}
	// JSON has to stay JSON: the lines are elsewhere.
	if out := f.stdout.String(); !strings.HasPrefix(out, "{") || !strings.Contains(out, `"requests": 1,`) && !strings.Contains(out, `"requests":1,`) {
		t.Errorf("stdout %.300s", out)
	}
}

// Interrupted before all was read that was there, it has nothing to report.
func TestFollowInterruptedAtTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr buffer
	code := run(ctx, strings.NewReader(""), &stdout, &stderr, []string{"--follow", newLog(t, request(400, 800, 9400, "")).path})
	if code != exitInterrupted || stdout.String() != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

// Following standard input ends with it.
func TestFollowStandardInput(t *testing.T) {
	var stdout, stderr buffer
	code := run(t.Context(), strings.NewReader(request(400, 800, 9400, "model=piped")+"\n"), &stdout, &stderr, []string{"--follow", "-"})
	if code != exitOK || !strings.Contains(stdout.String(), "1 request in 1 file") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

func TestFollowFilters(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, "model=a"))
	out := filepath.Join(t.TempDir(), "r.json")
	f := followed(t, "--model", "a", "-o", out, log.path)
	readyFor(t, out)
	log.add(request(500, 900, 9500, "model=b"), request(600, 900, 9600, "model=a"))
	f.awaitOutput("600 ms")
	if f.end(); strings.Contains(f.stdout.String(), "500 ms") {
		t.Errorf("shows what the filters leave out: %q", f.stdout.String())
	}
}

func TestFollowExitCodes(t *testing.T) {
	taken := followed(t, "--listen", "127.0.0.1:0", newLog(t).path)
	var addr string
	await(t, "address", func() bool {
		_, rest, ok := strings.Cut(taken.stderr.String(), "metrics on http://")
		addr, _, _ = strings.Cut(rest, "/")
		return ok && addr != ""
	})
	log := newLog(t, request(9400, 800, 19400, "")).path
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a gate", []string{"--slo-min", "90%", log}, exitGate, "keep the limits"},
		{"nothing to report", []string{newLog(t).path}, exitNothing, "nothing usable"},
		{"too often", []string{"--every", "1ms", log}, exitUsage, "--every"},
		{"no address", []string{"--listen", "nonsense", log}, exitUsage, "127.0.0.1:9464"},
		{"open to others", []string{"--listen", "0.0.0.0:0", log}, exitUsage, "--listen-any"},
		{"every address", []string{"--listen", ":0", log}, exitUsage, "--listen-any"},
		{"an address in use", []string{"--listen", addr, log}, exitIO, "another port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "x.md")
			f := followed(t, append(c.args, "-o", out)...)
			switch c.code {
			case exitGate:
				readyFor(t, out)
			case exitNothing:
				time.Sleep(2 * time.Second) // nothing tells from outside that there is nothing
			}
			if code := f.end(); code != c.code || !strings.Contains(f.stderr.String(), c.says) {
				t.Errorf("exit %d, want %d; stderr %q", code, c.code, f.stderr.String())
			}
		})
	}
	if got := codexlag(t, "", "--listen", "127.0.0.1:0", log); got.code != exitOK || !strings.Contains(got.stderr, "--follow") {
		t.Errorf("--listen alone: exit %d, stderr %q", got.code, got.stderr)
	}
}

// Session files that come while they are followed give the report of these
// files.
func TestFollowATree(t *testing.T) {
	const sessions = "testdata/codexhome/sessions"
	tree, out := t.TempDir(), filepath.Join(t.TempDir(), "r.json")
	log := logFile{t: t, path: filepath.Join(tree, "gateway.log")}
	log.add(request(400, 800, 9400, ""))
	f := followed(t, "--by", "model", "-o", out, "--every", "1s", tree)
	readyFor(t, out)
	if err := os.CopyFS(filepath.Join(tree, "sessions"), os.DirFS(sessions)); err != nil {
		t.Fatal(err)
	}
	batch := codexlag(t, "", "--by", "model", "--format", "json", tree)
	var report struct{ Overall struct{ Requests int } }
	if err := json.Unmarshal([]byte(batch.stdout), &report); err != nil || report.Overall.Requests < 10 {
		t.Fatalf("%v, %d requests", err, report.Overall.Requests)
	}
	await(t, "all requests", func() bool { // one was there before
		return strings.Count(f.stdout.String(), "\n") >= report.Overall.Requests-1
	})
	if code := f.end(); code != exitOK {
		t.Fatalf("exit %d, stderr %q", code, f.stderr.String())
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != batch.stdout {
		t.Errorf("%v; report differs from that of the files: %s", err, firstDifference(string(data), batch.stdout))
	}
}
