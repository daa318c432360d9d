// Package export writes requests and turns as a data set: folders of Parquet
// files, one file a day, which DuckDB, Spark, Trino and others read as tables.
//
//	DIR/requests/date=2026-11-24/codexlag.parquet
//	DIR/turns/date=2026-11-24/codexlag.parquet
//
// The page sql.md beside this file says how to ask them.
package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"codexlag/analyze"
)

// FileName is what the file of a day is called, in its folder date=DAY.
const FileName = "codexlag.parquet"

// A Dataset is being written. Nothing of it can be seen before Commit.
type Dataset struct {
	dir, staging string
	made         bool // dir did not exist before
	requests     *table[requestRow]
	turns        *table[turnRow]
}

// Written says what Commit wrote.
type Written struct {
	Requests, Turns int // rows
	Files           int
	Replaced        []string // days that had a file before
}

// Create begins a data set in the folder dir, which it makes if need be. Each
// file carries metadata beside the descriptions of its columns. Whoever calls
// Create calls Discard in the end. When ctx is done, what takes long ends with
// its error.
func Create(ctx context.Context, dir string, metadata map[string]string) (*Dataset, error) {
	_, err := os.Stat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// Beside the data, since only there a file can be renamed into its place.
	staging, err := os.MkdirTemp(dir, ".codexlag-export-*")
	if err != nil {
		return nil, err
	}
	d := &Dataset{dir: dir, staging: staging, made: made}
	if d.requests, err = newTable[requestRow](ctx, "requests", staging, metadata); err == nil {
		d.turns, err = newTable[turnRow](ctx, "turns", staging, metadata)
	}
	if err != nil {
		d.Discard()
		return nil, err
	}
	return d, nil
}

// Request adds a request.
func (d *Dataset) Request(q *analyze.Request) error { return d.requests.write(newRequestRow(q)) }

// Turn adds a turn.
func (d *Dataset) Turn(t *analyze.Turn) error { return d.turns.write(newTurnRow(t)) }

// Rows is how many requests and turns were added.
func (d *Dataset) Rows() (requests, turns int) { return d.requests.rows, d.turns.rows }

// Commit writes the files of each day that has rows, in place of those that were
// there. All are whole before the first takes its place, so an error leaves what
// was there, unless renaming itself fails in the middle. Other days and files of
// others stay as they are.
func (d *Dataset) Commit() (*Written, error) {
	requests, err := d.requests.cut()
	if err != nil {
		return nil, err
	}
	turns, err := d.turns.cut()
	if err != nil {
		return nil, err
	}
	w := &Written{Requests: d.requests.rows, Turns: d.turns.rows, Files: len(requests) + len(turns)}
	for _, f := range slices.Concat(requests, turns) {
		replaced, err := d.publish(f)
		if err != nil {
			return nil, err
		}
		if replaced {
			w.Replaced = append(w.Replaced, f.day)
		}
	}
	// A day is replaced as a whole: one that has no turns any more, or only turns.
	err = errors.Join(d.removeOthers("turns", requests, turns), d.removeOthers("requests", turns, requests))
	slices.Sort(w.Replaced)
	w.Replaced = slices.Compact(w.Replaced)
	return w, err
}

// path is where the file of a day is.
func (d *Dataset) path(table, day string) string {
	return filepath.Join(d.dir, table, "date="+day, FileName)
}

// publish gives a file its name, and reports whether there was one before.
func (d *Dataset) publish(f staged) (replaced bool, err error) {
	path := d.path(f.table, f.day)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return false, &fs.PathError{Op: "replacing", Path: path, Err: errors.New("it is no file; move it away")}
		}
		replaced = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return replaced, os.Rename(f.path, path)
}

// removeOthers removes the files of a table of the days that were written for
// the other table alone.
func (d *Dataset) removeOthers(table string, other, own []staged) error {
	for _, f := range other {
		if slices.ContainsFunc(own, func(o staged) bool { return o.day == f.day }) {
			continue
		}
		path := d.path(table, f.day)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		os.Remove(filepath.Dir(path)) // refused where it holds something
	}
	return nil
}

// Discard removes what Commit did not give a name, and the folder if it was made
// for nothing.
func (d *Dataset) Discard() error {
	if d.requests != nil {
		d.requests.discard()
	}
	if d.turns != nil {
		d.turns.discard()
	}
	err := os.RemoveAll(d.staging)
	if d.made {
		os.Remove(d.dir) // refused where it holds something
	}
	return err
}
