package parse

import (
	"maps"
	"slices"
	"time"

	"codexlag/parse/index"
	"codexlag/parse/packed"
	"codexlag/parse/record"
	"codexlag/parse/rollout"
	"codexlag/parse/source"
)

// What the index keeps of a log is what its Reader said, in this order: the
// records of its complete lines; the state that the Reader was in then, if the
// log can be read on from there; the records that came of the end; the Info.

// recall passes on what the index knows of a log that did not change. Nothing is
// passed on before it is known that all of it can be read.
func recall(f source.File, o Options, sink func(record.Record)) (Info, bool) {
	e, m := o.Index.Find(f)
	if m != index.Same || e.Zone != "" && e.Zone != zoneName(o.Location) {
		return Info{}, false
	}
	var held []record.Record
	take := func(r record.Record) { held = append(held, r) }
	if len(e.Result) > smallResult { // too much to hold: read twice
		if !intact(f, e.Result, o.Location) {
			return Info{}, false
		}
		take = sink
	}
	c := packed.NewReader(e.Result, f.Path, o.Location)
	var state []byte
	pass(c, take)
	c.Blob(&state)
	pass(c, take)
	i := Info{Path: f.Path}
	if i.pack(c); c.Err() != nil {
		return Info{}, false
	}
	for _, r := range held {
		sink(r)
	}
	return i, true
}

// pass passes records on, up to the next end of them.
func pass(c *packed.Codec, sink func(record.Record)) {
	for r := c.Next(); r != nil; r = c.Next() {
		sink(r)
	}
}

// intact reports whether all of a result can be read.
func intact(f source.File, result []byte, location *time.Location) bool {
	c := packed.NewReader(result, f.Path, location)
	var state []byte
	var i Info
	if c.Skim() != nil {
		return false
	}
	c.Blob(&state)
	if c.Skim() != nil {
		return false
	}
	i.pack(c)
	return c.Err() == nil
}

// zoneName names a zone in the index; "" where the name does not tell it.
func zoneName(l *time.Location) string {
	if name := l.String(); name != "Local" {
		return name
	}
	return ""
}

// A memory writes down what a Reader says of a log, for the index. nil writes nothing.
type memory struct {
	r       *Reader
	file    source.File
	stream  *source.Stream
	session bool
	o       Options

	c     *packed.Codec
	limit int
	whole kind  // the Reader's main kind before the first line
	end   int64 // where reading can go on, 0 where it cannot
}

const (
	// A result that is big against its log is not kept: reading the log again is
	// as fast, and the cache directory is for small things.
	smallResult = 64 << 10
	logToResult = 16
	maxResult   = 8 << 20 // bounds the memory while a log of any size is read
)

// memorize makes the memory of a log that r is about to read. If the index
// knows the beginning of the log, its records go to sink and r is to read on
// from there.
func memorize(r *Reader, f source.File, s *source.Stream, session bool, o Options, sink func(record.Record)) *memory {
	if _, ok := f.Stamp(); !ok || !o.Index.Keeps() {
		return nil
	}
	m := &memory{r: r, file: f, stream: s, session: session, o: o, whole: r.main,
		c:     packed.NewWriter(f.Path, o.Location),
		limit: min(max(smallResult, int(f.Size/logToResult)), maxResult),
	}
	m.resume(sink)
	r.atEnd = m.atEnd
	return m
}

// add takes a record before anybody can change it.
func (m *memory) add(r record.Record) {
	if m == nil || m.c == nil {
		return
	}
	if m.c.Put(r); m.c.Len() > m.limit {
		m.c = nil
	}
}

// atEnd takes the state of the Reader after the last complete line.
func (m *memory) atEnd(offset int64) {
	if m.c == nil {
		return
	}
	m.c.PutEnd()
	state := m.state(offset)
	if state != nil {
		m.end = offset
	}
	m.c.Blob(&state)
}

// state returns what is needed to read on; nil where that is not possible.
func (m *memory) state(offset int64) []byte {
	if _, _, plain := m.stream.Plain(); !plain || offset == 0 || m.r.main != kindRollout || !m.r.only(kindRollout) {
		return nil
	}
	c := packed.NewWriter(m.file.Path, m.o.Location)
	m.pack(c)
	if c.Err() != nil {
		return nil
	}
	return c.Bytes()
}

// pack writes the Reader's state, or reads it into one that has read nothing.
func (m *memory) pack(c *packed.Codec) {
	r := m.r
	whole := m.whole
	packed.Int(c, &whole)
	if whole != m.whole {
		c.Fail() // what was a log of lines has become one of another kind, or the reverse
	}
	r.info.pack(c)
	c.Bools(&r.inText)
	packed.Int(c, &r.recordsN[kindRollout])
	r.main = kindRollout
	r.decoder(kindRollout).(*rollout.Decoder).Pack(c)
}

// only reports whether all lines so far were of one kind, or noise.
func (r *Reader) only(one kind) bool {
	for k, d := range r.decoders {
		if d != nil && kind(k) != one {
			return false
		}
	}
	return r.decoders[one] != nil
}

// resume makes the Reader go on where the index left a log that has grown.
func (m *memory) resume(sink func(record.Record)) {
	e, match := m.o.Index.Find(m.file)
	log, size, plain := m.stream.Plain()
	if match != index.Grown || !plain || size < e.End || !intact(m.file, e.Result, m.o.Location) {
		return
	}
	if sum, err := index.SumOf(log, e.End); err != nil || sum != e.Sum {
		return
	}
	c := packed.NewReader(e.Result, m.file.Path, m.o.Location)
	before := *c
	var state []byte
	c.Skim()
	c.Blob(&state)
	trial := &memory{r: NewReader(m.file.Path, nil, m.o.Location), whole: m.whole}
	if trial.unpack(state, m.file, m.o) != nil || m.stream.SkipTo(e.End) != nil {
		return
	}
	pass(&before, func(r record.Record) {
		m.add(r)
		sink(r)
	})
	m.unpack(state, m.file, m.o)
	m.r.lines.Skip(m.r.info.Lines, e.End)
}

// unpack reads a state into the Reader.
func (m *memory) unpack(state []byte, f source.File, o Options) error {
	c := packed.NewReader(state, f.Path, o.Location)
	m.pack(c)
	return c.Err()
}

// store puts what was written down into the index, if the log is still what it
// was when it was found.
func (m *memory) store() {
	if m == nil || m.c == nil || m.r.info.Err != nil || m.r.decoders[kindBundle] != nil {
		return // a bundle's figures are in other files as well
	}
	e := index.Entry{Session: m.session, End: m.end}
	if m.r.decoders[kindRequest] != nil {
		if e.Zone = zoneName(m.o.Location); e.Zone == "" {
			return
		}
	}
	m.c.PutEnd()
	m.r.info.pack(m.c)
	if m.c.Err() != nil || m.c.Len() > m.limit {
		return
	}
	e.Result = m.c.Bytes()
	if m.end > 0 {
		log, _, _ := m.stream.Plain()
		sum, err := index.SumOf(log, m.end)
		if err != nil {
			return
		}
		e.Sum = sum
	}
	found, _ := m.file.Stamp()
	if now, ok := m.stream.Stamp(); !ok || now != found {
		return
	}
	e.Stamp = found
	m.o.Index.Put(m.file, e)
}

// pack writes or reads what is known of a log, all but its path and an error.
func (i *Info) pack(c *packed.Codec) {
	c.String((*string)(&i.Format), &i.Era, &i.Version, &i.Session)
	packed.Int(c, &i.Bytes, &i.Lines, &i.FirstUnreadable)
	packed.Int(c, &i.Requests, &i.Turns, &i.Totals)
	for q := range i.TTFT {
		packed.Int(c, &i.TTFT[q])
	}
	packed.Slice(c, &i.Threads, func(s *string) { c.String(s) })
	i.packDropped(c)
}

func (i *Info) packDropped(c *packed.Codec) {
	reasons := slices.Sorted(maps.Keys(i.Dropped))
	counts := make(map[record.Reason]int, len(reasons))
	packed.Slice(c, &reasons, func(r *record.Reason) {
		n := i.Dropped[*r]
		c.String((*string)(r))
		packed.Int(c, &n)
		counts[*r] = n
	})
	i.Dropped = counts
}
