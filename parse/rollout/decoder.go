// Package rollout reads the session files that Codex writes: rollout-*.jsonl,
// of all eras, one line after the other.
//
// A rollout does not say when a request was sent or when its first token came.
// It holds, in the order in which they were written: what was sent to the model
// (user messages, outputs of tools), what the model answered, one item a line,
// and how many tokens a response took. The package puts requests together from
// that (response.go), adds them and the tool calls (calls.go) up to turns
// (turn.go), and leaves out what a forked file copied from its parent
// (replay.go). No text of a session gets into a record.
package rollout

import (
	"bytes"
	"time"
	"unicode/utf8"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/timestamp"
)

// A Decoder reads one file. It implements record.Decoder.
type Decoder struct {
	file string
	emit func(record.Record)
	info Info

	words words

	// What holds for the requests to come.
	provider, version, origin string
	model, effort             string

	turn  *turn // the one that runs; nil between turns
	turns int   // how many there were, those of a parent not counted

	usage  counter
	replay replay

	// liveCounts: the file writes items late but token counts at once, so that
	// a tool ran between the two; see settle.
	liveCounts bool

	held record.Pos // a first line that holds only the brace of a TypeScript rollout
}

// New returns a decoder of one rollout, which it calls file in the records.
func New(file string, emit func(record.Record)) *Decoder {
	d := &Decoder{file: file, emit: emit}
	d.replay.burst = true
	d.replay.start, d.replay.copied = -1, -1
	return d
}

// Eras of rollouts, oldest first. The first two carry no times.
const (
	EraTypeScript = "typescript" // one JSON object a file
	EraBare       = "bare"       // lines without an envelope
	EraWrapped    = "wrapped"    // timestamp, type, payload
	EraPaginated  = "paginated"  // the same, with the times of items
)

// Info is what is known of a file so far.
type Info struct {
	Era     string // "" where no line was recognised
	Version string // of Codex, the last to write to the file
	Session string // thread id: the identity of the file

	Requests, Turns int // emitted
	// Untimed counts lines of the eras that carry no times.
	Untimed int
	// Resumes counts how often the session was taken up again.
	Resumes int
	// IsFork says that the file began as a copy of another thread's, or as a child of one.
	IsFork bool

	HasTurnTTFT   bool // turns state a time to first token
	HasItemStarts bool // items state when they started

	Running bool // a turn has begun and not ended
}

// Info tells what is known of the file so far.
func (d *Decoder) Info() Info {
	i := d.info
	i.Version = d.version
	i.Running = d.turn != nil
	return i
}

// Line takes the next line.
func (d *Decoder) Line(l lines.Line) {
	text := l.Text
	if l.N == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	text = bytes.Trim(text, " \t\r\n")
	pos := record.Pos{File: d.file, Line: l.N}
	switch {
	case len(text) == 0:
	case d.info.Era == EraTypeScript:
		d.info.Untimed++
	case d.openingBrace(text, pos):
	case text[0] != '{':
		d.drop(pos, reasonOfNoObject(text))
	default:
		d.object(text, l.Cut(), pos)
	}
}

// NeedWhole reports whether the beginning of a long line does not settle what
// the line is about.
func (d *Decoder) NeedWhole(head []byte) bool {
	if d.info.Era == EraTypeScript {
		return false
	}
	head = bytes.TrimLeft(head[:min(len(head), lines.Head)], "\ufeff \t\r")
	if len(head) == 0 || head[0] != '{' {
		return false
	}
	e, err := readEnvelope(head)
	return err == jsonwalk.ErrCut && !e.settled()
}

// End tells that the file is over.
func (d *Decoder) End() {
	if d.held.Line > 0 {
		d.drop(d.held, record.BadJSON)
	}
	d.endBurst(true)
	if d.turn != nil {
		d.finish(ending{at: d.turn.last, pos: d.turn.pos, status: record.Unfinished})
	}
}

// openingBrace recognises a TypeScript rollout that is written over many
// lines: a brace alone, then one of its two members.
func (d *Decoder) openingBrace(text []byte, pos record.Pos) bool {
	if d.info.Era == "" && d.held.Line == 0 && string(text) == "{" {
		d.held = pos
		return true
	}
	if d.held.Line == 0 {
		return false
	}
	held := d.held
	d.held = record.Pos{}
	if bytes.HasPrefix(text, []byte(`"session"`)) || bytes.HasPrefix(text, []byte(`"items"`)) {
		d.info.Era = EraTypeScript
		d.info.Untimed += 2
		return true
	}
	d.drop(held, record.BadJSON)
	return false
}

func reasonOfNoObject(text []byte) record.Reason {
	switch {
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text):
		return record.NotText
	case text[0] == '[' && text[len(text)-1] == ']':
		return record.NotAnObject
	}
	return record.BadJSON
}

// headSize is how much of a line is looked at first. Nearly all bytes of a
// session are prompts, answers and outputs of tools, whose kind the beginning
// of the line tells.
const headSize = 1 << 10

// object reads a line that starts as an object.
func (d *Decoder) object(text []byte, cut bool, pos record.Pos) {
	e, err := readEnvelope(text[:min(len(text), headSize)])
	if err == jsonwalk.ErrCut && len(text) > headSize && !e.settled() {
		e, err = readEnvelope(text)
	}
	if err == jsonwalk.ErrCut {
		switch {
		case d.info.Era == "" && e.typ == nil && (e.session || e.items):
			d.info.Era = EraTypeScript // the object goes on over many lines, or is too long
			d.info.Untimed++
			return
		case len(text) <= headSize && !cut:
			d.drop(pos, record.BadJSON)
			return
		case cut && !e.settled():
			d.drop(pos, record.TooLong)
			return
		case !cut && (!e.settled() || text[len(text)-1] != '}'):
			d.drop(pos, record.BadJSON)
			return
		}
	} else if err != nil {
		d.drop(pos, record.BadJSON)
		return
	}
	d.dispatch(&e, pos)
}

func (d *Decoder) dispatch(e *envelope, pos record.Pos) {
	switch {
	case e.typ == nil && e.typed, e.payload != nil && !jsonwalk.IsObject(e.payload):
		d.drop(pos, record.NotAnObject)
		return
	case e.typ == nil:
		d.oldHeader(e, pos)
		return
	case e.stamp == nil && e.payload == nil && (d.info.Era == EraBare || d.info.Era == "" && e.kind() == kindItem):
		d.info.Era = EraBare
		d.info.Untimed++
		return
	case e.kind() == kindUnknown:
		d.drop(pos, record.UnknownType)
		return
	}
	s, _ := jsonwalk.String(e.stamp)
	at, ok := timestamp.Parse(s)
	if !ok {
		d.drop(pos, record.BadTime)
		return
	}
	if e.ordinal >= 0 {
		d.info.Era = EraPaginated
	} else if d.info.Era != EraPaginated {
		d.info.Era = EraWrapped
	}
	d.observe(at, e.ordinal)
	d.line(e, at, pos)
}

// oldHeader takes the lines without a type that the oldest eras have.
func (d *Decoder) oldHeader(e *envelope, pos record.Pos) {
	switch {
	case e.session && e.items && d.info.Era == "":
		d.info.Era = EraTypeScript
	case e.id != nil && e.stamp != nil && d.info.Era == "":
		d.info.Era = EraBare
		d.info.Session = d.words.take(e.id)
	case e.state && (d.info.Era == EraBare || d.info.Era == ""):
		d.info.Era = EraBare
	default:
		d.drop(pos, record.UnknownType)
		return
	}
	d.info.Untimed++
}

// line takes a line with a time.
func (d *Decoder) line(e *envelope, at time.Time, pos record.Pos) {
	switch e.kind() {
	case kindMeta:
		d.sessionMeta(e.payload, at)
	case kindContext:
		d.turnContext(e.payload, at, pos)
	case kindUsage:
		d.usageRecord(e.payload, at, pos)
	case kindItem:
		d.responseItem(e.part, at, pos)
	case kindEvent:
		d.event(e.part, e.body(), at, pos)
	case kindMessage:
		d.sent(at, false, pos)
	case kindCompacted:
		d.compacted(at, pos)
	}
}

func (d *Decoder) drop(pos record.Pos, why record.Reason) {
	d.emit(&record.Dropped{Pos: pos, Reason: why, Session: d.info.Session})
}
