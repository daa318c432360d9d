package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/montanaflynn/stats"

	"codexlag/parse/record"
)

// splitRows are rows of whole ms, of fractions, and of beyond what a table holds.
func splitRows(n int, seed uint64) []splitRow {
	r := rand.New(rand.NewPCG(seed, 6))
	l := make([]splitRow, n)
	for i := range l {
		total := 1000 * (500 + r.Int64N(60_000))
		switch r.IntN(20) {
		case 0:
			total += 1 + r.Int64N(999)
		case 1:
			total *= 50
		}
		l[i] = splitRow{total, r.Int64N(total), r.Int64N(3000)}
	}
	return l
}

// cutOf parts the rows one by one.
func cutOf(t *testing.T, rows []splitRow, p float64) (above, below tailSet) {
	t.Helper()
	var totals []float64
	for _, r := range rows {
		totals = append(totals, float64(r.total)/1000)
	}
	at, err := stats.Percentile(totals, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		s := &below
		if totals[i] >= at {
			s = &above
		}
		s.n++
		s.total.add(r.total)
		s.ttft.add(r.ttft)
		s.tokens.add(r.tokens)
	}
	return above, below
}

// However many requests there are and however they were added up, the slow ones
// are the same: a table keeps what the rows tell.
func TestTailOfManyRequests(t *testing.T) {
	for _, n := range []int{100, tableFrom - 1, tableFrom + 500, 2*tableFrom + 77} {
		rows := splitRows(n, uint64(n))
		above, below := cutOf(t, rows, 90)
		whole, parts := new(totalTable), [3]totalTable{}
		for i, r := range rows {
			whole.add(r)
			parts[min(i%7, 2)].add(r) // sevenths: 1, 1 and 5
		}
		parts[1].merge(&parts[2])
		parts[0].merge(&parts[1])
		for name, table := range map[string]*totalTable{"whole": whole, "merged": &parts[0]} {
			if table.count != n {
				t.Errorf("%d, %s: %d requests", n, name, table.count)
			}
			if a, b := table.cut(90); a != above || b != below {
				t.Errorf("%d, %s: cut into %+v and %+v, want %+v and %+v", n, name, a, b, above, below)
			}
		}
	}
}

// Past the exact limit a cut is off by a range of totals, and no request is lost.
func TestTailOfSums(t *testing.T) {
	rows := splitRows(20_000, 1)
	wantAbove, wantBelow := cutOf(t, rows, 90)
	whole, a, b := new(totalTable), new(totalTable), new(totalTable)
	for i, r := range rows {
		whole.add(r)
		if i%2 == 0 {
			a.add(r)
		} else {
			b.add(r)
		}
	}
	whole.bound(len(rows))
	if whole.coarse {
		t.Error("sums took over at the limit")
	}
	whole.bound(len(rows) - 1)
	a.coarsen()
	b.merge(a)
	for _, table := range []*totalTable{whole, b} {
		above, below := table.cut(90)
		if !table.coarse || len(table.rows) > 0 || above.n+below.n != len(rows) {
			t.Errorf("coarse %v, %d rows, %d + %d requests", table.coarse, len(table.rows), above.n, below.n)
		}
		for what, v := range map[string][2]float64{
			"requests": {float64(above.n), float64(wantAbove.n)}, "total": {above.total.ms(), wantAbove.total.ms()},
			"ttft": {above.ttft.ms(), wantAbove.ttft.ms()}, "tokens": {above.tokens.float(), wantAbove.tokens.float()},
			"total of the others": {below.total.ms(), wantBelow.total.ms()},
		} {
			within(t, what, v[0], v[1], 0.01) // a range is 0.1 % wide
		}
	}
	if x, y := whole.totals(), b.totals(); x.quantile(50) != y.quantile(50) || x.n() != y.n() {
		t.Error("merging gives other totals")
	}
}

// One set alone, or one that generated nothing, has no tail.
func TestNoTail(t *testing.T) {
	many := func(n int, f func(i int) *record.Request) (l []*record.Request) {
		for i := range n {
			l = append(l, f(i))
		}
		return l
	}
	for name, c := range map[string]struct {
		l    []*record.Request
		want bool
	}{
		"19 requests":            {many(19, func(i int) *record.Request { return line(100, 1000+float64(i), 50) }), false},
		"20 requests":            {many(20, func(i int) *record.Request { return line(100, 1000+float64(i), 50) }), true},
		"the slow made no token": {many(40, func(i int) *record.Request { return line(100, 1000+float64(i), int64(50*(1-i/30))) }), false},
		"only the slow did":      {many(40, func(i int) *record.Request { return line(100, 1000+float64(i), int64(50*(i/36))) }), false},
	} {
		if got := report(DefaultOptions(), c.l...).Overall.Verdict.Tail; (got != nil) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
