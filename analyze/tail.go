package analyze

import "math"

// minTail is the number of requests below which the slowest tenth is not a group.
const minTail = 20

// tail says why the slow requests (total ≥ p90) are slower than the others.
//
// With means over each set, Δtotal = Δttft + Δdecode. A decode time is tokens
// times time per token, n·s, and Δ(n·s) splits exactly into a part of the
// length and one of the speed (Shapley with two factors). Nil below minTail
// requests, or where one of the sets generated nothing, as an empty one.
func (g *group) tail() *Tail {
	if g.byTotal.count < minTail {
		return nil
	}
	slow, others := g.byTotal.cut(90)
	if slow.tokens == (sum{}) || others.tokens == (sum{}) {
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
	cells *totalCells // nil while there are few

	// Past the exact limit rows are kept as sums as well, by ranges of totals,
	// so that a cut is off by a range.
	coarse bool
	ranges map[int]*totalRange

	known *[2]tailSet // above and below the cut, where a database has summed them up
}

// totalCells are the sums of the requests by their total in whole ms. Rows wait
// as in a countTable.
type totalCells struct {
	cells   [tableSize]totalCell
	waiting [128]splitRow
	n       int // that wait
}

// A totalCell is the requests of one total.
type totalCell struct {
	// A TTFT is at most the total, and tokens are below 2⁴⁰: 64 bits suffice.
	ttft, tokens uint64 // µs, tokens
	n            uint32
}

// A totalRange is the requests of a range of totals, in µs.
type totalRange struct {
	totalCell
	total uint64
}

func (c *totalCell) add(r *splitRow) {
	c.n++
	c.ttft += uint64(r.ttft)
	c.tokens += uint64(r.tokens)
}

func (c *totalCell) merge(o *totalCell) {
	c.n += o.n
	c.ttft += o.ttft
	c.tokens += o.tokens
}

func (t *totalCells) add(r *splitRow) {
	t.waiting[t.n] = *r
	if t.n++; t.n == len(t.waiting) {
		t.flushed()
	}
}

// flushed returns the cells; none of a nil table.
func (t *totalCells) flushed() []totalCell {
	if t == nil {
		return nil
	}
	for i := range t.waiting[:t.n] {
		r := &t.waiting[i]
		t.cells[r.total/1000].add(r)
	}
	t.n = 0
	return t.cells[:]
}

func (t *totalTable) add(r splitRow) {
	t.count++
	if t.cells == nil && len(t.rows) >= tableFrom {
		t.tabulate()
	}
	t.file(&r)
}

// addWhole adds requests that have a cell: totals and TTFTs in whole ms, the
// totals below tableSize, and tokens.
func (t *totalTable) addWhole(total, ttft, tokens []uint32) {
	t.count += len(total)
	cells := t.cells.flushed()
	for i, ms := range total {
		c := &cells[ms&(tableSize-1)]
		c.n++
		c.ttft += 1000 * uint64(ttft[i])
		c.tokens += uint64(tokens[i])
	}
}

// tabulate moves the rows that have a cell there.
func (t *totalTable) tabulate() {
	if t.cells == nil {
		t.cells = new(totalCells)
	}
	rows := t.rows
	t.rows = nil
	for i := range rows {
		t.file(&rows[i])
	}
}

// bound lets sums by range take over where there are more rows than limit.
func (t *totalTable) bound(limit int) {
	if t.count > limit {
		t.coarsen()
	}
}

func (t *totalTable) coarsen() {
	if !t.coarse {
		t.coarse, t.ranges = true, make(map[int]*totalRange)
		t.tabulate()
	}
}

// file keeps r in its cell if it has one.
func (t *totalTable) file(r *splitRow) {
	switch ms := r.total / 1000; {
	case t.cells != nil && ms < tableSize && ms*1000 == r.total:
		t.cells.add(r)
	case t.coarse:
		c := t.rangeCell(rangeOf(float64(r.total) / 1000))
		c.add(r)
		c.total += uint64(r.total)
	default:
		t.rows = append(t.rows, *r)
	}
}

func (t *totalTable) rangeCell(i int) *totalRange {
	c := t.ranges[i]
	if c == nil {
		c = new(totalRange)
		t.ranges[i] = c
	}
	return c
}

func (t *totalTable) merge(o *totalTable) {
	t.count += o.count
	if o.coarse {
		t.coarsen()
		for i, c := range o.ranges {
			mine := t.rangeCell(i)
			mine.merge(&c.totalCell)
			mine.total += c.total
		}
	}
	if o.cells != nil {
		if t.cells == nil {
			t.tabulate()
		}
		cells := t.cells.flushed()
		for i, c := range o.cells.flushed() {
			cells[i].merge(&c)
		}
	}
	for i := range o.rows {
		t.file(&o.rows[i])
	}
}

// totals returns the totals alone, in ms.
func (t *totalTable) totals() *sample {
	s := new(sample)
	if t.cells != nil {
		s.needTable()
		for ms, c := range t.cells.flushed() {
			s.table.counts[ms] = c.n
			s.tabled += int(c.n)
		}
	}
	for i := range t.rows {
		s.values = append(s.values, float64(t.rows[i].total)/1000)
	}
	if len(t.ranges) > 0 {
		s.sketch = &sketch{min: math.Inf(1)}
		s.sketch.counts.make()
		for i, c := range t.ranges {
			s.sketch.n += int(c.n)
			s.sketch.counts[i] = uint64(c.n)
			s.sketch.min, s.sketch.max = min(s.sketch.min, middle(i)), max(s.sketch.max, middle(i))
		}
	}
	return s
}

// cut parts the requests whose total is at or above the quantile p from the others.
func (t *totalTable) cut(p float64) (above, below tailSet) {
	if t.known != nil {
		return t.known[0], t.known[1]
	}
	at := t.totals().quantile(p)
	side := func(total float64) *tailSet {
		if total >= at {
			return &above
		}
		return &below
	}
	for ms, c := range t.cells.flushed() {
		if c.n > 0 {
			side(float64(ms)).add(&totalRange{c, uint64(ms) * 1000 * uint64(c.n)})
		}
	}
	for i, c := range t.ranges {
		side(middle(i)).add(c)
	}
	for i := range t.rows {
		r := totalRange{total: uint64(t.rows[i].total)}
		r.totalCell.add(&t.rows[i])
		side(float64(r.total) / 1000).add(&r)
	}
	return above, below
}

// A tailSet is the sums over one side of the tail.
type tailSet struct {
	n                   int
	total, ttft, tokens sum // µs, µs, tokens
}

func (s *tailSet) add(c *totalRange) {
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
