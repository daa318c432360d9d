package sqlitelog

import (
	"context"
	"database/sql"
	"time"

	"codexlag/parse/record"
)

// A Follower reads a database again and again while Codex writes it.
type Follower struct {
	path string
	rows *combiner
	last int64 // number of the last row that was looked at
}

// Follow returns a Follower of the database at path that has read nothing yet.
// Its records go to emit.
func Follow(path string, emit func(record.Record)) *Follower {
	return &Follower{path: path, rows: newCombiner(path, emit)}
}

// More reads the rows that were added since it was called last, in the order of
// time. What it promises of the database is what Read promises. After an error,
// rows that were not read yet may be lost, and none is read twice.
func (f *Follower) More(ctx context.Context) error {
	return f.with(ctx, func(db *sql.DB, t *table) error {
		// Numbers only grow, also when old rows are deleted.
		last, err := lastRow(ctx, db)
		if err != nil || last <= f.last {
			return err
		}
		before := f.rows.info.Rows
		if f.last == 0 {
			err = f.rows.readTable(ctx, db, t.queryTo(), last)
		} else {
			err = f.rows.readTable(ctx, db, t.queryBetween(), f.last, last)
		}
		if err == nil || f.rows.info.Rows > before {
			f.last = last
		}
		return err
	})
}

// Skip passes over the rows that there are.
func (f *Follower) Skip(ctx context.Context) error {
	return f.with(ctx, func(db *sql.DB, t *table) (err error) {
		f.last, err = lastRow(ctx, db)
		return err
	})
}

// late is how much later than its own time a row may be written: Codex collects
// rows before it writes them.
const late = 10 * time.Second

// Settle passes on what waits for rows that will not come any more. It is to be
// called now and then while no rows come.
func (f *Follower) Settle(now time.Time) { f.rows.release(now.Add(-late)) }

// End passes on all that waits and tells what the database held.
func (f *Follower) End() Info {
	f.rows.end()
	return f.rows.info
}

func (f *Follower) with(ctx context.Context, do func(*sql.DB, *table) error) error {
	d, err := open(ctx, f.path)
	if err != nil {
		return err
	}
	defer d.close()
	t, err := findTable(ctx, d.DB)
	if err != nil {
		return d.explain(err)
	}
	f.rows.info.Schema = t.schema
	return d.explain(do(d.DB, t))
}

func lastRow(ctx context.Context, db *sql.DB) (int64, error) {
	var n sql.NullInt64
	err := db.QueryRowContext(ctx, `SELECT max(rowid) FROM logs`).Scan(&n)
	return n.Int64, err
}
