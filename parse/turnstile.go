package parse

import (
	"sync"

	"codexlag/parse/record"
)

// maxHeld bounds what one log may have waiting while another is at its turn.
const maxHeld = 4096

// A turnstile lets logs be read in parallel and their records come out in the
// order of the logs, so that the result does not depend on who was faster. The
// log whose turn it is passes its records straight on; those of the others
// are held, and a log with many held waits. Nobody waits while a record is
// passed on: only who reads the log whose turn it is does that.
type turnstile struct {
	sink func(record.Record)

	mu    sync.Mutex
	moved sync.Cond
	turn  int // index of the log whose turn it is
	held  [][]record.Record
	done  []bool
}

func newTurnstile(logs int, sink func(record.Record)) *turnstile {
	t := &turnstile{sink: sink, held: make([][]record.Record, logs), done: make([]bool, logs)}
	t.moved.L = &t.mu
	return t
}

// pass takes the next record of log i. The record may be reused afterwards.
func (t *turnstile) pass(i int, r record.Record) {
	t.mu.Lock()
	for i != t.turn && len(t.held[i]) >= maxHeld {
		t.moved.Wait()
	}
	if i != t.turn {
		t.held[i] = append(t.held[i], keep(r))
		t.mu.Unlock()
		return
	}
	t.release(i)
	t.mu.Unlock()
	t.sink(r)
}

// keep returns r so that it outlives its reader. The records of request lines
// are made in the same place again and again; all others once each.
func keep(r record.Record) record.Record {
	switch r := r.(type) {
	case *record.Request:
		if r.Format == record.FormatRequest {
			c := *r
			return &c
		}
	case *record.Dropped:
		c := *r
		return &c
	}
	return r
}

// release passes on what is held of log i, whose turn it is. mu is held, but not
// meanwhile.
func (t *turnstile) release(i int) {
	held := t.held[i]
	t.held[i] = nil
	t.mu.Unlock()
	for _, r := range held {
		t.sink(r)
	}
	t.mu.Lock()
}

// finish says that log i is over. If it was its turn, this is where the next
// logs that are over as well have theirs.
func (t *turnstile) finish(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[i] = true
	if i != t.turn {
		return
	}
	for t.turn < len(t.done) && t.done[t.turn] {
		t.release(t.turn)
		t.turn++
	}
	t.moved.Broadcast()
}
