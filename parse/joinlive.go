package parse

import (
	"time"

	"codexlag/parse/record"
)

// While logs are followed, a trace and a session file tell of one request in
// either order: the trace at once, the session file when the turn is over. So
// what one of them told waits for the other, for a bounded time.
const (
	// traceLag is how long what a session file tells waits for a trace. Both
	// are written by one process; what differs is when we get to read them.
	traceLag = time.Second
	// sessionLag is how long what a trace tells waits where no session file
	// says that more is to come, and strangerLag where there is none (yet) of
	// that session: the file is made when the first answer comes.
	sessionLag  = 2 * time.Second
	strangerLag = 5 * time.Second
	// turnLag is how long it waits for the end of a turn that runs.
	turnLag = time.Hour
	// remembered is how many requests of session files are kept for a trace
	// that comes too late.
	remembered = 256
)

// liveJoin is what a joiner needs in addition while logs are followed.
type liveJoin struct {
	clock    func() time.Time
	caughtUp bool // what existed before was read
	traced   bool // there is a trace that knows requests
	// waiting are records of session files, oldest first.
	waiting []waiting
	recent  []*record.Request // passed on, the next to be replaced at oldest
	oldest  int
	// sessions are the threads that have a session file, and how far it is.
	sessions map[string]sessionState
	pruned   time.Time
}

type waiting struct {
	record  record.Record
	arrived time.Time
}

type toldTurn struct {
	turn    *record.Turn
	arrived time.Time
}

type sessionState struct {
	running bool // a turn is under way
}

func newLiveJoiner(sink func(record.Record), clock func() time.Time) *joiner {
	j := newJoiner(sink, true)
	j.live = &liveJoin{clock: clock, sessions: make(map[string]sessionState)}
	return j
}

// now returns when a record arrives. What existed before the start has waited
// long enough.
func (j *joiner) now() time.Time {
	if j.live == nil || !j.live.caughtUp {
		return time.Time{}
	}
	return j.live.clock()
}

// hold keeps a record of a session file while a trace may tell of it, too.
func (j *joiner) hold(r record.Record) {
	if j.live.caughtUp && j.live.traced {
		j.live.waiting = append(j.live.waiting, waiting{r, j.now()})
		return
	}
	j.release(r)
}

func (j *joiner) release(r record.Record) {
	if q, ok := r.(*record.Request); ok {
		j.live.remember(q)
	}
	j.sink(r)
}

func (l *liveJoin) remember(r *record.Request) {
	if len(l.recent) < remembered {
		l.recent = append(l.recent, r)
		return
	}
	l.recent[l.oldest] = r
	l.oldest = (l.oldest + 1) % remembered
}

// tooLate takes a trace's account of a request that a session file told of
// before, and reports whether it was one. Where that request still waits, the
// two are joined.
func (j *joiner) tooLate(a *account) bool {
	j.live.traced = true
	var best *record.Request
	consider := func(r *record.Request) {
		if r.Session == a.request.Session && r.Output == a.request.Output && !r.Merged && a.fits(r) &&
			(best == nil || r.End.Sub(a.end).Abs() < best.End.Sub(a.end).Abs()) {
			best = r
		}
	}
	for _, w := range j.live.waiting {
		if r, ok := w.record.(*record.Request); ok {
			consider(r)
		}
	}
	if best != nil {
		a.join(best)
		return true
	}
	for _, r := range j.live.recent {
		consider(r)
	}
	if best != nil {
		a.taken = true
		j.sink(&record.Dropped{Pos: a.request.Pos, Reason: record.Merge, Session: a.request.Session})
	}
	return best != nil
}

// catchUp says that what existed before was read. What a trace told of it
// waits on only where the turn still runs.
func (j *joiner) catchUp() {
	now := j.live.clock()
	j.live.caughtUp = true
	for _, a := range j.told {
		if j.live.sessions[a.request.Session].running {
			a.arrived = now
		}
	}
	for i, t := range j.toldTurns {
		if j.live.sessions[t.turn.Session].running {
			j.toldTurns[i].arrived = now
		}
	}
	j.settleTold()
}

// settle passes on what has waited long enough.
func (j *joiner) settle() {
	now := j.live.clock()
	l := j.live
	n := 0
	for n < len(l.waiting) && now.Sub(l.waiting[n].arrived) >= traceLag {
		j.release(l.waiting[n].record)
		n++
	}
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	j.settleTold()
	if now.Sub(l.pruned) >= time.Minute {
		l.pruned = now
		j.prune(now)
	}
}

// settleTold passes on what a trace told and no session file will tell of.
func (j *joiner) settleTold() {
	now := j.live.clock()
	told := j.told[:0]
	for _, a := range j.told {
		switch {
		case a.taken:
		case j.live.waited(a.request.Session, a.arrived, now):
			a.passed = true
			j.sink(a.request)
		default:
			told = append(told, a)
		}
	}
	clear(j.told[len(told):])
	j.told = told

	turns := j.toldTurns[:0]
	for _, t := range j.toldTurns {
		if !j.live.waited(t.turn.Session, t.arrived, now) {
			turns = append(turns, t)
		} else if !j.repeated(turnKey(t.turn)) {
			j.sink(t.turn)
		}
	}
	clear(j.toldTurns[len(turns):])
	j.toldTurns = turns
}

// waited reports whether no session file will tell of what a trace told.
func (l *liveJoin) waited(session string, arrived, now time.Time) bool {
	limit := strangerLag
	if s, known := l.sessions[session]; known {
		limit = sessionLag
		if s.running {
			limit = turnLag
		}
	}
	return now.Sub(arrived) >= limit
}

// prune forgets accounts that nothing can be joined to any more.
func (j *joiner) prune(now time.Time) {
	for u, accounts := range j.byUsage {
		kept := accounts[:0]
		for _, a := range accounts {
			if now.Sub(a.arrived) < 2*turnLag {
				kept = append(kept, a)
			}
		}
		if clear(accounts[len(kept):]); len(kept) == 0 {
			delete(j.byUsage, u)
		} else {
			j.byUsage[u] = kept
		}
	}
}

// flushLive passes on all that waits.
func (j *joiner) flushLive() {
	for _, w := range j.live.waiting {
		j.release(w.record)
	}
	j.live.waiting = nil
	j.flush()
}
