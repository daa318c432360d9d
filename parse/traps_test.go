package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// traps are the ways in which these logs mislead a reader, with the test that
// pins each: file and a name in it.
var traps = []struct{ trap, file, test string }{
	{"01 token_count told again with unchanged totals", "rollout/traps_test.go", "repeats with unchanged totals"},
	{"02 totals are cumulative, and can drop", "rollout/traps_test.go", "a total that drops"},
	{"03 info:null at the start of a turn", "rollout/traps_test.go", "info null"},
	{"04 usage record and token count tell of one response", "rollout/traps_test.go", "a usage record and its count are one response"},
	{"05 total_tokens means generated here, input + output there", "rollout/traps_test.go", "total_tokens is not the output"},
	{"05 the same in a request line", "requestline/requestline_test.go", "completion tokens beside total tokens"},
	{"06 cached and reasoning tokens are parts", "rollout/traps_test.go", "parts greater than the whole"},
	{"07 usage that Codex made up", "rollout/traps_test.go", "synthetic usage on overflow of the window"},
	{"08 an answer told as event and as item", "rollout/traps_test.go", "the same answer as event and item is one item"},
	{"08 telemetry told for two targets", "trace/trace_test.go", "8: log_only and trace_safe are one event"},
	{"09 history copied into a fork", "rollout/replay_test.go", "replay marked only by a second meta"},
	{"09 copies of a file", "parse_test.go", "TestCopiesCountOnce"},
	{"10 copies inside of other records", "rollout/traps_test.go", "copies inside of compacted are not counted"},
	{"10 text that looks like an event", "trace/trace_test.go", "10: fake fields in a tool call"},
	{"11 a turn's duration holds tools and waits", "../analyze/analyze_test.go", "TestTurnParts"},
	{"12 a turn's TTFT is its first request's only", "rollout/rollout_test.go", "turn ttft goes to the first request"},
	{"12 the wait for HTTP headers is no part of ttft_ms", "telemetry/telemetry_test.go", "http: the wait for the headers is added"},
	{"13 hidden reasoning before the first visible token", "rollout/rollout_test.go", "hidden reasoning came before the first visible output"},
	{"14 few tokens make a noisy rate", "../analyze/analyze_test.go", "499 tokens"},
	{"15 windows of no or negative length", "../analyze/analyze_test.go", "first token after the end"},
	{"16 an answer in one piece", "../analyze/analyze_test.go", "all at once"},
	{"17 seconds, milliseconds and durations side by side", "rollout/traps_test.go", "duration in ms, others in seconds"},
	{"18 clocks that are set back, laptops that sleep", "rollout/traps_test.go", "clock set back in the middle of a request"},
	{"19 parallel tools overlap", "rollout/rollout_test.go", "count after outputs of parallel tools"},
	{"20 a tool's interval, approval included, from call to output", "rollout/traps_test.go", "func TestTools("},
	{"21 aborted turns have no usage and no TTFT", "rollout/rollout_test.go", "aborted without an id, response interrupted"},
	{"22 retries", "trace/trace_test.go", "22: retries"},
	{"23 a turn that is still open at the end", "rollout/rollout_test.go", "open at the end of the file"},
	{"24 days are those of the time in the log, in the zone asked for", "../analyze/analyze_test.go", "day=2026-09-11"},
	{"25 helper threads are told apart", "rollout/replay_test.go", "TestOrigin"},
	{"26 the model changes within a session", "rollout/traps_test.go", "TestModelSwitch"},
	{"27 warm-ups", "trace/trace_test.go", "27: warm-up"},
	{"28 lines of any length", "lines/lines_test.go", "TestNoLineIsLongerThanMaxLine"},
	{"28 key order is not given", "rollout/traps_test.go", "TestKeyOrder"},
	{"29 truncated, glued and broken lines", "rollout/traps_test.go", "TestBadLines"},
	{"30 types that nobody knows yet", "rollout/traps_test.go", "unknown type within"},
	{"31 multi-line messages, colours, nested spans", "trace/trace_test.go", "31: 691 nested spans of one turn"},
	{"32 interleaved sessions", "telemetry/telemetry_test.go", "TestInterleavedConversations"},
	{"33 nothing private comes out", "../cmd/codexlag/main_test.go", "TestNothingPrivateComesOut"},
}

// Every trap has its test, and the list names one that exists.
func TestEveryTrapHasItsTest(t *testing.T) {
	seen := map[string]bool{}
	for _, trap := range traps {
		t.Run(trap.trap, func(t *testing.T) {
			text, err := os.ReadFile(filepath.FromSlash(trap.file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), trap.test) {
				t.Errorf("%s holds no test named %q", trap.file, trap.test)
			}
		})
		seen[trap.trap[:2]] = true
	}
	if len(seen) != 33 {
		t.Errorf("%d traps are named, want 33", len(seen))
	}
}
