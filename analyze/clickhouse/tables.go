package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Tables say what to write behind FROM so that every row comes once, whatever
// the server has merged so far.
type Tables struct {
	Requests, Turns, Logs string
	plain                 map[string]uint64 // rows of what is read as it is, by what stands behind FROM
}

// RequestDays and TurnDays are conditions that hold for all that ended in a span
// of time, zero for no limit, and that let the server pass over other days.
// The day of a turn is that of its start.
func RequestDays(since, until time.Time) string { return days(since, until) }

// TurnDays is RequestDays for turns.
func TurnDays(_, until time.Time) string { return days(time.Time{}, until) }

func days(since, until time.Time) string {
	var l []string
	if d := dayOf(since); d > 0 {
		l = append(l, fmt.Sprintf("(day >= toDate(%d) OR day = toDate(0))", d)) // 0: unknown, or beyond what a day can be
	}
	if d := dayOf(until); d > 0 {
		l = append(l, fmt.Sprintf("(day <= toDate(%d))", d))
	}
	if len(l) == 0 {
		return "1"
	}
	return strings.Join(l, " AND ")
}

// Tables checks the layout and looks whether any row of a span of time, zero for
// no limit, is there twice. Only then,
// or where final is true, must the server look for that in every query, which
// takes several times as long; else Unchanged tells whether it stayed so.
func (db *DB) Tables(ctx context.Context, final bool, since, until time.Time) (*Tables, error) {
	if err := db.CheckLayout(ctx); err != nil {
		return nil, err
	}
	all := &Tables{plain: map[string]uint64{}}
	for _, t := range []struct {
		name, days string
		from       *string
	}{{requestsTable.name, RequestDays(since, until), &all.Requests}, {turnsTable.name, TurnDays(since, until), &all.Turns}, {logsTable.name, "1", &all.Logs}} {
		*t.from = t.name + " FINAL"
		if final {
			continue
		}
		rows, err := db.count(ctx, t.name+" WHERE "+t.days)
		if err != nil {
			return nil, err
		}
		once, err := db.count(ctx, *t.from+" WHERE "+t.days)
		if err != nil {
			return nil, err
		}
		if rows == once {
			*t.from, all.plain[t.name+" WHERE "+t.days] = t.name, rows
		}
	}
	return all, nil
}

// Unchanged reports whether the tables that are read as they are have as many
// rows as before: if so, none came twice since.
func (db *DB) Unchanged(ctx context.Context, t *Tables) (bool, error) {
	for from, before := range t.plain {
		if rows, err := db.count(ctx, from); err != nil || rows != before {
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
