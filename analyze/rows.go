package analyze

import (
	"math/bits"
	"time"

	"codexlag/parse/record"
)

// addRows is addRequest for each of the rows, with the same result. A log has
// millions of them and most have nothing special, so those are added up figure
// by figure, without a request of each.
func (c *Collector) addRows(l *record.Rows) {
	c.setPlain()
	p := plainRows{columns: &c.columns, options: &c.options}
	p.columns.clear()
	fileHash := record.HashFile(l.File)
	var q record.Request
	for i := range l.List {
		w := &l.List[i]
		if !c.plain(w) || !p.add(w) {
			l.Request(i, &q)
			c.addRequest(&q)
			continue
		}
		if pos := (record.Pos{Line: l.Line + int64(w.Line)}); c.overall.population.wants(pos.HashIn(fileHash)) {
			l.Request(i, &q)
			m := derive(&q, &c.options)
			c.overall.population.add(&q, &m)
		}
	}
	p.addTo(c)
}

// plain reports whether the collector can add the row without looking at it as
// a request: all it needs is whole numbers that have their place in tables,
// which there are from the first tens of thousands of requests on.
func (c *Collector) plain(w *record.Row) bool {
	return w.Total < c.plainBelow && w.TTFT < w.Total && w.Output-1 < tableSize-1
}

// setPlain finds out which rows are plain, until there is a report.
func (c *Collector) setPlain() {
	c.plainBelow = 0
	g := &c.overall
	if len(c.by) > 0 || g.ttft.table == nil || g.total.table == nil || g.decode.table == nil || g.output.table == nil || g.byTotal.cells == nil {
		return
	}
	c.plainBelow = tableSize
	if c.options.Top > 0 { // what takes longer may be among the slowest
		c.plainBelow = uint32(min(tableSize, (c.slowFloor+time.Millisecond-1)/time.Millisecond))
	}
}

// rowColumns are the figures of plain rows, one after the other.
type rowColumns struct {
	ttft, total, output []uint32 // ms, ms, tokens
	tps, clean, tpot    []float64
}

func (s *rowColumns) clear() {
	s.ttft, s.total, s.output, s.tps, s.clean, s.tpot = s.ttft[:0], s.total[:0], s.output[:0], s.tps[:0], s.clean[:0], s.tpot[:0]
}

// plainRows are the sums of plain rows: see group.
type plainRows struct {
	columns *rowColumns
	options *Options

	prefill, decode, tokens                      int64 // ms, ms, tokens
	few, short, mismatched, late, slow, bothSlow int
	lateTTFT                                     int64 // ms
	missed                                       int
	first, last                                  *record.Row // to end
}

// add adds a row of which a TTFT below the total and tokens are known; unless it
// came in one piece: then it returns false.
func (p *plainRows) add(w *record.Row) bool {
	o, decode := p.options, w.Total-w.TTFT
	tps := float64(w.Output) * 1e9 / float64(time.Duration(decode)*time.Millisecond)
	if tps > maxTPS {
		return false
	}
	s := p.columns
	s.ttft, s.total, s.output, s.tps = append(s.ttft, w.TTFT), append(s.total, w.Total), append(s.output, w.Output), append(s.tps, tps)
	p.prefill += int64(w.TTFT)
	p.decode += int64(decode)
	p.tokens += int64(w.Output)
	few, short := int64(w.Output) < o.MinTokens, time.Duration(decode)*time.Millisecond < minDecode
	if few {
		p.few++
	}
	if short {
		p.short++
	}
	slow := false
	if !few && !short {
		s.clean = append(s.clean, tps)
		if w.Output >= 2 {
			s.tpot = append(s.tpot, float64(decode)/float64(w.Output-1))
		}
		slow = tps < o.SLO.TPS
	}
	if w.Rate >= 0 && mismatched(w.Rate, tps) {
		p.mismatched++
	}
	late := time.Duration(w.TTFT)*time.Millisecond > o.SLO.TTFT
	if late {
		p.late++
		p.lateTTFT += int64(w.TTFT)
	}
	if slow {
		p.slow++
	}
	if late && slow {
		p.bothSlow++
	}
	if late || slow {
		p.missed++
	}
	if w.HasEnd {
		if p.first == nil || before(w, p.first) {
			p.first = w
		}
		if p.last == nil || before(p.last, w) {
			p.last = w
		}
	}
	return true
}

func before(a, b *record.Row) bool {
	return a.Seconds < b.Seconds || a.Seconds == b.Seconds && a.Nanoseconds < b.Nanoseconds
}

// addTo adds the rows to what c has.
func (p *plainRows) addTo(c *Collector) {
	s, g, f := p.columns, &c.overall, &c.quality.flags
	n := len(s.total)
	g.requests += n
	g.qualities[record.Measured] += n
	g.sloMet += n - p.missed
	g.sloMissed += p.missed
	g.slowStarts += p.late
	g.slowStreams += p.slow
	g.bothSlow += p.bothSlow
	g.lateStarts.add(1000 * p.lateTTFT)
	g.splits += n
	g.splitPrefill.add(1000 * p.prefill)
	g.splitDecode.add(1000 * p.decode)
	g.pooledTokens.add(p.tokens)
	g.pooled.add(1000 * p.decode)
	for bit, n := range map[flagSet]int{fewTokensBit: p.few, shortDecodeBit: p.short, tpsMismatchBit: p.mismatched, slowStartBit: p.late, slowStreamBit: p.slow} {
		f[bits.TrailingZeros16(uint16(bit))] += n
	}
	g.ttft.addTabled(s.ttft)
	g.total.addTabled(s.total)
	g.output.addTabled(s.output)
	g.byTotal.addWhole(s.total, s.ttft, s.output)
	for i, ttft := range s.ttft {
		s.ttft[i] = s.total[i] - ttft
	}
	g.decode.addTabled(s.ttft)
	g.tpsAll.addAll(s.tps)
	g.tpsClean.addAll(s.clean)
	g.tpot.addAll(s.tpot)
	for _, w := range []*record.Row{p.first, p.last} {
		if w != nil {
			c.span(time.Unix(w.Seconds, int64(w.Nanoseconds)).UTC())
		}
	}
	c.counted(n)
}
