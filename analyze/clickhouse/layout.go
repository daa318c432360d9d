package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Layout is the version of the tables. It grows whenever rows of an older
// version could not be read as they are.
const Layout = 1

// A table is one of ours.
type table struct {
	name    string
	about   string
	columns []column
	engine  string
}

type column struct{ name, kind, about string }

func (t *table) columnNames() []string {
	l := make([]string, len(t.columns))
	for i, c := range t.columns {
		l[i] = quoteName(c.name)
	}
	return l
}

const (
	statusEnum  = "Enum8('ok' = 0, 'failed' = 1, 'aborted' = 2, 'warmup' = 3, 'unfinished' = 4)"
	qualityEnum = "Enum8('none' = 0, 'bound' = 1, 'estimated' = 2, 'derived' = 3, 'measured' = 4)"

	// replacing keeps of the rows with one key the one that was loaded last.
	// The day comes first: a report is mostly about some days.
	replacing = "ReplacingMergeTree(loaded) PARTITION BY toYYYYMM(day) ORDER BY (day, key)"
)

// source are the columns that tell where a row comes from.
var source = []column{
	{"day", "Date", "when it ended, UTC (turns: began); 1970-01-01 where unknown"},
	{"key", "FixedString(16)", "names the request, turn or log, whoever loads it and how often"},
	{"loaded", "UInt64", "when, ns since 1970: of rows with one key the last counts"},
	{"host", "String", "--host of the load"},
	{"user", "String", "--user of the load"},
	{"file", "String", "as the load named it"},
	{"line", "Int64", "0 where the format has none"},
	{"format", "String", "request, rollout, trace, otlp, sqlite, bundle"},
}

// Times are µs since 1970 and the ns after that; minInt64 where unknown.
// Durations are ns. Tokens are -1 where unknown.
var requestsTable = &table{
	name: "requests", about: "one row a request", engine: replacing,
	columns: append(source[:len(source):len(source)], []column{
		{"place", "UInt64", "hash of file and line: decides about sampling"},
		{"dir", "String", "directory of the file"},
		{"start", "Int64", "µs since 1970, UTC; -9223372036854775808 where unknown"},
		{"start_ns", "UInt16", "ns after start"},
		{"end", "Int64", "µs since 1970, UTC; -9223372036854775808 where unknown"},
		{"end_ns", "UInt16", "ns after end"},
		{"id", "String", ""}, {"session", "String", ""}, {"turn", "String", ""},
		{"model", "String", ""}, {"provider", "String", ""}, {"effort", "String", ""},
		{"label", "String", ""}, {"version", "String", "of Codex"}, {"origin", "String", "who asked: user, subagent, review, …"},
		{"ttft", "Int64", "ns; means something only if quality is not none"},
		{"quality", qualityEnum, "where the TTFT comes from"},
		{"first_visible", "UInt8", "1: hidden reasoning came before the TTFT"},
		{"total", "Int64", "ns; 0 where unknown"},
		{"input", "Int64", "tokens; -1 where unknown"}, {"cached", "Int64", "tokens; -1 where unknown"},
		{"output", "Int64", "tokens; -1 where unknown"}, {"reasoning", "Int64", "tokens; -1 where unknown"},
		{"reported_tps", "Float64", "as the log prints it; nan where it does not"},
		{"status", statusEnum, ""},
		{"http_status", "Int32", "0 where unknown"}, {"error", "String", "timeout, disconnected, other"},
		{"retries", "Int32", "attempts before this one"}, {"merged", "UInt8", "1: two logs told of it"},
	}...),
}

var turnsTable = &table{
	name: "turns", about: "one row an agent turn", engine: replacing,
	columns: append(source[:len(source):len(source)], []column{
		{"start", "Int64", "µs since 1970, UTC; -9223372036854775808 where unknown"},
		{"start_ns", "UInt16", "ns after start"},
		{"end", "Int64", "µs since 1970, UTC; -9223372036854775808 where unknown"},
		{"end_ns", "UInt16", "ns after end"},
		{"dir", "String", "directory of the file"},
		{"session", "String", ""}, {"id", "String", ""}, {"model", "String", ""}, {"provider", "String", ""},
		{"effort", "String", ""}, {"version", "String", "of Codex"}, {"origin", "String", ""},
		{"duration", "Int64", "ns; 0 where unknown"},
		{"ttft", "Int64", "ns from the turn's start to the first visible output; -1 where unknown"},
		{"status", statusEnum, ""},
		// Its requests, in order, as far as the parts and filters of turns need them.
		{"request_start", "Array(Int64)", "µs"}, {"request_start_ns", "Array(UInt16)", ""},
		{"request_ttft", "Array(Int64)", "ns"}, {"request_quality", "Array(UInt8)", "0 none to 4 measured"}, {"request_first_visible", "Array(UInt8)", ""},
		{"request_total", "Array(Int64)", "ns"},
		{"request_input", "Array(Int64)", ""}, {"request_cached", "Array(Int64)", ""},
		{"request_output", "Array(Int64)", ""}, {"request_reasoning", "Array(Int64)", ""},
		{"request_status", "Array(UInt8)", "0 ok to 4 unfinished"}, {"request_label", "Array(String)", ""},
		// Its tool calls.
		{"tool_name", "Array(String)", ""},
		{"tool_start", "Array(Int64)", "µs"}, {"tool_start_ns", "Array(UInt16)", ""},
		{"tool_end", "Array(Int64)", "µs"}, {"tool_end_ns", "Array(UInt16)", ""},
		// Where its time went; see "parts of a turn" in README.md.
		{"prefill", "Int64", "ns"}, {"decode", "Int64", "ns"}, {"model_time", "Int64", "ns, of requests whose split is unknown"},
		{"tool", "Int64", "ns, of the union"}, {"other", "Int64", "ns"},
	}...),
}

var logsTable = &table{
	name: "logs", about: "one row a log that was read", engine: "ReplacingMergeTree(loaded) ORDER BY key",
	columns: []column{
		{"key", "FixedString(16)", "names the log: its path and its first line"},
		{"loaded", "UInt64", "when, ns since 1970: of rows with one key the last counts"},
		{"host", "String", ""}, {"user", "String", ""}, {"file", "String", ""},
		{"format", "String", ""}, {"version", "String", "of Codex"},
		{"bytes", "Int64", "of the decoded text"}, {"lines", "Int64", ""}, {"requests", "Int64", ""}, {"turns", "Int64", ""},
		{"left_out", "Array(String)", "reasons why something in it is not in the other tables"},
		{"left_out_count", "Array(UInt64)", "how often each"},
	},
}

var tables = []*table{requestsTable, turnsTable, logsTable}

const layoutTable = "codexlag_layout"

// failuresView shows the requests that did not complete, to people.
const failuresView = "CREATE VIEW IF NOT EXISTS failures AS SELECT day, host, user, file, line, format, end, session, turn, model, provider, status, http_status, error, retries, total FROM requests FINAL WHERE status IN ('failed', 'aborted')"

// Statements returns what makes the tables, for a person to run: on each shard,
// or with an engine of one's own.
func Statements() []string {
	l := []string{
		"CREATE TABLE IF NOT EXISTS " + layoutTable + " (layout UInt32) ENGINE = MergeTree ORDER BY layout",
		fmt.Sprintf("INSERT INTO %s VALUES (%d)", layoutTable, Layout),
	}
	for _, t := range tables {
		var b strings.Builder
		fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (", t.name)
		for i, c := range t.columns {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteName(c.name) + " " + c.kind)
		}
		l = append(l, b.String()+") ENGINE = "+t.engine)
	}
	return append(l, failuresView)
}

// Prepare makes the database and its tables where they are missing, and checks
// that they are of this layout.
func (db *DB) Prepare(ctx context.Context) error {
	err := db.CheckLayout(ctx)
	if hasCode(err, codeUnknownDatabase) {
		create := *db
		create.address.Database = "default"
		if err := create.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quoteName(db.address.Database)); err != nil {
			return err
		}
		err = db.CheckLayout(ctx)
	}
	if !errors.Is(err, errEmpty) {
		return err
	}
	for _, s := range Statements() {
		if err := db.Exec(ctx, s); err != nil {
			return err
		}
	}
	return db.CheckLayout(ctx)
}

// errEmpty says that there are no tables yet, or not all.
var errEmpty = errors.New("nothing was loaded there yet: codexlag load --to makes the tables")

// CheckLayout checks that the tables are there and of this layout.
func (db *DB) CheckLayout(ctx context.Context) error {
	have, meta := map[string]map[string]string{}, false
	err := db.Query(ctx, "SELECT table, name, type FROM system.columns WHERE database = "+Quote(db.address.Database), func(r *Row) {
		t, name, kind := r.String(), r.String(), r.String()
		if have[t] == nil {
			have[t] = map[string]string{}
		}
		have[t][name] = kind
		meta = meta || t == layoutTable
	})
	if err != nil {
		return err
	}
	if !meta {
		for _, t := range tables {
			if have[t.name] != nil {
				return db.explain(&layoutError{fmt.Sprintf("there is a table %q that codexlag did not make; take another database", t.name)})
			}
		}
		// An unknown database has no columns either.
		if err := db.Exec(ctx, "SELECT 1 FORMAT Null"); err != nil {
			return err
		}
		return db.explain(errEmpty)
	}
	var oldest, newest uint64
	if err := db.Query(ctx, "SELECT toUInt64(min(layout)), toUInt64(max(layout)) FROM "+layoutTable, func(r *Row) { oldest, newest = r.UInt64(), r.UInt64() }); err != nil {
		return err
	}
	switch {
	case newest == 0:
		return db.explain(errEmpty) // whoever made it is not through
	case newest > Layout:
		return db.explain(&layoutError{fmt.Sprintf("the tables have layout %d, which a newer codexlag made; this one knows %d: update codexlag", newest, Layout)})
	case oldest < Layout:
		return db.explain(&layoutError{fmt.Sprintf("the tables have layout %d, of an older codexlag; this one needs %d: load the logs into a new database", oldest, Layout)})
	}
	for _, t := range tables {
		if have[t.name] == nil {
			return db.explain(errEmpty)
		}
		for _, c := range t.columns {
			if kind, ok := have[t.name][c.name]; !ok || strings.Join(strings.Fields(kind), "") != strings.Join(strings.Fields(c.kind), "") {
				return db.explain(&layoutError{fmt.Sprintf("the column %s of the table %s is not as codexlag made it (%q); load the logs into a new database", c.name, t.name, kind)})
			}
		}
	}
	return nil
}

// A layoutError says that the tables are not ours, or not of today.
type layoutError struct{ msg string }

func (e *layoutError) Error() string { return e.msg }
