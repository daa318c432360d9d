package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codexlag/analyze/clickhouse"
)

// A measure is one of the samples of a group, in SQL.
type measure struct {
	of           func(*group) *sample
	where, value string
	// rough: past the exact limit it is known by ranges only, as totalTable has it.
	rough bool
}

func inMS(ns string) string { return "(toFloat64(" + ns + ") / 1000000)" }

// requestMeasures are the samples of a group's requests, and the totals that
// its tail is cut at.
func (r *remote) requestMeasures(e *requestSQL) []measure {
	return []measure{
		{func(g *group) *sample { return &g.ttft }, e.hasTTFT, inMS("ttft"), false},
		{func(g *group) *sample { return &g.total }, e.hasTotal, inMS("total"), false},
		{func(g *group) *sample { return &g.decode }, e.hasDecode, inMS(e.decode), false},
		{func(g *group) *sample { return &g.output }, "((status = 'ok') AND (output >= 0))", "toFloat64(output)", false},
		{func(g *group) *sample { return &g.tpsAll }, e.hasTPS, e.tps, false},
		{func(g *group) *sample { return &g.tpsClean }, e.clean, e.tps, false},
		{func(g *group) *sample { return &g.tpot }, all(e.clean, e.hasTPOT), e.tpot, false},
		{r.totalsOfTail, e.tailed, "(toFloat64(intDiv(total, 1000)) / 1000)", true},
	}
}

func (r *remote) totalsOfTail(g *group) *sample {
	if r.tailTotals[g] == nil {
		r.tailTotals[g] = new(sample)
	}
	return r.tailTotals[g]
}

var turnMeasures = []measure{
	{func(g *group) *sample { return &g.turns.duration }, "(duration > 0)", inMS("duration"), false},
	{func(g *group) *sample { return &g.turns.ttft }, "(ttft >= 0)", inMS("ttft"), false},
}

// measured adds to the columns of a query how many values each measure of the
// table has, and how many of them are whole numbers that a table counts. The
// function that it returns makes a holding of each, once a row was taken.
func measured(c *columns, measures []measure) func(key string, g *group) []*holding {
	n, whole := make([]uint64, len(measures)), make([]uint64, len(measures))
	for i, m := range measures {
		c.count(m.where, &n[i])
		c.count(all(m.where, isTabledSQL(m.value)), &whole[i])
	}
	return func(key string, g *group) []*holding {
		l := make([]*holding, len(measures))
		for i, m := range measures {
			l[i] = &holding{key: key, m: i, s: m.of(g), n: int(n[i]), whole: int(whole[i])}
		}
		return l
	}
}

// A holding is what a database holds of one measure of one group.
type holding struct {
	key      string
	m        int // which measure
	s        *sample
	n, whole int
	tabled   float64 // Σ of the whole numbers in the table
}

// kind says how a sample gets its values.
type kind uint8

const (
	listed   kind = iota // all values travel: they are few, or few different ones
	digested             // order statistics and sums travel, and whole numbers if the sample has a table
	sketched             // counts by whole number and by range, and sums
)

func (h *holding) kind(limit int) kind {
	switch {
	case h.n > limit:
		return sketched
	case h.n-h.whole < tableFrom: // fewer than a table would have to replace
		return listed
	}
	return digested
}

// hasTable says whether whole numbers are counted in a table, as sample.settle
// and sample.coarsen have it.
func (h *holding) hasTable(limit int) bool { return h.n > limit || 2*h.whole >= h.n }

// fill fills the samples of some groups of one table.
func (r *remote) fill(t *source, d Dimension, measures []measure, all []*holding) error {
	f := &filling{remote: r, t: t, d: d, measures: measures}
	f.by, _ = t.key(d)
	var of [sketched + 1][]*holding
	for _, h := range all {
		if h.n > 0 {
			k := h.kind(r.o.ExactLimit)
			of[k] = append(of[k], h)
		}
	}
	for _, h := range of[digested] {
		h.s.digest = &digest{n: h.n, ranks: map[int]float64{}}
		if h.hasTable(r.o.ExactLimit) {
			h.s.needTable()
		}
	}
	for _, h := range of[sketched] {
		h.s.coarsen()
	}
	if err := f.values(of[listed], slices.DeleteFunc(append(slices.Clone(of[digested]), of[sketched]...), func(h *holding) bool { return !h.hasTable(r.o.ExactLimit) })); err != nil {
		return err
	}
	if err := f.digests(of[digested]); err != nil {
		return err
	}
	if err := f.sketches(of[sketched]); err != nil {
		return err
	}
	for _, h := range all {
		if h.n > 0 && h.s.n() != h.n {
			return errChanged
		}
	}
	return nil
}

// A filling fills the samples of the groups of one dimension from one table.
type filling struct {
	*remote
	t        *source
	d        Dimension
	by       keySQL
	measures []measure
}

// among restricts a condition to the groups of some holdings.
func (f *filling) among(l []*holding) string {
	if f.d == "" {
		return "1"
	}
	keys := make([]string, len(l))
	for i, h := range l {
		keys[i] = clickhouse.Quote(h.key)
	}
	return f.by.text + " IN (" + strings.Join(keys, ", ") + ")"
}

// perMeasure parts holdings by their measure.
func perMeasure(l []*holding) map[int][]*holding {
	of := map[int][]*holding{}
	for _, h := range l {
		of[h.m] = append(of[h.m], h)
	}
	return of
}

// An aspect is a value of the rows of one measure that a query is about.
type aspect struct {
	m            int
	where, value string
}

// ask asks for something about each aspect: columns are written with {v}
// for its value. Rows come with their holding. One query an aspect is faster
// than one for all: an ARRAY JOIN over several takes ten times as long.
func (f *filling) ask(aspects []aspect, l []*holding, columns, by string, each func(*holding, *clickhouse.Row)) error {
	of := perMeasure(l)
	for _, a := range aspects {
		keyed := map[string]*holding{}
		for _, h := range of[a.m] {
			keyed[h.key] = h
		}
		changed := false
		err := f.query(f.t.query(f.by.sql+" AS k, "+strings.ReplaceAll(columns, "{v}", a.value), a.where, "k"+by), func(row *clickhouse.Row) {
			h := keyed[f.by.take(row)]
			if h == nil {
				changed = true // a group that is new; its row must be passed over
				h = &holding{s: &sample{sketch: new(sketch), digest: new(digest)}}
			}
			each(h, row)
		})
		if err == nil && changed {
			err = errChanged
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// values fetches values with how often each comes: all of the listed holdings,
// whole numbers of those with a table.
func (f *filling) values(listed, tabled []*holding) error {
	var aspects []aspect
	ofListed, ofTabled := perMeasure(listed), perMeasure(tabled)
	for i, m := range f.measures {
		l, t := ofListed[i], ofTabled[i]
		var which []string
		if len(l) > 0 {
			which = append(which, f.among(l))
		}
		if len(t) > 0 {
			which = append(which, all(isTabledSQL(m.value), f.among(t)))
		}
		if len(which) > 0 {
			aspects = append(aspects, aspect{i, all(m.where, "("+strings.Join(which, " OR ")+")"), m.value})
		}
	}
	return f.ask(aspects, append(slices.Clone(listed), tabled...), "{v} AS v, toUInt64(count())", ", v", func(h *holding, row *clickhouse.Row) {
		v, n := row.Float64(), row.UInt64()
		h.tabled += v * float64(n)
		h.s.addMany(v, int(n))
	})
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

// aspects are what the holdings of each measure are about: all their values, or
// those that are in no table.
func (f *filling) aspects(l []*holding, value func(of []*holding, m *measure) string) []aspect {
	var aspects []aspect
	of := perMeasure(l)
	for i := range f.measures {
		m := &f.measures[i]
		with := slices.DeleteFunc(slices.Clone(of[i]), func(h *holding) bool { return h.s.table == nil })
		without := slices.DeleteFunc(slices.Clone(of[i]), func(h *holding) bool { return h.s.table != nil })
		var which []string
		if len(with) > 0 {
			which = append(which, all(not(isTabledSQL(m.value)), f.among(with)))
		}
		if len(without) > 0 {
			which = append(which, f.among(without))
		}
		if len(which) > 0 {
			aspects = append(aspects, aspect{i, all(m.where, "("+strings.Join(which, " OR ")+")"), value(of[i], m)})
		}
	}
	return aspects
}

func itself(_ []*holding, m *measure) string { return m.value }

// exactSums asks for sums without rounding of what the aspects are about.
func (f *filling) exactSums(aspects []aspect, l []*holding, to func(*holding) *exactSum) error {
	exponent, high, low := parted("{v}")
	columns := fmt.Sprintf("toUInt64(%s) AS e, toUInt64(sum(%s)), toUInt64(sum(%s))", exponent, high, low)
	return f.ask(aspects, l, columns, ", e", func(h *holding, row *clickhouse.Row) {
		e, high, low := row.UInt64(), row.UInt64(), row.UInt64()
		to(h).addExact(e, high, low)
	})
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
func (f *filling) digests(l []*holding) error {
	if len(l) == 0 {
		return nil
	}
	for _, of := range perMeasure(l) {
		for part := range slices.Chunk(of, atOnce) {
			if err := f.order(&f.measures[part[0].m], part); err != nil {
				return err
			}
		}
	}
	if err := f.exactSums(f.aspects(l, itself), l, func(h *holding) *exactSum { return &h.s.digest.total }); err != nil {
		return err
	}
	squares := f.aspects(l, func(of []*holding, m *measure) string {
		off := "(" + m.value + " - " + f.perGroup(of, func(h *holding) string { return floatSQL(h.s.digest.mean(h.tabled)) }) + ")"
		return off + " * " + off
	})
	return f.exactSums(squares, l, func(h *holding) *exactSum { return &h.s.digest.squares })
}

// order asks for the order statistics of one measure of some groups.
func (f *filling) order(m *measure, l []*holding) error {
	var levels []string
	ranks := map[*holding][]int{}
	first := map[*holding]int{}
	of := map[string]*holding{}
	for _, h := range l {
		first[h], ranks[h], of[h.key] = len(levels), f.asked(h.n), h
		for _, k := range ranks[h] {
			// The level of rank k of n values, whichever way it is rounded.
			levels = append(levels, strconv.FormatFloat((float64(k)+0.5)/float64(h.n), 'f', 17, 64))
		}
	}
	columns := fmt.Sprintf("%s AS k, toUInt64(count()), min(%[2]s), max(%[2]s), quantilesExact(%[3]s)(%[2]s)", f.by.sql, m.value, strings.Join(levels, ", "))
	seen, changed := 0, false
	err := f.query(f.t.query(columns, all(m.where, f.among(l)), "k"), func(row *clickhouse.Row) {
		h := of[f.by.take(row)]
		n, least, most := int(row.UInt64()), row.Float64(), row.Float64()
		var values []float64
		row.Array(func() { values = append(values, row.Float64()) })
		if h == nil || n != h.n || len(values) != len(levels) {
			changed = true
			return
		}
		seen++
		h.s.digest.min, h.s.digest.max = least, most
		for i, k := range ranks[h] {
			h.s.digest.ranks[k] = values[first[h]+i]
		}
	})
	if err == nil && (changed || seen != len(l)) {
		err = errChanged
	}
	return err
}

// perGroup is a value that depends on the group that a row belongs to.
func (f *filling) perGroup(l []*holding, value func(*holding) string) string {
	if f.d == "" || len(l) == 1 {
		return value(l[0])
	}
	var b strings.Builder
	for _, h := range l[:len(l)-1] {
		fmt.Fprintf(&b, "%s = %s, %s, ", f.by.text, clickhouse.Quote(h.key), value(h))
	}
	return "multiIf(" + b.String() + value(l[len(l)-1]) + ")"
}

// sketches asks for counts by range, and sums.
func (f *filling) sketches(l []*holding) error {
	if len(l) == 0 {
		return nil
	}
	fine := f.aspects(l, itself)
	err := f.ask(fine, l, "toUInt64("+rangeSQL("{v}")+") AS e, toUInt64(count())", ", e", func(h *holding, row *clickhouse.Row) {
		at, n := row.UInt64(), row.UInt64()
		h.s.sketch.take(int(at), n)
	})
	if err != nil {
		return err
	}
	err = f.ask(fine, l, "min({v}), max({v})", "", func(h *holding, row *clickhouse.Row) {
		h.s.sketch.min, h.s.sketch.max = row.Float64(), row.Float64()
	})
	if err != nil {
		return err
	}
	if err := f.exactSums(fine, l, func(h *holding) *exactSum { return &h.s.sketch.total }); err != nil {
		return err
	}
	err = f.exactSums(f.aspects(l, func(_ []*holding, m *measure) string { return m.value + " * " + m.value }), l, func(h *holding) *exactSum { return &h.s.sketch.squares })
	for _, h := range l {
		if f.measures[h.m].rough {
			h.s.sketch.roughEnds()
		}
	}
	return err
}

// tails asks for the sums on both sides of the cut that tail makes.
func (r *remote) tails() error {
	e, t := r.sql.figures(), r.sql.requests()
	for _, d := range r.groupings() {
		f := &filling{remote: r, t: t, d: d}
		f.by, _ = t.key(d)
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
			if err := f.cut(e, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *filling) cut(e *requestSQL, l []*holding) error {
	const value = "(toFloat64(intDiv(total, 1000)) / 1000)"
	at, of, exact := map[*holding]float64{}, map[string]*holding{}, true
	for _, h := range l {
		at[h], of[h.key] = h.s.quantile(90), h
		exact = exact && h.s.exact()
	}
	above := value + " >= " + f.perGroup(l, func(h *holding) string { return floatSQL(at[h]) })
	if !exact {
		// A total that is known to its range lies where the middle of that does.
		first := f.perGroup(l, func(h *holding) string {
			if h.s.exact() {
				return "-1"
			}
			n, _ := slices.BinarySearchFunc(allRanges, at[h], func(r int, at float64) int { return cmp.Compare(middle(r), at) })
			return strconv.Itoa(n)
		})
		above = fmt.Sprintf("if(%s OR %s = -1, %s, %s >= %s)", isTabledSQL(value), first, above, rangeSQL(value), first)
	}
	columns := f.by.sql + " AS k, toUInt8(" + above + ") AS e, toUInt64(count()), toUInt64(sum(toUInt64(intDiv(total, 1000)))), toUInt64(sum(toUInt64(intDiv(ttft, 1000)))), toUInt64(sum(toUInt64(" + e.decodeTokens + ")))"
	return f.query(f.t.query(columns, all(e.tailed, f.among(l)), "k, e"), func(row *clickhouse.Row) {
		h, up := of[f.by.take(row)], row.UInt8()
		side := tailSet{n: int(row.UInt64()), total: sum{lo: row.UInt64()}, ttft: sum{lo: row.UInt64()}, tokens: sum{lo: row.UInt64()}}
		if h == nil {
			return
		}
		g := f.group(f.d, h.key)
		if g.byTotal.known == nil {
			g.byTotal.known = new([2]tailSet)
		}
		g.byTotal.known[1-up] = side
	})
}

// allRanges are the ranges of a sketch.
var allRanges = func() []int {
	l := make([]int, ranges)
	for i := range l {
		l[i] = i
	}
	return l
}()
