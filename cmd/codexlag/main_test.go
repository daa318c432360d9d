package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

// beProgram is the variable that makes the test binary the program itself, for
// tests that need it to be one.
const beProgram = "BE_CODEXLAG"

// The tests run the program as a user would, from the top of the checkout.
func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" {
		main()
	}
	flag.Parse()
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Setenv("TZ", "UTC")
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name == "CODEX_HOME" || name == "NO_COLOR" || name == "COLUMNS" || strings.HasPrefix(name, variablePrefix) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(os.TempDir(), "codexlag-test-no-such-folder")) // no settings of whoever runs the tests
	cache, err := os.MkdirTemp("", "codexlag-test-cache-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", cache)
	code := m.Run()
	os.RemoveAll(cache)
	for _, f := range atEnd {
		f()
	}
	os.Exit(code)
}

// atEnd is done when all tests are over.
var atEnd []func()

// A result is what one call of the program came to.
type result struct {
	code           int
	stdout, stderr string
}

func codexlag(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), strings.NewReader(stdin), &out, &err, args)
	return result{code, out.String(), err.String()}
}

// golden compares the output of a call with testdata/golden/NAME.
func golden(t *testing.T, name string, args ...string) {
	t.Helper()
	got := codexlag(t, "", args...)
	if got.code != exitOK {
		t.Fatalf("codexlag %s: exit %d: %s", strings.Join(args, " "), got.code, got.stderr)
	}
	compare(t, name, got.stdout+got.stderr)
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test ./cmd/codexlag -update rewrites it): %s", path, firstDifference(got, string(want)))
	}
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func TestQuickstartReports(t *testing.T) {
	const logs = "testdata/quickstart"
	golden(t, "quickstart.md", logs)
	golden(t, "quickstart.txt", "--format", "text", logs)
	golden(t, "quickstart.json", "--format", "json", logs)
	golden(t, "quickstart.csv", "--format", "csv", logs)
	golden(t, "quickstart-by-label-and-model.md", "--by", "label", "--by", "model", logs)
	golden(t, "quickstart-requests.csv", "requests", "--format", "csv", logs)
	golden(t, "quickstart-requests.txt", "requests", logs+"/experiment-long-input.log")
}

func TestCodexHomeReports(t *testing.T) {
	const home = "testdata/codexhome"
	golden(t, "codexhome.md", home)
	golden(t, "codexhome.json", "--format", "json", "--by", "model", home)
	golden(t, "codexhome-requests.ndjson", "requests", "--format", "ndjson", home)
	golden(t, "codexhome-files.md", "files", home)
	golden(t, "codexhome-files.json", "files", "--format", "json", home)
}

// Without a PATH, the home of Codex is read.
func TestCodexHomeIsTheDefault(t *testing.T) {
	t.Setenv("CODEX_HOME", "testdata/codexhome")
	if got, want := codexlag(t, ""), codexlag(t, "", "testdata/codexhome"); got != want {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
	missing := filepath.Join(t.TempDir(), "nope")
	for _, args := range [][]string{{}, {"files"}, {"requests"}, {"--follow"}} {
		t.Setenv("CODEX_HOME", missing)
		if got := codexlag(t, "", args...); got.code != exitIO || got.stdout != "" || !strings.Contains(got.stderr, "the variable CODEX_HOME names "+missing) || !strings.Contains(got.stderr, "unset it") {
			t.Errorf("%v: exit %d, stderr %q", args, got.code, got.stderr)
		}
	}
	if got := codexlag(t, "", "--anonymize"); strings.Contains(got.stderr, missing) {
		t.Errorf("stderr %q", got.stderr)
	}
	t.Setenv("CODEX_HOME", missing+",testdata/codexhome") // what is there is read
	if got := codexlag(t, ""); got.code != exitIO || got.stdout == "" || !strings.Contains(got.stderr, missing+": no such file or directory; check the spelling; the variable CODEX_HOME names it") {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
	t.Setenv("CODEX_HOME", "")
	t.Setenv("HOME", t.TempDir())
	if got := codexlag(t, ""); got.code != exitNothing || !strings.Contains(got.stderr, "CODEX_HOME") {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
}

// Nothing that anybody wrote, and no key, comes out, in whatever format.
func TestNothingPrivateComesOut(t *testing.T) {
	const home = "testdata/codexhome"
	for _, args := range [][]string{{"--format", "markdown"}, {"--format", "text"}, {"--format", "html"}, {"--format", "json"}, {"--format", "csv"},
		{"--by", "session"}, {"requests"}, {"requests", "--format", "csv"}, {"requests", "--format", "ndjson"}, {"files"}, {"files", "--format", "json"}} {
		got := codexlag(t, "", append(args, home)...)
		if got.code != exitOK {
			t.Errorf("%v: exit %d: %s", args, got.code, got.stderr)
		}
		if strings.Contains(got.stdout+got.stderr, "SECRET") {
			t.Errorf("%v: a secret comes out", args)
		}
	}
}

func TestHelp(t *testing.T) {
	golden(t, "help.txt", "--help")
	golden(t, "help-requests.txt", "requests", "--help")
	golden(t, "help-files.txt", "files", "--help")
	golden(t, "help-export.txt", "export", "--help")
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.log", "[request] first_token_ms=320 total_tokens=2180 total_ms=48200\n")
	text := write("notes.txt", "nothing here\n")
	bad := write("bad.jsonl", `{"first_token_ms":1,"total_ms":2}`+"\n"+`{"first_token_ms":1,"total_`+"\n")
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"a good log", []string{good}, exitOK, ""},
		{"a missing path", []string{missing}, exitIO, "missing"},
		{"a missing path beside a good log", []string{missing, good}, exitIO, "missing"},
		{"a mistyped command", []string{"reqests"}, exitIO, `did you mean the command "requests"?`},
		{"a mistyped command with a path", []string{"reqests", good}, exitUsage, `did you mean the command "requests"?`},
		{"a command behind its path", []string{good, "requests"}, exitUsage, "codexlag requests " + good},
		{"no such flag", []string{"--no-such-flag"}, exitUsage, "no-such-flag"},
		{"a mistyped flag", []string{"--min-token", "5", good}, exitUsage, "min-tokens"},
		{"a flag before the command", []string{"--jobs", "1", "requests", good}, exitUsage, "behind the name of the command"},
		{"a bad flag value", []string{"--slo", "ttft=fast", good}, exitUsage, "800ms"},
		{"a bad limit", []string{"--slo", "speed=5", good}, exitUsage, "ttft and tps"},
		{"a bad percentile", []string{"--percentiles", "101", good}, exitUsage, "percentiles"},
		{"a bad time", []string{"--since", "soon", good}, exitUsage, "2026-09-01"},
		{"a bad time zone", []string{"--timezone", "Mars/Base", good}, exitUsage, "IANA"},
		{"a bad key", []string{"--by", "colour", good}, exitUsage, "model"},
		{"a bad condition", []string{"--where", "model", good}, exitUsage, "KEY=VALUE"},
		{"a word for a number", []string{"--top", "many", good}, exitUsage, `--top: "many" is no whole number`},
		{"a word for a time", []string{"--every", "often", good}, exitUsage, `"often" is no length of time`},
		{"a flag without its value", []string{good, "--top"}, exitUsage, "--top: a value must follow"},
		{"a flag of another command", []string{"requests", "--top", "3", good}, exitUsage, "unknown flag --top; it is one of codexlag report\ncodexlag: see codexlag requests --help"},
		{"a flag like no other", []string{"--xyz", good}, exitUsage, "unknown flag --xyz\n"},
		{"an argument too few", []string{"explain"}, exitUsage, "PATH[:LINE] is missing"},
		{"of no use without --follow", []string{"--every", "5s", good}, exitOK, "--every does nothing without --follow"},
		{"requests in a format that they have not", []string{"requests", "-o", filepath.Join(dir, "r.md"), good}, exitUsage, ".ndjson"},
		{"an unknown ending", []string{"-o", filepath.Join(dir, "r.xyz"), good}, exitUsage, ".md"},
		{"a format that the ending contradicts", []string{"--format", "csv", "-o", filepath.Join(dir, "r.json"), good}, exitUsage, "r.json and --format csv contradict each other: the ending means json"},
		{"requests in a format that the ending contradicts", []string{"requests", "--format", "csv", "-o", filepath.Join(dir, "r.json"), good}, exitUsage, "contradict"},
		{"a comparison in a format that the ending contradicts", []string{"compare", "--format", "json", "-o", filepath.Join(dir, "r.md"), good, good}, exitUsage, "contradict"},
		{"a format and an ending that agree", []string{"--format", "json", "-o", filepath.Join(dir, "r.json"), good}, exitOK, ""},
		{"a format for an ending that means none", []string{"--format", "json", "-o", filepath.Join(dir, "r.log"), good}, exitOK, ""},
		{"a format for standard output beside a file", []string{"--format", "csv", "-o", filepath.Join(dir, "r.json"), "-o", "-", good}, exitOK, ""},
		{"no folder to write to", []string{"-o", filepath.Join(dir, "no", "r.md"), good}, exitIO, "r.md"},
		{"a gate that is met", []string{"--slo-min", "100%", good}, exitOK, ""},
		{"a gate that is not met", []string{"--slo", "ttft=1ms", "--slo-min", "0.5", good}, exitGate, "0 of 1"},
		{"nothing usable", []string{text}, exitNothing, "1 file of no known format"},
		{"nothing passes the filter", []string{"--model", "x", good}, exitNothing, "none of 1 request passes"},
		{"a value that nothing has", []string{"--where", "hour=25", good}, exitNothing, "codexlag --by hour shows the values of hour"},
		{"a directory and a line", []string{"explain", dir + ":3"}, exitUsage, "which file"},
		{"a bad format", []string{"--format", "pdf", good}, exitUsage, `one of "markdown"`},
		{"an unreadable line", []string{bad}, exitOK, ""},
		{"an unreadable line, strictly", []string{"--strict", bad}, exitIO, "bad.jsonl:2"},
		{"a path that is a bad pattern", []string{"[", good}, exitIO, "["},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := codexlag(t, "", c.args...)
			if got.code != c.code || !strings.Contains(got.stderr, c.stderr) || c.stderr == "" && got.stderr != "" {
				t.Errorf("exit %d, want %d; stderr %q, want %q in it", got.code, c.code, got.stderr, c.stderr)
			}
		})
	}
}

// A request of which nobody knows whether it kept the limits is none that missed them.
func TestLimitsTellTheUnknownApart(t *testing.T) {
	log := write(t, t.TempDir(), "a.log", strings.Repeat("[request] first_token_ms=900 total_tokens=700 total_ms=9000\n", 6)+
		"[request] first_token_ms=9000 total_tokens=700 total_ms=20000\n[request] status=429\n"+
		strings.Repeat("[request] first_token_ms=None total_tokens=700 total_ms=9000\n", 2))
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "met by **6 of 10 requests** (60.0 %), missed by 2 (1 slow start, 1 failed). Only the 7 requests with a clean TPS can miss the limit of TPS. Not known of 2: "},
		{nil, "Of the 8 that can be judged, 75.0 % met the limits."},
		{[]string{"--format", "html"}, "2 of 10 not known"},
		{[]string{"--format", "csv"}, "overall,,slo_unknown,count,2,requests,10"},
		{[]string{"--slo-min", "90%"}, "6 of 10 requests keep the limits, fewer than 90%; of 2 it is not known"},
	} {
		if got := codexlag(t, "", append(c.args, log)...); !strings.Contains(got.stdout+got.stderr, c.want) {
			t.Errorf("%v lacks %q: %s", c.args, c.want, got.stdout+got.stderr)
		}
	}
	if got := codexlag(t, "", "explain", log+":10"); !strings.Contains(got.stdout, "**not known, counted as missed**") {
		t.Errorf("%s", got.stdout)
	}
	if got := codexlag(t, "", "compare", log, "testdata/quickstart"); !strings.Contains(got.stdout, "60.0 % → 93.1 %; not known of 2 before and 0 after") {
		t.Errorf("%s", got.stdout)
	}
}

// A figure that cannot be read is counted and told; the request counts without it.
func TestUnreadableFiguresAreTold(t *testing.T) {
	dir := t.TempDir()
	log := write(t, dir, "a.log", "[request] first_token_ms=abc total_tokens=700 total_ms=9000\n"+strings.Repeat("[request] first_token_ms=900 total_tokens=700 total_ms=9000\n", 9))
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{log}, exitOK, []string{"10 requests in 1 file.", "`bad_value` | 1 | figure in a request line that is no number", "1 line of 10 left out or read in part"}},
		{[]string{"--format", "json", log}, exitOK, []string{`"bad_value": 1`, `"requests": 10`}},
		{[]string{"--jobs", "1", "--no-cache", "--format", "json", log}, exitOK, []string{`"bad_value": 1`}},
		{[]string{"files", log}, exitOK, []string{"bad_value"}},
		{[]string{"--strict", log}, exitIO, []string{"a.log:1"}},
	} {
		got := codexlag(t, "", c.args...)
		for _, want := range c.want {
			if got.code != c.code || !strings.Contains(got.stdout+got.stderr, want) {
				t.Errorf("%v: exit %d, lacks %q: %s", c.args, got.code, want, got.stdout+got.stderr)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, err bytes.Buffer
	if code := run(ctx, strings.NewReader(""), &out, &err, []string{"testdata/quickstart"}); code != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit %d, output %q", code, out.String())
	}
}

func TestVersion(t *testing.T) {
	if got := codexlag(t, "", "--version"); got.code != exitOK || !strings.HasPrefix(got.stdout, "codexlag ") || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}

func TestStandardInput(t *testing.T) {
	got := codexlag(t, "[request] first_token_ms=320 total_tokens=2180 total_ms=48200", "requests", "--format", "ndjson", "-")
	if got.code != exitOK || !strings.Contains(got.stdout, `"source":"-:1"`) {
		t.Errorf("%+v", got)
	}
}

func TestOutputFiles(t *testing.T) {
	dir := t.TempDir()
	var args []string
	for _, name := range []string{"r.md", "r.txt", "r.html", "r.json", "r.csv"} {
		args = append(args, "-o", filepath.Join(dir, name))
	}
	if got := codexlag(t, "", append(args, "testdata/quickstart")...); got.code != exitOK || got.stdout != "" {
		t.Fatalf("%+v", got)
	}
	for name, want := range map[string]string{"r.md": "| ", "r.txt": "TTFT", "r.html": "<html", "r.json": `"schema"`, "r.csv": "by,key"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: error %v, content lacks %q", name, err, want)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A full disk or a closed pipe is an error, not a report that ends early.
func TestWriteErrors(t *testing.T) {
	for _, args := range [][]string{{"testdata/quickstart"}, {"--format", "json", "testdata/quickstart"}, {"--format", "csv", "testdata/quickstart"}, {"--format", "html", "testdata/quickstart"},
		{"--format", "text", "testdata/quickstart"}, {"requests", "testdata/quickstart"}, {"requests", "--format", "csv", "testdata/quickstart"}, {"requests", "--format", "ndjson", "testdata/quickstart"}} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.NewReader(""), fullDisk{}, &stderr, args); code != exitIO || !strings.Contains(stderr.String(), "no space") {
			t.Errorf("%v: exit %d, stderr %q", args, code, stderr.String())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// How many logs are read at once does not show.
func TestJobsDoNotMatter(t *testing.T) {
	for _, args := range [][]string{{"--format", "json", "--by", "model", "testdata/quickstart"}, {"--format", "html", "testdata/codexhome", "testdata/quickstart"}, {"requests", "--format", "ndjson", "testdata/quickstart"}} {
		want := codexlag(t, "", append([]string{"--jobs", "1"}, args...)...)
		for _, jobs := range []string{"2", "8"} {
			if got := codexlag(t, "", append([]string{"--jobs", jobs}, args...)...); got != want {
				t.Errorf("%v: --jobs %s differs from --jobs 1", args, jobs)
			}
		}
	}
}

// Reading logs one by one and all together tells of the same requests.
func TestSplitIsWhole(t *testing.T) {
	files, err := filepath.Glob("testdata/quickstart/*")
	if err != nil {
		t.Fatal(err)
	}
	var parts string
	for _, f := range files {
		parts += codexlag(t, "", "requests", "--format", "ndjson", f).stdout
	}
	if whole := codexlag(t, "", "requests", "--format", "ndjson", "testdata/quickstart").stdout; parts != whole {
		t.Error("the requests differ")
	}
}

// A report tells which part of the logs it is about, an anonymous one without
// the values that may be names.
func TestFiltersAreTold(t *testing.T) {
	args := []string{"--format", "json", "--since", "2026-11-01", "--model", "gpt-5.4*,gpt-5.2-codex", "--where", "label=long-input", "--where", "hour=08h,09h", "--timezone", "UTC", "testdata/quickstart"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{args, `["--since 2026-11-01","--model gpt-5.4*,gpt-5.2-codex","--where label=long-input","--where hour=08h,09h"]`},
		{append([]string{"--anonymize"}, args...), `["--since 2026-11-01","--model …","--where label=…","--where hour=…"]`},
		{[]string{"--format", "json", "testdata/quickstart"}, `[]`},
		{[]string{"compare", "--format", "json", "--until", "2026-11-30", "--at", "2026-11-24T10:00Z", "testdata/quickstart"}, `["--until 2026-11-30"]`},
	} {
		got := codexlag(t, "", c.args...)
		var r struct {
			Options struct{ Filters json.RawMessage }
		}
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatal(err, got.stderr)
		}
		var b bytes.Buffer
		if err := json.Compact(&b, r.Options.Filters); err != nil || b.String() != c.want {
			t.Errorf("%q: filters %s (error %v), want %s", c.args, b.String(), err, c.want)
		}
	}
	got := codexlag(t, "", append(args, "--format", "text")...)
	want := "Only what passes these filters counts: --since 2026-11-01 --model gpt-5.4*,gpt-5.2-codex --where label=long-input --where hour=08h,09h. Files, bytes and lines are of all that was read."
	if text := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(text, want) {
		t.Errorf("lacks %q: %s%s", want, text, got.stderr)
	}
}

func TestFilters(t *testing.T) {
	requests := func(args ...string) float64 {
		t.Helper()
		got := codexlag(t, "", append(append([]string{"--format", "json"}, args...), "testdata/quickstart")...)
		var r struct{ Overall struct{ Requests float64 } }
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatalf("%v: %v: %s", args, err, got.stderr)
		}
		return r.Overall.Requests
	}
	all := requests()
	morning := requests("--until", "2026-11-24T12:00:00Z")
	if rest := requests("--since", "2026-11-24T12:00:00Z"); morning+rest != all || morning == 0 || rest == 0 {
		t.Errorf("%v before noon, %v after, %v in all", morning, rest, all)
	}
	for _, hour := range []string{"9", "09", "9h", "09h", "?9h,23"} {
		if n := requests("--where", "hour="+hour); n != 48 {
			t.Errorf("hour=%s: %v requests", hour, n)
		}
	}
	if n := requests("--where", "label=long-input"); n != 24 {
		t.Errorf("%v long inputs, want 24", n)
	}
	if n := requests("--session", "nightly-*"); n != 30 {
		t.Errorf("%v nightly requests, want 30", n)
	}
	if mini, other := requests("--model", "gpt-5.4-mini"), requests("--model", "gpt-5.4,gpt-5.2-codex"); mini+other != all {
		t.Errorf("%v + %v requests by model, %v in all", mini, other, all)
	}
}

// The local time zone is called by its name.
func TestLocalZone(t *testing.T) {
	for tz, want := range map[string]string{"UTC": "UTC", "": "UTC", "Europe/Berlin": "Europe/Berlin", ":Asia/Tokyo": "Asia/Tokyo", "Nowhere/City": time.Local.String()} {
		t.Setenv("TZ", tz)
		if got := localZone().String(); got != want {
			t.Errorf("TZ=%q: %s, want %s", tz, got, want)
		}
	}
}

func TestParseWhen(t *testing.T) {
	zone := time.FixedZone("here", 3600)
	now := time.Date(2026, 9, 10, 12, 30, 0, 0, zone)
	for s, want := range map[string]string{
		"2026-09-01": "2026-09-01T00:00:00+01:00", "2026-09-01T12:00:00Z": "2026-09-01T12:00:00Z", "2026-09-01T12:00Z": "2026-09-01T12:00:00Z", "2026-09-01T12:00-05:00": "2026-09-01T12:00:00-05:00", "2026-09-01T12:00": "2026-09-01T12:00:00+01:00",
		"-3d": "2026-09-07T12:30:00+01:00", "24h": "2026-09-09T12:30:00+01:00", "1w": "2026-09-03T12:30:00+01:00", "-90m": "2026-09-10T11:00:00+01:00",
		"today": "2026-09-10T00:00:00+01:00", "yesterday": "2026-09-09T00:00:00+01:00", "now": "2026-09-10T12:30:00+01:00",
	} {
		got, err := parseWhen("since", s, now, zone)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: %v %v, want %s", s, got.Format(time.RFC3339), err, want)
		}
	}
	for _, s := range []string{"soon", "3x", "--3d", "2026-13-01", "d", "-"} {
		if got, err := parseWhen("since", s, now, zone); err == nil {
			t.Errorf("%q is taken for %v", s, got)
		}
	}
}

// The example in the README is the beginning of the real report.
func TestReadmeExample(t *testing.T) {
	const begin, end = "<!-- example: quickstart.md, kept true by a test -->\n", "<!-- end of example -->"
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), begin)
	example, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("README.md has no example")
	}
	first, _, _ := strings.Cut(codexlag(t, "", "testdata/quickstart").stdout, "\n## Where the time went")
	want := quote(first)
	if *update {
		if err := os.WriteFile("README.md", []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if example != want {
		t.Errorf("the example in README.md is not what the program prints (go test ./cmd/codexlag -update):\n%s", want)
	}
}

// quote puts a Markdown text into a block quote.
func quote(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(s) + "\n") {
		b.WriteString(strings.TrimRight("> "+line, " \n") + "\n")
	}
	return b.String()
}

// What people type and kong alone would refuse.
func TestAsMeant(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"--since -3d logs", "--since=-3d logs"},
		{"compare --at -7d logs", "compare --at=-7d logs"},
		{"--since today logs", "--since today logs"},
		{"--since -q", "--since -q"},
		{"-- --since -3d", "-- --since -3d"},
		{"help", "--help"},
		{"help compare", "compare --help"},
		{"version", "--version"},
	} {
		if got := strings.Join(asMeant(strings.Fields(c.in)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
}

// Where the filters let nothing through, the user is told what is there.
func TestNothingPassesTheFilters(t *testing.T) {
	got := codexlag(t, "", "--since", "-1d", "--model", "nope", "testdata/quickstart")
	if got.code != exitNothing || !strings.Contains(got.stderr, "none of 160 requests") || !strings.Contains(got.stderr, "2026-11-24 15:13 UTC") || !strings.Contains(got.stderr, "gpt-5.4-mini") {
		t.Errorf("%+v", got)
	}
}

func TestRequestsFileEndings(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"r.csv": "source,format", "r.ndjson": `{"source"`, "r.txt": "ENDED"} {
		path := filepath.Join(dir, name)
		got := codexlag(t, "", "requests", "-o", path, "testdata/quickstart")
		b, err := os.ReadFile(path)
		if got.code != exitOK || err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: %+v, %v, begins %.20q", name, got, err, b)
		}
	}
	// A format that is set for all calls is no contradiction: the ending says more.
	path := filepath.Join(dir, "set.ndjson")
	t.Setenv("CODEXLAG_FORMAT", "csv")
	got := codexlag(t, "", "requests", "-o", path, "testdata/quickstart")
	if b, err := os.ReadFile(path); got != (result{}) || err != nil || !strings.HasPrefix(string(b), `{"source"`) {
		t.Errorf("%+v, %v, begins %.20q", got, err, b)
	}
}

func TestOutputToStandardOutputAndAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	got := codexlag(t, "", "-o", path, "-o", "-", "testdata/quickstart")
	if _, err := os.Stat(path); err != nil || got.code != exitOK || !strings.HasPrefix(got.stdout, "# ") {
		t.Errorf("%v, %+v", err, got)
	}
}
