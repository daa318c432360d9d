// Package execjson reads what codex exec --json prints. The stream has tokens
// and no time whatever, so nothing can be measured; it names the threads whose
// session files hold the times.
package execjson

import (
	"bytes"
	"hash/maphash"

	"codexlag/parse/intern"
	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/record"
)

// maxThreads bounds the threads that are kept in mind; one run of codex exec is
// one thread, so only a file of very many runs has more.
const maxThreads = 4096

// A Decoder reads one stream. It implements record.Decoder.
type Decoder struct {
	file  string
	emit  func(record.Record)
	names intern.Table

	thread  string // that the lines right now belong to
	threads []string
	known   map[string]bool

	seed  maphash.Seed
	total uint64 // hash of the last totals; Codex prints them again and again
	has   bool
}

// New returns a Decoder of the stream that is called file.
func New(file string, emit func(record.Record)) *Decoder {
	return &Decoder{file: file, emit: emit, known: make(map[string]bool), seed: maphash.MakeSeed()}
}

// Threads returns the ids of the threads seen, in order, each once. They are as
// the stream has them and need not be fit for a file name.
func (d *Decoder) Threads() []string { return d.threads }

// NeedWhole never wants a long line whole: those are items, with the output of
// tools in them.
func (d *Decoder) NeedWhole([]byte) bool { return false }

// End tells that the stream is over.
func (d *Decoder) End() {}

// Line takes the next line, in one of three forms:
//
//	{"type":"turn.completed","usage":{…}}     today
//	{"type":"session.created","session_id":…} September 2025
//	{"id":"0","msg":{"type":"token_count",…}} before
func (d *Decoder) Line(l lines.Line) {
	var typ, id, msg, usage []byte
	o := jsonwalk.Members(l.Text)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			typ, _ = jsonwalk.String(o.Value)
		case "thread_id", "session_id":
			id, _ = jsonwalk.String(o.Value)
		case "msg":
			msg = o.Value
		case "usage":
			usage = o.Value
		}
	}
	if err := o.Err(); err != nil {
		// The end of a long item is not missed.
		if !l.Cut() {
			d.drop(l.N, record.BadJSON)
		}
		return
	}
	switch {
	case string(typ) == "thread.started", string(typ) == "session.created":
		d.start(id)
	case string(typ) == "turn.completed":
		d.drop(l.N, record.NoTime)
	case string(typ) == "turn.failed" && jsonwalk.IsObject(usage):
		d.drop(l.N, record.NoTime)
	case jsonwalk.IsObject(msg):
		d.message(l.N, msg)
	}
}

func (d *Decoder) drop(line int64, why record.Reason) {
	d.emit(&record.Dropped{Pos: record.Pos{File: d.file, Line: line}, Reason: why, Session: d.thread})
}

// start notes that a thread begins.
func (d *Decoder) start(id []byte) {
	d.thread = d.names.Get(id)
	d.has = false
	if d.thread == "" || d.known[d.thread] || len(d.threads) >= maxThreads {
		return
	}
	d.known[d.thread] = true
	d.threads = append(d.threads, d.thread)
}

// message takes an event of the oldest form.
func (d *Decoder) message(line int64, msg []byte) {
	var typ, id, info, total []byte
	flat := false // counts without an object around them
	o := jsonwalk.Members(msg)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			typ, _ = jsonwalk.String(o.Value)
		case "session_id":
			id, _ = jsonwalk.String(o.Value)
		case "info":
			info = o.Value
			total = jsonwalk.Get(info, "total_token_usage")
		case "total_tokens", "output_tokens":
			flat = true
		}
	}
	switch {
	case o.Err() != nil:
		d.drop(line, record.BadJSON)
	case string(typ) == "session_configured":
		d.start(id)
	case string(typ) == "token_count" && jsonwalk.IsObject(info):
		d.usage(line, total)
	case string(typ) == "token_count" && flat:
		d.usage(line, msg)
	}
}

// usage takes the counts of a request. The same totals once more, which come
// with every change of the rate limits, are no other request.
func (d *Decoder) usage(line int64, total []byte) {
	h := maphash.Bytes(d.seed, bytes.TrimSpace(total))
	if d.has && len(total) > 0 && h == d.total {
		d.drop(line, record.Repeat)
		return
	}
	d.total, d.has = h, true
	d.drop(line, record.NoTime)
}
