package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestColor(t *testing.T) {
	const logs = "testdata/quickstart"
	escaped := func(args ...string) bool {
		t.Helper()
		got := codexlag(t, "", args...)
		if got.code != exitOK {
			t.Fatalf("%v: %+v", args, got)
		}
		return strings.Contains(got.stdout, "\x1b[")
	}
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{logs}, false},
		{[]string{"--format", "text", logs}, false},
		{[]string{"--color", "always", logs}, true}, // text without asking
		{[]string{"--color", "always", "--format", "markdown", logs}, false},
		{[]string{"--color", "always", "--no-color", "--format", "text", logs}, false},
		{[]string{"--color", "never", "--format", "text", logs}, false},
		{[]string{"requests", "--color", "always", logs}, true},
		{[]string{"requests", "--color", "always", "--format", "csv", logs}, false},
		{[]string{"files", "--color", "always", logs}, true},
		{[]string{"compare", "--color", "always", beforeLogs, afterLogs}, true},
		{[]string{"explain", "--color", "always", logs + "/nightly.jsonl"}, true},
	} {
		if got := escaped(c.args...); got != c.want {
			t.Errorf("%v: coloured %v, want %v", c.args, got, c.want)
		}
	}
	t.Setenv("NO_COLOR", "1")
	if !escaped("--color", "always", logs) {
		t.Error("NO_COLOR beats a flag")
	}
	t.Setenv("CODEXLAG_COLOR", "always")
	if escaped("--color", "auto", logs) || !escaped(logs) {
		t.Error("CODEXLAG_COLOR is not --color")
	}
	file := write(t, t.TempDir(), "c.toml", "no-color = true")
	if !escaped("--config", file, logs) { // the variable counts more than the file
		t.Error("no-color of a file beats CODEXLAG_COLOR")
	}
	t.Setenv("CODEXLAG_COLOR", "")
	if escaped("--config", file, "--format", "text", logs) || !escaped("--config", file, "--color", "always", logs) {
		t.Error("no-color of a file does nothing, or beats --color")
	}
	if got := codexlag(t, "", "--color", "yes", logs); got.code != exitUsage {
		t.Errorf("%+v", got)
	}
}

// Every line that is coloured ends without colour: a pager shows lines one by one.
func TestColorEndsWithTheLine(t *testing.T) {
	for _, args := range [][]string{{"testdata/quickstart"}, {"requests", "testdata/quickstart"}, {"files", "testdata/codexhome"}, {"compare", beforeLogs, afterLogs}} {
		for line := range strings.Lines(codexlag(t, "", append(args, "--color", "always")...).stdout) {
			if i := strings.LastIndex(line, "\x1b["); i >= 0 && !strings.HasPrefix(line[i:], "\x1b[0m") {
				t.Errorf("%v: %q", args, line)
			}
		}
	}
}

func TestDelayedWriter(t *testing.T) {
	var b bytes.Buffer
	early, late := &delayed{&b, time.Now().Add(time.Hour)}, &delayed{&b, time.Now().Add(-time.Second)}
	if n, err := early.Write([]byte("no")); n != 2 || err != nil || b.Len() > 0 {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
	if n, err := late.Write([]byte("yes")); n != 3 || err != nil || b.String() != "yes" {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
}

// Mistakes that are nearly right are told what is right.
func TestDidYouMean(t *testing.T) {
	const logs = "testdata/quickstart"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--by", "modle", logs}, `did you mean "model"?`},
		{[]string{"--where", "sesion=x", logs}, `did you mean "session"?`},
		{[]string{"--format", "jsn", logs}, `did you mean "json"?`},
		{[]string{"--slo", "ttf=3s", logs}, `did you mean "ttft"?`},
		{[]string{"--min-token", "3", logs}, `did you mean "--min-tokens"?`},
		{[]string{"compare", "--fail-on", "ttfl:p90>3s", logs, logs}, `did you mean "ttft"?`},
		{[]string{"compare", "--by", "labels", logs, logs}, `did you mean "label"?`},
		{[]string{"completion", "bsh"}, `did you mean "bash"?`},
		{[]string{"schema", "requests"}, `did you mean "request"?`},
		{[]string{"licenes"}, `did you mean the command "licenses"?`},
	} {
		if got := codexlag(t, "", c.args...); got.code == exitOK || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: exit %d, %q", c.args, got.code, got.stderr)
		}
	}
}

// A file of requests appears whole or not at all, and a run that fails leaves the old one.
func TestRequestsFileIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "r.csv", "old")
	for _, args := range [][]string{{"--since", "soon"}, {"--jobs", "-1"}} {
		got := codexlag(t, "", append([]string{"requests", "-o", path, "testdata/quickstart"}, args...)...)
		if b, err := os.ReadFile(path); got.code != exitUsage || err != nil || string(b) != "old" {
			t.Errorf("%v: %+v, %v, %.20q", args, got, err, b)
		}
	}
	if got := codexlag(t, "", "requests", "-o", path, "testdata/quickstart"); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), "source,") {
		t.Errorf("%v, %.20q", err, b)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	got := codexlag(t, "", "requests", "-o", filepath.Join(dir, "none", "r.csv"), "testdata/quickstart")
	if got.code != exitIO || !strings.Contains(got.stderr, filepath.Join("none", "r.csv")) {
		t.Errorf("%+v", got)
	}
}
