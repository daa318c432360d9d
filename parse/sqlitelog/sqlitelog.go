// Package sqlitelog reads the log that Codex keeps in a database: logs_2.sqlite,
// before it logs_1.sqlite, before that a table in state.sqlite.
//
// A row is a line of a trace, its time, target and thread apart. Two kinds of
// rows tell of requests: telemetry events (until 0.142), which package trace
// reads, and the raw events of an answer's stream, of which this package makes
// requests itself. Where both tell of a request there is one record.
package sqlitelog

import (
	"context"
	"database/sql"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/record"
	"codexlag/parse/trace"
)

// Info is what a database turned out to hold.
type Info struct {
	Rows     int64  // that may tell of a request; all others are not even read
	Requests int64  // records of requests
	HasTTFT  bool   // some request has a usable TTFT
	Schema   int    // of the table: 1 keeps the text of a row in the column message, 2 in feedback_log_body
	Version  string // of Codex, the last one seen
}

// Read reads the database at path and passes its records to emit, in the order
// of time. It neither changes a byte of the database nor leaves a file behind.
// After an error, what was read before it has been passed on.
func Read(ctx context.Context, path string, emit func(record.Record)) (Info, error) {
	f := Follow(path, emit)
	err := f.More(ctx)
	return f.End(), err
}

// readTable takes the rows that a query selects.
func (c *combiner) readTable(ctx context.Context, db *sql.DB, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var (
		id, seconds, nanos   sql.NullInt64
		sound                sql.NullBool
		target, thread, body sql.RawBytes // reused from row to row
	)
	for rows.Next() {
		if err := rows.Scan(&id, &sound, &seconds, &nanos, &target, &thread, &body); err != nil {
			return err
		}
		r := row{
			pos:    record.Pos{File: c.file, Line: id.Int64},
			target: target, thread: thread, body: body,
			cut: len(body) >= maxBody,
		}
		var ok bool
		if r.at, ok = unixTime(seconds.Int64, nanos.Int64); !ok || !sound.Bool {
			c.info.Rows++
			c.drop(r.pos, record.BadRow, "")
			continue
		}
		c.row(&r)
	}
	return rows.Err()
}

// unixTime makes a time of a row's two columns.
func unixTime(seconds, nanos int64) (time.Time, bool) {
	const year10000 = 253_402_300_800 // in seconds since 1970
	if seconds <= 0 || seconds >= year10000 || nanos < 0 || nanos >= int64(time.Second) {
		return time.Time{}, false
	}
	return time.Unix(seconds, nanos).UTC(), true
}

// A row is a row of the table.
type row struct {
	pos                  record.Pos
	at                   time.Time
	target, thread, body []byte // thread is nil where only the body may name it
	cut                  bool   // body is only the beginning
}

// A combiner makes records of rows, whether a database or its export holds
// them.
type combiner struct {
	file  string
	sink  func(record.Record)
	info  Info
	names intern.Table

	trace   *trace.Decoder
	threads map[string]*thread
	held    []*answer
}

func newCombiner(file string, emit func(record.Record)) *combiner {
	c := &combiner{file: file, sink: emit, threads: make(map[string]*thread)}
	c.trace = trace.NewFormat(record.FormatSQLite, file, c.told)
	return c
}

func (c *combiner) row(r *row) {
	c.info.Rows++
	if string(r.target) == streamTarget {
		c.release(r.at)
		c.streamEvent(r)
		return
	}
	c.trace.Row(trace.Row{Pos: r.pos, Time: r.at, Target: r.target, Thread: r.thread, Body: r.body})
	c.release(r.at)
}

func (c *combiner) end() {
	c.trace.End()
	c.forgetAll()
	c.info.Version = c.trace.Info().Version
}

func (c *combiner) emit(r record.Record) {
	if q, ok := r.(*record.Request); ok {
		c.info.Requests++
		c.info.HasTTFT = c.info.HasTTFT || q.Quality.Usable()
	}
	c.sink(r)
}

func (c *combiner) drop(pos record.Pos, why record.Reason, session string) {
	c.emit(&record.Dropped{Pos: pos, Reason: why, Session: session})
}
