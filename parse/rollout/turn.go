package rollout

import (
	"time"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/record"
)

// A turn is what runs between an input of the user and its last answer.
//
// From about 0.93 on, turns are marked by task_started and task_complete. Older
// files have only user messages and turn_context, of which some versions write
// one for each request; there a turn lasts until the next input.
type turn struct {
	id       string
	explicit bool // marked by task_started
	lost     bool // its beginning is not in the log
	foreign  bool // a parent's
	adopted  bool // opened in a copy, see replay
	opening  bool // the first turn of the file

	pos       record.Pos // of the latest line
	start     time.Time
	startedAt time.Time // as stated, in whole seconds
	last      time.Time // the latest line of the turn
	active    bool      // something came back
	owed      bool      // the model has yet to answer
	model     string
	effort    string

	response response
	requests []*record.Request
	first    firstRequest
	spoke    bool      // a request that is no warm-up was counted
	counted  time.Time // when the last request was counted
	floor    time.Time // when it ended
	bare     bool      // no item of it was written before it was counted

	calls map[string]*call
	order []*call

	out *record.Turn // once it is finished; nil where its beginning is lost
}

// firstRequest is what the turn's own time to first token needs to know of the
// request that it belongs to: the first that is no warm-up.
type firstRequest struct {
	index   int
	exact   time.Time // its latest trigger of which the log states the time
	thought time.Time // when its first reasoning was done
}

func (t *turn) touch(at time.Time, pos record.Pos) {
	t.last, t.pos = at, pos
}

// open starts a turn at a line that marks one.
func (d *Decoder) open(id string, at time.Time, pos record.Pos) *turn {
	t := &turn{id: id, start: at, last: at, pos: pos, owed: true, opening: d.turns == 0}
	t.response.trigger(trigger{at: at})
	d.turn = t
	return t
}

// running returns the turn that a line belongs to. Where none runs, the log
// does not hold its beginning.
func (d *Decoder) running(at time.Time, pos record.Pos) *turn {
	if d.turn == nil {
		d.turn = &turn{lost: true, last: at, pos: pos}
		if d.replay.on {
			d.replay.loose = true
		}
	}
	return d.turn
}

// taskStarted takes task_started and its later name turn_started.
func (d *Decoder) taskStarted(body []byte, at time.Time, pos record.Pos) {
	f := d.readTurnEvent(body)
	foreign := d.marked(f.id, f.startedAt)
	t := d.turn
	switch {
	case t == nil:
		t = d.open(f.id, at, pos)
	case t.explicit && f.id != "" && t.id == f.id:
		return // told twice
	case !t.explicit && !t.active && (t.id == "" || t.id == f.id):
		// The message or context before belong to this turn.
		t.id, t.start = f.id, at
		t.response.trigger(trigger{at: at})
		t.touch(at, pos)
	case !t.explicit && t.id == f.id && f.id != "":
	default:
		d.leave()
		t = d.open(f.id, at, pos)
	}
	t.explicit, t.lost, t.foreign, t.startedAt = true, false, foreign, f.startedAt
}

// turnContext takes a turn_context line: the model and effort from here on.
func (d *Decoder) turnContext(payload []byte, at time.Time, pos record.Pos) {
	c := d.readContext(payload)
	d.model, d.effort = c.model, c.effort
	foreign := d.marked(c.id, time.Time{})
	t := d.turn
	switch {
	case t == nil:
		t = d.open(c.id, at, pos)
		t.foreign = foreign
	case c.id != "" && t.id == "" && (!t.active || t.lost && t.owed):
		t.id, t.foreign = c.id, foreign
	case c.id != "" && t.id != c.id, c.id == "" && !t.explicit && t.active && !t.owed:
		d.leave()
		t = d.open(c.id, at, pos)
		t.foreign = foreign
	}
	t.response.trigger(trigger{at: at})
	if t.model == "" {
		t.model, t.effort = c.model, c.effort
	}
}

// userMessage takes an input of the user: an event, or a message to the model,
// which can also be one that Codex puts in by itself.
func (d *Decoder) userMessage(event bool, at time.Time, pos record.Pos) {
	t := d.turn
	switch {
	case t == nil:
		if d.replay.on {
			d.replay.loose = true
		}
		d.open("", at, pos)
		return
	case !t.explicit && t.active && (event || !t.owed):
		d.leave()
		d.open("", at, pos)
		return
	case !t.explicit && !t.active:
		t.start = at // what came before it was Codex's own, such as the note of an abort
	}
	d.sent(at, false, pos)
}

// compacted takes the note that the history was summed up: the next request is
// sent after that.
func (d *Decoder) compacted(at time.Time, pos record.Pos) {
	if t := d.turn; t != nil {
		t.response.trigger(trigger{at: at})
		t.owed = true
		t.touch(at, pos)
	}
}

// A turnEvent is what the events around a turn state.
type turnEvent struct {
	id                     string
	startedAt, completedAt time.Time
	duration, ttft         time.Duration
	hasTTFT, failed        bool
}

func (d *Decoder) readTurnEvent(body []byte) (e turnEvent) {
	o := jsonwalk.Members(body)
	for o.Next() {
		v := o.Value
		switch string(o.Key) {
		case "turn_id":
			s, _ := jsonwalk.String(v)
			e.id = d.words.take(s)
		case "started_at":
			e.startedAt = unixSeconds(v)
		case "completed_at":
			e.completedAt = unixSeconds(v)
		case "duration_ms":
			e.duration, _ = milliseconds(v)
		case "time_to_first_token_ms":
			e.ttft, e.hasTTFT = milliseconds(v)
		case "error":
			e.failed = !jsonwalk.IsNull(v) && string(v) != "false"
		}
	}
	return e
}

// taskEnded takes task_complete, its later name turn_complete, and turn_aborted.
func (d *Decoder) taskEnded(body []byte, aborted bool, at time.Time, pos record.Pos) {
	f := d.readTurnEvent(body)
	t := d.turn
	if t == nil || f.id != "" && t.id != "" && f.id != t.id {
		if !d.replay.on && !(aborted && t == nil) {
			d.drop(pos, record.OutsideTurn)
		}
		return
	}
	if t.id == "" {
		t.id = f.id
	}
	end := ending{at: at, pos: pos, turnEvent: f}
	switch {
	case aborted:
		end.status, end.hasTTFT = record.Aborted, false
	case f.failed:
		end.status = record.Failed
	}
	d.info.HasTurnTTFT = d.info.HasTurnTTFT || end.hasTTFT && !d.replay.on
	d.finish(end)
	if t.lost {
		d.drop(pos, record.OutsideTurn)
	}
}

// leave ends a turn for the reason that another begins.
func (d *Decoder) leave() {
	t := d.turn
	d.finish(ending{at: t.last, pos: t.pos, status: record.Unfinished})
}

// An ending is how and when a turn ended.
type ending struct {
	turnEvent
	at     time.Time
	pos    record.Pos
	status record.Status
}

// finish closes the running turn and emits it.
func (d *Decoder) finish(e ending) {
	t := d.turn
	d.turn = nil
	if d.replay.on {
		return
	}
	if t.response.late && t.response.trailed {
		d.settle(t)
	}
	if e.status == record.Unfinished && !t.explicit && !t.owed {
		e.status = record.OK // old files do not mark the end of a turn
	}
	if !t.active && (!t.explicit && e.status == record.Unfinished || t.adopted && e.status == record.Unfinished) {
		return // an input that was never worked on, or a rest of a parent's turn
	}
	d.turns++
	f := finished{turn: t, ending: e}
	if !d.info.IsFork {
		f.setTimes()
	}
	f.setFirstToken(d.info.Era == EraPaginated)
	if !t.lost {
		t.out = f.record(d)
	}
	if d.replay.burst && unnumbered(t) && len(t.requests) > 0 {
		d.replay.held = append(d.replay.held, t)
		return
	}
	d.emitTurn(t)
}

// emitTurn emits the requests of a turn, then the turn itself.
func (d *Decoder) emitTurn(t *turn) {
	for _, q := range t.requests {
		q.Turn = t.id
		d.info.Requests++
		d.emit(q)
	}
	if t.out != nil {
		d.info.Turns++
		d.emit(t.out)
	}
}
