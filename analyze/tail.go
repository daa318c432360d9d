package analyze

import (
	"cmp"
	"math"
	"slices"
)

// minTail is the number of requests below which the slowest tenth is not a group.
const minTail = 20

// tail says why the slow requests (total ≥ p90) are slower than the others.
//
// With means over each set, Δtotal = Δttft + Δdecode. A decode time is tokens
// times time per token, n·s, and Δ(n·s) splits exactly into a part of the
// length and one of the speed (Shapley with two factors). Nil below minTail
// requests, or where one of the sets is empty or generated nothing.
func (g *group) tail() *Tail {
	if g.byTotal.count < minTail {
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
	count int
	rows  []splitRow
	cells []totalCell // by whole ms below tableSize; nil while there are few

	// Past the exact limit rows are kept as sums as well, by ranges of totals,
	// so that a cut is off by a range.
	coarse bool
	ranges map[int]*totalCell
}

// A totalCell is the requests of one total, or of a range of totals.
type totalCell struct {
	n     uint32
	total uint64 // µs; of whole ms it is known
	// A TTFT is at most the total, and tokens are below 2⁴⁰: 64 bits suffice.
	ttft, tokens uint64 // µs, tokens
}

func (c *totalCell) add(r *splitRow) {
	c.n++
	c.total += uint64(r.total)
	c.ttft += uint64(r.ttft)
	c.tokens += uint64(r.tokens)
}

func (c *totalCell) merge(o *totalCell) {
	c.n += o.n
	c.total += o.total
	c.ttft += o.ttft
	c.tokens += o.tokens
}

func (t *totalTable) add(r splitRow) {
	t.count++
	if t.cells == nil && len(t.rows) >= tableFrom {
		t.tabulate()
	}
	t.file(r)
}

// tabulate moves the rows that have a cell there.
func (t *totalTable) tabulate() {
	if t.cells == nil {
		t.cells = make([]totalCell, tableSize)
	}
	rows := t.rows
	t.rows = nil
	for _, r := range rows {
		t.file(r)
	}
}

// bound lets sums by range take over where there are more rows than limit.
func (t *totalTable) bound(limit int) {
	if t.count > limit && !t.coarse {
		t.coarse, t.ranges = true, make(map[int]*totalCell)
		t.tabulate()
	}
}

// file keeps r in its cell if it has one.
func (t *totalTable) file(r splitRow) {
	if ms := r.total / 1000; t.cells != nil && ms < tableSize && ms*1000 == r.total {
		t.cells[ms].add(&r)
		return
	}
	if !t.coarse {
		t.rows = append(t.rows, r)
		return
	}
	t.rangeCell(rangeOf(float64(r.total) / 1000)).add(&r)
}

func (t *totalTable) rangeCell(i int) *totalCell {
	c := t.ranges[i]
	if c == nil {
		c = new(totalCell)
		t.ranges[i] = c
	}
	return c
}

func (t *totalTable) merge(o *totalTable) {
	t.count += o.count
	if o.coarse {
		t.bound(-1)
		for i, c := range o.ranges {
			t.rangeCell(i).merge(c)
		}
	}
	if o.cells != nil && t.cells == nil {
		t.tabulate()
	}
	for i := range o.cells {
		t.cells[i].merge(&o.cells[i])
	}
	for _, r := range o.rows {
		t.file(r)
	}
}

// A totalStep is the requests of one total, in ms.
type totalStep struct {
	at float64
	totalCell
}

// steps lists the requests by their total, ascending.
func (t *totalTable) steps() []totalStep {
	var l []totalStep
	for ms := range t.cells {
		if c := &t.cells[ms]; c.n > 0 {
			l = append(l, totalStep{float64(ms), *c})
		}
	}
	for i, c := range t.ranges {
		l = append(l, totalStep{middle(i), *c})
	}
	for _, r := range t.rows {
		s := totalStep{at: float64(r.total) / 1000}
		s.add(&r)
		l = append(l, s)
	}
	slices.SortFunc(l, func(a, b totalStep) int { return cmp.Compare(a.at, b.at) })
	return l
}

// cut parts the requests whose total is at or above the quantile p from the others.
func (t *totalTable) cut(p float64) (above, below tailSet) {
	steps := t.steps()
	k, f := quantileRank(p, t.count)
	seen, low, high := 0, math.NaN(), math.NaN()
	for _, s := range steps {
		if seen += int(s.n); seen > k && math.IsNaN(low) {
			low = s.at
		}
		if seen > min(k+1, t.count-1) {
			high = s.at
			break
		}
	}
	at := low + f*(high-low)
	for _, s := range steps {
		if s.at >= at {
			above.add(&s.totalCell)
		} else {
			below.add(&s.totalCell)
		}
	}
	return above, below
}

// A tailSet is the sums over one side of the tail.
type tailSet struct {
	n                   int
	total, ttft, tokens sum // µs, µs, tokens
}

func (s *tailSet) add(c *totalCell) {
	s.n += int(c.n)
	s.total.merge(sum{lo: c.total})
	s.ttft.merge(sum{lo: c.ttft})
	s.tokens.merge(sum{lo: c.tokens})
}

// mean returns the mean of a summed time, in ms.
func (s *tailSet) mean(t sum) float64 { return t.ms() / float64(s.n) }

func (s *tailSet) meanTokens() float64 { return s.tokens.float() / float64(s.n) }

// timePerToken returns the pooled time per token, Σ decode / Σ tokens, in ms.
func (s *tailSet) timePerToken() float64 { return (s.total.ms() - s.ttft.ms()) / s.tokens.float() }
