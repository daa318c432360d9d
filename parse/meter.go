package parse

import (
	"sync/atomic"

	"codexlag/parse/source"
)

// A Meter tells how far reading is, in bytes on the disk. It can be looked at
// from another goroutine while Read runs.
type Meter struct {
	total, done atomic.Int64
}

// Total returns the size of all logs that were found; 0 before that is known.
func (m *Meter) Total() int64 { return m.total.Load() }

// Done returns how much of them has been read.
func (m *Meter) Done() int64 { return m.done.Load() }

func (m *Meter) add(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// expect adds files that will be read.
func (m *Meter) expect(files []source.File) {
	if m != nil {
		for _, f := range files {
			m.total.Add(f.Size)
		}
	}
}
