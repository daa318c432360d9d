//go:build unix

package main

import (
	"strings"
	"testing"
)

// On a narrow terminal, or where COLUMNS asks for one, what does not fit as a
// table is written row by row; nothing is wider, and no figure is cut.
func TestNarrowTerminal(t *testing.T) {
	const log = "testdata/quickstart/gateway.log"
	for _, c := range []struct {
		name    string
		columns int
		env     []string
		args    []string
		want    []string
	}{
		{"40 columns", 40, nil, []string{"--by", "model", log}, []string{log + ":8\n  Ended (UTC): 2026-11-24 09:44:59;\n", "  TPS, tok/s: 35.9 ± <0.1 %;\n", "Metric   "}},
		{"50 columns", 50, nil, []string{"--by", "model", log}, []string{log + ":8\n", "(too narrow for: "}},
		{"COLUMNS", 120, []string{"COLUMNS=40"}, []string{"--by", "model", log}, []string{log + ":8\n"}},
		{"COLUMNS beyond the terminal", 40, []string{"COLUMNS=200"}, []string{log}, []string{log + ":8\n"}},
		{"requests", 40, nil, []string{"requests", log}, []string{log + ":8\n  ENDED: 2026-11-24 09:44:59;\n"}},
		{"compare", 50, nil, []string{"compare", beforeLogs, afterLogs}, []string{"Metric: TTFT\n  Before p50: 1.21 s;\n", "Change: +39 %; Test: p<0.001 n=40+40;"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			screen := openConsole(t, c.columns, 50, append([]string{"NO_COLOR=1", "LANG=C.UTF-8"}, c.env...), append(c.args, "--no-progress")...)
			<-screen.over
			if err := screen.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(screen.written(), "\r\n", "\n")
			for line := range strings.Lines(text) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > min(c.columns, 50) {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("lacks %q:\n%s", want, text)
				}
			}
		})
	}
}
