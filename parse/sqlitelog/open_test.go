package sqlitelog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codexlag/parse/record"
)

// TestMain makes the test program its own second process: a Codex that has the
// database open.
func TestMain(m *testing.M) {
	if path := os.Getenv("SQLITELOG_WRITER"); path != "" {
		db := writeWAL(path, 3)
		defer db.Close()
		fmt.Println("written")
		io.Copy(io.Discard, os.Stdin) // until the test is done
		if os.Getenv("SQLITELOG_CRASH") != "" {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const schema2 = `CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER NOT NULL, ts_nanos INTEGER NOT NULL,
	level TEXT NOT NULL, target TEXT NOT NULL, feedback_log_body TEXT, module_path TEXT, file TEXT, line INTEGER,
	thread_id TEXT, process_uuid TEXT, estimated_bytes INTEGER NOT NULL DEFAULT 0);
	CREATE INDEX idx_logs_ts ON logs(ts DESC, ts_nanos DESC, id DESC);`

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func openForTest(path string) *sql.DB {
	db, err := sql.Open("sqlite", uri(path))
	must(err)
	db.SetMaxOpenConns(1)
	return db
}

func write(db *sql.DB, statements ...string) {
	for _, s := range statements {
		_, err := db.Exec(s)
		must(err)
	}
}

// writeWAL makes a database in write-ahead mode: one answer in the file itself,
// requests-1 in the log, and does not close it.
func writeWAL(path string, requests int) *sql.DB {
	db := openForTest(path)
	write(db, "PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", schema2)
	for i := range requests {
		writeAnswer(db, i)
		if i == 0 {
			write(db, "PRAGMA wal_checkpoint(TRUNCATE)")
		}
	}
	return db
}

// writeAnswer writes one answer: TTFT 500 ms, total 2 s, 100+n tokens.
func writeAnswer(db *sql.DB, n int) {
	at := 1789030800 + 10*n
	for _, e := range []struct {
		ms   int
		json string
	}{
		{0, fmt.Sprintf(`{"type":"response.created","response":{"id":"resp_%d"}}`, n)},
		{500, `{"type":"response.output_text.delta","delta":"hello"}`},
		{2000, fmt.Sprintf(`{"type":"response.completed","response":{"id":"resp_%d","model":"gpt-x","usage":{"output_tokens":%d}}}`, n, 100+n)},
	} {
		_, err := db.Exec(`INSERT INTO logs(ts,ts_nanos,level,target,feedback_log_body,thread_id) VALUES(?,?,'TRACE',?,?,'t1')`,
			at+e.ms/1000, e.ms%1000*1_000_000, streamTarget, "run_turn: SSE event: "+e.json)
		must(err)
	}
}

// startWriter starts the second process on path. stop ends it; where crash is
// set, without closing the database.
func startWriter(t *testing.T, path string, crash bool) (stop func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "SQLITELOG_WRITER="+path)
	if crash {
		cmd.Env = append(cmd.Env, "SQLITELOG_CRASH=1")
	}
	in, err := cmd.StdinPipe()
	must(err)
	out, err := cmd.StdoutPipe()
	must(err)
	cmd.Stderr = os.Stderr
	must(cmd.Start())
	if s, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the writer says %q, %v", s, err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			in.Close()
			cmd.Wait()
		}
	}
	t.Cleanup(stop)
	return stop
}

// snapshot describes a folder down to the last byte.
func snapshot(dir string) string {
	var b strings.Builder
	must(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		must(err)
		info, err := e.Info()
		must(err)
		fmt.Fprint(&b, path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			must(err)
			fmt.Fprintf(&b, " %d %x", len(data), sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func copyAll(from, to string, endings ...string) {
	for _, e := range endings {
		data, err := os.ReadFile(from + e)
		must(err)
		must(os.WriteFile(to+e, data, 0o600))
	}
}

// TestReadTouchesNothing reads databases in every state that they are found in.
func TestReadTouchesNothing(t *testing.T) {
	tests := []struct {
		name     string
		file     string // logs_2.sqlite if empty
		make     func(t *testing.T, path string)
		requests int
	}{
		{"rollback journal mode", "", func(t *testing.T, path string) {
			db := openForTest(path)
			defer db.Close()
			write(db, schema2)
			writeAnswer(db, 0)
		}, 1},
		{"write-ahead mode, closed properly", "", func(t *testing.T, path string) {
			writeWAL(path, 2).Close()
		}, 2},
		{"write-ahead mode, in use, rows only in the log", "", func(t *testing.T, path string) {
			startWriter(t, path, false)
		}, 3},
		{"write-ahead mode, in use, log empty", "", func(t *testing.T, path string) {
			db := writeWAL(path, 2)
			write(db, "PRAGMA wal_checkpoint(TRUNCATE)")
			t.Cleanup(func() { db.Close() })
		}, 2},
		{"crashed: log and index left behind", "", func(t *testing.T, path string) {
			startWriter(t, path, true)()
			if size(path+"-wal") <= 0 || size(path+"-shm") <= 0 {
				t.Fatal("no crash was made")
			}
		}, 3},
		{"copied while in use: log without its index", "", func(t *testing.T, path string) {
			from := filepath.Join(t.TempDir(), "logs.sqlite")
			startWriter(t, from, false)
			copyAll(from, path, "", "-wal")
		}, 3},
		{"copied while in use, all three", "", func(t *testing.T, path string) {
			from := filepath.Join(t.TempDir(), "logs.sqlite")
			startWriter(t, from, false)
			copyAll(from, path, "", "-wal", "-shm")
		}, 3},
		{"copied while in use, only the database", "", func(t *testing.T, path string) {
			from := filepath.Join(t.TempDir(), "logs.sqlite")
			startWriter(t, from, false)
			copyAll(from, path, "")
		}, 1},
		{"an index alone left behind", "", func(t *testing.T, path string) {
			writeWAL(path, 2).Close()
			must(os.WriteFile(path+"-shm", make([]byte, 32768), 0o600))
		}, 2},
		{"an empty log left behind", "", func(t *testing.T, path string) {
			writeWAL(path, 2).Close()
			must(os.WriteFile(path+"-wal", nil, 0o600))
		}, 2},
		{"an empty log and an index left behind", "", func(t *testing.T, path string) {
			writeWAL(path, 2).Close()
			must(os.WriteFile(path+"-wal", nil, 0o600))
			must(os.WriteFile(path+"-shm", make([]byte, 32768), 0o600))
		}, 2},
		{"a log that is none", "", func(t *testing.T, path string) {
			writeWAL(path, 2).Close()
			must(os.WriteFile(path+"-wal", []byte("nothing of the kind"), 0o600))
		}, 2},
		{"a transaction left half done", "", func(t *testing.T, path string) {
			from := filepath.Join(t.TempDir(), "logs.sqlite")
			db := openForTest(from)
			defer db.Close()
			write(db, "PRAGMA cache_size=1", schema2)
			writeAnswer(db, 0)
			write(db, "BEGIN", "UPDATE logs SET feedback_log_body = NULL",
				"INSERT INTO logs(ts,ts_nanos,level,target,module_path) SELECT 1,1,'','',hex(randomblob(999)) FROM logs a,logs b,logs c,logs d")
			copyAll(from, path, "", "-journal")
		}, 1},
		{"a name full of marks", `a b%20?mode=rw#x&%.sqlite`, func(t *testing.T, path string) {
			startWriter(t, path, false)
		}, 3},
		{"a name full of marks, closed properly", `a b%20?mode=rw#x&%.sqlite`, func(t *testing.T, path string) {
			writeWAL(path, 2).Close()
		}, 2},
		{"a link to the database", "", func(t *testing.T, path string) {
			real := filepath.Join(t.TempDir(), "logs.sqlite")
			startWriter(t, real, false)
			if err := os.Symlink(real, path); err != nil {
				t.Skip(err)
			}
		}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			if tt.file == "" {
				tt.file = "logs_2.sqlite"
			}
			path := filepath.Join(dir, tt.file)
			tt.make(t, path)
			t.Setenv("TMPDIR", temp)
			t.Setenv("TMP", temp) // Windows
			before := snapshot(dir)
			got := 0
			info, err := Read(context.Background(), path, func(r record.Record) {
				if r, ok := r.(*record.Request); ok && r.TTFT.Milliseconds() == 500 && r.Total.Seconds() == 2 {
					got++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.requests || info.Requests != int64(got) {
				t.Errorf("read %d requests (Info says %d), want %d", got, info.Requests, tt.requests)
			}
			if after := snapshot(dir); after != before {
				t.Errorf("the folder has changed:\n%s\nbefore:\n%s", after, before)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A writer must be able to go on, and to close the database as it always does.
func TestWriterIsNotDisturbed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs_2.sqlite")
	stop := startWriter(t, path, false)
	if _, err := Read(context.Background(), path, func(record.Record) {}); err != nil {
		t.Fatal(err)
	}
	stop()
	if n := size(path + "-wal"); n >= 0 {
		t.Errorf("the writer could not close its log: %d bytes are left", n)
	}
}

func TestReadErrors(t *testing.T) {
	sound := func(path string) []byte {
		db := openForTest(path)
		write(db, schema2)
		for i := range 200 {
			writeAnswer(db, i)
		}
		db.Close()
		data, err := os.ReadFile(path)
		must(err)
		return data
	}
	made := func(statements ...string) func(string) {
		return func(path string) {
			db := openForTest(path)
			write(db, statements...)
			db.Close()
		}
	}
	tests := []struct {
		name string
		make func(path string)
		want string
	}{
		{"missing", func(string) {}, "file"},
		{"a folder", func(path string) { must(os.Mkdir(path, 0o700)) }, "not a regular file"},
		{"zero bytes", func(path string) { must(os.WriteFile(path, nil, 0o600)) }, "the file is empty"},
		{"no database", func(path string) { must(os.WriteFile(path, []byte("[request] total_ms=1\n"), 0o600)) }, "not an SQLite database"},
		{"only the magic", func(path string) { must(os.WriteFile(path, []byte("SQLite format 3\x00"), 0o600)) }, "not a database"},
		{"truncated", func(path string) { must(os.WriteFile(path, sound(path)[:9000], 0o600)) }, "malformed"},
		{"pages overwritten", func(path string) {
			data := sound(path)
			for i := 4096; i < len(data); i++ {
				data[i] ^= 0x5a
			}
			must(os.WriteFile(path, data, 0o600))
		}, "malformed"},
		{"a broken schema, of which the error quotes nothing", func(path string) {
			made("CREATE TABLE logs(id, SECRET)")(path)
			data, err := os.ReadFile(path)
			must(err)
			must(os.WriteFile(path, bytes.Replace(data, []byte("logs(id, SECRET)"), []byte("logs SECRET\x1b(id)"), 1), 0o600))
		}, "malformed"},
		{"no table", made("CREATE TABLE threads(id)"), "no table called logs"},
		{"a view", made("CREATE VIEW logs AS SELECT 1 AS ts, 2 AS target, 3 AS message"), "no table called logs"},
		{"other columns", made("CREATE TABLE logs(id, text)"), "not the one that Codex writes"},
		{"no times", made("CREATE TABLE logs(message, target)"), "no column ts"},
		{"no row numbers", made("CREATE TABLE logs(id INTEGER PRIMARY KEY, ts, target, message) WITHOUT ROWID"), "not the one that Codex writes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "logs_2.sqlite")
			tt.make(path)
			before := snapshot(dir)
			_, err := Read(context.Background(), path, func(record.Record) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got error %v, want one with %q and the path", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("the error quotes the file: %q", err)
			}
			if after := snapshot(dir); after != before {
				t.Errorf("the folder has changed:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

func TestReadIsInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs_2.sqlite")
	writeWAL(path, 2).Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, path, func(record.Record) {}); err != context.Canceled {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}
