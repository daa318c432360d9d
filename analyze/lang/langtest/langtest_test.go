package langtest

import (
	"slices"
	"testing"
)

func TestEnglish(t *testing.T) {
	for _, c := range []struct {
		text  string
		known []string
		want  []string
	}{
		{"TTFT 的 p50 是 950 ms，见 `first token` 与 --by model", nil, nil},
		{"运行 codexlag compare，看 FILE:LINE 与 log_dir=DIR", nil, nil},
		{"Decode dominates：87.8 %", nil, []string{"Decode", "dominates"}},
		{"gpt 的 TPS，only 3 tokens", []string{"gpt"}, []string{"only"}},
		{"", nil, nil},
	} {
		if got := English(c.text, c.known...); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
