//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A log and a pipe that stays open: the work goes on for as long as the test wants.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   []string
		args  []string
		shown bool
	}{
		{"on a terminal", nil, nil, true},
		{"in CI", []string{"CI=true"}, nil, false},
		{"quiet", nil, []string{"--quiet"}, false},
		{"without", nil, []string{"--no-progress"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			log, pipe := filepath.Join(dir, "a.log"), filepath.Join(dir, "pipe")
			if err := os.WriteFile(log, []byte(strings.Repeat(request(300, 900, 5000, ""), 100)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skipf("no pipe: %v", err)
			}
			screen := openConsole(t, 100, 30, c.env, append([]string{"--format", "csv", log, pipe}, c.args...)...)
			w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if c.shown {
				await(t, "a bar with share and bytes", func() bool {
					s := screen.shows()
					return strings.Contains(s, "reading logs") && strings.Contains(s, "%") && strings.Contains(s, "kB")
				})
			} else {
				time.Sleep(2 * progressAfter)
				if s := screen.written(); s != "" {
					t.Errorf("%q is written", s)
				}
			}
			w.Close()
			<-screen.over
			if err := screen.cmd.Wait(); err != nil {
				t.Error(err)
			}
			if s := screen.shows(); strings.Contains(s, "reading logs") || !strings.Contains(s, "ttft") {
				t.Errorf("at the end it shows %q", s)
			}
		})
	}
}
