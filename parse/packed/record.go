package packed

import "codexlag/parse/record"

// What a record begins with.
const (
	end = iota
	request
	turn
	dropped
)

// Put writes the next record of the log.
func (c *Codec) Put(r record.Record) {
	switch r := r.(type) {
	case *record.Request:
		c.putUint(request)
		c.Request(r)
		if r.Format != record.FormatRequest { // those are made in the same place again and again
			c.recent.add(r)
		}
	case *record.Turn:
		c.putUint(turn)
		c.Turn(r)
		c.turnRequests(r)
	case *record.Dropped:
		c.putUint(dropped)
		c.dropped(r)
	default:
		c.Fail()
	}
}

// PutEnd says that there are no more records for now.
func (c *Codec) PutEnd() { c.putUint(end) }

// Next reads the next record; nil at the end, and where there is an error.
func (c *Codec) Next() record.Record {
	if c.err != nil {
		return nil
	}
	switch c.uint() {
	case end:
	case request:
		r := c.places.request(len(c.buf))
		if c.Request(r); c.err != nil {
			return nil
		}
		if r.Format != record.FormatRequest {
			c.recent.add(r)
		}
		return r
	case turn:
		t := new(record.Turn)
		c.Turn(t)
		if c.turnRequests(t); c.err == nil {
			return t
		}
	case dropped:
		d := c.places.dropped()
		if c.dropped(d); c.err == nil {
			return d
		}
	default:
		c.Fail()
	}
	return nil
}

// Skim reads records to their end without keeping them: it tells whether Next
// can read them all.
func (c *Codec) Skim() error {
	c.places.scratch = true
	defer func() { c.places.scratch = false }()
	for c.Next() != nil {
	}
	return c.err
}

// Pos writes or reads a place in the log.
func (c *Codec) Pos(p *record.Pos) {
	if c.reading {
		c.line += unzigzag(c.uint())
		*p = record.Pos{File: c.file, Line: c.line}
		return
	}
	if p.File != c.file {
		c.Fail()
	}
	c.putUint(zigzag(p.Line - c.line))
	c.line = p.Line
}

// Request writes or reads a request.
func (c *Codec) Request(r *record.Request) {
	c.Pos(&r.Pos)
	c.String((*string)(&r.Format), &r.ID, &r.Session, &r.Turn, &r.Model, &r.Provider, &r.Effort, &r.Label, &r.Version, &r.Origin)
	c.Time(&r.Start, &r.End)
	Int(c, &r.TTFT, &r.Total)
	UpTo(c, &r.Quality, record.Measured)
	UpTo(c, &r.Status, record.Unfinished)
	c.tokens(&r.Input, &r.Cached, &r.Output, &r.Reasoning)
	Int(c, &r.Retries, &r.Nth, &r.Error.HTTPStatus)
	c.String(&r.Error.Kind)
	c.Bools(&r.FirstVisible, &r.HasReportedTPS, &r.Merged)
	if c.Float(&r.ReportedTPS); r.ReportedTPS != r.ReportedTPS {
		c.Fail()
	}
}

// tokens writes or reads counts: 0 for unknown, else one more than counted.
func (c *Codec) tokens(counts ...*record.Tokens) {
	for _, t := range counts {
		if c.reading {
			n := c.uint()
			*t = record.Tokens{N: int64(n - 1), Known: true}
			if n == 0 {
				*t = record.Tokens{}
			} else if t.N < 0 {
				c.Fail()
			}
			continue
		}
		switch {
		case t.Known && t.N >= 0:
			c.putUint(uint64(t.N) + 1)
		case *t == record.Tokens{}:
			c.putUint(0)
		default:
			c.Fail()
		}
	}
}

// Turn writes or reads a turn, all but its requests.
func (c *Codec) Turn(t *record.Turn) {
	c.Pos(&t.Pos)
	c.String((*string)(&t.Format), &t.Session, &t.ID, &t.Model, &t.Provider, &t.Effort, &t.Version, &t.Origin)
	c.Time(&t.Start, &t.End)
	Int(c, &t.Duration, &t.TTFT)
	c.Bools(&t.HasTTFT)
	UpTo(c, &t.Status, record.Unfinished)
	Slice(c, &t.Tools, func(i *record.Interval) {
		c.Time(&i.Start, &i.End)
		c.String(&i.Tool)
	})
}

// turnRequests writes or reads which of the requests that came before are the
// turn's: they are the very same ones.
func (c *Codec) turnRequests(t *record.Turn) {
	expected := c.recent.last() - len(t.Requests) // mostly they are the last ones
	if c.reading {
		expected = c.recent.last() - c.peek()
	}
	Slice(c, &t.Requests, func(q **record.Request) {
		expected++
		if !c.reading {
			n, ok := c.recent.find(*q, expected)
			if !ok {
				c.Fail()
			}
			c.putUint(zigzag(int64(n - expected)))
			expected = n
			return
		}
		expected += int(unzigzag(c.uint()))
		if *q = c.recent.get(expected); *q == nil {
			c.Fail()
		}
	})
}

// peek returns the number that is read next.
func (c *Codec) peek() int {
	buf, err := c.buf, c.err
	n := c.uint()
	c.buf, c.err = buf, err
	return int(n)
}

func (c *Codec) dropped(d *record.Dropped) {
	c.Pos(&d.Pos)
	c.String((*string)(&d.Reason), &d.Session)
}

// A window holds the latest requests of a log, for turns to point to. They are
// numbered from 1.
type window struct {
	requests []*record.Request
	before   int // how many there were before those
}

// maxRecent bounds the window. No turn was seen with as many requests; a log of
// which a turn reaches further back is not packed.
const maxRecent = 4096

func (w *window) add(r *record.Request) {
	if len(w.requests) == 2*maxRecent {
		copy(w.requests, w.requests[maxRecent:])
		clear(w.requests[maxRecent:])
		w.requests = w.requests[:maxRecent]
		w.before += maxRecent
	}
	w.requests = append(w.requests, r)
}

func (w *window) last() int { return w.before + len(w.requests) }

// get returns request n, nil where it is not in the window.
func (w *window) get(n int) *record.Request {
	if n <= w.before || n > w.last() {
		return nil
	}
	return w.requests[n-w.before-1]
}

// find returns the number of a request, which is likely the expected one.
func (w *window) find(r *record.Request, expected int) (n int, ok bool) {
	if w.get(expected) == r {
		return expected, true
	}
	for i := len(w.requests) - 1; i >= 0; i-- {
		if w.requests[i] == r {
			return w.before + i + 1, true
		}
	}
	return 0, false
}

// places make room for the records that are read, many at once; or always the
// same room, where nobody keeps them.
type places struct {
	scratch  bool
	spare    record.Request
	drop     record.Dropped
	requests []record.Request
}

const (
	maxPlaces   = 64 // how many requests get their room at once, at most
	requestSize = 64 // bytes that a request takes, about
)

// request makes room for one, with left bytes still to be read.
func (p *places) request(left int) *record.Request {
	if p.scratch {
		return &p.spare
	}
	if len(p.requests) == 0 {
		p.requests = make([]record.Request, min(1+left/requestSize, maxPlaces))
	}
	r := &p.requests[0]
	p.requests = p.requests[1:]
	return r
}

func (p *places) dropped() *record.Dropped {
	if p.scratch {
		return &p.drop
	}
	return new(record.Dropped)
}
