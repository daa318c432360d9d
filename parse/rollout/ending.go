package rollout

import (
	"time"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/record"
)

// A finished turn has its start, its end and its first request put right by
// what its last event states.
type finished struct {
	*turn
	ending
}

const (
	// lateLine: a line is written within a few ms of what it tells of. One that
	// is later than that waited for its file.
	lateLine = 100 * time.Millisecond
	// lateSecond is the same for times that are stated in whole seconds.
	lateSecond = time.Second + lateLine
	// tooLate: no file was seen to come into being more than 49 s late; a
	// difference of many minutes is a clock that was set.
	tooLate = 10 * time.Minute
)

// setTimes corrects the times of the first turn of a file.
//
// Codex makes a file only when there is something to keep in it. Lines until
// then carry the time of that moment, up to 49 s after what they tell of. The
// turn states its length by a clock of its own, its id (version 7) holds when it
// was asked for, and started_at and completed_at are times in whole seconds:
// where a line is clearly later than the first of these that is known, that one
// holds. A line that is earlier than they say is believed.
func (f *finished) setTimes() {
	t := f.turn
	if !t.opening || t.start.IsZero() {
		return
	}
	if late := f.at.Sub(f.completedAt); !f.completedAt.IsZero() && late > lateSecond && late < tooLate {
		f.at = f.completedAt
	}
	stated := t.startedAt
	if stated.IsZero() {
		stated = f.ending.startedAt
	}
	start, tolerance := t.start, lateLine
	made, numbered := uuidTime(t.id)
	switch {
	case f.duration > 0:
		start = f.at.Add(-f.duration)
	case numbered && (stated.IsZero() || made.Sub(stated).Abs() < 2*time.Second):
		start = made
	case !stated.IsZero():
		start, tolerance = stated, lateSecond
	}
	late := t.start.Sub(start)
	if late <= tolerance || late >= tooLate {
		return
	}
	written := t.start
	t.start = start
	if len(t.requests) == 0 || t.first.index > 0 {
		return
	}
	q := t.requests[0]
	if after := q.Start.Sub(written); after < 0 || after > atOnce {
		return // it started at something else than the late lines
	}
	if t.first.exact.After(start) {
		start = t.first.exact
	}
	if q.Total = between(start, q.End); q.Total > 0 && q.Quality > record.None {
		q.TTFT += q.Start.Sub(start)
	}
	q.Start = start
}

// setFirstToken gives the first request the time to first token that Codex
// states for the turn.
//
// That clock runs from the start of the turn, so the request does so too. It
// stops at the first output that can be seen: reasoning that is hidden came
// before it. Where a file tells when the items of the request started, those
// are closer to the truth.
func (f *finished) setFirstToken(paginated bool) {
	t := f.turn
	if f.hasTTFT && f.duration > 0 && f.ttft > f.duration {
		f.hasTTFT = false
	}
	if !f.hasTTFT || !t.spoke || t.start.IsZero() {
		return
	}
	i := t.first.index
	q := t.requests[i]
	if paginated && q.Quality == record.Estimated {
		return
	}
	start := t.start
	if i > 0 {
		start = q.Start // warm-ups came before it
	}
	seen := t.start.Add(f.ttft)
	ttft, total := seen.Sub(start), between(start, q.End)
	if ttft < 0 || total == 0 || ttft > total+atOnce {
		return // what was seen first is no part of this request
	}
	q.Start, q.Total = start, total
	q.TTFT, q.Quality = min(ttft, total), record.Estimated
	// Reasoning that was still going on then was not hidden: its summary was
	// what was seen first.
	shown := !t.first.thought.IsZero() && t.first.thought.Sub(seen) > lateLine
	q.FirstVisible = q.Reasoning.N > 0 && !shown
}

// record makes a record of the turn.
func (f *finished) record(d *Decoder) *record.Turn {
	t := f.turn
	out := &record.Turn{
		Pos: f.ending.pos, Session: d.info.Session, ID: t.id,
		Model: t.model, Effort: t.effort, Provider: d.provider, Version: d.version, Origin: d.origin,
		Start: t.start, End: f.at, Duration: f.duration,
		TTFT: f.ttft, HasTTFT: f.hasTTFT,
		Status: f.status, Requests: t.requests,
	}
	if out.Model == "" {
		out.Model, out.Effort = d.model, d.effort
	}
	if !out.HasTTFT {
		out.TTFT = 0
	}
	if out.Duration == 0 && f.status != record.Unfinished {
		out.Duration = between(out.Start, out.End)
	}
	var abort time.Time
	if f.status == record.Aborted {
		abort = f.at
	}
	out.Tools = t.tools(abort)
	return out
}

// milliseconds reads a duration in ms. Negative ones and those that nothing
// lasts are unknown.
func milliseconds(v []byte) (time.Duration, bool) {
	ms, ok := jsonwalk.Float(v)
	if !ok || ms < 0 || ms >= float64(implausible/time.Millisecond) {
		return 0, false
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}

// duration reads {"secs":3,"nanos":0}, as Rust writes a duration, or a plain
// number of seconds.
func duration(v []byte) (time.Duration, bool) {
	secs, ok := jsonwalk.Float(v)
	if jsonwalk.IsObject(v) {
		var nanos float64
		if secs, ok = jsonwalk.Float(jsonwalk.Get(v, "secs")); !ok {
			return 0, false
		}
		nanos, _ = jsonwalk.Float(jsonwalk.Get(v, "nanos"))
		secs += nanos / 1e9
	}
	if !ok || secs < 0 || secs >= implausible.Seconds() {
		return 0, false
	}
	return time.Duration(secs * float64(time.Second)).Round(time.Microsecond), true
}

// unixSeconds and unixMillis read times; zero where they are none. Codex is
// younger than 2020.
func unixSeconds(v []byte) time.Time {
	n, ok := jsonwalk.Int(v)
	if !ok || n < 1_577_836_800 || n > 1e11 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

func unixMillis(v []byte) time.Time {
	n, ok := jsonwalk.Int(v)
	if !ok || n < 1_577_836_800_000 || n > 1e14 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
