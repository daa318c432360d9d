package follow

import (
	"context"
	"os"
	"time"

	"codexlag/parse/source"
)

// A database is written to through its write-ahead log, which is another file,
// so its size and time tell little and nothing wakes us: databases are looked at
// every now and then. There are few.

// fileTimes are what tells that a database has changed.
type fileTimes struct {
	size, walSize int64
	at, walAt     time.Time
}

func timesOf(path string) (t fileTimes) {
	if info, err := os.Stat(path); err == nil {
		t.size, t.at = info.Size(), info.ModTime()
	}
	if info, err := os.Stat(path + "-wal"); err == nil {
		t.walSize, t.walAt = info.Size(), info.ModTime()
	}
	return t
}

// readDatabase begins to follow a database. What it held before is left out
// where only what is new counts.
func (e *engine) readDatabase(f *file) {
	f.settled = true
	e.readRows(f, time.Now(), func() { f.Growing = e.live.Database(e.ctx, f.File, f.unread) })
	f.unread = false
	e.databases[f] = true
}

// refresh reads what was added to a database, if anything was.
func (e *engine) refresh(f *file, now time.Time) {
	if !e.ending && now.Before(f.rowsDue) {
		return
	}
	if t := timesOf(f.File.Path); t == f.rowsAt && !e.ending {
		f.Settle()
		f.rowsDue = now.Add(e.pace.rows)
		return
	}
	// What was added is read to its end: half of it would be lost.
	e.readRows(f, now, func() { f.Refresh(context.WithoutCancel(e.ctx)) })
}

func (e *engine) readRows(f *file, now time.Time, read func()) {
	times := timesOf(f.File.Path)
	read()
	took := time.Since(now)
	f.rowsDue = now.Add(max(e.pace.rows, 20*took)) // at most a twentieth of a core
	f.rowsAt = times
	if now.Sub(times.at).Abs() < timeGrain || now.Sub(times.walAt).Abs() < timeGrain || f.Log().Err != nil {
		f.rowsAt = fileTimes{} // another write might not show, or it was busy
	}
}

// isDatabase looks at the first bytes of a file.
func isDatabase(src *os.File) bool {
	head := make([]byte, 16)
	n, _ := src.ReadAt(head, 0)
	return source.IsDatabase(head[:n])
}
