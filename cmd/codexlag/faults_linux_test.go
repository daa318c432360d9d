package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// begin starts the program and returns it.
func (c call) begin(t *testing.T) (cmd *exec.Cmd, stdout, stderr *buffer) {
	t.Helper()
	cmd = exec.Command(released(t), c.args...)
	cmd.Env = append(os.Environ(), c.env...)
	stdout, stderr = new(buffer), new(buffer)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, stdout, stderr
}

// stop ends a follower as Ctrl-C does.
func stop(t *testing.T, cmd *exec.Cmd, stderr *buffer) {
	t.Helper()
	cmd.Process.Signal(os.Interrupt)
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case err := <-over:
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
	case <-time.After(patient):
		t.Fatal("does not end")
	}
}

// agedLogs are logs that are old enough for the index.
func agedLogs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/codexhome")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i := range 40 {
		name := fmt.Sprintf("d%d/rollout-2026-09-%02dT10-00-00-01a09eee-1c00-7000-8000-0000000%05d.jsonl", i%5, 1+i%20, i)
		text, err := os.ReadFile("testdata/codexhome/sessions/2026/07/02/rollout-2026-07-02T13-00-00-019f22ea-2c80-7000-8000-00000000a002.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, dir, name, strings.ReplaceAll(string(text), "019f22e", fmt.Sprintf("%07x", 0x19f0000+i)))
		os.Chtimes(path, old, old)
	}
	return dir
}

// Killed wherever it is, the program leaves a report that is whole, and an index
// that the next run can trust.
func TestKilled(t *testing.T) {
	logs, cache := agedLogs(t), t.TempDir()
	env := []string{"XDG_CACHE_HOME=" + cache}
	out := filepath.Join(t.TempDir(), "r.json")
	want := call{args: []string{"--no-cache", "--format", "json", logs}}.do(t)
	begun := time.Now()
	call{env: env, args: []string{"-o", out, logs}}.do(t)
	took := time.Since(begun)
	const times = 12
	for i := range times {
		os.RemoveAll(cache) // so that there is all to write again
		cmd, _, _ := call{env: env, args: []string{"-o", out, logs}}.begin(t)
		time.Sleep(took * time.Duration(i) / times)
		cmd.Process.Kill()
		cmd.Wait()
		if b, err := os.ReadFile(out); err != nil || string(b) != want.stdout {
			t.Fatalf("killed after %d/%d: %v, the report is not whole: %s", i, times, err, firstDifference(string(b), want.stdout))
		}
		for range 2 { // what the killed one left, then what this one wrote
			if got := (call{env: env, args: []string{"--format", "json", logs}}).do(t); got.result != want.result {
				t.Fatalf("killed after %d/%d: exit %d, %q, %s", i, times, got.code, got.stderr, firstDifference(got.stdout, want.stdout))
			}
		}
	}
}

// Several at once, with one index and one file to write: each writes all of it.
func TestSeveralAtOnce(t *testing.T) {
	logs := agedLogs(t)
	env := []string{"XDG_CACHE_HOME=" + t.TempDir()}
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	want := call{args: []string{"--no-cache", "--format", "json", logs}}.do(t)
	for range 4 {
		var runs sync.WaitGroup
		for range 4 {
			runs.Go(func() {
				if o := (call{env: env, args: []string{"-o", out, "-o", "-", "--format", "json", logs}}).do(t); o.result != want.result {
					t.Errorf("exit %d, %q, %s", o.code, o.stderr, firstDifference(o.stdout, want.stdout))
				}
			})
		}
		runs.Wait()
		if b, err := os.ReadFile(out); err != nil || string(b) != want.stdout {
			t.Errorf("%v, %s", err, firstDifference(string(b), want.stdout))
		}
	}
	if l := names(t, dir); l != "r.json" {
		t.Errorf("left: %s", l)
	}
}

// requestsIn counts the requests of a report in JSON.
func requestsIn(text string) int {
	var r struct{ Overall struct{ Requests int } }
	json.Unmarshal([]byte(text), &r)
	return r.Overall.Requests
}

// A follower that sleeps (its machine is suspended) while logs grow and are
// rotated loses nothing that is still there, and counts nothing twice.
func TestSuspended(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "r.json")
	log := &logFile{t: t, path: filepath.Join(dir, "app.log")}
	n := 0
	add := func(k int) {
		for range k {
			n++
			log.add(request(n, 800, 9400, ""))
		}
	}
	add(5)
	cmd, _, stderr := call{args: []string{"--follow", "--every", "1s", "-o", out, dir}}.begin(t)
	readyFor(t, out)
	for round := range 3 {
		cmd.Process.Signal(syscall.SIGSTOP)
		add(20)
		if round > 0 {
			if err := os.Rename(log.path, fmt.Sprintf("%s.%d", log.path, round)); err != nil {
				t.Fatal(err)
			}
			add(20)
		}
		time.Sleep(300 * time.Millisecond)
		cmd.Process.Signal(syscall.SIGCONT)
		add(1)
		await(t, fmt.Sprintf("%d requests", n), func() bool {
			b, _ := os.ReadFile(out)
			return requestsIn(string(b)) >= n
		})
	}
	stop(t, cmd, stderr)
	if b, _ := os.ReadFile(out); requestsIn(string(b)) != n {
		t.Errorf("%d requests, want %d", requestsIn(string(b)), n)
	}
}

// A disk that is full while following, and later is not: the file of -o is as it
// was until then, and up to date afterwards.
func TestFullDiskWhileFollowing(t *testing.T) {
	disk := smallDisk(t, 1024)
	out := filepath.Join(disk, "r.json")
	log := newLog(t, request(400, 800, 9400, ""))
	cmd, _, stderr := call{args: []string{"--follow", "--every", "1s", "-o", out, log.path}}.begin(t)
	readyFor(t, out)
	old, _ := os.ReadFile(out)
	free := fill(t, disk)
	log.add(request(500, 900, 9500, ""))
	await(t, "a word", func() bool { return strings.Contains(stderr.String(), "no space left on device; trying again") })
	if now, err := os.ReadFile(out); err != nil || !bytes.Equal(now, old) {
		t.Errorf("the file changed: %v", err)
	}
	free()
	await(t, "the file written", func() bool {
		b, _ := os.ReadFile(out)
		return requestsIn(string(b)) == 2
	})
	stop(t, cmd, stderr)
	if strings.Count(stderr.String(), "\n") != 1 || names(t, disk) != "r.json" {
		t.Errorf("stderr %q, on the disk %s", stderr.String(), names(t, disk))
	}
}

// The clock may jump: times of files and of requests in the future or long ago
// keep nothing from being read, followed and counted once.
func TestClockJumps(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "r.json")
	log := &logFile{t: t, path: filepath.Join(dir, "a.log")}
	log.add("2026-09-10T09:00:00Z " + request(400, 800, 9400, ""))
	env := []string{"XDG_CACHE_HOME=" + t.TempDir()}
	cmd, _, stderr := call{env: env, args: []string{"--follow", "--every", "1s", "-o", out, dir}}.begin(t)
	readyFor(t, out)
	n := 1
	for _, year := range []int{2099, 1971, 2026} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		n++
		log.add(at.Format(time.RFC3339) + " " + request(400, 800, 9400, ""))
		if err := os.Chtimes(log.path, at, at); err != nil {
			t.Fatal(err)
		}
		await(t, fmt.Sprint(year), func() bool {
			b, _ := os.ReadFile(out)
			return requestsIn(string(b)) == n
		})
		for range 2 {
			want := call{args: []string{"--no-cache", "--format", "json", dir}}.do(t)
			if got := (call{env: env, args: []string{"--format", "json", dir}}).do(t); got.result != want.result || requestsIn(got.stdout) != n {
				t.Errorf("%d: %d requests, exit %d, %s", year, requestsIn(got.stdout), got.code, firstDifference(got.stdout, want.stdout))
			}
		}
	}
	stop(t, cmd, stderr)
}
