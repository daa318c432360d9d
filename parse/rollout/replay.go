package rollout

import (
	"time"

	"codexlag/parse/record"
)

// A replay is the copy of another thread's history at the beginning of a file.
//
// A fork writes its own session_meta, then the lines of its parent, the parent's
// session_meta among them, all stamped with the time of copying. What is copied
// belongs to another time and session. It is known by the ids of its turns: ids
// of version 7 hold the time when they were made, and those of the parent are
// older than the fork. Where ids hold no time, the copy is taken to last as long
// as lines follow each other faster than anybody works; the turn that is open
// then is the fork's own, unless it says that it started before.
type replay struct {
	on    bool      // lines are copied ones
	child bool      // session_meta names a parent
	fork  time.Time // when the file's own thread was made
	// Ordinals that session_meta gives: where the file's own history starts;
	// how many lines of the parent were taken over at most. -1 where absent.
	start, copied int64
	numbered      bool // a turn id of version 7 was seen: ids decide
	loose         bool // a turn without one was seen

	// Up to 0.4x a resumed session went on in a new file that repeats the old
	// one's items and counts without any mark. burst holds until the first pause.
	burst    bool
	fraction bool // times are finer than a second, so that a pause can be seen
	held     []*turn
	begun    time.Time // time of the first line
	before   time.Time // time of the line before
}

const (
	// The longest copy that was seen without a pause took 2.5 s.
	copyTime = 2500 * time.Millisecond
	// A copy is one loop of writes; half a second between two of its lines has
	// not been seen, and no response comes as fast.
	copyPause = 500 * time.Millisecond
	// For files without any mark of a copy: 56 counts within 10 ms were seen.
	burstPause = 100 * time.Millisecond
)

// observe looks at the time of every line for the end of a copy.
func (d *Decoder) observe(at time.Time, ordinal int64) {
	r := &d.replay
	if r.begun.IsZero() {
		r.begun, r.before = at, at
	}
	r.fraction = r.fraction || at.Nanosecond() != 0
	pause, long := at.Sub(r.before), at.Sub(r.begun) > copyTime
	if r.burst && (pause > burstPause || long) {
		d.endBurst(false)
	}
	if r.on {
		switch {
		case r.start >= 0 && ordinal >= r.start, r.copied >= 0 && ordinal > r.copied:
			d.turn = nil
			r.on = false
		case r.loose && !r.numbered && !at.Before(r.fork) && (pause > copyPause || long):
			r.on = false
			d.adopt()
		}
	}
	r.before = at
}

// adopt makes the turn that is open at the end of a copy the file's own, of
// which nothing has happened yet.
func (d *Decoder) adopt() {
	t := d.turn
	if t == nil {
		return
	}
	if t.foreign || t.start.Before(d.replay.fork) {
		d.turn = nil
		return
	}
	t.requests, t.calls, t.order = nil, nil, nil
	t.active, t.spoke, t.adopted = false, false, true
	if t.response.items > 0 { // copied ones, that no count came after
		t.bare = false
		t.response.reopen(trigger{at: d.replay.before})
	}
}

// arm begins a copy: a mark of one was seen.
func (d *Decoder) arm() {
	if d.replay.on || d.turns > 0 || d.info.Requests > 0 {
		return // a copy stands at the beginning of a file, nowhere else
	}
	d.info.IsFork = true
	d.replay.on = true
	d.discardBurst()
}

// marked looks at a line that marks a turn, before the turn is opened. It
// tells whether the turn is one of a parent's.
func (d *Decoder) marked(id string, startedAt time.Time) (foreign bool) {
	r := &d.replay
	made, ok := uuidTime(id)
	switch {
	case ok:
		r.numbered = true
		foreign = made.Before(r.fork)
		if foreign && r.child {
			r.start, r.copied = -1, -1 // the ordinals named the end of the copy too early
			d.arm()
		}
		if !foreign && r.on {
			r.on = false
			d.turn = nil
		}
	case !r.on:
		return false
	default:
		r.loose = true
		// Whole seconds: one that starts in the second of the fork may be either's.
		foreign = !startedAt.IsZero() && startedAt.Before(r.fork.Truncate(time.Second))
	}
	return foreign
}

// endBurst decides on what was counted before the first pause of the file. Two
// or more responses cannot have come in that time: they are copies. A single
// one may just have been written late. (A file that ends before any pause has
// nothing but copies, too.)
func (d *Decoder) endBurst(over bool) {
	r := &d.replay
	if !r.burst {
		return
	}
	n := 0
	if d.turn != nil && unnumbered(d.turn) {
		n += len(d.turn.requests)
	}
	for _, t := range r.held {
		n += len(t.requests)
	}
	if r.fraction && (n > 1 || over && n > 0) {
		d.discardBurst()
		return
	}
	r.burst = false
	for _, t := range r.held {
		d.emitTurn(t)
	}
	r.held = nil
}

func (d *Decoder) discardBurst() {
	r := &d.replay
	r.burst = false
	for _, t := range r.held {
		d.discard(t)
	}
	r.held = nil
	if d.turn != nil {
		d.discard(d.turn)
		d.adopt()
	}
}

func (d *Decoder) discard(t *turn) {
	for _, q := range t.requests {
		d.drop(q.Pos, record.Replayed)
	}
	t.requests = nil
}

func unnumbered(t *turn) bool {
	_, ok := uuidTime(t.id)
	return !ok
}
