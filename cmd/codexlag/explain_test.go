package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const session = "testdata/codexhome/sessions/2026/09/14/rollout-2026-09-14T08-00-00-01a09eee-1c00-7000-8000-00000000a001.jsonl"

func TestExplain(t *testing.T) {
	golden(t, "explain-request.md", "explain", "testdata/quickstart/experiment-long-input.log:3")
	golden(t, "explain-burst.md", "explain", "testdata/quickstart/gateway.log:36")
	golden(t, "explain-request-of-a-turn.txt", "explain", "--format", "text", session+":120")
	golden(t, "explain-turn.txt", "explain", "--format", "text", session+":134")
}

func TestExplainFinds(t *testing.T) {
	for _, c := range []struct {
		name, place  string
		code         int
		stdout, says string
	}{
		{"the slowest without a line", session, exitOK, "jsonl:120", "slowest of 21"},
		{"a request of a fork or copy by its own line", session + ":120", exitOK, "451 tokens", ""},
		{"a line inside a turn", session + ":121", exitOK, "Turn that ends at", ""},
		{"a failed request", "testdata/quickstart/gateway.log:62", exitOK, "that such requests took; reason in the log: timeout |", ""},
		{"a request turned away", "testdata/quickstart/gateway.log:21", exitOK, "; HTTP status 429", ""},
		{"a line without a request", "testdata/quickstart/gateway.log:1", exitNothing, "", "codexlag requests testdata/quickstart/gateway.log"},
		{"a line beyond the end", session + ":9999", exitNothing, "", "no request"},
		{"a missing file", "testdata/none.log:3", exitIO, "", "none.log"},
		{"a file without requests", filepath.Join("testdata", "codexhome", "exec.jsonl"), exitNothing, "", "codex exec"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := codexlag(t, "", "explain", c.place)
			if got.code != c.code || !strings.Contains(got.stdout, c.stdout) || !strings.Contains(got.stderr, c.says) {
				t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// With the other logs behind it, a request is what the report says it is.
func TestExplainWithOtherLogs(t *testing.T) {
	const place = "testdata/codexhome/sessions/2026/09/14/rollout-2026-09-14T08-00-00-01a09eee-1c00-7000-8000-00000000a001.jsonl:120"
	alone, joined := codexlag(t, "", "explain", place), codexlag(t, "", "explain", place, "testdata/codexhome")
	if !strings.Contains(alone.stdout, "estimated") || !strings.Contains(alone.stderr, "from this log alone") {
		t.Errorf("alone: %s%s", alone.stderr, alone.stdout)
	}
	if !strings.Contains(joined.stdout, "3169 ms") || !strings.Contains(joined.stdout, "told by a trace and a session file") || joined.stderr != "" {
		t.Errorf("joined: %s%s", joined.stderr, joined.stdout)
	}
}
