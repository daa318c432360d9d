package analyze

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"codexlag/analyze/clickhouse"
)

// A measure is one of the samples of a group, in SQL.
type measure struct {
	of           func(*group) *sample
	table        *source
	where, value string
	// rough: past the exact limit it is known by ranges only, as totalTable has it.
	rough bool
}

// measures are the samples of a group, and the totals that the tail is cut at.
func (r *remote) measures(tails map[*group]*sample) []measure {
	e, requests, turns := r.sql.figures(), r.sql.requests(), r.sql.turns()
	const ms = "(toFloat64(%s) / 1000000)"
	time := func(of string) string { return fmt.Sprintf(ms, of) }
	return []measure{
		{func(g *group) *sample { return &g.ttft }, requests, e.hasTTFT, time("ttft"), false},
		{func(g *group) *sample { return &g.total }, requests, e.hasTotal, time("total"), false},
		{func(g *group) *sample { return &g.decode }, requests, e.hasDecode, time(e.decode), false},
		{func(g *group) *sample { return &g.output }, requests, all("(status = 'ok')", "(output >= 0)"), "toFloat64(output)", false},
		{func(g *group) *sample { return &g.tpsAll }, requests, e.hasTPS, e.tps, false},
		{func(g *group) *sample { return &g.tpsClean }, requests, e.clean, e.tps, false},
		{func(g *group) *sample { return &g.tpot }, requests, all(e.clean, e.hasTPOT), e.tpot, false},
		{func(g *group) *sample { return &g.turns.duration }, turns, "(duration > 0)", time("duration"), false},
		{func(g *group) *sample { return &g.turns.ttft }, turns, "(ttft >= 0)", time("ttft"), false},
		{func(g *group) *sample { return tails[g] }, requests, e.tailed, "(toFloat64(intDiv(total, 1000)) / 1000)", true},
	}
}

// samples fills the samples of all groups.
func (r *remote) samples() error {
	r.tailTotals = map[*group]*sample{}
	for _, d := range r.groupings() {
		for _, m := range r.measures(r.tailTotals) {
			if err := r.sample(d, &m); err != nil {
				return err
			}
		}
	}
	return nil
}

// A holding is what a database holds of one measure of one group.
type holding struct {
	key         string
	s           *sample
	n, whole    int
	whole2      float64 // Σ of the table
	levels, rks []int
}

func (h *holding) fine() int { return h.n - h.whole }

// small: fewer values than a table would take travel as they are.
func (h *holding) small() bool { return h.fine() < tableFrom }

func (r *remote) sample(d Dimension, m *measure) error {
	if _, ok := m.table.key(d); !ok {
		return nil
	}
	var all []*holding
	var n, whole uint64
	c := newColumns()
	c.add("count()", &n)
	c.count(isTabledSQL(m.value), &whole)
	err := r.grouped(m.table, d, m.where, c.list, func(key string, row *clickhouse.Row) {
		c.take(row)
		g := r.group(d, key)
		s := m.of(g)
		if s == nil {
			s = new(sample)
			r.tailTotals[g] = s
		}
		all = append(all, &holding{key: key, s: s, n: int(n), whole: int(whole)})
	})
	if err != nil {
		return err
	}
	var small, digested, sketched []*holding
	for _, h := range all {
		switch limit := r.o.ExactLimit; {
		case h.n > limit:
			sketched = append(sketched, h)
		case h.small():
			small = append(small, h)
		default:
			digested = append(digested, h)
		}
	}
	if err := r.values(d, m, small, ""); err != nil {
		return err
	}
	if err := r.digests(d, m, digested); err != nil {
		return err
	}
	return r.sketches(d, m, sketched)
}

// among restricts a query to the groups of some holdings.
func (r *remote) among(t *source, d Dimension, l []*holding) string {
	if d == "" {
		return ""
	}
	key, _ := t.key(d)
	keys := make([]string, len(l))
	for i, h := range l {
		keys[i] = clickhouse.Quote(h.key)
	}
	return key.text + " IN (" + strings.Join(keys, ", ") + ")"
}

func and(conditions ...string) string {
	conditions = slices.DeleteFunc(conditions, func(s string) bool { return s == "" })
	return strings.Join(conditions, " AND ")
}

// byKey asks for aggregates of the values of some groups, by more than the group.
func (r *remote) byKey(d Dimension, m *measure, l []*holding, where, columns, by string, each func(*holding, *clickhouse.Row)) error {
	if len(l) == 0 {
		return nil
	}
	of := map[string]*holding{}
	for _, h := range l {
		of[h.key] = h
	}
	key, _ := m.table.key(d)
	if by != "" {
		by = ", " + by
	}
	changed := false
	err := r.query(m.table.query(key.sql+" AS k, "+columns, and(m.where, where, r.among(m.table, d, l)), "k"+by), func(row *clickhouse.Row) {
		h := of[key.take(row)]
		if h == nil {
			changed = true
			h = &holding{s: &sample{sketch: new(sketch), digest: new(digest)}} // a group that is new; the row must be passed over
		}
		each(h, row)
	})
	if err == nil && changed {
		err = errChanged
	}
	return err
}

// values fetches values with how often each comes, and adds them.
func (r *remote) values(d Dimension, m *measure, l []*holding, where string) error {
	err := r.byKey(d, m, l, where, m.value+" AS v, toUInt64(count())", "v", func(h *holding, row *clickhouse.Row) {
		v, n := row.Float64(), row.UInt64()
		h.whole2 += v * float64(n)
		h.s.addMany(v, int(n))
	})
	if err != nil || where != "" {
		return err
	}
	for _, h := range l {
		if h.s.n() != h.n {
			return errChanged
		}
	}
	return nil
}

// addMany adds a value n times.
func (s *sample) addMany(v float64, n int) {
	if n >= tableFrom && isTabled(v) {
		s.needTable() // settle says whether it stays
	}
	if s.table != nil && isTabled(v) {
		s.table.flushed()[int(v)] += uint32(n)
		s.tabled += n
		return
	}
	for range n {
		s.push(v)
	}
}

// asked lists the ranks of the order statistics that a report or a comparison
// looks at.
func (r *remote) asked(n int) []int {
	s := sample{digest: &digest{n: n}}
	ranks := s.ranks(append([]float64{50, 90}, r.o.Percentiles...))
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// atOnce is of how many groups the order statistics are asked for in one query:
// each costs a pass over the values of all.
const atOnce = 4

// digests asks for order statistics and exact sums of many values.
func (r *remote) digests(d Dimension, m *measure, l []*holding) error {
	if len(l) == 0 {
		return nil
	}
	var tabled []*holding
	for _, h := range l {
		h.s.digest = &digest{n: h.n, ranks: map[int]float64{}}
		if 2*h.whole >= h.n { // as sample.settle does
			tabled = append(tabled, h)
			h.s.needTable()
		}
	}
	// Whole numbers that a list keeps count as the others do.
	if err := r.values(d, m, tabled, isTabledSQL(m.value)); err != nil {
		return err
	}
	for part := range slices.Chunk(l, atOnce) {
		if err := r.order(d, m, part); err != nil {
			return err
		}
	}
	for _, tables := range []bool{true, false} {
		part, where := slices.DeleteFunc(slices.Clone(l), func(h *holding) bool { return (h.s.table != nil) != tables }), ""
		if tables {
			where = not(isTabledSQL(m.value))
		}
		if err := r.exactSums(d, m, part, where, m.value, func(h *holding) *exactSum { return &h.s.digest.total }); err != nil {
			return err
		}
		if len(part) == 0 {
			continue
		}
		off := "(" + m.value + " - " + r.meansSQL(m.table, d, part) + ")"
		if err := r.exactSums(d, m, part, where, off+" * "+off, func(h *holding) *exactSum { return &h.s.digest.squares }); err != nil {
			return err
		}
	}
	return nil
}

// order asks for the order statistics of some groups.
func (r *remote) order(d Dimension, m *measure, l []*holding) error {
	var levels []string
	for _, h := range l {
		h.rks = r.asked(h.n)
		for _, k := range h.rks {
			// The level of rank k of n values, whichever way it is rounded.
			levels = append(levels, strconv.FormatFloat((float64(k)+0.5)/float64(h.n), 'f', 17, 64))
		}
	}
	columns := fmt.Sprintf("toUInt64(count()), min(%[1]s), max(%[1]s), quantilesExact(%[2]s)(%[1]s)", m.value, strings.Join(levels, ", "))
	seen := 0
	err := r.byKey(d, m, l, "", columns, "", func(h *holding, row *clickhouse.Row) {
		n := int(row.UInt64())
		least, most := row.Float64(), row.Float64()
		var values []float64
		row.Array(func() { values = append(values, row.Float64()) })
		if n != h.n || len(values) != len(levels) {
			seen = math.MinInt
			return
		}
		at := 0
		for _, o := range l {
			if o == h {
				break
			}
			at += len(o.rks)
		}
		g := h.s.digest
		g.min, g.max = least, most
		for i, k := range h.rks {
			g.ranks[k] = values[at+i]
		}
		seen++
	})
	if err == nil && seen != len(l) {
		err = errChanged
	}
	return err
}

// exactSums asks for sums without rounding.
func (r *remote) exactSums(d Dimension, m *measure, l []*holding, where, value string, to func(*holding) *exactSum) error {
	exponent, high, low := parted(value)
	columns := fmt.Sprintf("toUInt64(%s) AS e, toUInt64(sum(%s)), toUInt64(sum(%s))", exponent, high, low)
	return r.byKey(d, m, l, where, columns, "e", func(h *holding, row *clickhouse.Row) {
		e, high, low := row.UInt64(), row.UInt64(), row.UInt64()
		to(h).addExact(e, high, low)
	})
}

// meansSQL is the mean of the group that a row belongs to.
func (r *remote) meansSQL(t *source, d Dimension, l []*holding) string {
	return r.perGroup(t, d, l, func(h *holding) string { return floatSQL(h.s.digest.mean(h.whole2)) })
}

// perGroup is a value that depends on the group that a row belongs to.
func (r *remote) perGroup(t *source, d Dimension, l []*holding, value func(*holding) string) string {
	if d == "" || len(l) == 1 {
		return value(l[0])
	}
	key, _ := t.key(d)
	var b strings.Builder
	for _, h := range l[:len(l)-1] {
		fmt.Fprintf(&b, "%s = %s, %s, ", key.text, clickhouse.Quote(h.key), value(h))
	}
	return "multiIf(" + b.String() + value(l[len(l)-1]) + ")"
}

// sketches asks for counts by whole number and by range, and sums.
func (r *remote) sketches(d Dimension, m *measure, l []*holding) error {
	if len(l) == 0 {
		return nil
	}
	for _, h := range l {
		h.s.coarsen()
	}
	if err := r.values(d, m, l, isTabledSQL(m.value)); err != nil {
		return err
	}
	fine := not(isTabledSQL(m.value))
	err := r.byKey(d, m, l, fine, "toUInt64("+rangeSQL(m.value)+") AS e, toUInt64(count())", "e", func(h *holding, row *clickhouse.Row) {
		at, n := row.UInt64(), row.UInt64()
		h.s.sketch.take(int(at), n)
	})
	if err != nil {
		return err
	}
	for _, h := range l {
		if h.s.n() != h.n {
			return errChanged
		}
	}
	if m.rough {
		for _, h := range l {
			h.s.sketch.roughEnds()
		}
		return nil
	}
	err = r.byKey(d, m, l, fine, fmt.Sprintf("min(%[1]s), max(%[1]s)", m.value), "", func(h *holding, row *clickhouse.Row) {
		h.s.sketch.min, h.s.sketch.max = row.Float64(), row.Float64()
	})
	if err != nil {
		return err
	}
	if err := r.exactSums(d, m, l, fine, m.value, func(h *holding) *exactSum { return &h.s.sketch.total }); err != nil {
		return err
	}
	return r.exactSums(d, m, l, fine, m.value+" * "+m.value, func(h *holding) *exactSum { return &h.s.sketch.squares })
}

// tails asks for the sums on both sides of the cut that tail makes.
func (r *remote) tails() error {
	e := r.sql.figures()
	for _, d := range r.groupings() {
		var l []*holding
		add := func(key string, g *group) {
			if s := r.tailTotals[g]; s != nil && g.byTotal.count >= minTail {
				l = append(l, &holding{key: key, s: s})
			}
		}
		if d == "" {
			add("", &r.c.overall)
		} else {
			for key, g := range r.c.keyed(d).groups {
				add(key, g)
			}
		}
		slices.SortFunc(l, func(a, b *holding) int { return strings.Compare(a.key, b.key) })
		for part := range slices.Chunk(l, 100) {
			if err := r.cut(d, e, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *remote) cut(d Dimension, e *requestSQL, l []*holding) error {
	m := &measure{table: r.sql.requests(), where: e.tailed, value: "(toFloat64(intDiv(total, 1000)) / 1000)"}
	at := map[*holding]float64{}
	exact := true
	for _, h := range l {
		at[h] = h.s.quantile(90)
		exact = exact && h.s.exact()
	}
	above := m.value + " >= " + r.perGroup(m.table, d, l, func(h *holding) string { return floatSQL(at[h]) })
	if !exact {
		// A total that is known to its range lies where the middle of that does.
		first := r.perGroup(m.table, d, l, func(h *holding) string {
			n := ranges
			for i := range ranges {
				if middle(i) >= at[h] {
					n = i
					break
				}
			}
			if h.s.exact() {
				n = -1
			}
			return strconv.Itoa(n)
		})
		above = fmt.Sprintf("if(%s OR %s = -1, %s, %s >= %s)", isTabledSQL(m.value), first, above, rangeSQL(m.value), first)
	}
	columns := "toUInt64(" + above + ") AS e, toUInt64(count()), toUInt64(sum(toUInt64(intDiv(total, 1000)))), toUInt64(sum(toUInt64(intDiv(ttft, 1000)))), toUInt64(sum(toUInt64(" + e.decodeTokens + ")))"
	return r.byKey(d, m, l, "", columns, "e", func(h *holding, row *clickhouse.Row) {
		up := row.UInt64()
		side := tailSet{n: int(row.UInt64()), total: sum{lo: row.UInt64()}, ttft: sum{lo: row.UInt64()}, tokens: sum{lo: row.UInt64()}}
		if at[h] == 0 {
			return // not of these groups
		}
		g := r.group(d, h.key)
		if g.byTotal.known == nil {
			g.byTotal.known = new([2]tailSet)
		}
		g.byTotal.known[1-up] = side
	})
}
