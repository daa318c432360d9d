//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// program is the program as a process of its own, without what the environment
// of the test says of terminals.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "TERM", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "CI":
		default:
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, beProgram+"=1", "TERM=xterm-256color")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// A console is a terminal in which the program runs.
type console struct {
	t      *testing.T
	cmd    *exec.Cmd
	pty    *os.File
	screen vt10x.Terminal
	mu     sync.Mutex
	raw    bytes.Buffer // all that the program wrote
	over   chan struct{}
}

func openConsole(t *testing.T, columns, rows int, env []string, args ...string) *console {
	t.Helper()
	c := &console{t: t, cmd: program(t, env, args...), screen: vt10x.New(vt10x.WithSize(columns, rows)), over: make(chan struct{})}
	f, err := pty.StartWithSize(c.cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	c.pty = f
	go func() {
		defer close(c.over)
		b := make([]byte, 1<<16)
		for {
			n, err := f.Read(b)
			c.mu.Lock()
			c.raw.Write(b[:n])
			c.screen.Write(b[:n])
			c.mu.Unlock()
			if err != nil { // EIO when the program is gone
				return
			}
		}
	}()
	t.Cleanup(func() { c.cmd.Process.Kill(); f.Close() })
	return c
}

var clock = regexp.MustCompile(`\d\d:\d\d:\d\d`)

// shows returns what stands on the screen, with its times of day made alike.
func (c *console) shows() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for line := range strings.Lines(c.screen.String()) {
		lines = append(lines, strings.TrimRight(clock.ReplaceAllString(line, "hh:mm:ss"), " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (c *console) written() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// awaitScreen waits until the screen shows want, and nothing else.
func (c *console) awaitScreen(want string) {
	c.t.Helper()
	want = strings.Trim(want, "\n")
	for deadline := time.Now().Add(patient); c.shows() != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("the screen shows\n%s\n\nwant\n%s", c.shows(), want)
		}
	}
}

func (c *console) resize(columns, rows int) {
	c.mu.Lock()
	c.screen.Resize(columns, rows)
	c.mu.Unlock()
	if err := pty.Setsize(c.pty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		c.t.Fatal(err)
	}
}

// end types Ctrl-C and returns how the program ended.
func (c *console) end() error {
	io.WriteString(c.pty, "\x03")
	<-c.over
	return c.cmd.Wait()
}

var someRequests = []string{
	request(2840, 3, 3120, "model=gpt-x"), request(320, 2180, 48200, "model=gpt-x"), request(7000, 900, 70000, "model=gpt-x-codex"),
	request(640, 1200, 20640, "model=wide-名前"), `[request] status=429 model=gpt-x`,
}

func TestFollowOnATerminal(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, "model=old"))
	c := openConsole(t, 120, 14, []string{"LANG=C.UTF-8"}, "--follow", log.path)
	c.awaitScreen(`
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
            n  TTFT p50      p90  TPS clean  pooled  prefill  decode  unsplit  in flight  failed  SLO met
last 5 min  0         —        —          —       —        —       —        —          —       0        —
last hour   0         —        —          —       —        —       —        —          —       0        —
all         1   400 ms*  400 ms*       88.9    88.9    4.3 %  95.7 %      0 %          —       0    100 %
1 file followed  Ctrl-C ends it with the report`)
	log.add(someRequests...)
	c.awaitScreen(`
hh:mm:ss  gpt-x             TTFT   2.84 s       3 tok        noisy  prefill
hh:mm:ss  gpt-x             TTFT   320 ms   2,180 tok   45.5 tok/s  decode
hh:mm:ss  gpt-x-codex       TTFT   7.00 s     900 tok   14.3 tok/s  decode    slow start and stream
hh:mm:ss  wide-名前         TTFT   640 ms   1,200 tok   60.0 tok/s  decode
hh:mm:ss  gpt-x             TTFT        —       — tok            —  failed (HTTP 429)
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
            n  TTFT p50      p90  TPS clean  pooled  prefill  decode  unsplit  in flight  failed  SLO met
last 5 min  5    1.74 s  5.75 s*       45.5    32.7    7.6 %  92.4 %      0 %       0.47       1   60.0 %
last hour   5    1.74 s  5.75 s*       45.5    32.7    7.6 %  92.4 %      0 %       0.04       1   60.0 %
all         6    640 ms  5.34 s*       52.8    36.3    7.4 %  92.6 %      0 %          —       1   66.7 %
TTFT ▄▁█▁  last 4, 320 ms to 7.00 s
1 file followed  Ctrl-C ends it with the report`)
	c.resize(60, 10)
	c.awaitScreen(`
TTFT   7.00 s   14.3 tok/s  decode    slow start and stream
TTFT   640 ms   1,200 tok   60.0 tok/s  decode
TTFT        —       — tok            —  failed (HTTP 429)
───────────────────────────────────────────────────────────
            n  TTFT p50      p90  TPS clean  pooled
last 5 min  5    1.74 s  5.75 s*       45.5    32.7
last hour   5    1.74 s  5.75 s*       45.5    32.7
all         6    640 ms  5.34 s*       52.8    36.3
TTFT ▄▁█▁  last 4, 320 ms to 7.00 s
1 file followed  Ctrl-C ends it with the report`)
	c.resize(20, 7)
	c.awaitScreen(`
TTFT        —  faile
───────────────────
            n  TTFT
last 5 min  5    1.
last hour   5    1.
all         6    64
TTFT ▄▁█▁`)
	c.resize(30, 4)
	c.awaitScreen(`
TTFT   7.00 s  decode    slow
TTFT   640 ms  decode
TTFT        —  failed (HTTP 42
last 5 min  5    1.74 s`)
	c.resize(10, 2)
	c.awaitScreen(`
TTFT
last 5 mi`)
	if err := c.end(); err != nil {
		t.Errorf("Ctrl-C ends with %v", err)
	}
	if out := c.written(); !strings.Contains(out, "\x1b[35m") {
		t.Error("no colours")
	}
}

func TestFollowPlainTerminal(t *testing.T) {
	log := newLog(t)
	c := openConsole(t, 60, 12, []string{"LANG=C", "NO_COLOR=1"}, "--follow", log.path)
	await(t, "footer", func() bool { return strings.Contains(c.shows(), "Ctrl-C") })
	log.add(someRequests...)
	c.awaitScreen(`
TTFT   2.84 s       3 tok        noisy  prefill
TTFT   320 ms   2,180 tok   45.5 tok/s  decode
TTFT   7.00 s   14.3 tok/s  decode    slow start and stream
TTFT   640 ms   1,200 tok   60.0 tok/s  decode
TTFT        -       - tok            -  failed (HTTP 429)
-----------------------------------------------------------
            n  TTFT p50      p90  TPS clean  pooled
last 5 min  5    1.74 s  5.75 s*       45.5    32.7
last hour   5    1.74 s  5.75 s*       45.5    32.7
all         5    1.74 s  5.75 s*       45.5    32.7
TTFT ~_#_  last 4, 320 ms to 7.00 s
1 file followed  Ctrl-C ends it with the report`)
	if err := c.end(); err != nil {
		t.Errorf("Ctrl-C ends with %v", err)
	}
	if out := c.written(); strings.Contains(out, "\x1b[3") || strings.ContainsFunc(out, func(r rune) bool { return r >= 0x80 }) {
		t.Errorf("colours, or no ASCII: %q", out)
	}
}

// A terminal that knows nothing gets what a pipe gets.
func TestFollowDumbTerminal(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, ""))
	out := filepath.Join(t.TempDir(), "r.md")
	c := openConsole(t, 60, 12, []string{"LANG=C", "TERM=dumb"}, "--follow", "-o", out, log.path)
	readyFor(t, out)
	log.add(someRequests...)
	await(t, "line", func() bool { return strings.Contains(c.written(), "HTTP 429") })
	if err := c.end(); err != nil {
		t.Errorf("Ctrl-C ends with %v", err)
	}
	if out := c.written(); strings.Contains(out, "\x1b") {
		t.Errorf("escapes: %q", out)
	}
}

// What a log says cannot move the cursor.
func TestFollowHostileModel(t *testing.T) {
	log := newLog(t)
	c := openConsole(t, 100, 12, []string{"LANG=C.UTF-8"}, "--follow", log.path)
	await(t, "footer", func() bool { return strings.Contains(c.shows(), "Ctrl-C") })
	log.add(`[request] {"first_token_ms":900,"total_tokens":800,"total_ms":9000,"model":"\u001b[2J\u001b]0;x\u0007"}`)
	await(t, "line", func() bool { return strings.Contains(c.shows(), "900 ms") })
	if err := c.end(); err != nil {
		t.Errorf("Ctrl-C ends with %v", err)
	}
	if out := c.written(); strings.Contains(out, "\x1b[2J") || strings.Contains(out, "\x1b]") {
		t.Errorf("obeys a log: %q", out)
	}
}

func TestFollowSignals(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, ""))
	out := filepath.Join(t.TempDir(), "r.md")
	cmd := program(t, nil, "--follow", "--every", "10m", "-o", out, log.path)
	var stdout, stderr buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	readyFor(t, out)
	log.add(request(500, 900, 9500, ""))
	await(t, "line", func() bool { return strings.Contains(stdout.String(), "500 ms") })

	holds := func(s string) bool {
		data, err := os.ReadFile(out)
		return err == nil && strings.Contains(string(data), s)
	}
	cmd.Process.Signal(syscall.SIGHUP)
	await(t, "the file written at a hang-up", func() bool { return holds("2 requests") })

	log.add(request(600, 900, 9600, ""))
	await(t, "line", func() bool { return strings.Contains(stdout.String(), "600 ms") })
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || !holds("3 requests") {
		t.Errorf("SIGTERM: %v, last report complete: %v, stderr %q", err, holds("3 requests"), stderr.String())
	}
}

// Where the program cannot end because nobody takes its output, the first
// Ctrl-C ends it after a while and the second at once.
func TestFollowSecondInterrupt(t *testing.T) {
	log := newLog(t)
	out := filepath.Join(t.TempDir(), "r.md")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := program(t, nil, "--follow", "-o", out, log.path)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer cmd.Process.Kill()
	lines := make([]string, 5000)
	for i := range lines {
		lines[i] = request(400, 900, 9500, "")
	}
	log.add(lines...)
	readyFor(t, out)
	log.add(lines...)
	time.Sleep(500 * time.Millisecond) // the pipe is full now
	cmd.Process.Signal(os.Interrupt)
	time.Sleep(100 * time.Millisecond)
	cmd.Process.Signal(os.Interrupt)
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("ends with %v, not by the signal", err)
	}
}

// Without its terminal the program goes on for the files of -o, and without
// these it ends.
func TestFollowLosesItsTerminal(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, ""))
	out := filepath.Join(t.TempDir(), "r.md")
	c := openConsole(t, 80, 12, nil, "--follow", "--every", "1s", "-o", out, log.path)
	readyFor(t, out)
	c.pty.Close() // hangs up once its last read is over
	log.add(request(500, 900, 9500, ""))
	<-c.over
	await(t, "the file written without a terminal", func() bool {
		data, err := os.ReadFile(out)
		return err == nil && strings.Contains(string(data), "2 requests")
	})
	c.cmd.Process.Signal(syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("ends with %v", err)
	}

	c = openConsole(t, 80, 12, nil, "--follow", log.path)
	await(t, "footer", func() bool { return strings.Contains(c.shows(), "Ctrl-C") })
	c.pty.Close()
	log.add(request(500, 900, 9500, ""))
	<-c.over
	log.add(request(600, 900, 9600, ""))
	if err := c.cmd.Wait(); err == nil {
		t.Error("exit 0 without anybody to tell")
	}
}
