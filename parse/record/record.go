// Package record holds what every log format is turned into: requests, turns
// with their tool intervals, and notes about what was dropped on the way.
//
// Readers (package parse and its sub-packages) make records; package analyze
// adds them up. A record carries no text of a session: only numbers, ids,
// model names and positions.
package record

import (
	"strconv"
	"time"
)

// A Record is one thing that a log says: a *Request, a *Turn or a *Dropped.
//
// A record is valid until the next one is read, except that the requests that
// a *Turn points to live as long as the turn.
type Record interface {
	// Where tells the line that the record ends on.
	Where() Pos
}

// Pos is a place in a log.
type Pos struct {
	File string // as the user named it, or as found below what the user named
	Line int64  // from 1; 0 where the format has no lines
}

// Where returns p itself; embedding a Pos makes a type a Record.
func (p Pos) Where() Pos { return p }

func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.FormatInt(p.Line, 10)
}

// Tokens is a count of tokens that may be unknown. The zero value is unknown;
// a known N is never negative.
type Tokens struct {
	N     int64
	Known bool
}

// Count returns a known count of n tokens, or an unknown one where n is
// negative (logs write -1 for "unknown").
func Count(n int64) Tokens {
	if n < 0 {
		return Tokens{}
	}
	return Tokens{N: n, Known: true}
}

// A Format names the kind of log that a record came from.
type Format string

// The formats; the values are those of the JSON report.
const (
	FormatRequest Format = "request" // [request] first_token_ms=… lines and their JSON kin
	FormatRollout Format = "rollout" // Codex session files
	FormatTrace   Format = "trace"   // tracing text or JSON lines (codex-tui.log, codex exec's stderr)
	FormatOTLP    Format = "otlp"    // OTLP JSON captured by a collector
	FormatSQLite  Format = "sqlite"  // logs_1.sqlite, logs_2.sqlite
	FormatBundle  Format = "bundle"  // CODEX_ROLLOUT_TRACE_ROOT
	FormatExec    Format = "exec"    // codex exec --json: carries no time
	FormatUnknown Format = "unknown"
)

// Quality says where a TTFT came from; see metrics.md, "Quality of a TTFT".
type Quality uint8

const (
	None      Quality = iota // nothing is known
	Bound                    // only an upper bound is known (first finished item)
	Estimated                // from timestamps around the request
	Derived                  // computed from other stated figures of the same request
	Measured                 // the log states it for this very request
)

func (q Quality) String() string {
	return [...]string{"none", "bound", "estimated", "derived", "measured"}[q]
}

// Usable reports whether a TTFT of this quality is a time, not just a limit.
func (q Quality) Usable() bool { return q >= Estimated }

// Status says how a request or a turn ended.
type Status uint8

const (
	OK         Status = iota
	Failed            // ended with an error
	Aborted           // interrupted by the user or replaced
	Warmup            // generated no token by design
	Unfinished        // the log ends before the turn does (turns only)
)

// Broken reports whether a request of this status was sent and got no answer, or
// not all of it.
func (s Status) Broken() bool { return s == Failed || s == Aborted }

func (s Status) String() string {
	return [...]string{"ok", "failed", "aborted", "warmup", "unfinished"}[s]
}

// A Request is one call of a model: one prompt sent, one stream of tokens back.
type Request struct {
	Pos
	Format Format

	Start, End time.Time // zero where unknown; End is when the request ended

	ID       string // names the request across copies of a log (a response id); "" where unknown
	Session  string // thread or conversation id
	Turn     string // turn id
	Model    string
	Provider string
	Effort   string // reasoning effort
	Label    string // the user's own mark (label=…)
	Version  string // of Codex
	Origin   string // who asked: user, subagent, review, compact, guardian, …

	// TTFT is the time from sending the request to the first generated token
	// (Bound: at most that long). It means something only if Quality > None.
	TTFT    time.Duration
	Quality Quality
	// FirstVisible says that TTFT ends at the first visible output: hidden
	// reasoning was decoded before it and is not in the decode window.
	FirstVisible bool

	Total time.Duration // request sent until last token, or until it failed; 0 where unknown

	Input     Tokens // prompt tokens, cached ones included
	Cached    Tokens // ⊂ Input
	Output    Tokens // generated tokens, reasoning included
	Reasoning Tokens // ⊂ Output

	ReportedTPS    float64 // tokens/s as the log prints it; means something only if HasReportedTPS
	HasReportedTPS bool

	Status Status
	Error  Error
	// Retries counts the attempts before the one that is told here; they and
	// their waits are inside TTFT and Total.
	Retries int

	// Nth is its place among the requests of its turn, from 1, copies of earlier
	// ones included; 0 where unknown.
	Nth int

	// Merged says that two logs told of this request and became one record.
	Merged bool
}

// An Error says why a request failed, as far as the log tells.
type Error struct {
	HTTPStatus int    // 401, 404, 429, 5xx, …; 0 where unknown
	Kind       string // "", ErrTimeout, ErrDisconnected or ErrOther
}

// Kinds of errors that have no HTTP status.
const (
	ErrTimeout      = "timeout"
	ErrDisconnected = "disconnected"
	ErrOther        = "other"
)

// A Turn is what Codex does with one input of the user: requests, tools, waits.
type Turn struct {
	Pos
	Format Format

	Session, ID, Model, Provider, Effort, Version, Origin string

	Start, End time.Time     // zero where unknown
	Duration   time.Duration // 0 where unknown
	TTFT       time.Duration // turn start to first visible output; means something only if HasTTFT
	HasTTFT    bool
	Status     Status

	Requests []*Request // those of the turn, in order
	Tools    []Interval // one a call; they may overlap
}

// An Interval is the time that one tool call took, waits for approval included.
type Interval struct {
	Start, End time.Time
	Tool       string // name of the tool
}

// A Reason says why something that a log holds is not in the figures.
type Reason string

// Reasons that are counted on their own in the report.
const (
	Repeat    Reason = "repeat"    // a usage record that repeats the one before
	Replayed  Reason = "replayed"  // a request of the parent's history copied into a fork
	Duplicate Reason = "duplicate" // a request already read from another copy of the same log
	Merge     Reason = "merged"    // a second log's account of a request, joined to the first
)

// Reasons why a line, or a part of it, cannot be read. With --strict each is an error.
const (
	BadJSON      Reason = "bad_json"      // truncated, glued or otherwise no JSON value
	NotAnObject  Reason = "not_an_object" // JSON, but not an object, or one with fields of a wrong type
	BadTime      Reason = "bad_time"      // a timestamp that is none
	NotText      Reason = "not_text"      // NULs or bytes that are no UTF-8 where a log line should be
	NoNumbers    Reason = "no_numbers"    // a request line without a single usable number
	BadValue     Reason = "bad_value"     // a figure of a request line that cannot be read; the request counts without it
	TooLong      Reason = "too_long"      // a line beyond the length that is kept
	BadRow       Reason = "bad_row"       // a database row that cannot be read
	UnknownType  Reason = "unknown_type"  // a well-formed record of a type that is not known; never an error
	Synthetic    Reason = "synthetic"     // usage made up by Codex (context overflow), not a request
	OutsideTurn  Reason = "outside_turn"  // part of a request or turn whose beginning or end is not in the log
	NoTime       Reason = "no_time"       // a request without any time (oldest eras, codex exec --json)
	Continuation Reason = "continuation"  // a line that goes on with the text of an event; never an error
)

// Unreadable reports whether the reason is a fault of the log line itself.
func (r Reason) Unreadable() bool {
	switch r {
	case BadJSON, NotAnObject, BadTime, NotText, NoNumbers, BadValue, TooLong, BadRow:
		return true
	}
	return false
}

// Dropped tells of one thing that was read and is not in the figures.
type Dropped struct {
	Pos
	Reason  Reason
	Session string // thread id, where it matters and is known
}
