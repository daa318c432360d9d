package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codexlag/analyze/clickhouse/clickhousetest"
)

// sameFrom checks that a report or a comparison from a database is that from
// the logs, byte for byte.
func sameFrom(t *testing.T, url string, paths []string, args ...string) {
	t.Helper()
	local := codexlag(t, "", append(slices.Clone(args), paths...)...)
	if local.code != exitOK {
		t.Fatalf("codexlag %s: exit %d: %s", strings.Join(args, " "), local.code, local.stderr)
	}
	there := codexlag(t, "", append(slices.Clone(args), "--from", url)...)
	if there.code != exitOK {
		t.Errorf("codexlag %s --from …: exit %d: %s", strings.Join(args, " "), there.code, there.stderr)
		return
	}
	if there.stdout != local.stdout {
		t.Errorf("codexlag %s --from … differs: %s", strings.Join(args, " "), firstDifference(there.stdout, local.stdout))
	}
}

func codexlagOK(t *testing.T, args ...string) {
	t.Helper()
	if got := codexlag(t, "", args...); got.code != exitOK {
		t.Errorf("codexlag %s: exit %d: %s", strings.Join(args, " "), got.code, got.stderr)
	}
}

// byAll groups by everything there is.
func byAll() []string {
	var l []string
	for _, d := range dimensionNames() {
		l = append(l, "--by", d)
	}
	return l
}

func TestReportsFromADatabaseAreThoseFromTheLogs(t *testing.T) {
	s := clickhousetest.Start(t, "")
	for name, paths := range map[string][]string{
		"quickstart": {"testdata/quickstart"}, "codexhome": {"testdata/codexhome"}, "compare": {"testdata/compare"},
		"all": {"testdata/quickstart", "testdata/codexhome", "testdata/compare"},
	} {
		t.Run(name, func(t *testing.T) {
			load(t, append([]string{"--to", s.URL(name)}, paths...)...)
			sameFrom(t, s.URL(name), paths, append(byAll(), "--format", "json", "--timezone", "Australia/Lord_Howe")...)
			if name != "all" {
				return
			}
			for _, args := range []string{
				"--format markdown", "--format text --lang zh", "--format csv --by model", "--format json --slo ttft=800ms,tps=50 --by model",
				"--format json --min-tokens 100 --percentiles 1,33.3,50,99.9 --top 3", "--format json --top 0",
			} {
				sameFrom(t, s.URL(name), paths, strings.Fields(args)...)
			}
		})
	}
}

// brokenTurn makes the log of a turn with a request that failed after four
// seconds, one that was cancelled after two, and one that worked; and of
// requests outside any turn that failed with and without a first token.
func brokenTurn(t *testing.T, dir string) {
	var b strings.Builder
	ev := func(ms int, payload string) {
		fmt.Fprintf(&b, `{"schema_version":1,"seq":1,"wall_time_unix_ms":%d,"rollout_id":"r","thread_id":"t","codex_turn_id":"u","payload":{%s}}`+"\n", 1789030800000+ms, payload)
	}
	ev(0, `"type":"codex_turn_started"`)
	for i, end := range []string{"failed", "cancelled", "completed"} {
		at := []int{100, 4100, 6100, 15_100}
		ev(at[i], fmt.Sprintf(`"type":"inference_started","inference_call_id":"i%d","model":"gpt-x"`, i))
		ev(at[i+1], fmt.Sprintf(`"type":"inference_%s","inference_call_id":"i%d"`, end, i))
	}
	ev(16_000, `"type":"codex_turn_ended","status":"completed"`)
	write(t, dir, "bundle/trace.jsonl", b.String())
	write(t, dir, "gateway.log", "2026-09-10T09:00:00Z [request] first_token_ms=1000 total_ms=3000 total_tokens=60 status=500\n"+
		"2026-09-10T09:00:10Z [request] total_ms=1500 status=429\n2026-09-10T09:00:20Z [request] status=429\n2026-09-10T09:00:30Z [request] first_token_ms=900 total_ms=800 status=502\n")
}

// How much of the waiting was for nothing is told below where it went, and is
// the same from a database.
func TestTimeOfFailedRequests(t *testing.T) {
	dir := t.TempDir()
	brokenTurn(t, dir)
	got := codexlag(t, "", dir)
	for _, want := range []string{"Requests that failed or were aborted took another 10.5 s, which is in none of these figures (4 of 6 tell how long).",
		"    93.8 %  15.0 s\n", "\nof this, requests that failed or were aborted took: model 6.00 s\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("lacks %q: %s%s", want, got.stdout, got.stderr)
		}
	}
	s := clickhousetest.Start(t, "")
	load(t, "--to", s.URL("db"), dir)
	sameFrom(t, s.URL("db"), []string{dir}, append(byAll(), "--format", "json")...)
}

func TestFiltersInADatabaseAreThoseOfLogs(t *testing.T) {
	s := clickhousetest.Start(t, "")
	paths := []string{"testdata/quickstart", "testdata/codexhome"}
	load(t, append([]string{"--to", s.URL("db")}, paths...)...)
	for _, args := range []string{
		"--since 2026-11-24T10:00:00.5Z", "--until 2026-11-24T10:00:00.5Z", "--since 2026-09-01 --until 2026-11-24",
		"--model gpt-5.[0-9]*,o?", "--model gpt*-codex", "--where model=gpt-5.4", "--where file=testdata/*/*.log", "--where dir=testdata/quickstart",
		"--where day=2026-11-*", "--where hour=1[0-3]h --timezone Asia/Kolkata", "--where status=failed,aborted", "--where cache=*90*", "--where cache=",
		"--where input-size=below?100,500*", "--where output-size=500*", "--where label=long*", "--where source=user", "--where format=rollout",
		"--where version=*", "--where provider= --where effort=",
	} {
		sameFrom(t, s.URL("db"), paths, append(strings.Fields(args), "--format", "json", "--by", "model")...)
	}
	got := codexlag(t, "", "--from", s.URL("db"), "--model", "none-such")
	if got.code != exitNothing || !strings.Contains(got.stderr, "passes the filters") {
		t.Errorf("nothing left: exit %d: %s", got.code, got.stderr)
	}
}

// So many requests that samples are tables, order statistics or sketches, and
// that models look at a part of them.
func TestManyRequestsInADatabase(t *testing.T) {
	s := clickhousetest.Start(t, "")
	paths := []string{gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 140_000, 6)}
	for range 2 { // the server has two of everything
		load(t, append([]string{"--to", s.URL("db")}, paths...)...)
	}
	sameFrom(t, s.URL("db"), paths, "--format", "json", "--by", "model")
	sameFrom(t, s.URL("db"), paths, "compare", "--at", "2026-10-20T16:00:00Z", "--min-tokens", "1", "--format", "json", "--by", "model")
	s.QueryIn("db", "OPTIMIZE TABLE requests FINAL") // one of everything
	sameFrom(t, s.URL("db"), paths, "--format", "json", "--by", "cache", "--exact-limit", "40000")
	sameFrom(t, s.URL("db"), paths, "--format", "json", "--exact-limit", "60000", "--percentiles", "5,50,99.99")
	got := codexlag(t, "", "compare", "--from", s.URL("db"), "--at", "2026-10-20T14:00:00Z", "--min-tokens", "1", "--exact-limit", "50000")
	if got.code != exitIO || !strings.Contains(got.stderr, "--exact-limit") {
		t.Errorf("a sketch against values: exit %d: %s", got.code, got.stderr)
	}
}

func TestReportsFromTwoShards(t *testing.T) {
	first, second := sharded(t)
	paths := []string{"testdata/quickstart", "testdata/codexhome", gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 45_000, 7)}
	for range 2 {
		load(t, append([]string{"--to", first.URL("all")}, paths...)...)
	}
	sameFrom(t, first.URL("all"), paths, "--format", "json", "--by", "model", "--by", "day", "--timezone", "America/New_York")
	sameFrom(t, first.URL("all"), paths, "compare", "--at", "2026-10-20T11:00:00Z", "--format", "json", "--by", "model")
	second.Kill()
	got := codexlag(t, "", "--from", first.URL("all"))
	if got.code != exitIO || !strings.Contains(got.stderr, first.URL("all")) || got.stdout != "" {
		t.Errorf("a shard is away: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
}

func TestCompareFromADatabase(t *testing.T) {
	s := clickhousetest.Start(t, "")
	paths := []string{"testdata/compare", "testdata/quickstart"}
	load(t, append([]string{"--to", s.URL("db")}, paths...)...)
	for _, args := range []string{"--format json --by model --by label", "--format markdown --since 2026-09-05 --fail-on ttft:p90>1000s", "--format text --lang zh"} {
		sameFrom(t, s.URL("db"), paths, append([]string{"compare", "--at", "2026-11-24T12:00:00Z"}, strings.Fields(args)...)...)
	}
	for at, says := range map[string]string{"2020-01-01": "no request ended before", "2030-01-01": "no request ended at"} {
		if got := codexlag(t, "", "compare", "--from", s.URL("db"), "--at", at); got.code != exitNothing || !strings.Contains(got.stderr, says) {
			t.Errorf("--at %s: exit %d: %s", at, got.code, got.stderr)
		}
	}
	if got := codexlag(t, "", "compare", "--from", s.URL("db"), "--at", "2026-11-24T12:00:00Z", "--fail-on", "ttft:p50>1ms"); got.code != exitGate {
		t.Errorf("a gate that is not met: exit %d: %s", got.code, got.stderr)
	}
}

func TestServerDiesInTheMiddleOfAReport(t *testing.T) {
	s := clickhousetest.Start(t, "")
	load(t, "--to", s.URL("db"), gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 150_000, 8))
	asked := make(chan result)
	go func() { asked <- codexlag(t, "", append(byAll()[:20], "--from", s.URL("db"))...) }()
	for s.Query("SELECT count() FROM system.processes WHERE query LIKE '%countIf%requests%' AND query NOT LIKE '%processes%'") == "0" {
		select {
		case got := <-asked:
			t.Fatalf("it was too fast, or failed: exit %d: %s", got.code, got.stderr)
		default:
		}
	}
	s.Kill()
	got := <-asked
	if got.code != exitIO || !strings.Contains(got.stderr, s.URL("db")) || !strings.Contains(got.stderr, "is the server running") || got.stdout != "" {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
}

func TestFromSaysWhatIsWrong(t *testing.T) {
	s := clickhousetest.Start(t, "")
	s.Query("CREATE DATABASE empty")
	load(t, "--to", s.URL("db"), "testdata/quickstart")
	load(t, "--to", s.URL("old"), "testdata/quickstart")
	s.QueryIn("old", "INSERT INTO codexlag_layout VALUES (0)")
	if got := codexlag(t, "", "load", "--to", s.URL("nothing"), "testdata/golden/help.txt"); got.code != exitNothing {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	t.Setenv("CODEXLAG_FROM", s.URL("nowhere")) // what the command line says comes first
	codexlagOK(t, "testdata/quickstart")
	codexlagOK(t, "--from", s.URL("db"))
	t.Setenv("CODEXLAG_FROM", "")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--from " + s.URL("db") + " logs/", exitUsage, "leave out logs/"},
		{"--from " + s.URL("db") + " --follow", exitUsage, "load --follow"},
		{"--from " + s.URL("db") + " --anonymize", exitUsage, "--anonymize"},
		{"--from " + s.URL("db") + " --format html", exitUsage, "no HTML"},
		{"--from " + s.URL("db") + " --slo ttft=1ms --slo-min 90%", exitGate, "keep the limits"},
		{"compare --from " + s.URL("db"), exitUsage, "--at TIME"},
		{"--from " + s.URL("nowhere"), exitIO, "codexlag load --to"},
		{"--from " + s.URL("empty"), exitIO, "codexlag load --to"},
		{"--from " + s.URL("nothing"), exitNothing, "holds no request"},
		{"--from " + s.URL("old"), exitIO, "layout 0"},
		{"--from http://127.0.0.1/db", exitUsage, "clickhouse://HOST:8123/DB"},
		{"--from " + strings.Replace(s.URL("db"), "://", "://guarded:wrong-secret@", 1), exitIO, "--password-file"},
	} {
		got := codexlag(t, "", strings.Fields(c.args)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.says) || strings.Contains(got.stderr, "wrong-secret") {
			t.Errorf("codexlag %s: exit %d, want %d: %s", c.args, got.code, c.code, got.stderr)
		}
	}
}
