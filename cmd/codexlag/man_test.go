package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The page is sound roff, and has every command and every flag.
func TestManualPage(t *testing.T) {
	page := codexlag(t, "", "man")
	if page.code != exitOK {
		t.Fatalf("%+v", page)
	}
	for _, want := range []string{`\-\-slo\-min=SHARE`, `\-\-anonymize`, `\-\-fail\-on=CONDITION`, "codexlag explain", "CODEX_HOME", "EXIT STATUS", ".TP\n.B 130\n"} {
		if !strings.Contains(page.stdout, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(page.stdout, "__complete") {
		t.Error("a hidden command shows")
	}
	for _, check := range [][]string{{"mandoc", "-T", "lint"}, {"groff", "-man", "-ww", "-z", "-Tutf8"}} {
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("no %s here", check[0])
			continue
		}
		cmd := exec.Command(check[0], check[1:]...)
		cmd.Stdin = strings.NewReader(page.stdout)
		out, _ := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "missing date") { // a build without a commit has none
				t.Errorf("%s: %s", check[0], line)
			}
		}
	}
}

func TestRoff(t *testing.T) {
	for s, want := range map[string]string{"a-b": `a\-b`, ".x": `\&.x`, `\`: `\e`, "'x": `\(aqx`, "": ""} {
		if got := roff(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
