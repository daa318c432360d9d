package analyze

import "math"

// minTail is the number of requests below which the slowest tenth is not a group.
const minTail = 20

// tail says why the slow requests (total ≥ p90) are slower than the others.
//
// With means over each set, Δtotal = Δttft + Δdecode. A decode time is tokens
// times time per token, n·s, and Δ(n·s) splits exactly into a part of the
// length and one of the speed (Shapley with two factors). Nil below minTail
// requests, or where one of the sets is empty or generated nothing.
func (g *group) tail() *Tail {
	if g.byTotal.n() < minTail {
		return nil
	}
	slow, others := g.byTotal.cut(90)
	if slow.n == 0 || others.n == 0 || slow.tokens == (sum{}) || others.tokens == (sum{}) {
		return nil
	}
	nS, sS := slow.meanTokens(), slow.timePerToken()
	nT, sT := others.meanTokens(), others.timePerToken()
	t := &Tail{
		Requests: slow.n,
		Delta:    slow.mean(slow.total) - others.mean(others.total),
		TTFT:     slow.mean(slow.ttft) - others.mean(others.ttft),
		Length:   (nS - nT) * (sS + sT) / 2,
		Speed:    (sS - sT) * (nS + nT) / 2,
	}
	largest := math.Max(t.TTFT, math.Max(t.Length, t.Speed))
	switch largest {
	case t.TTFT:
		t.Cause = CauseSlowStart
	case t.Length:
		t.Cause = CauseLongOutput
	default:
		t.Cause = CauseSlowStream
	}
	return t
}

// A splitRow is what the tail decomposition needs of one request.
type splitRow struct {
	total, ttft int64 // µs
	tokens      int64
}

// totalTable holds the requests with a known split by their total. Of those
// that share a total of whole milliseconds only the sums are kept, once there
// are many: a cut at a quantile of the totals never parts them.
type totalTable struct {
	totals sample // ms
	rows   []splitRow
	cells  []totalCell // by whole ms below tableSize; nil while there are few
}

// A totalCell is the requests of one total. Its sums need no more than 64 bits:
// a TTFT is at most the total, and tokens are below 2⁴⁰.
type totalCell struct {
	n            uint32
	ttft, tokens uint64 // µs, tokens
}

func (t *totalTable) n() int { return t.totals.n() }

func (t *totalTable) add(r splitRow) {
	t.totals.add(float64(r.total) / 1000)
	if t.cells == nil && len(t.rows) >= tableFrom {
		t.cells = make([]totalCell, tableSize)
		rows := t.rows
		t.rows = nil
		for _, r := range rows {
			t.file(r)
		}
	}
	t.file(r)
}

// file keeps r in its cell if it has one.
func (t *totalTable) file(r splitRow) {
	if t.cells == nil || r.total%1000 != 0 || r.total/1000 >= tableSize {
		t.rows = append(t.rows, r)
		return
	}
	c := &t.cells[r.total/1000]
	c.n++
	c.ttft += uint64(r.ttft)
	c.tokens += uint64(r.tokens)
}

func (t *totalTable) merge(o *totalTable) {
	t.totals.merge(&o.totals)
	if o.cells != nil {
		if t.cells == nil {
			t.cells = make([]totalCell, tableSize)
		}
		for i := range o.cells {
			t.cells[i].n += o.cells[i].n
			t.cells[i].ttft += o.cells[i].ttft
			t.cells[i].tokens += o.cells[i].tokens
		}
	}
	for _, r := range o.rows {
		t.file(r)
	}
}

// cut parts the requests whose total is at or above the quantile p from the others.
func (t *totalTable) cut(p float64) (above, below tailSet) {
	at := t.totals.quantile(p)
	side := func(total float64) *tailSet {
		if total >= at {
			return &above
		}
		return &below
	}
	for _, r := range t.rows {
		s := side(float64(r.total) / 1000)
		s.n++
		s.total.add(r.total)
		s.ttft.add(r.ttft)
		s.tokens.add(r.tokens)
	}
	for ms, c := range t.cells {
		if c.n == 0 {
			continue
		}
		s := side(float64(ms))
		s.n += int(c.n)
		s.total.add(int64(ms) * 1000 * int64(c.n))
		s.ttft.merge(sum{lo: c.ttft})
		s.tokens.merge(sum{lo: c.tokens})
	}
	return above, below
}

// A tailSet is the sums over one side of the tail.
type tailSet struct {
	n                   int
	total, ttft, tokens sum // µs, µs, tokens
}

// mean returns the mean of a summed time, in ms.
func (s *tailSet) mean(t sum) float64 { return t.ms() / float64(s.n) }

func (s *tailSet) meanTokens() float64 { return s.tokens.float() / float64(s.n) }

// timePerToken returns the pooled time per token, Σ decode / Σ tokens, in ms.
func (s *tailSet) timePerToken() float64 { return (s.total.ms() - s.ttft.ms()) / s.tokens.float() }
