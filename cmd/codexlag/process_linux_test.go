package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// These helpers run the program as it is released, in a process of its own, for
// tests of what the operating system does to it.

// userCache is what TestMain sets anew.
var userCache = os.Getenv("XDG_CACHE_HOME")

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "codexlag-test-program-")
	if err == nil {
		atEnd = append(atEnd, func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755) // for a test that is another user
	}
	path := filepath.Join(dir, "codexlag")
	if err == nil {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/codexlag")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "XDG_CACHE_HOME="+userCache) // where the compiler keeps what it made
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	return path, err
})

// released returns the path of the program, built as it is for a release.
func released(t *testing.T) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A call is the program, called in some circumstances.
type call struct {
	stdin  io.Reader
	stdout *os.File // instead of keeping what comes
	env    []string
	under  []string // a command that runs the program: prlimit, strace
	change func(*exec.Cmd)
	args   []string
}

// An outcome is a result, with what the process took.
type outcome struct {
	result
	killed bool  // ended by a signal
	peak   int64 // of memory, in bytes; 0 where it was over too soon to tell
}

// do runs the program to its end.
func (c call) do(t *testing.T) outcome {
	t.Helper()
	words := append(append([]string{}, c.under...), released(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	words = append(words, c.args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	var out, told bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, &out, &told
	if c.stdout != nil {
		cmd.Stdout = c.stdout
	}
	if c.change != nil {
		c.change(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	peak := make(chan int64)
	go watchMemory(cmd.Process.Pid, over, peak)
	err := cmd.Wait()
	close(over)
	o := outcome{peak: <-peak}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%v does not end", c.args)
	}
	o.code, o.killed = cmd.ProcessState.ExitCode(), cmd.ProcessState.ExitCode() < 0
	o.stdout, o.stderr = out.String(), told.String()
	return o
}

// watchMemory sends the peak of a process's memory when over is closed. (What
// wait(2) tells of a child begins with the size of its parent.)
func watchMemory(pid int, over <-chan struct{}, peak chan<- int64) {
	var most int64
	for {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			if _, rest, ok := strings.Cut(string(b), "VmHWM:"); ok {
				var kib int64
				fmt.Sscan(rest, &kib)
				most = max(most, kib<<10)
			}
		}
		select {
		case <-over:
			peak <- most
			return
		case <-time.After(3 * time.Millisecond):
		}
	}
}

// asRoot skips a test that needs what only root may.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

// needs skips a test where a program is not installed.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip("needs " + program)
	}
}

// openDir returns a new directory that other users may look into.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "codexlag-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
