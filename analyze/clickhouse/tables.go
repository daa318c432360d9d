package clickhouse

import (
	"context"
	"strings"
)

// Tables say what to write behind FROM so that every row comes once, whatever
// the server has merged so far.
type Tables struct{ Requests, Turns, Logs string }

// Tables checks the layout and looks at how far the server has merged: where
// nothing can be there twice, there is no need to look for it.
func (db *DB) Tables(ctx context.Context) (*Tables, error) {
	if err := db.CheckLayout(ctx); err != nil {
		return nil, err
	}
	final := map[string]bool{}
	for _, t := range tables {
		final[t.name] = true
	}
	// A table of ReplacingMergeTree with one part a partition has each key once.
	// What is behind a Distributed table is left open.
	err := db.Query(ctx, "SELECT name FROM system.tables WHERE database = "+Quote(db.address.Database)+" AND engine = 'ReplacingMergeTree'", func(r *Row) {
		final[r.String()] = false
	})
	if err != nil {
		return nil, err
	}
	err = db.Query(ctx, "SELECT table FROM system.parts WHERE active AND database = "+Quote(db.address.Database)+" GROUP BY table, partition HAVING count() > 1", func(r *Row) {
		final[r.String()] = true
	})
	if err != nil {
		return nil, err
	}
	from := func(t *table) string {
		if final[t.name] {
			return t.name + " FINAL"
		}
		return t.name
	}
	return &Tables{from(requestsTable), from(turnsTable), from(logsTable)}, nil
}

// RequestColumns are the columns that Request takes, in its order.
var RequestColumns = strings.Join([]string{"file", "line", "format", "start", "start_ns", "end", "end_ns", "session", "turn", "model", "provider", "effort",
	"label", "version", "origin", "ttft", "quality", "first_visible", "total", "input", "cached", "output", "reasoning", "reported_tps", "status",
	"http_status", "error", "retries", "merged"}, ", ")
