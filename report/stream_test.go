package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"codexlag/analyze"
)

// The table of requests fits the screen, whatever is in it, and says what it left out.
func TestRequestTableFitsTheScreen(t *testing.T) {
	at := time.Date(2026, 9, 14, 8, 0, 0, 0, time.UTC)
	model, phase, number, tokens := "gpt-漢字漢字漢字漢字漢字-codex", "decode", 12345.6, int64(1234)
	requests := []*analyze.Request{
		{Source: "sessions/日本語のとても長いディレクトリ名/rollout-2026-09-14T08-00-00.jsonl:120", Time: &at, Model: &model, TTFT: &number, TTFTQuality: "bound", Total: &number, OutputTokens: &tokens, TPS: &number, Phase: &phase, Status: "ok", Flags: []analyze.Flag{analyze.FewTokens, analyze.ShortDecode, analyze.SlowStart}},
		{Source: "x:1", Status: "failed", Flags: []analyze.Flag{}},
	}
	write := func(o TextOptions) string {
		t.Helper()
		var b bytes.Buffer
		w, err := NewRequestWriter(&b, "text", time.UTC, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range requests {
			if err := w.Write(q); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for columns := 70; columns <= 260; columns += 5 {
		for _, o := range []TextOptions{{Width: columns, Unicode: true}, {Width: columns}} {
			got := write(o)
			for line := range strings.Lines(got) {
				if n := width(strings.TrimRight(line, "\n")); n > columns {
					t.Errorf("%+v: %d columns: %s", o, n, line)
				}
			}
			if all := strings.Contains(got, "FLAGS") && strings.Contains(got, "MODEL") && strings.Contains(got, "ENDED"); !all {
				t.Errorf("%+v: a column is gone and is not named:\n%s", o, got)
			}
		}
	}
	if got := write(TextOptions{Unicode: true}); strings.Count(got, "\n") != 3 || !strings.Contains(got, "few_tokens, short_decode, slow_start  sessions/日本語のとても長いディレクトリ名/rollout-2026-09-14T08-00-00.jsonl:120\n") {
		t.Errorf("in a pipe, not one line a request:\n%s", got)
	}
	if got := write(TextOptions{Unicode: true, Color: true}); !strings.Contains(got, toneANSI[Decode]+"decode"+ansiReset) || !strings.Contains(got, toneANSI[Bad]+"failed"+ansiReset) {
		t.Errorf("not coloured:\n%q", got)
	}
}
