package clickhouse

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codexlag/parse/record"
)

// A fake answers with what it was told, one call after the other; then it is content.
type fake struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
	bodies  []string
	queries []string
	headers []http.Header
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			panic(err)
		}
		body = z
	}
	b, err := io.ReadAll(body)
	if err != nil {
		panic(err)
	}
	f.bodies = append(f.bodies, string(b))
	f.queries = append(f.queries, r.URL.RawQuery)
	f.headers = append(f.headers, r.Header)
	if len(f.answers) > 0 {
		answer := f.answers[0]
		f.answers = f.answers[1:]
		answer(w)
	}
}

// calls is what has come so far: body, query and headers of each call. One that the
// client gave up may still come in.
func (f *fake) calls() (bodies, queries []string, headers []http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bodies), slices.Clone(f.queries), slices.Clone(f.headers)
}

func says(status int, text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

func hangsUp(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	c.Close()
}

func faked(t *testing.T, answers ...func(http.ResponseWriter)) (*DB, *fake) {
	f := &fake{answers: answers}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return New(&Address{Host: strings.TrimPrefix(server.URL, "http://"), Database: "db", User: "u", Password: "secret"}), f
}

func TestInsertIsRepeated(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   func(http.ResponseWriter)
		repeated bool
		says     string
	}{
		{"a proxy without a server", says(http.StatusBadGateway, "bad gateway"), true, "HTTP status 502"},
		{"hung up", hangsUp, true, "EOF"},
		{"too many parts", says(500, "Code: 252, e.displayText() = DB::Exception: Too many parts (300). Merges are slow., e.what() = DB::Exception"), true, "Too many parts"},
		{"no room", says(500, "Code: 243, e.displayText() = DB::Exception: Not enough space, e.what() = DB::Exception"), true, "disk is full"},
		{"wrong password", says(500, "Code: 193, e.displayText() = DB::Exception: Wrong password for user u, e.what() = DB::Exception"), false, "--password-file"},
		{"wrong password, today", says(403, "Code: 516. DB::Exception: u: Authentication failed (AUTHENTICATION_FAILED) (version 24.3.1.1)"), false, "--password-file"},
		{"no such table", says(404, "Code: 60. DB::Exception: Table db.requests doesn't exist. (UNKNOWN_TABLE)"), false, "codexlag load"},
		{"wrong SQL", says(400, "Code: 62. DB::Exception: Syntax error"), false, "code 62"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, f := faked(t, c.answer)
			db.RetryFor = time.Minute
			told := ""
			db.Warn = func(err error, _ time.Duration) { told = err.Error() }
			l := NewLoader(t.Context(), db, LoadOptions{})
			l.Sink()(&record.Request{Pos: record.Pos{File: "a.log", Line: 1}, Format: record.FormatRequest, ID: "x", Total: time.Second})
			err := l.Close(nil)
			if (err == nil) != c.repeated {
				t.Fatalf("error %v, repeated %v", err, c.repeated)
			}
			if err != nil {
				told = err.Error()
			}
			if !strings.Contains(told, c.says) || strings.Contains(told, "secret") {
				t.Errorf("%q lacks %q, or tells the password", told, c.says)
			}
			bodies, queries, headers := f.calls()
			if want := 1 + map[bool]int{true: 1}[c.repeated]; len(bodies) != want {
				t.Fatalf("%d calls, want %d", len(bodies), want)
			}
			if last := bodies[len(bodies)-1]; last != bodies[0] || last == "" {
				t.Error("the second try is not the first again")
			}
			for i, h := range headers {
				if h.Get("X-ClickHouse-Key") != "secret" || strings.Contains(queries[i], "secret") {
					t.Error("the password belongs into a header, and only there")
				}
			}
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	db, f := faked(t)
	for range 100 {
		f.answers = append(f.answers, hangsUp)
	}
	db.RetryFor = 300 * time.Millisecond
	err := db.Exec(t.Context(), "SELECT 1")
	if err == nil || !strings.Contains(err.Error(), "tried again for 300ms") {
		t.Errorf("error %v", err)
	}
	if bodies, _, _ := f.calls(); len(bodies) < 2 {
		t.Errorf("%d tries", len(bodies))
	}
	db.RetryFor = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	db.Warn = func(error, time.Duration) { cancel() }
	if err := db.Exec(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: error %v", err)
	}
}

func TestAnswerBreaksOff(t *testing.T) {
	db, _ := faked(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		w.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2})
	})
	db.RetryFor = time.Minute
	var got []uint64
	err := db.Query(t.Context(), "SELECT x", func(r *Row) { got = append(got, r.UInt64()) })
	if err == nil || !strings.Contains(err.Error(), "breaks off") {
		t.Errorf("error %v after %v", err, got)
	}
}

func TestParseAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, user, env, file string
		want                Address
	}{
		{in: "clickhouse://h/db", want: Address{Host: "h:8123", Database: "db", User: "default"}},
		{in: "clickhouses://h/db", want: Address{Host: "h:8443", Database: "db", User: "default", TLS: true}},
		{in: "clickhouse://[::1]:9/db/", want: Address{Host: "[::1]:9", Database: "db", User: "default"}},
		{in: "clickhouse://u:p%40:x@h:1/db", env: "no", want: Address{Host: "h:1", Database: "db", User: "u", Password: "p@:x"}},
		{in: "clickhouse://u@h/db", env: "yes", want: Address{Host: "h:8123", Database: "db", User: "u", Password: "yes"}},
		{in: "clickhouse://h/db", user: "me", env: "no", file: file, want: Address{Host: "h:8123", Database: "db", User: "me", Password: "from a file"}},
	} {
		t.Setenv(UserVariable, c.user)
		t.Setenv(PasswordVariable, c.env)
		got, err := ParseAddress(c.in, c.file)
		if err != nil || *got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.in, got, err, c.want)
		}
		if err == nil && c.want.Password != "" && strings.Contains(got.String(), c.want.Password) {
			t.Errorf("%s tells the password", got)
		}
	}
	for _, in := range []string{"", "h", "http://h/db", "clickhouse:///db", "clickhouse://h", "clickhouse://h/a/b", "clickhouse://h/db?x=1", "clickhouse://u:p@[h/db"} {
		if a, err := ParseAddress(in, ""); err == nil {
			t.Errorf("%q: %+v, want an error", in, a)
		}
	}
	if _, err := ParseAddress("clickhouse://h/db", file+".none"); err == nil {
		t.Error("a file that is missing is no error")
	}
}

// The keys decide what counts once; see key.go.
func TestKeys(t *testing.T) {
	at := time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)
	line := record.Request{Pos: record.Pos{File: "a.log", Line: 3}, Format: record.FormatRequest, End: at, Total: time.Second}
	session := record.Request{Pos: record.Pos{File: "r.jsonl", Line: 3}, Format: record.FormatRollout, Session: "s", Turn: "t", Nth: 2, End: at,
		Output: record.Count(7), Input: record.Count(9)}
	with := func(r record.Request, change func(*record.Request)) record.Request {
		change(&r)
		return r
	}
	for _, c := range []struct {
		name string
		a, b record.Request
		same bool
	}{
		{"the same line", line, line, true},
		{"another line", line, with(line, func(r *record.Request) { r.Line = 4 }), false},
		{"another file", line, with(line, func(r *record.Request) { r.File = "b.log" }), false},
		{"one file, two ways to name it", line, with(line, func(r *record.Request) { r.File = "./a.log" }), true},
		{"another total", line, with(line, func(r *record.Request) { r.Total++ }), false},
		{"a copy of an id", with(line, func(r *record.Request) { r.ID = "x" }), with(line, func(r *record.Request) { r.ID, r.File, r.Line = "x", "b.log", 9 }), true},
		{"another id", with(line, func(r *record.Request) { r.ID = "x" }), with(line, func(r *record.Request) { r.ID = "y" }), false},
		{"a copy of a session", session, with(session, func(r *record.Request) { r.File, r.Line, r.End = "copy.jsonl", 8, at.Add(time.Hour) }), true},
		{"the next of the turn", session, with(session, func(r *record.Request) { r.Nth = 3 }), false},
		{"a response id", with(session, func(r *record.Request) { r.ID = "resp" }), with(session, func(r *record.Request) { r.ID, r.Turn, r.Nth = "resp", "u", 9 }), true},
		{"telemetry in a rotated file", with(line, func(r *record.Request) { r.Format, r.Session = record.FormatTrace, "s" }),
			with(line, func(r *record.Request) { r.Format, r.Session, r.File = record.FormatTrace, "s", "a.log.1" }), true},
	} {
		var n, m namer
		if a, b := n.request(&c.a), m.request(&c.b); (a == b) != c.same {
			t.Errorf("%s: same %v, want %v", c.name, a == b, c.same)
		}
	}
	var n namer
	if first, second := n.request(&line), n.request(&line); first == second {
		t.Error("a line that tells of two requests alike gives one key")
	}
}
