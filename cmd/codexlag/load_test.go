package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codexlag/analyze/clickhouse"
	"codexlag/analyze/clickhouse/clickhousetest"
)

// gatewayLog writes request lines of all kinds: with and without a time, a
// model, token counts, parts of a millisecond; failed ones; noise between them.
func gatewayLog(t *testing.T, path string, n int, seed uint64) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	r := rand.New(rand.NewPCG(seed, 1))
	at := time.Date(2026, 10, 20, 8, 0, 0, 0, time.UTC)
	for i := range n {
		at = at.Add(time.Duration(r.IntN(900)) * time.Millisecond)
		ttft := 200 + int(1000*r.ExpFloat64())
		output := 1 + int(400*r.ExpFloat64())
		total := ttft + int(float64(output)*(8+4*r.NormFloat64()*r.NormFloat64()))
		if i%7 > 0 {
			fmt.Fprintf(w, "%s ", at.Format(time.RFC3339Nano))
		}
		fraction := ""
		if i%10 < 3 {
			fraction = fmt.Sprintf(".%03d", r.IntN(1000))
		}
		fmt.Fprintf(w, "[request] first_token_ms=%d%s total_tokens=%d total_ms=%d%[2]s model=m%[5]d", ttft, fraction, output, total, r.IntN(3))
		if i%3 > 0 {
			input := 100 + int(20000*r.Float64())
			fmt.Fprintf(w, " prompt_tokens=%d cached_tokens=%d", input, input*r.IntN(5)/5)
		}
		switch i % 50 {
		case 1:
			fmt.Fprint(w, " status=429")
		case 2:
			fmt.Fprint(w, " status=aborted")
		case 3:
			fmt.Fprint(w, " label=experiment")
		case 4:
			fmt.Fprintf(w, "\n[request] total_ms=%d", total)
		case 5:
			fmt.Fprint(w, "\nINFO something else\n[request] nothing=1")
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads with the given flags, which must succeed.
func load(t *testing.T, args ...string) result {
	t.Helper()
	got := codexlag(t, "", append([]string{"load"}, args...)...)
	if got.code != exitOK {
		t.Fatalf("codexlag load %s: exit %d: %s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got
}

// each is how many requests, turns and logs a database holds, however often
// they were loaded, and a sum over what they say.
func each(s *clickhousetest.Server, database string) string {
	var l []string
	for _, q := range []string{
		"SELECT count(), uniqExact(key), sum(total), sum(ttft), sum(output) FROM %s.requests FINAL",
		"SELECT count(), uniqExact(key), sum(duration), sum(tool) FROM %s.turns FINAL",
		"SELECT count(), sum(lines), sum(arraySum(left_out_count)) FROM %s.logs FINAL",
	} {
		l = append(l, s.Query(fmt.Sprintf(q, database)))
	}
	return strings.Join(l, " | ")
}

func TestLoadAgainLeavesEveryRequestOnce(t *testing.T) {
	s := clickhousetest.Start(t, "")
	log := gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 5_000, 1)
	for name, paths := range map[string][]string{
		"quickstart": {"testdata/quickstart"}, "codexhome": {"testdata/codexhome"}, "compare": {"testdata/compare"}, "gateway": {log},
	} {
		t.Run(name, func(t *testing.T) {
			db := "again_" + name
			args := append([]string{"--to", s.URL(db), "--batch", "1000"}, paths...)
			load(t, args...)
			once := each(s, db)
			local := codexlag(t, "", append([]string{"requests", "--format", "csv"}, paths...)...)
			if n, want := strings.Fields(once)[0], strconv.Itoa(strings.Count(local.stdout, "\n")-1); n != want {
				t.Errorf("%s requests are in the database, the log has %s", n, want)
			}
			failed := strings.Count(local.stdout, ",failed,") + strings.Count(local.stdout, ",aborted,")
			if n := s.Query("SELECT count() FROM " + db + ".failures"); n != strconv.Itoa(failed) {
				t.Errorf("%s failures are in the database, the log has %d", n, failed)
			}
			load(t, append(args, "--host", "another", "--no-cache")...)
			if got := each(s, db); got != once {
				t.Errorf("loaded again:\n got %s\nwant %s", got, once)
			}
			if paths[0] != log {
				abs, err := filepath.Abs(paths[0])
				if err != nil {
					t.Fatal(err)
				}
				load(t, "--to", s.URL(db), abs)
				if got := each(s, db); got != once {
					t.Errorf("loaded by its absolute path:\n got %s\nwant %s", got, once)
				}
			}
		})
	}
}

func TestLoadFromTwoMachinesAtOnce(t *testing.T) {
	s := clickhousetest.Start(t, "")
	log := gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 6_000, 2)
	load(t, "--to", s.URL("alone"), log, "testdata/codexhome")
	var both sync.WaitGroup
	for _, host := range []string{"a", "b", "c"} {
		both.Go(func() {
			if got := codexlag(t, "", "load", "--to", s.URL("together"), "--host", host, "--batch", "2000", log, "testdata/codexhome"); got.code != exitOK {
				t.Errorf("host %s: exit %d: %s", host, got.code, got.stderr)
			}
		})
	}
	both.Wait()
	if got, want := each(s, "together"), each(s, "alone"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Two logs that have one path and the same lines without a time are two logs,
// if they begin differently.
func TestLoadTellsLogsOfOnePathApart(t *testing.T) {
	s := clickhousetest.Start(t, "")
	path := filepath.Join(t.TempDir(), "wrapper.log")
	const line = "[request] first_token_ms=100 total_tokens=10 total_ms=900\n"
	for _, first := range []string{"log of machine a\n", "log of machine b\n"} {
		if err := os.WriteFile(path, []byte(first+line+line), 0o600); err != nil {
			t.Fatal(err)
		}
		load(t, "--to", s.URL("paths"), path)
	}
	if got := s.Query("SELECT count() FROM paths.requests FINAL"); got != "4" {
		t.Errorf("%s requests, want 4", got)
	}
}

func TestServerDiesInTheMiddleOfALoad(t *testing.T) {
	s := clickhousetest.Start(t, "")
	log := gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 15_000, 3)
	load(t, "--to", s.URL("whole"), log)
	want := each(s, "whole")

	loaded := make(chan result)
	go func() {
		loaded <- codexlag(t, "", "load", "--to", s.URL("broken"), "--batch", "300", "--no-cache", "--retry-for", "1m", log)
	}()
	for deadline := time.Now().Add(time.Minute); s.Query("SELECT count() FROM system.parts WHERE database = 'broken' AND table = 'requests'") == "0"; {
		if time.Now().After(deadline) {
			t.Fatal("nothing arrives")
		}
	}
	s.Kill()
	s.Run()
	got := <-loaded
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if !strings.Contains(got.stderr, "trying again") {
		t.Error("the server died after the load had ended")
	}
	if got := each(s, "broken"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}

	// It goes and does not come back: the load fails, and one more completes it.
	go func() {
		loaded <- codexlag(t, "", "load", "--to", s.URL("given_up"), "--batch", "300", "--no-cache", "--retry-for", "500ms", log)
	}()
	for s.Query("SELECT count() FROM system.parts WHERE database = 'given_up' AND table = 'requests'") == "0" {
		time.Sleep(time.Millisecond)
	}
	s.Kill()
	got = <-loaded
	if got.code != exitIO || !strings.Contains(got.stderr, "tried again for 500ms") || !strings.Contains(got.stderr, "load the same logs again") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	s.Run()
	load(t, "--to", s.URL("given_up"), log)
	if got := each(s, "given_up"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestLoadFollows(t *testing.T) {
	s := clickhousetest.Start(t, "")
	path := filepath.Join(t.TempDir(), "live.log")
	const line = "2026-09-10T09:00:%02dZ [request] first_token_ms=100 total_tokens=10 total_ms=900\n"
	if err := os.WriteFile(path, fmt.Appendf(nil, line, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errs strings.Builder
	code := make(chan int)
	go func() {
		code <- run(ctx, strings.NewReader(""), &out, &errs, []string{"load", "--follow", "--every", "100ms", "--to", s.URL("live"), path})
	}()
	has := func(n string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if s.Query("EXISTS TABLE live.requests") == "1" && s.Query("SELECT count() FROM live.requests FINAL") == n {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %s requests come", n)
			}
		}
	}
	has("1")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, line, 1)
	has("2")
	stop()
	if c := <-code; c != exitOK || !strings.Contains(out.String(), "2 requests") {
		t.Errorf("exit %d: %s%s", c, out.String(), errs.String())
	}
	load(t, "--to", s.URL("live"), path)
	has("2")
	if got := s.Query("SELECT lines FROM live.logs FINAL"); got != "2" {
		t.Errorf("the log has %s lines, want 2", got)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	s := clickhousetest.Start(t, "")
	guarded := strings.Replace(s.URL("guarded"), "://", "://guarded:wrong-secret@", 1)
	s.Query("CREATE DATABASE old")
	s.Query("CREATE TABLE old.codexlag_layout (layout UInt32) ENGINE = MergeTree ORDER BY layout")
	s.Query("INSERT INTO old.codexlag_layout VALUES (0), (1)")
	s.Query("CREATE DATABASE newer")
	s.Query("CREATE TABLE newer.codexlag_layout (layout UInt32) ENGINE = MergeTree ORDER BY layout")
	s.Query("INSERT INTO newer.codexlag_layout VALUES (99)")
	s.Query("CREATE DATABASE foreign")
	s.Query("CREATE TABLE foreign.requests (x UInt8) ENGINE = TinyLog")
	load(t, "--to", s.URL("altered"), "testdata/quickstart")
	s.Query("ALTER TABLE altered.requests DROP COLUMN retries")
	for _, c := range []struct {
		name string
		to   string
		code int
		says []string
	}{
		{"wrong password", guarded, exitIO, []string{"assword", "CODEXLAG_CLICKHOUSE_PASSWORD", "--password-file"}},
		{"older layout", s.URL("old"), exitIO, []string{"layout 0", "load the logs into a new database"}},
		{"newer layout", s.URL("newer"), exitIO, []string{"layout 99", "update codexlag"}},
		{"somebody else's table", s.URL("foreign"), exitIO, []string{`"requests"`, "another database"}},
		{"a column is missing", s.URL("altered"), exitIO, []string{"retries"}},
		{"no database", "clickhouse://" + s.Host(), exitUsage, []string{"names no database"}},
		{"another scheme", "http://" + s.Host() + "/db", exitUsage, []string{"clickhouse://HOST:8123/DB"}},
		{"no address", "clickhouse://u:wrong-secret@[/db", exitUsage, []string{"cannot be read"}},
		{"nobody there", "clickhouse://u:wrong-secret@127.0.0.1:1/db", exitIO, []string{"is the server running"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := codexlag(t, "", "load", "--retry-for", "0s", "--to", c.to, "testdata/quickstart")
			if got.code != c.code {
				t.Errorf("exit %d, want %d: %s", got.code, c.code, got.stderr)
			}
			for _, s := range c.says {
				if !strings.Contains(got.stderr, s) {
					t.Errorf("%q lacks %q", got.stderr, s)
				}
			}
			if strings.Contains(got.stdout+got.stderr, "wrong-secret") {
				t.Errorf("the password is told: %s%s", got.stdout, got.stderr)
			}
		})
	}
}

func TestLoadTakesThePasswordFromElsewhere(t *testing.T) {
	s := clickhousetest.Start(t, "")
	to := strings.Replace(s.URL("guarded"), "://", "://guarded@", 1)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(clickhousetest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, "--to", to, "--password-file", file, "testdata/quickstart")
	t.Setenv(clickhouse.PasswordVariable, clickhousetest.Password)
	load(t, "--to", to, "testdata/quickstart")
	t.Setenv(clickhouse.UserVariable, "guarded")
	got := load(t, "--to", s.URL("guarded"), "testdata/quickstart")
	if strings.Contains(got.stdout+got.stderr, clickhousetest.Password) {
		t.Errorf("the password is told: %s%s", got.stdout, got.stderr)
	}
}

// sharded starts two servers, makes the tables on both, and on the first the
// tables that spread over both, in the database "all".
func sharded(t *testing.T) (first, second *clickhousetest.Server) {
	t.Helper()
	first, second = clickhousetest.New(t, ""), clickhousetest.New(t, "")
	tables := strings.Split(strings.TrimSuffix(strings.TrimSpace(codexlag(t, "", "schema", "clickhouse").stdout), ";"), ";\n")
	for _, s := range []*clickhousetest.Server{first, second} {
		s.Run(first, second)
		s.Query("CREATE DATABASE part")
		for _, statement := range tables {
			s.QueryIn("part", statement)
		}
	}
	first.Query("CREATE DATABASE all")
	for _, table := range []string{"requests", "turns", "logs"} {
		first.Query("CREATE TABLE all." + table + " AS part." + table + " ENGINE = Distributed(shards, part, " + table + ", sipHash64(key))")
	}
	first.Query("CREATE TABLE all.codexlag_layout AS part.codexlag_layout ENGINE = Distributed(shards, part, codexlag_layout)")
	return first, second
}

func TestLoadOntoTwoShards(t *testing.T) {
	first, second := sharded(t)
	log := gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 5_000, 5)
	load(t, "--to", first.URL("alone"), log, "testdata/codexhome")
	for range 2 {
		load(t, "--to", first.URL("all"), log, "testdata/codexhome")
	}
	if got, want := each(first, "all"), each(first, "alone"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for _, s := range []*clickhousetest.Server{first, second} {
		if n := s.Query("SELECT count() > 1000 FROM part.requests FINAL"); n != "1" {
			t.Error("a shard has next to nothing")
		}
	}
}
