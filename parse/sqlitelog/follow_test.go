package sqlitelog

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codexlag/parse/record"
)

// TestFollow reads after each row, or after every third: that makes the same of
// them as reading all at the end, whether the log is in the file or beside it.
func TestFollow(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		for _, step := range []int{1, 3} {
			for _, tt := range rowTests {
				path := filepath.Join(t.TempDir(), "logs_2.sqlite")
				db := openForTest(path)
				write(db, "PRAGMA journal_mode="+mode, schema2)
				var got []string
				f := Follow(path, func(r record.Record) { got = append(got, line(r)) })
				for i, r := range tt.rows {
					_, err := db.Exec(`INSERT INTO logs(ts,ts_nanos,level,target,feedback_log_body,thread_id) VALUES(?,?,'TRACE',?,?,?)`,
						start+r.at/1000, r.at%1000*1_000_000, r.target, r.body, sql.NullString{String: r.thread, Valid: r.thread != ""})
					must(err)
					if i%step == 0 {
						must(f.More(t.Context()))
					}
					if i == len(tt.rows)/2 {
						// Codex deletes old rows; those that follow have new numbers.
						must(f.More(t.Context()))
						write(db, "DELETE FROM logs")
					}
				}
				must(f.More(t.Context()))
				must(f.More(t.Context()))
				f.End()
				db.Close()
				slices.Sort(got)
				if !slices.Equal(got, tt.want) {
					t.Errorf("%s, %s, every %d rows: got\n\t%s\nwant\n\t%s", tt.name, mode, step, strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
				}
			}
		}
	}
}

func TestFollowSkips(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs_2.sqlite")
	db := openForTest(path)
	defer db.Close()
	write(db, schema2)
	writeAnswer(db, 1)
	var got []string
	f := Follow(path, func(r record.Record) { got = append(got, line(r)) })
	must(f.Skip(t.Context()))
	writeAnswer(db, 2)
	must(f.More(t.Context()))
	if f.End(); len(got) != 1 || !strings.Contains(got[0], "out=102") {
		t.Errorf("got %q, want the second answer only", got)
	}
}
