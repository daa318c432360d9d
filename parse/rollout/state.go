package rollout

import (
	"codexlag/parse/packed"
	"codexlag/parse/record"
)

// Pack writes what the decoder knows between two lines, or reads it into a new
// decoder, which then goes on as if it had read the lines before itself.
func (d *Decoder) Pack(c *packed.Codec) {
	i := &d.info
	c.String(&i.Era, &i.Version, &i.Session)
	packed.Int(c, &i.Requests, &i.Turns, &i.Untimed, &i.Resumes)
	c.Bools(&i.IsFork, &i.HasTurnTTFT, &i.HasItemStarts, &d.liveCounts)
	c.String(&d.provider, &d.version, &d.origin, &d.model, &d.effort)
	packed.Int(c, &d.turns)
	if packed.Int(c, &d.held.Line); c.Reading() && d.held.Line > 0 {
		d.held.File = d.file
	}
	packed.Pointer(c, &d.turn, func(t *turn) { t.pack(c) })
	d.usage.pack(c, d.turn)
	d.replay.pack(c)
}

func (t *turn) pack(c *packed.Codec) {
	c.String(&t.id, &t.model, &t.effort)
	c.Bools(&t.explicit, &t.lost, &t.foreign, &t.adopted, &t.opening, &t.active, &t.owed, &t.spoke, &t.bare)
	c.Pos(&t.pos)
	c.Time(&t.start, &t.startedAt, &t.last, &t.counted, &t.floor)
	packed.Slice(c, &t.requests, func(q **record.Request) {
		if c.Reading() {
			*q = new(record.Request)
		}
		c.Request(*q)
	})
	packed.Int(c, &t.first.index)
	c.Time(&t.first.exact, &t.first.thought)
	if t.spoke && (t.first.index < 0 || t.first.index >= len(t.requests)) {
		c.Fail()
	}
	t.packCalls(c)
	t.response.pack(c, t)
	packed.Pointer(c, &t.out, func(o *record.Turn) {
		if c.Turn(o); c.Reading() {
			o.Requests = t.requests
		}
	})
}

// packCalls writes or reads the calls, each behind its id.
func (t *turn) packCalls(c *packed.Codec) {
	ids := make(map[*call]string, len(t.calls))
	for id, k := range t.calls {
		ids[k] = id
	}
	packed.Slice(c, &t.order, func(k **call) {
		id := ids[*k]
		c.String(&id)
		if c.Reading() {
			if *k = new(call); t.calls == nil {
				t.calls = make(map[string]*call)
			}
			t.calls[id] = *k
		}
		(*k).pack(c)
	})
}

func (k *call) pack(c *packed.Codec) {
	c.String(&k.tool)
	c.Time(&k.asked, &k.answered, &k.ran, &k.ended, &k.begun, &k.done)
	c.Bools(&k.unknown)
}

func (r *response) pack(c *packed.Codec, t *turn) {
	packed.Slice(c, &r.triggers, func(g *trigger) { g.pack(c) })
	packed.Int(c, &r.items, &r.live)
	c.Time(&r.first, &r.last, &r.line, &r.begun, &r.thought)
	packed.Slice(c, &r.calls, func(k **call) {
		i := 0
		for !c.Reading() && i < len(t.order) && t.order[i] != *k {
			i++
		}
		packed.Int(c, &i)
		if i < 0 || i >= len(t.order) {
			c.Fail()
			return
		}
		*k = t.order[i]
	})
	r.next.pack(c)
	c.Bools(&r.thinking, &r.answered, &r.trailed, &r.late)
	c.String(&r.model, &r.effort)
}

func (g *trigger) pack(c *packed.Codec) {
	c.Time(&g.at)
	c.Bools(&g.exact)
}

func (u *usage) pack(c *packed.Codec) {
	packed.Int(c, &u.input, &u.cached, &u.output, &u.reasoning, &u.total)
}

// pack writes or reads the counter of the thread whose turn t runs.
func (n *counter) pack(c *packed.Codec, t *turn) {
	n.total.pack(c)
	n.last.pack(c)
	packed.Slice(c, &n.records, func(e *echo) { e.pack(c) })
	n.count.pack(c)
	c.String(&n.id)
	// A request matters only as long as it is the last one of the running turn.
	var last *record.Request
	if t != nil && len(t.requests) > 0 {
		last = t.requests[len(t.requests)-1]
	}
	told := last != nil && n.count.request == last
	if c.Bools(&n.known, &told); told {
		n.count.request = last
	}
}

func (e *echo) pack(c *packed.Codec) {
	e.usage.pack(c)
	e.total.pack(c)
	c.Time(&e.at)
}

func (r *replay) pack(c *packed.Codec) {
	c.Bools(&r.on, &r.child, &r.numbered, &r.loose, &r.burst, &r.fraction)
	c.Time(&r.fork, &r.begun, &r.before)
	packed.Int(c, &r.start, &r.copied)
	packed.Slice(c, &r.held, func(t **turn) {
		if c.Reading() {
			*t = new(turn)
		}
		(*t).pack(c)
	})
}
