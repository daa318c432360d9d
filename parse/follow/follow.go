// Package follow reads logs while they are written.
//
// What the logs hold at the start goes through the batch reader. Then two ways
// lead to what is added: the few files that grow right now are each followed
// by a tailer, and everything else sleeps, without a descriptor or a goroutine
// of its own, until a watch on its directory (or, with Poll, the next look at
// the list of files) says that it changed. Whichever way bytes come, they count
// only if what lies before them in the file is what was read before; else the
// file holds something new and is read from its start.
package follow

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"codexlag/parse"
	"codexlag/parse/record"
	"codexlag/parse/source"
)

// Options shape following.
type Options struct {
	parse.Options
	NewOnly bool // leave out what the files hold already
	Poll    bool // look at the files instead of being notified
	// CaughtUp, where set, is called once, when what existed before has been
	// passed to sink.
	CaughtUp func()

	pace  *pace  // tests are in a hurry
	count *count // and need to know how far following is
}

// A count tells how far following is.
type count struct {
	read atomic.Int64 // bytes that were added to logs
	cuts atomic.Int64 // files that were found to be shorter
}

// A pace says how long to wait for what.
type pace struct {
	tick     time.Duration // between two looks at the files that grow
	relist   time.Duration // at least, between two looks at the list of files
	stall    time.Duration // a tail has this long to deliver what is there
	cool     time.Duration // a file that did not grow for so long sleeps
	gone     time.Duration // a file that has no name any more may come back
	steady   time.Duration // a compressed file or a copy is complete
	safety   time.Duration // look at everything, whatever was notified
	retry    time.Duration // look again at what cannot be read
	rows     time.Duration // look again at a database
	maxTails int
}

var usualPace = pace{
	tick:     50 * time.Millisecond,
	relist:   200 * time.Millisecond,
	stall:    300 * time.Millisecond,
	cool:     5 * time.Second,
	gone:     5 * time.Second,
	steady:   time.Second,
	safety:   time.Minute,
	retry:    time.Second,
	rows:     500 * time.Millisecond,
	maxTails: 32,
}

// Follow reads the logs at paths, then what is added to them, until ctx is
// done; then it passes on what was pending and returns. sink is called by one
// goroutine at a time. What cannot be followed is told in the summary's
// problems; the error is for what makes following impossible.
func Follow(ctx context.Context, paths []string, o Options, sink func(record.Record)) (*parse.Summary, error) {
	e := newEngine(ctx, paths, o, sink)
	e.watch()
	defer e.unwatch()
	e.history()
	for !e.over && e.step() {
	}
	return e.finish(), nil
}

// step waits for the next thing to happen; it returns false when following is
// over.
func (e *engine) step() bool {
	var events chan fsnotify.Event
	var faults chan error
	if e.watcher != nil {
		events, faults = e.watcher.Events, e.watcher.Errors
	}
	timer := time.NewTimer(e.untilNext())
	defer timer.Stop()
	select {
	case <-e.ctx.Done():
		return false
	case p := <-e.pieces:
		e.take(p)
	case c := <-e.chunks:
		e.takeChunk(c)
	case ev := <-events:
		e.event(ev)
	case <-faults: // events were lost
		e.relistBy(time.Now())
	case <-timer.C:
	}
	e.due(time.Now())
	return true
}

// due does what is due by now.
func (e *engine) due(now time.Time) {
	if !now.Before(e.nextTick) && e.busy() {
		e.tick(now)
		e.nextTick = now.Add(e.pace.tick)
	}
	if len(e.databases) > 0 && !now.Before(e.nextRows) {
		for f := range e.databases {
			e.refresh(f, now)
		}
		e.nextRows = now.Add(e.pace.rows)
	}
	switch {
	case !now.Before(e.nextList):
		e.relist()
		e.nextGlance = time.Now().Add(e.pace.relist)
	case e.o.Poll && !now.Before(e.nextGlance):
		e.glance(now)
		e.nextGlance = time.Now().Add(e.pace.relist)
	}
}

// busy reports whether something must be looked at every tick.
func (e *engine) busy() bool {
	return len(e.hot) > 0 || len(e.unsettled) > 0 || len(e.failed) > 0 || len(e.leaving) > 0 || e.live.Waiting()
}

func (e *engine) untilNext() time.Duration {
	next := e.nextList
	if e.busy() && e.nextTick.Before(next) {
		next = e.nextTick
	}
	if len(e.databases) > 0 && e.nextRows.Before(next) {
		next = e.nextRows
	}
	if e.o.Poll && e.nextGlance.Before(next) {
		next = e.nextGlance
	}
	return max(0, time.Until(next))
}

// relistBy sees to it that the list of files is looked at by then, but not so
// often that it would take a noticeable share of a core.
func (e *engine) relistBy(at time.Time) {
	if at.Before(e.earliestList) {
		at = e.earliestList
	}
	if at.Before(e.nextList) {
		e.nextList = at
	}
}

// history reads what is there at the start.
func (e *engine) history() {
	found := e.expand()
	e.siblingsAtStart()
	if e.o.NewOnly {
		for _, f := range found.Files {
			e.passOver(f)
		}
	} else {
		for _, g := range e.live.History(e.ctx, e.withoutPipes(found.Files)) {
			e.adopt(g)
		}
	}
	e.cut = e.ctx.Err() != nil
	e.live.CaughtUp()
	e.caughtUp = true
	if e.o.CaughtUp != nil {
		e.o.CaughtUp()
	}
	e.relistBy(time.Now()) // files grew in the meantime
}

// withoutPipes starts a reader for each pipe and returns the other files.
func (e *engine) withoutPipes(files []source.File) []source.File {
	var rest []source.File
	for _, f := range files {
		if f.Pipe() {
			e.readPipe(f)
		} else {
			rest = append(rest, f)
		}
	}
	return rest
}

// lastLook reads all that is there by now.
func (e *engine) lastLook() {
	for range 3 { // again where a file was replaced meanwhile
		e.earliestList, e.nextList = time.Time{}, time.Time{}
		e.relist()
		if e.nextList.After(time.Now()) {
			break
		}
	}
	for _, f := range e.ordered() {
		switch {
		case f.fd != nil:
			e.catchUp(f)
		case e.databases[f]:
			e.refresh(f, time.Now())
		case e.unsettled[f]:
			e.settle(f, time.Now())
		}
	}
	for {
		select {
		case c := <-e.chunks:
			e.takeChunk(c)
		default:
			return
		}
	}
}

// finish reads what was written last, ends all logs and sums up.
func (e *engine) finish() *parse.Summary {
	e.ending = true
	e.ctx = context.WithoutCancel(e.ctx)
	if !e.cut { // else we are to stop, and there may be much to read
		e.lastLook()
	}
	for _, f := range e.ordered() {
		e.retire(f)
	}
	e.live.Close()
	s := e.summary
	s.Skipped, s.Problems = append(s.Skipped, e.found.Skipped...), append(s.Problems, e.found.Problems...)
	return s
}
