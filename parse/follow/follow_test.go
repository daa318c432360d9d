package follow

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"codexlag/parse"
	"codexlag/parse/record"
)

// A run is a call of Follow under way.
type run struct {
	t      *testing.T
	got    *collected
	cancel context.CancelFunc
	done   chan *parse.Summary
}

// start calls Follow and waits until it has caught up.
func start(t *testing.T, o Options, paths ...string) *run {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{t: t, got: new(collected), cancel: cancel, done: make(chan *parse.Summary, 1)}
	caughtUp := make(chan bool)
	o.CaughtUp = func() { close(caughtUp) }
	if o.pace == nil {
		o.pace = &inAHurry
	}
	go func() {
		s, err := Follow(ctx, paths, o, r.got.add)
		if err != nil {
			t.Error(err)
		}
		r.done <- s
	}()
	t.Cleanup(cancel)
	<-caughtUp
	return r
}

// has waits until n records came.
func (r *run) has(n int) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); r.got.len() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%d records instead of %d: %q", r.got.len(), n, r.got.sorted())
		}
	}
}

// ends ends it and compares what came with the requests of those numbers.
func (r *run) ends(numbers ...int) *parse.Summary {
	r.t.Helper()
	r.cancel()
	s := <-r.done
	var want collected
	for _, n := range numbers {
		parse.Read(context.Background(), []string{"-"}, parse.Options{Stdin: strings.NewReader(request(n))}, want.add)
	}
	compare(r.t, r.got.sorted(), want.sorted())
	return s
}

func request(n int) string {
	return fmt.Sprintf("id%06d [request] first_token_ms=%d total_tokens=%d total_ms=%d\n", n, n, n, 2*n)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func both(t *testing.T, test func(t *testing.T, o Options)) {
	for _, poll := range []bool{false, true} {
		t.Run(fmt.Sprintf("poll %v", poll), func(t *testing.T) { test(t, Options{Poll: poll}) })
	}
}

// Only the named file and what it is rotated to is read, not what lies beside it.
func TestNamedFileIsFollowedThroughRotation(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		path := filepath.Join(t.TempDir(), "a.log")
		put(t, path+".1", request(1))
		put(t, filepath.Join(filepath.Dir(path), "b.log"), request(2))
		put(t, path, request(3))
		r := start(t, o, path)
		os.Rename(path+".1", path+".2")
		os.Rename(path, path+".1")
		put(t, path+".1", request(4)) // the writer notices late
		put(t, path, request(5))
		os.Rename(path+".2", path+".3") // and at once again
		os.Rename(path+".1", path+".2")
		os.Rename(path, path+".1")
		put(t, path, request(6))
		r.has(4)
		put(t, filepath.Join(filepath.Dir(path), "c.log"), request(7))
		r.ends(3, 4, 5, 6)
	})
}

func TestNewOnlyLeavesOutWhatIsThere(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		o.NewOnly = true
		dir := t.TempDir()
		begun := request(2)
		put(t, filepath.Join(dir, "a.log"), request(1)+begun[:20])
		put(t, filepath.Join(dir, "sleeps.log"), request(8)+request(9)[:20])
		r := start(t, o, dir)
		put(t, filepath.Join(dir, "a.log"), begun[20:]+request(3))
		put(t, filepath.Join(dir, "b.log"), request(4))
		r.has(3)
		r.ends(2, 3, 4)
	})
}

// The first file of an empty tree, in a directory that is not there yet.
func TestFileAppearsLater(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		root := t.TempDir()
		r := start(t, o, root)
		dir := filepath.Join(root, "sessions", "2026", "09", "10")
		os.MkdirAll(dir, 0o755)
		put(t, filepath.Join(dir, "a.log"), request(1))
		r.has(1)
		put(t, filepath.Join(dir, "a.log"), request(2))
		r.has(2)
		r.ends(1, 2)
	})
}

// A named file that does not exist comes later, and even its directory does.
func TestNamedFileAppearsLater(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		path := filepath.Join(t.TempDir(), "x", "a.log")
		r := start(t, o, path)
		os.Mkdir(filepath.Dir(path), 0o755)
		put(t, path, request(1))
		r.has(1)
		s := r.ends(1)
		if len(s.Problems) > 0 {
			t.Errorf("problems: %v", s.Problems)
		}
	})
}

// A line whose writer died in its middle counts as reading would count it:
// when following ends, or when something else comes in its place.
func TestUnfinishedLine(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		path := filepath.Join(t.TempDir(), "a.log")
		r := start(t, o, filepath.Dir(path))
		put(t, path, request(1)+strings.TrimSuffix(request(2), "\n"))
		r.has(1)
		time.Sleep(100 * time.Millisecond)
		if n := r.got.len(); n != 1 {
			t.Errorf("%d records while the line may go on", n)
		}
		os.Remove(path)
		r.has(2)
		put(t, path, strings.TrimSuffix(request(3), "\n"))
		r.ends(1, 2, 3)
	})
}

func TestSymlinkIsSwapped(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		o.pace = new(pace)
		*o.pace = inAHurry
		o.pace.safety = 50 * time.Millisecond
		dir := t.TempDir()
		link := filepath.Join(dir, "now.log")
		put(t, filepath.Join(dir, "one"), request(1))
		put(t, filepath.Join(dir, "two"), request(2))
		os.Symlink("one", link)
		r := start(t, o, link)
		put(t, filepath.Join(dir, "one"), request(3))
		r.has(2)
		os.Symlink("two", link+"~")
		os.Rename(link+"~", link)
		r.has(3)
		r.ends(1, 2, 3)
	})
}

func TestStandardInput(t *testing.T) {
	in, out := io.Pipe()
	r := start(t, Options{Options: parse.Options{Stdin: in}}, "-")
	go func() {
		io.WriteString(out, request(1)+request(2)[:9])
		io.WriteString(out, request(2)[9:])
		out.Close()
	}()
	r.has(2)
	<-r.done // it ends by itself: nothing can come any more
	r.done <- nil
	r.ends(1, 2)
}

const (
	session   = "01a08a8b-9a80-7000-8000-000000000001"
	traceLine = `2026-09-10T09:00:%02d.%03d000Z  INFO session_loop{thread_id=` + session + `}: codex_otel.log_only: event.name="codex.sse_event" event.kind=response.completed input_token_count=9 output_token_count=%d ttft_ms=900 event.timestamp=2026-09-10T09:00:%02[1]d.%03[2]dZ conversation.id=` + session + " model=m\n"
)

func rollout(second, output int) string {
	turn := fmt.Sprintf("01a08a8b-%04x-7000-8000-000000000001", 0x9a80+second*1000)
	at := func(ms int) string {
		return time.Date(2026, 9, 10, 9, 0, second, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	}
	return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"task_started","turn_id":%q}}`, at(-2000), turn) + "\n" +
		fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"user_message","message":"x"}}`, at(-1990)) + "\n" +
		fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"message","role":"assistant","content":[]}}`, at(0)) + "\n" +
		fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":1},"last_token_usage":{"input_tokens":9,"output_tokens":%[3]d,"total_tokens":%d}}}}`, at(1), second, output, output+9) + "\n" +
		fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"task_complete","turn_id":%q,"duration_ms":2010,"time_to_first_token_ms":950}}`, at(10), turn) + "\n"
}

// A trace and a session file tell of one request, the one or the other first:
// what comes out is what reading both afterwards finds.
func TestTraceAndSessionAreJoined(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		trace := filepath.Join(dir, "codex-tui.log")
		file := filepath.Join(dir, "rollout-1.jsonl")
		meta := `{"timestamp":"2026-09-10T08:59:00.000Z","type":"session_meta","payload":{"id":"` + session + `","cli_version":"0.157.1"}}` + "\n"
		put(t, trace, fmt.Sprintf(traceLine, 1, 0, 7))
		put(t, file, meta+rollout(1, 7))
		r := start(t, o, dir)
		begun := rollout(10, 11)
		first := strings.Index(begun, "\n") + 1
		put(t, file, begun[:first])
		put(t, trace, fmt.Sprintf(traceLine, 10, 0, 11))
		time.Sleep(50 * time.Millisecond)
		put(t, file, begun[first:])
		time.Sleep(50 * time.Millisecond)
		put(t, file, rollout(20, 13))
		time.Sleep(50 * time.Millisecond)
		put(t, trace, fmt.Sprintf(traceLine, 20, 0, 13))
		put(t, trace, fmt.Sprintf(traceLine, 30, 0, 17)) // the session file lacks it
		r.has(2 + 4)
		r.cancel()
		<-r.done
		var want collected
		parse.Read(t.Context(), []string{dir}, parse.Options{}, want.add)
		if n := len(slices.DeleteFunc(want.sorted(), func(s string) bool { return !strings.Contains(s, "request") })); n != 4 {
			t.Fatalf("%d requests instead of 4: %q", n, want.list)
		}
		want = collected{}
		parse.Read(t.Context(), []string{dir}, parse.Options{}, want.add)
		compare(t, r.got.sorted(), want.sorted())
	})
}

// One request is told of twice in a row, by two writers into one trace; the
// trace is rotated between the two lines.
func TestTraceIsRotatedBetweenTheTwoTellingsOfARequest(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		trace := filepath.Join(dir, "codex-tui.log")
		put(t, trace, fmt.Sprintf(traceLine, 1, 0, 7))
		r := start(t, o, dir)
		pair := fmt.Sprintf(traceLine, 10, 0, 11)
		put(t, trace, pair)
		os.Rename(trace, trace+".1")
		put(t, trace, strings.ReplaceAll(pair, "log_only", "trace_safe")+fmt.Sprintf(traceLine, 20, 0, 13))
		r.has(4) // and one duplicate
		r.cancel()
		<-r.done
		if n := strings.Count(strings.Join(r.got.sorted(), "\n"), "request"); n != 3 {
			t.Errorf("%d requests instead of 3: %q", n, r.got.sorted())
		}
	})
}

func insert(t *testing.T, db *sql.DB, second int, target, body string) {
	t.Helper()
	_, err := db.Exec(`INSERT INTO logs(ts,ts_nanos,target,feedback_log_body,thread_id) VALUES(?,0,?,?,'a')`, 1789030800+second, target, body)
	if err != nil {
		t.Fatal(err)
	}
}

// Codex's database in write-ahead mode: rows that are added, then one that
// comes up later, beside one of Codex's that holds no log.
func TestDatabaseIsFollowed(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		made := func(name, table string) *sql.DB {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, name)+"?_pragma=journal_mode(wal)")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			if _, err := db.Exec(table); err != nil {
				t.Fatal(err)
			}
			return db
		}
		const logs = "CREATE TABLE logs(id INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER, ts_nanos INTEGER, target TEXT, feedback_log_body TEXT, thread_id TEXT)"
		answer := func(db *sql.DB, second, tokens int) {
			for i, event := range []string{
				fmt.Sprintf(`{"type":"response.created","response":{"id":"r%d"}}`, tokens),
				`{"type":"response.output_text.delta","delta":"x"}`,
				fmt.Sprintf(`{"type":"response.completed","response":{"id":"r%d","model":"m","usage":{"output_tokens":%[1]d}}}`, tokens),
			} {
				insert(t, db, second+i, "codex_api::sse::responses", "SSE event: "+event)
			}
		}
		made("state_5.sqlite", "CREATE TABLE threads(id)")
		db := made("logs_2.sqlite", logs)
		answer(db, 0, 100)
		answer(db, 100, 101)
		r := start(t, o, dir)
		answer(db, 200, 102)
		r.has(2) // the last one waits for telemetry
		answer(db, 300, 103)
		answer(made("logs_3.sqlite", logs), 400, 104)
		r.has(3)
		r.cancel()
		s := <-r.done
		var want collected
		parse.Read(t.Context(), []string{dir}, parse.Options{}, want.add)
		for _, l := range s.Logs {
			if l.Err != nil {
				t.Errorf("%s: %v", l.Path, l.Err)
			}
		}
		if len(want.list) != 5 {
			t.Fatalf("%d records instead of 5: %q", len(want.list), want.list)
		}
		compare(t, r.got.sorted(), want.sorted())
		if len(s.Problems) > 0 || len(s.Logs) != 3 || s.Logs[0].Format != record.FormatUnknown && s.Logs[1].Format != record.FormatUnknown {
			t.Errorf("%+v", s)
		}
	})
}

func TestNewRowsOnly(t *testing.T) {
	both(t, func(t *testing.T, o Options) {
		o.NewOnly = true
		path := filepath.Join(t.TempDir(), "logs_2.sqlite")
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("CREATE TABLE logs(id INTEGER PRIMARY KEY, ts INTEGER, ts_nanos INTEGER, target TEXT, feedback_log_body TEXT, thread_id TEXT)"); err != nil {
			t.Fatal(err)
		}
		const told = `event.name="codex.sse_event" event.kind=response.completed input_token_count=9 output_token_count=%d ttft_ms=900 conversation.id=a model=m`
		insert(t, db, 1, "codex_otel.log_only", fmt.Sprintf(told, 7))
		r := start(t, o, path)
		insert(t, db, 10, "codex_otel.log_only", fmt.Sprintf(told, 8))
		r.has(1)
		r.cancel()
		<-r.done
		if got := r.got.sorted(); len(got) != 1 || !strings.Contains(got[0], "{8 true}") {
			t.Errorf("%q", got)
		}
	})
}

// Windows tools write UTF-16 or put a mark before UTF-8. Pieces end anywhere.
func TestOtherEncodings(t *testing.T) {
	utf16le := func(s string) (b []byte) {
		for _, c := range utf16.Encode([]rune(s)) {
			b = append(b, byte(c), byte(c>>8))
		}
		return b
	}
	for name, encode := range map[string]func(string) []byte{
		"UTF-16":    func(s string) []byte { return append([]byte("\xff\xfe"), utf16le(s)...) },
		"no mark":   utf16le,
		"BOM UTF-8": func(s string) []byte { return []byte("\xef\xbb\xbf" + s) },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, o Options) {
				dir := t.TempDir()
				first := encode(request(1) + request(2) + request(3) + "🙂 no request\r\n" + request(4) + request(5))
				put(t, filepath.Join(dir, "a.log"), string(first[:len(first)/3]))
				r := start(t, o, dir)
				put(t, filepath.Join(dir, "a.log"), string(first[len(first)/3:len(first)*2/3]))
				time.Sleep(20 * time.Millisecond)
				put(t, filepath.Join(dir, "a.log"), string(first[len(first)*2/3:]))
				r.has(5)
				os.Rename(filepath.Join(dir, "a.log"), filepath.Join(dir, "a.log.1"))
				put(t, filepath.Join(dir, "a.log"), string(encode(request(6))))
				r.has(6)
				r.ends(1, 2, 3, 4, 5, 6)
			})
		})
	}
}

// A tree of old sessions costs next to nothing, and neither does time.
func TestSleepingFilesCostNothing(t *testing.T) {
	dir := t.TempDir()
	const files = 300
	for i := range files {
		put(t, filepath.Join(dir, fmt.Sprintf("rollout-%d.jsonl", i)), strings.ReplaceAll(rollout(1, i+1), "01a08a8b", fmt.Sprintf("%08x", i)))
	}
	goroutines := runtime.NumGoroutine()
	r := start(t, Options{}, dir)
	if n := runtime.NumGoroutine() - goroutines; n > 10 {
		t.Errorf("%d goroutines for %d files", n, files)
	}
	if n := openFiles(t); n > 30 {
		t.Errorf("%d descriptors", n)
	}
	for i := range files {
		put(t, filepath.Join(dir, fmt.Sprintf("rollout-%d.jsonl", i)), request(i))
	}
	r.has(3 * files)
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine()-goroutines > 10; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines after all went to sleep again", runtime.NumGoroutine()-goroutines)
		}
	}
	r.cancel()
	<-r.done
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("descriptors cannot be counted here")
	}
	return len(entries)
}
