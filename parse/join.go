package parse

import (
	"hash/maphash"
	"time"

	"codexlag/parse/record"
)

// A joiner stands between the logs and the figures and sees to it that a
// request counts once, however many logs tell of it:
//
//   - copies: the same session in sessions/ and archived_sessions/, a plain and
//     a compressed file, history that a fork or a resume repeats. The first
//     copy counts, the others are dropped as duplicates;
//   - accounts: a trace and a session file that describe the same request. They
//     become one: the trace knows the TTFT, the session file the rest.
//
// Traces must come first and session files last, as Read sees to.
type joiner struct {
	sink func(record.Record)
	seed maphash.Seed
	seen map[uint64]struct{}

	// What telemetry told waits here for the session files, in order and by
	// what both know of a request.
	told      []*account
	byUsage   map[usage][]*account
	toldTurns []toldTurn
	// waits says that there are session files to wait for.
	waits bool

	// The turn that session-file requests belong to right now, how many it had
	// so far, and those of them that were dropped.
	turn    string
	index   int
	dropped map[*record.Request]bool

	// generation tells the log that is read now from those that had its name
	// before it was rotated; all zero but while logs are followed.
	generation int

	// live is set while logs are followed; see joinlive.go.
	live *liveJoin
}

// An account is a request as telemetry tells of it.
type account struct {
	end    time.Time
	input  record.Tokens
	status record.Status
	log    logName
	// request waits for a session file; nil where none can come.
	request *record.Request
	taken   bool // a session file told of it as well
	passed  bool // it was passed on, since no session file told of it in time
	arrived time.Time
}

// A logName names one log, also where another takes over its path.
type logName struct {
	file       string
	generation int
}

type usage struct {
	session string
	output  record.Tokens
}

func newJoiner(sink func(record.Record), waits bool) *joiner {
	return &joiner{
		waits:   waits,
		sink:    sink,
		seed:    maphash.MakeSeed(),
		seen:    make(map[uint64]struct{}),
		byUsage: make(map[usage][]*account),
		dropped: make(map[*record.Request]bool),
	}
}

// add takes the next record.
func (j *joiner) add(r record.Record) {
	switch r := r.(type) {
	case *record.Request:
		switch r.Format {
		case record.FormatRequest:
			j.line(r)
		case record.FormatRollout:
			j.rollout(r)
		default:
			j.telemetry(r)
		}
	case *record.Turn:
		if r.Format == record.FormatRollout {
			j.rolloutTurn(r)
		} else {
			j.toldTurns = append(j.toldTurns, toldTurn{r, j.now()})
		}
	default:
		j.sink(r)
	}
}

// line takes a request line. It has an identity only where it names itself.
func (j *joiner) line(r *record.Request) {
	if r.ID != "" && j.repeated(identity{what: "line", whose: r.Session, id: r.ID}) {
		j.duplicate(r)
		return
	}
	j.sink(r)
}

func (j *joiner) duplicate(r *record.Request) {
	j.sink(&record.Dropped{Pos: r.Pos, Reason: record.Duplicate, Session: r.Session})
}

// An identity is what names a request or a turn across the logs that tell of it.
type identity struct {
	what, whose, id           string
	at                        int64 // Unix µs, or the place in a turn
	outputTokens, inputTokens int64
}

// repeated reports whether the identity was met before. Only its hash is kept.
func (j *joiner) repeated(key identity) bool {
	h := maphash.Comparable(j.seed, key)
	if _, ok := j.seen[h]; ok {
		return true
	}
	j.seen[h] = struct{}{}
	return false
}

const (
	// sameEvent is how far apart two writers' stamps of one telemetry event may be.
	sameEvent = 50 * time.Millisecond
	// sameRequest is how far apart the accounts of a request's end in a trace
	// and in a session file may be. Measured: mostly within 1 ms; session files
	// that write the usage behind the tool's output lie later.
	sameRequest = time.Second
)

// telemetry takes a request of a trace: it waits for the session files.
func (j *joiner) telemetry(r *record.Request) {
	if r.Session == "" || r.End.IsZero() {
		j.sink(r)
		return
	}
	u := usage{r.Session, r.Output}
	for _, a := range j.byUsage[u] {
		if a.end.Sub(r.End).Abs() <= sameEvent && a.status == r.Status && a.input == r.Input && a.log != (logName{r.File, j.generation}) {
			j.duplicate(r)
			return
		}
	}
	a := &account{end: r.End, input: r.Input, status: r.Status, log: logName{r.File, j.generation}, arrived: j.now()}
	j.byUsage[u] = append(j.byUsage[u], a)
	if !j.waits {
		j.sink(r)
		return
	}
	c := *r
	a.request = &c
	if j.live == nil || !j.tooLate(a) {
		j.told = append(j.told, a)
	}
}

// rollout takes a request of a session file.
func (j *joiner) rollout(r *record.Request) {
	if j.repeated(j.rolloutKey(r)) {
		j.dropped[r] = true
		j.duplicate(r)
		return
	}
	if j.merge(r) {
		j.pass(r)
	}
}

// pass passes on what a session file tells; while logs are followed a trace
// may tell of the same a moment later.
func (j *joiner) pass(r record.Record) {
	if j.live == nil {
		j.sink(r)
	} else {
		j.hold(r)
	}
}

// rolloutKey names a request across copies of its session. History that is
// copied into a fork is stamped anew, so within a turn the place counts and
// not the time.
func (j *joiner) rolloutKey(r *record.Request) identity {
	if r.ID != "" {
		return identity{what: "response", id: r.ID}
	}
	key := identity{outputTokens: r.Output.N, inputTokens: r.Input.N}
	if r.Turn == "" {
		key.what, key.whose, key.at = "request at", r.Session, r.End.UnixMicro()
		return key
	}
	if r.Turn != j.turn {
		j.turn, j.index = r.Turn, 0
	}
	j.index++
	r.Nth = j.index
	key.what, key.id, key.at = "request in", r.Turn, int64(j.index)
	return key
}

// merge gives r the TTFT that a trace measured for the same request: same
// thread, same tokens, end within a second. It returns false where the trace's
// account was passed on already, so that r must not be.
func (j *joiner) merge(r *record.Request) bool {
	var best *account
	for _, a := range j.byUsage[usage{r.Session, r.Output}] {
		if d := a.end.Sub(r.End).Abs(); a.fits(r) && (best == nil || d < best.end.Sub(r.End).Abs()) {
			best = a
		}
	}
	if best == nil {
		return true
	}
	best.join(r)
	if best.passed {
		j.sink(&record.Dropped{Pos: r.Pos, Reason: record.Merge, Session: r.Session})
	}
	return !best.passed
}

// fits reports whether r, of a session file, may be the request that a tells of.
func (a *account) fits(r *record.Request) bool {
	return !a.taken && a.request != nil && a.status == record.OK && (!a.input.Known || a.input == r.Input) &&
		a.end.Sub(r.End).Abs() <= sameRequest
}

// join puts into r what a knows better.
func (a *account) join(r *record.Request) {
	a.taken = true
	t := a.request
	r.Merged = true
	r.Retries = t.Retries
	if t.Quality <= r.Quality {
		return
	}
	if r.FirstVisible && t.Total > 0 {
		// The session file's clock started with the turn, not with the request:
		// its total and this TTFT have no common start.
		r.Start, r.Total = t.Start, t.Total
	}
	r.TTFT, r.Quality, r.FirstVisible = t.TTFT, t.Quality, t.FirstVisible
}

func (j *joiner) rolloutTurn(t *record.Turn) {
	j.turn, j.index = "", 0
	if len(j.dropped) > 0 {
		kept := t.Requests[:0]
		for _, r := range t.Requests {
			if !j.dropped[r] {
				kept = append(kept, r)
			}
		}
		t.Requests = kept
		clear(j.dropped)
	}
	if !j.repeated(turnKey(t)) {
		j.pass(t)
	}
}

func turnKey(t *record.Turn) identity {
	if t.ID != "" {
		return identity{what: "turn", id: t.ID}
	}
	whose := t.Session
	if whose == "" {
		whose = t.File
	}
	return identity{what: "turn at", whose: whose, at: t.Start.UnixMicro()}
}

// flush passes on what no session file told of.
func (j *joiner) flush() {
	for _, a := range j.told {
		if !a.taken {
			j.sink(a.request)
		}
	}
	for _, t := range j.toldTurns {
		if !j.repeated(turnKey(t.turn)) {
			j.sink(t.turn)
		}
	}
	j.told, j.toldTurns = nil, nil
	clear(j.byUsage)
}
