package clickhouse

import (
	"context"
	"strings"
)

// Tables say what to write behind FROM so that every row comes once, whatever
// the server has merged so far.
type Tables struct {
	Requests, Turns, Logs string
	plain                 map[string]uint64 // rows of the tables that are read as they are
}

// Tables checks the layout and looks whether any row is there twice. Only then,
// or where final is true, must the server look for that in every query, which
// takes several times as long; else Unchanged tells whether it stayed so.
func (db *DB) Tables(ctx context.Context, final bool) (*Tables, error) {
	if err := db.CheckLayout(ctx); err != nil {
		return nil, err
	}
	all := &Tables{plain: map[string]uint64{}}
	for _, t := range []struct {
		name string
		from *string
	}{{requestsTable.name, &all.Requests}, {turnsTable.name, &all.Turns}, {logsTable.name, &all.Logs}} {
		*t.from = t.name + " FINAL"
		if final {
			continue
		}
		rows, err := db.count(ctx, t.name)
		if err != nil {
			return nil, err
		}
		once, err := db.count(ctx, *t.from)
		if err != nil {
			return nil, err
		}
		if rows == once {
			*t.from, all.plain[t.name] = t.name, rows
		}
	}
	return all, nil
}

// Unchanged reports whether the tables that are read as they are have as many
// rows as before: if so, none came twice since.
func (db *DB) Unchanged(ctx context.Context, t *Tables) (bool, error) {
	for name, before := range t.plain {
		if rows, err := db.count(ctx, name); err != nil || rows != before {
			return false, err
		}
	}
	return true, nil
}

func (db *DB) count(ctx context.Context, from string) (n uint64, err error) {
	err = db.Query(ctx, "SELECT toUInt64(count()) FROM "+from, func(r *Row) { n = r.UInt64() })
	return n, err
}

// RequestColumns are the columns that Request takes, in its order.
var RequestColumns = strings.Join([]string{"file", "line", "format", "start", "start_ns", "end", "end_ns", "session", "turn", "model", "provider", "effort",
	"label", "version", "origin", "ttft", "quality", "first_visible", "total", "input", "cached", "output", "reasoning", "reported_tps", "status",
	"http_status", "error", "retries", "merged"}, ", ")
