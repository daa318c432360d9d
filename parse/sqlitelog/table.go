package sqlitelog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxBody is how much of a row's text is fetched, in characters. Codex keeps
	// 10 MiB a thread, so more is no row of its making.
	maxBody = 16 << 20

	streamTarget = "codex_api::sse::responses"
	sampled      = "post sampling token usage"
)

var (
	// ErrNoTable says that a database is no log: Codex keeps several others.
	ErrNoTable  = errors.New("it has no table called logs: Codex's log is logs_2.sqlite, or logs_1.sqlite in older versions")
	errNoColumn = errors.New("its table logs is not the one that Codex writes")
)

// A table is the log's table, as far as its layout differs between versions.
type table struct {
	schema              int
	body, nanos, thread string // names of columns, or what stands for a missing one
}

// findTable finds the log's table. Anything else of that name, such as a view,
// whose rows could be made up without end, is not read.
func findTable(ctx context.Context, db *sql.DB) (*table, error) {
	var statement sql.NullString
	err := db.QueryRowContext(ctx, `SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'logs'`).Scan(&statement)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoTable
	}
	if err != nil {
		return nil, err
	}
	if s := strings.ToUpper(statement.String); strings.HasPrefix(s, "CREATE VIRTUAL") || strings.Contains(s, "WITHOUT ROWID") {
		return nil, errNoColumn
	}
	has, err := columns(ctx, db)
	if err != nil {
		return nil, err
	}
	t := &table{nanos: "0", thread: "NULL"}
	switch {
	case has["feedback_log_body"]:
		t.schema, t.body = 2, "feedback_log_body"
	case has["message"]:
		t.schema, t.body = 1, "message"
	default:
		return nil, fmt.Errorf("%w: no column holds the text of a row", errNoColumn)
	}
	for _, name := range []string{"ts", "target"} {
		if !has[name] {
			return nil, fmt.Errorf("%w: it has no column %s", errNoColumn, name)
		}
	}
	if has["ts_nanos"] {
		t.nanos = "ts_nanos"
	}
	if has["thread_id"] {
		t.thread = "thread_id"
	}
	return t, nil
}

func columns(ctx context.Context, db *sql.DB) (map[string]bool, error) {
	rows, err := db.QueryContext(ctx, `SELECT lower(name) FROM pragma_table_info('logs')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	has := make(map[string]bool)
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		has[name] = true
	}
	return has, rows.Err()
}

// queryTo selects the rows up to one that may tell of a request, in order: Codex
// has an index for it, so nothing is sorted. (The plus keeps SQLite from walking
// the numbers instead.) The second column says whether all values are of their
// types; those that are not must not stop the reading.
func (t *table) queryTo() string { return t.fill("+rowid <= ?", "ts, NANOS, rowid") }

// queryBetween selects those behind a row and up to another: few, which are
// found by their numbers and sorted.
func (t *table) queryBetween() string {
	return t.fill("rowid > ? AND rowid <= ?", "+ts, +NANOS, rowid")
}

func (t *table) fill(which, order string) string {
	return strings.NewReplacer("BODY", t.body, "NANOS", t.nanos, "THREAD", t.thread,
		"MAX", fmt.Sprint(maxBody), "STREAM", streamTarget, "SAMPLED", sampled,
		"WHICH", which, "SORTED", strings.ReplaceAll(order, "NANOS", t.nanos)).Replace(`
SELECT rowid,
	typeof(ts) = 'integer' AND typeof(NANOS) = 'integer' AND typeof(target) = 'text'
		AND typeof(BODY) = 'text' AND typeof(THREAD) IN ('text', 'null'),
	CAST(ts AS INTEGER), CAST(NANOS AS INTEGER), target, THREAD, substr(BODY, 1, MAX)
FROM logs
WHERE (WHICH) AND (target = 'STREAM' OR target GLOB 'codex_otel*' OR typeof(target) <> 'text'
	OR target GLOB 'codex_core*' AND instr(BODY, 'SAMPLED') > 0)
ORDER BY SORTED`)
}
