package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codexlag/analyze"
)

const beforeLogs, afterLogs = "testdata/compare/before", "testdata/compare/after"

// comparedLog makes the log of one side: 40 requests of three models, a minute
// apart, with a TTFT around ttft ms and a decode of about 20 ms a token.
func comparedLog(seed uint64, start time.Time, ttft float64, models [40]string) string {
	r := rand.New(rand.NewPCG(seed, seed))
	var b strings.Builder
	for i, model := range models {
		first := ttft * math.Exp(0.3*r.NormFloat64())
		tokens := 350 + r.IntN(900)
		total := first + float64(tokens)*20*math.Exp(0.05*r.NormFloat64())
		end := start.Add(time.Duration(i) * time.Minute)
		fmt.Fprintf(&b, "%s INFO wrapper: [request] model=%s first_token_ms=%.0f completion_tokens=%d total_ms=%.0f\n",
			end.Format(time.RFC3339), model, first, tokens, total)
	}
	return b.String()
}

func models(parts ...any) (l [40]string) {
	n := 0
	for i := 0; i < len(parts); i += 2 {
		for range parts[i+1].(int) {
			l[n] = parts[i].(string)
			n++
		}
	}
	return l
}

// The logs that the other tests compare are what the generator makes.
func TestComparedLogs(t *testing.T) {
	for dir, log := range map[string]string{
		beforeLogs: comparedLog(1, time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC), 1200, models("gpt-5.4", 28, "gpt-5.4-mini", 10, "gpt-5.2", 2)),
		afterLogs:  comparedLog(2, time.Date(2026, 9, 2, 9, 0, 0, 0, time.UTC), 1700, models("gpt-5.4", 26, "gpt-5.4-mini", 3, "gpt-5.5", 11)),
	} {
		path := filepath.Join(dir, "a.log")
		if *update {
			if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != log {
			t.Errorf("%s is not what comparedLog makes (error %v); run with -update", path, err)
		}
	}
}

func TestCompareGolden(t *testing.T) {
	golden(t, "compare.md", "compare", beforeLogs, afterLogs)
	golden(t, "compare.txt", "compare", "--format", "text", beforeLogs, afterLogs)
	golden(t, "compare-by-model.md", "compare", "--by", "model", beforeLogs, afterLogs)
	golden(t, "compare-same.txt", "compare", "--format", "text", beforeLogs, beforeLogs)
	golden(t, "compare-at.txt", "compare", "--format", "text", "--timezone", "UTC", "--at", "2026-09-01T09:30", "testdata/compare")
	golden(t, "compare-mix.txt", "compare", "--format", "text", "--timezone", "UTC", "--at", "2026-11-24T12:00", "testdata/quickstart")
	golden(t, "compare.json", "compare", "--timezone", "UTC", "--format", "json", "--by", "model", beforeLogs, afterLogs)
	golden(t, "help-compare.txt", "compare", "--help")
}

func TestCompareExitCodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes := write("notes.txt", "nothing here\n")
	timeless := write("timeless.log", "[request] first_token_ms=320 total_tokens=2180 total_ms=48200\n")
	missing := filepath.Join(dir, "missing")
	both := []string{beforeLogs, afterLogs}
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"two sets", both, exitOK, ""},
		{"globs", []string{"testdata/compare/b*/*.log", "testdata/compare/a*/*.log"}, exitOK, ""},
		{"no path", nil, exitUsage, "two paths, BEFORE and AFTER, not 0; or --at TIME"},
		{"one path", []string{beforeLogs}, exitUsage, "not 1"},
		{"three paths", []string{beforeLogs, afterLogs, notes}, exitUsage, "not 3; put a glob in quotes"},
		{"standard input on both sides", []string{"-", "-"}, exitUsage, "one side only"},
		{"split", []string{"--at", "2026-09-02", "testdata/compare"}, exitOK, ""},
		{"split of several paths", []string{"--at", "2026-09-02", beforeLogs, afterLogs}, exitOK, ""},
		{"split with a request without time", []string{"--at", "2026-09-02", beforeLogs, afterLogs, timeless}, exitOK, "1 request without a time left out"},
		{"split of nothing timed", []string{"--at", "2026-09-02", timeless}, exitNothing, "no request with a time"},
		{"split too early", []string{"--at", "2026-08-01", "testdata/compare"}, exitNothing, "no request ended before 2026-08-01 00:00:00 UTC (--at); 80 requests ended then or later"},
		{"split too late", []string{"--at", "2026-10-01", "testdata/compare"}, exitNothing, "80 requests ended before"},
		{"a bad time", []string{"--at", "soon", "testdata/compare"}, exitUsage, "--at"},
		{"an empty side before", []string{notes, afterLogs}, exitNothing, "BEFORE (" + notes + "): nothing usable found"},
		{"an empty side after", []string{beforeLogs, notes}, exitNothing, "AFTER (" + notes + ")"},
		{"a side that the filter empties", append([]string{"--model", "gpt-5.5"}, both...), exitNothing, "BEFORE"},
		{"a missing side", []string{missing, afterLogs}, exitIO, "missing"},
		{"a gate that holds", append([]string{"--fail-on", "ttft:p50>+20%"}, both...), exitGate, "--fail-on ttft:p50>+20%: TTFT p50 1."},
		{"a gate on the same", []string{"--fail-on", "ttft:p50>+20%", beforeLogs, beforeLogs}, exitOK, ""},
		{"a gate on what can be chance", append([]string{"--fail-on", "total:p50<+900%"}, both...), exitGate, "can be chance (p ≥ 0.05)"},
		{"a gate on the value after", append([]string{"--fail-on", "ttft:p90>500ms", "--fail-on", "tps:mean<1"}, both...), exitGate, "ttft:p90>500ms"},
		{"a gate of another percentile", append([]string{"--fail-on", "total:p75>1h"}, both...), exitOK, ""},
		{"a gate that cannot be judged", append([]string{"--fail-on", "ttft:p50>+20%"}, timeless, write("b.log", "[request] total_tokens=9 total_ms=900\n")), exitGate, "cannot be judged"},
		{"a gate on rates that are noise", []string{"--fail-on", "tps:p50<-10%", "testdata/quickstart/experiment-long-input.log", "testdata/quickstart/experiment-short-input.log"}, exitGate,
			"tps:p50<-10% cannot be judged, which counts as failed: too few rates are clean, the others are noise: TPS p50 78.9 tok/s → 47.2 tok/s (−40 %, no test, n=24+16)"},
		{"a gate on what the mix of models changed", []string{"--fail-on", "tps:p50>+10%", "--at", "2026-11-24T12:00Z", "testdata/quickstart"}, exitGate, "n=35+16); no model by itself: the mix of models changed"},
		{"several gates hold", append([]string{"--fail-on", "ttft:mean>+1%", "--fail-on", "prefill_share>+1%"}, both...), exitGate, "\ncodexlag: --fail-on prefill_share>+1%: prefill share "},
		{"a bad gate", append([]string{"--fail-on", "ttft"}, both...), exitUsage, "METRIC:STAT>LIMIT"},
		{"a bad threshold", append([]string{"--threshold", "much"}, both...), exitUsage, "threshold"},
		{"a bad key", append([]string{"--by", "colour"}, both...), exitUsage, "colour"},
		{"no CSV", append([]string{"-o", "x.csv"}, both...), exitUsage, "no CSV"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := codexlag(t, "", append([]string{"compare"}, c.args...)...)
			if got.code != c.code || !strings.Contains(got.stderr, c.stderr) || c.stderr == "" && got.stderr != "" {
				t.Errorf("exit %d, want %d; stderr %q, want %q in it", got.code, c.code, got.stderr, c.stderr)
			}
			if wrote := got.stdout != ""; wrote != (c.code == exitOK || c.code == exitGate) {
				t.Errorf("exit %d and output %q", got.code, got.stdout)
			}
		})
	}
}

// A faster stream is no faster answer where nobody can tell whether the totals,
// which people wait for, differ.
func TestCompareJudgesTheTotalFirst(t *testing.T) {
	got := codexlag(t, "", "compare", "--format", "text", "--timezone", "UTC", "--at", "2026-11-24T10:00", "testdata/quickstart")
	want := "After streams faster, but no difference in the total could be shown: decode rate p50 47.1 tok/s → 51.8 tok/s (+10 %, p=0.019, n=23+28)"
	if text := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(text, want) || !strings.Contains(text, "total: no difference shown (~), p50 3.81 s → 7.62 s (+100 %, p=0.446, n=71+85) can be chance") {
		t.Errorf("%s", got.stdout)
	}
}

func TestCompareStandardInput(t *testing.T) {
	log, err := os.ReadFile(filepath.Join(afterLogs, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	got := codexlag(t, string(log), "compare", "--format", "json", beforeLogs, "-")
	if got.code != exitOK || !strings.Contains(got.stdout, `"After starts later`) {
		t.Errorf("%+v", got)
	}
}

func TestCompareOutputFiles(t *testing.T) {
	dir := t.TempDir()
	args := []string{"compare", beforeLogs, afterLogs}
	for _, name := range []string{"c.md", "c.txt", "c.html", "c.json"} {
		args = append(args, "-o", filepath.Join(dir, name))
	}
	if got := codexlag(t, "", args...); got.code != exitOK || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	for name, want := range map[string]string{"c.md": "| TTFT |", "c.txt": "TTFT  ", "c.html": "<html", "c.json": analyze.CompareSchema} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: error %v, content lacks %q", name, err, want)
		}
	}
}

func TestParseFailOn(t *testing.T) {
	for s, want := range map[string]gate{
		"ttft:p90>+20%":           {percentile: 90, more: true, relative: true, limit: 0.2},
		"ttft:p90>20%":            {percentile: 90, more: true, relative: true, limit: 0.2},
		"tps:p50<-10%":            {percentile: 50, relative: true, limit: -0.1},
		" total : p99.9 > 1m30s ": {percentile: 99.9, more: true, limit: 90_000},
		"tpot:mean>25ms":          {more: true, limit: 25},
		"tps:p50<20":              {percentile: 50, limit: 20},
		"output_tokens:mean>+5 %": {more: true, relative: true, limit: 0.05},
		"prefill_share>+20%":      {more: true, relative: true, limit: 0.2},
		"prefill_share>0.6":       {more: true, limit: 0.6},
	} {
		got, err := parseFailOn(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if name := strings.TrimSpace(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(":<>", r) })[0]); got.metric.name != name {
			t.Errorf("%q is about %s", s, got.metric.name)
		}
		if got.percentile != want.percentile || got.more != want.more || got.relative != want.relative || math.Abs(got.limit-want.limit) > 1e-12 {
			t.Errorf("%q: %+v, want %+v", s, got, want)
		}
	}
	for s, want := range map[string]string{
		"":                     "no > or <",
		"ttft:p90":             "no > or <",
		"speed:p50>5%":         "unknown metric",
		"ttft>5%":              "no statistic",
		"ttft:50>5%":           "no statistic",
		"ttft:p0>5%":           "no statistic",
		"ttft:p101>5%":         "no statistic",
		"ttft:pNaN>5%":         "no statistic",
		"ttft:median>5%":       "no statistic",
		"ttft:p50>=5%":         "neither a change",
		"ttft:p50>5000":        "length of time",
		"ttft:p50>-5s":         "length of time",
		"ttft:p50>":            "length of time",
		"ttft:p50>%":           "neither a change",
		"tps:p50<NaN":          "neither a change",
		"tps:p50<Inf%":         "neither a change",
		"tps:p50<-5":           "neither a change",
		"prefill_share:p50>5%": "without percentiles: write prefill_share>+20%",
		"prefill_share>60":     "from 0 to 1",
	} {
		if g, err := parseFailOn(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, error %v, want %q", s, g, err, want)
		}
	}
}
