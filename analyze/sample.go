package analyze

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/montanaflynn/stats"
)

// A sample is the values of one figure. Adding and merging in any order gives
// the same distribution: the arithmetic is done on the sorted values, or is
// exact.
//
// A big sample of whole numbers, as times in ms and tokens are, is kept as a
// table of counts: exact, mergeable, and its size does not grow. Of others the
// values are kept one by one, and past the exact limit how many there are in
// each of many narrow ranges; see coarsen.
type sample struct {
	values []float64   // below tableFrom all there are, else the last chunk
	chunks [][]float64 // before values
	sorted bool        // values are, and there are no chunks

	table   *countTable // of whole numbers; nil for none
	tabled  int         // values in the table
	tooFine bool        // most values are no whole numbers: no table is worth it

	sketch *sketch // of the values that are in no table; nil for exact figures
	digest *digest // of values that a database has; nil where they are here

	picked  map[int]float64 // order statistics that were looked up
	pickedN int             // n when they were: values are only ever added
}

const (
	tableSize = 1 << 17 // ms: two minutes; what is beyond stays a value
	tableFrom = 1 << 15 // values from which a table is smaller
	// valueChunk is how many values a big list grows by, so that growing copies nothing.
	valueChunk = 1 << 13
)

func (s *sample) add(v float64) {
	if s.table != nil && isTabled(v) {
		s.table.add(uint32(v))
		s.tabled++
		return
	}
	s.push(v)
}

// addTime adds a time in ms. It is add for whole milliseconds without the detour.
func (s *sample) addTime(d time.Duration) {
	if ms := d / time.Millisecond; s.table != nil && ms < tableSize && ms*time.Millisecond == d && d >= 0 {
		s.table.add(uint32(ms))
		s.tabled++
		return
	}
	s.push(milliseconds(d))
}

// addCount adds a whole number, not negative.
func (s *sample) addCount(n int64) {
	if s.table != nil && n < tableSize {
		s.table.add(uint32(n))
		s.tabled++
		return
	}
	s.push(float64(n))
}

// addTabled adds whole numbers below tableSize to a sample that has a table.
func (s *sample) addTabled(l []uint32) {
	counts := s.table.flushed()
	for _, v := range l {
		counts[v&(tableSize-1)]++
	}
	s.tabled += len(l)
}

// addAll is add for each of the values.
func (s *sample) addAll(l []float64) {
	for len(l) > 0 {
		room := cap(s.values) - len(s.values)
		if !s.tooFine || s.sketch != nil || room == 0 {
			s.add(l[0])
			l = l[1:]
			continue
		}
		n := min(room, len(l))
		s.values = append(s.values, l[:n]...)
		s.sorted, s.picked = false, nil
		l = l[n:]
	}
}

// A countTable counts whole numbers below tableSize. Memory of that size is slow
// to reach, but many places of it at once are not: so numbers wait until there
// are enough of them.
type countTable struct {
	counts  [tableSize]uint32
	waiting [128]uint32
	n       int // that wait
}

func (t *countTable) add(v uint32) {
	t.waiting[t.n] = v
	if t.n++; t.n == len(t.waiting) {
		t.flushed()
	}
}

// flushed returns the counts; none of a nil table.
func (t *countTable) flushed() []uint32 {
	if t == nil {
		return nil
	}
	for _, v := range t.waiting[:t.n] {
		t.counts[v&(tableSize-1)]++
	}
	t.n = 0
	return t.counts[:]
}

func isTabled(v float64) bool { return v >= 0 && v < tableSize && v == math.Trunc(v) }

// push adds a value that has no place in the table.
func (s *sample) push(v float64) {
	if s.sketch != nil {
		s.sketch.add(v)
		return
	}
	if len(s.values) == cap(s.values) && len(s.values) >= valueChunk {
		s.chunks = append(s.chunks, s.values)
		s.values = make([]float64, 0, valueChunk)
	}
	s.values = append(s.values, v)
	s.sorted, s.picked = false, nil
	if s.table == nil && !s.tooFine && s.n() >= tableFrom {
		s.settle()
	}
}

func (s *sample) merge(o *sample) {
	if o.table != nil {
		s.needTable()
		counts := s.table.flushed()
		for v, n := range o.table.flushed() {
			counts[v] += n
		}
		s.tabled += o.tabled
	}
	if o.sketch != nil {
		s.coarsen()
		s.sketch.merge(o.sketch)
	}
	switch {
	case s.sketch != nil:
		o.eachValue(s.add)
	case o.listed() >= valueChunk: // keep them where they are
		s.chunks = append(append(s.chunks, o.chunks...), slices.Clip(o.values))
	default:
		for _, v := range o.values {
			s.push(v)
		}
	}
	s.sorted, s.picked = false, nil
}

// listed returns how many values are kept one by one.
func (s *sample) listed() int {
	n := len(s.values)
	for _, c := range s.chunks {
		n += len(c)
	}
	return n
}

// eachValue calls f for the values that are kept one by one.
func (s *sample) eachValue(f func(v float64)) {
	for _, c := range s.chunks {
		for _, v := range c {
			f(v)
		}
	}
	for _, v := range s.values {
		f(v)
	}
}

func (s *sample) needTable() {
	if s.table == nil {
		s.table = new(countTable)
	}
}

// settle brings the sample into the form that depends on its values alone,
// however it was added up: a table where it is big and mostly of whole numbers,
// else a list.
func (s *sample) settle() {
	if s.sketch != nil || s.digest != nil {
		return
	}
	parts := s.parts()
	wholes := make([]int, len(parts))
	eachPart(parts, func(i int, chunks [][]float64) {
		n := 0
		for _, c := range chunks {
			for _, v := range c {
				if isTabled(v) {
					n++
				}
			}
		}
		wholes[i] = n
	})
	whole := s.tabled
	for _, n := range wholes {
		whole += n
	}
	switch big := s.n() >= tableFrom && 2*whole >= s.n(); {
	case big && whole > s.tabled:
		s.needTable()
		old := *s
		s.values, s.chunks = nil, nil
		old.eachValue(s.add)
		s.sorted = false
	case !big && s.table != nil:
		s.values, s.chunks, s.sorted = s.ordered(), nil, true
		s.table, s.tabled = nil, 0
	}
	s.tooFine = s.table == nil && s.n() >= tableFrom
}

// coarsen lets a sketch take over from the list: all whole numbers go to the
// table, all else to the sketch, so that the result depends on the values alone.
func (s *sample) coarsen() {
	if s.sketch != nil {
		return
	}
	s.needTable()
	old := *s
	s.values, s.chunks, s.sketch, s.picked = nil, nil, new(sketch), nil
	old.eachValue(s.add)
}

// bound lets a sketch take over where there are more values than limit.
func (s *sample) bound(limit int) {
	if s.n() > limit {
		s.coarsen()
	}
}

// exact reports whether the quantiles are those of the values themselves.
func (s *sample) exact() bool { return s.sketch == nil || s.sketch.n == 0 }

func (s *sample) n() int {
	if s.digest != nil {
		return s.digest.n
	}
	n := s.listed() + s.tabled
	if s.sketch != nil {
		n += s.sketch.n
	}
	return n
}

// ordered returns the values in ascending order, those of a sketch as far as it
// tells them apart. It belongs to the caller only to read.
func (s *sample) ordered() []float64 {
	s.sort()
	if s.table == nil && s.sketch == nil {
		return s.values
	}
	all := make([]float64, 0, s.n())
	s.each(func(v float64, n int) {
		for range n {
			all = append(all, v)
		}
	})
	return all
}

// sort makes one sorted list of the values that are kept one by one.
func (s *sample) sort() {
	if s.sorted {
		return
	}
	if len(s.chunks) > 0 {
		s.values, s.chunks = slices.Concat(append(s.chunks, s.values)...), nil
	}
	sortFloats(s.values)
	s.sorted = true
}

// each calls f for the values in ascending order, with how often each comes.
func (s *sample) each(f func(v float64, n int)) {
	s.sort()
	i := 0
	below := func(limit float64) {
		for ; i < len(s.values) && s.values[i] < limit; i++ {
			f(s.values[i], 1)
		}
	}
	next := func(limit float64) { below(limit) }
	if s.sketch != nil { // then there are no values one by one
		next = s.sketch.walk(f)
	}
	for v, n := range s.table.flushed() {
		if n > 0 {
			next(float64(v))
			f(float64(v), int(n))
		}
	}
	next(math.Inf(1))
}

// pick looks up the order statistics of the ranks, which count from 0.
func (s *sample) pick(ranks ...int) {
	if s.digest != nil {
		return // they are known
	}
	if n := s.n(); s.picked == nil || s.pickedN != n {
		s.picked, s.pickedN = make(map[int]float64), n
	}
	ranks = slices.Compact(slices.Sorted(slices.Values(ranks)))
	ranks = slices.DeleteFunc(ranks, func(k int) bool { _, ok := s.picked[k]; return ok })
	switch {
	case len(ranks) == 0:
	case s.table != nil || s.sketch != nil:
		seen, next := 0, 0
		s.each(func(v float64, n int) {
			for seen += n; next < len(ranks) && ranks[next] < seen; next++ {
				s.picked[ranks[next]] = v
			}
		})
	case len(s.chunks) > 0:
		s.pickUnsorted(ranks)
	default:
		x := s.ordered()
		for _, k := range ranks {
			s.picked[k] = x[k]
		}
	}
}

// pickUnsorted finds order statistics of a long list without sorting it: it
// counts the values by narrow ranges, and sorts only the ranges that the ranks
// fall into.
func (s *sample) pickUnsorted(ranks []int) {
	parts := s.parts()
	counted := make([]rangeCounts, len(parts))
	eachPart(parts, func(i int, chunks [][]float64) {
		counted[i].make()
		for _, c := range chunks {
			for _, v := range c {
				counted[i][rangeOf(v)]++
			}
		}
	})
	counts := counted[0]
	for _, more := range counted[1:] {
		for r, n := range more {
			counts[r] += n
		}
	}
	var wanted [ranges]bool
	first := map[int]int{} // how many values lie below a wanted range
	seen, next := 0, 0
	for r, n := range counts {
		for ; next < len(ranks) && ranks[next] < seen+int(n); next++ {
			wanted[r] = true
			first[r] = seen
		}
		seen += int(n)
	}
	found := make([]map[int][]float64, len(parts))
	eachPart(parts, func(i int, chunks [][]float64) {
		found[i] = map[int][]float64{}
		for _, c := range chunks {
			for _, v := range c {
				if r := rangeOf(v); wanted[r] {
					found[i][r] = append(found[i][r], v)
				}
			}
		}
	})
	for r, below := range first {
		var x []float64
		for i := range found {
			x = append(x, found[i][r]...)
		}
		sortFloats(x)
		for _, k := range ranks {
			if i := k - below; i >= 0 && i < len(x) {
				s.picked[k] = x[i]
			}
		}
	}
}

// parts divides the values that are kept one by one, where they are many, for
// several cores to look at.
func (s *sample) parts() [][][]float64 {
	chunks := append(s.chunks[:len(s.chunks):len(s.chunks)], s.values)
	n := 1
	if s.listed() >= manyValues {
		n = min(runtime.GOMAXPROCS(0), len(chunks))
	}
	parts := make([][][]float64, 0, n)
	for i := range n {
		parts = append(parts, chunks[i*len(chunks)/n:(i+1)*len(chunks)/n])
	}
	return parts
}

// manyValues are worth more than one core.
const manyValues = 1 << 18

// eachPart calls f for the parts, of several at the same time.
func eachPart(parts [][][]float64, f func(i int, chunks [][]float64)) {
	var work sync.WaitGroup
	for i := 1; i < len(parts); i++ {
		work.Go(func() { f(i, parts[i]) })
	}
	f(0, parts[0])
	work.Wait()
}

// at returns the order statistic of rank k, from 0.
func (s *sample) at(k int) float64 {
	if s.digest != nil {
		return s.digest.at(k)
	}
	s.pick(k)
	return s.picked[k]
}

// quantile returns the type-7 quantile p (percent) of the sample.
func (s *sample) quantile(p float64) float64 {
	if s.n() >= tableFrom || s.table != nil { // stats.Percentile would copy them for each percentile
		k, f := quantileRank(p, s.n())
		low, high := s.at(k), s.at(min(k+1, s.n()-1))
		return low + f*(high-low)
	}
	x := s.ordered()
	if p <= 0 { // stats.Percentile has no p0
		return x[0]
	}
	v, err := stats.Percentile(x, p)
	if err != nil {
		panic("analyze: " + err.Error()) // p and n were checked before
	}
	return v
}

// quantileRank returns between which order statistics the type-7 quantile p of n
// values lies: k and k+1, and how far after k.
func quantileRank(p float64, n int) (k int, f float64) {
	h := p / 100 * float64(n-1)
	return int(h), h - math.Floor(h)
}

// dist returns the distribution with the quantiles ps (percent), nil for none.
func (s *sample) dist(ps []float64) *Dist {
	s.settle()
	n := s.n()
	if n == 0 {
		return nil
	}
	d := &Dist{N: n}
	if n < tableFrom && s.table == nil {
		x := s.ordered()
		d.Min, d.Max = x[0], x[n-1]
		d.Mean, _ = stats.Mean(x)
		if n >= 2 {
			sd, _ := stats.StandardDeviationSample(x)
			d.StdDev = num(sd)
		}
	} else {
		s.moments(d)
		s.pick(s.ranks(ps)...) // all in one go
	}
	for _, p := range ps {
		d.Quantiles = append(d.Quantiles, Quantile{P: p, Value: s.quantile(p), CI: s.quantileCI(p), Thin: n < SamplesFor(p)})
	}
	return d
}

// ranks lists the order statistics that the quantiles ps and their intervals need.
func (s *sample) ranks(ps []float64) (l []int) {
	for _, p := range ps {
		k, _ := quantileRank(p, s.n())
		l = append(l, k, min(k+1, s.n()-1))
		if lo, hi, ok := quantileOrders(s.n(), p); ok {
			l = append(l, lo-1, hi-1)
		}
	}
	return l
}

// moments computes what stats computes of a list, from all the forms that a big
// sample has. Its sums are exact, so that no order matters.
func (s *sample) moments(d *Dist) {
	var total, squares exactSum
	d.Min, d.Max = math.Inf(1), math.Inf(-1)
	seen := func(low, high float64) {
		d.Min, d.Max = min(d.Min, low), max(d.Max, high)
	}
	whole := 0.0 // of whole numbers below 2⁵³ exact, whatever the order
	for v, n := range s.table.flushed() {
		if n > 0 {
			seen(float64(v), float64(v))
			whole += float64(v) * float64(n)
		}
	}
	parts := s.parts()
	var mu sync.Mutex
	eachPart(parts, func(_ int, chunks [][]float64) {
		var even, odd exactSum
		low, high := math.Inf(1), math.Inf(-1)
		for _, c := range chunks {
			for _, v := range c {
				if v < low {
					low = v
				}
				if v > high {
					high = v
				}
			}
			even.addAll(c, &odd)
		}
		mu.Lock()
		defer mu.Unlock()
		seen(low, high)
		total.merge(&even)
		total.merge(&odd)
	})
	if s.sketch != nil && s.sketch.n > 0 {
		total.merge(&s.sketch.total)
		seen(s.sketch.min, s.sketch.max)
	}
	if s.digest != nil {
		total.merge(&s.digest.total)
		squares.merge(&s.digest.squares)
		seen(s.digest.min, s.digest.max)
	}
	n := float64(d.N)
	d.Mean = (whole + total.float()) / n
	of := 0.0
	for v, n := range s.table.flushed() {
		if n > 0 {
			of += float64(n) * (float64(v) - d.Mean) * (float64(v) - d.Mean)
		}
	}
	eachPart(parts, func(_ int, chunks [][]float64) {
		var even, odd exactSum
		var apart [256]float64
		for _, c := range chunks {
			for l := range slices.Chunk(c, len(apart)) {
				for i, v := range l {
					apart[i] = (v - d.Mean) * (v - d.Mean)
				}
				even.addAll(apart[:len(l)], &odd)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		squares.merge(&even)
		squares.merge(&odd)
	})
	if k := s.sketch; k != nil && k.n > 0 { // Σ(v−m)² = Σv² − 2mΣv + nm²
		of += max(0, k.squares.float()-2*d.Mean*k.total.float()+float64(k.n)*d.Mean*d.Mean)
	}
	d.StdDev = num(math.Sqrt((of + squares.float()) / (n - 1)))
}

// SamplesFor returns how many samples the quantile p (percent) needs to be more
// than an echo of the maximum: ⌈1/(1−p/100)⌉.
func SamplesFor(p float64) int {
	if p >= 100 {
		return 1 // the maximum itself
	}
	return int(math.Ceil(100/(100-p) - 1e-9)) // 100−99.9 is not exactly 0.1
}

// quantileCI returns the 95 % confidence interval of the quantile p (percent):
// the narrowest pair of ranks (l, u) around it with
// P(l ≤ Binomial(n, p) < u) ≥ 0.95. Nil where n is too small for one.
func (s *sample) quantileCI(p float64) *[2]float64 {
	l, u, ok := quantileOrders(s.n(), p)
	if !ok {
		return nil
	}
	s.pick(l-1, u-1)
	return &[2]float64{s.at(l - 1), s.at(u - 1)}
}

// quantileOrders returns the ranks (from 1) between which the quantile p
// (percent) of n values lies; see quantileCI.
//
// The interval grows from the mode of the binomial distribution, each time by
// the likelier neighbour, so that no other of its width covers more. Of two
// that are as likely it takes the lower. P(Binomial(n, p) = 0) and that of n
// are in no interval: there is no value beyond the first and the last.
func quantileOrders(n int, p float64) (l, u int, ok bool) {
	if !(p > 0 && p < 100) || n < 2 {
		return 0, 0, false
	}
	q := p / 100
	if binomial(n, 0, q)+binomial(n, n, q) > 1-confidence {
		return 0, 0, false // not even the smallest and the largest cover enough
	}
	odds := q / (1 - q)
	ratio := func(k int) float64 { return odds * float64(n-k+1) / float64(k) } // P(k) / P(k−1)
	mode := max(1, min(int(float64(n+1)*q), n-1))
	covered := binomial(n, mode, q)
	below, above := covered/ratio(mode), covered*ratio(mode+1) // P(l−1), P(u)
	for l, u = mode, mode+1; covered < confidence; {
		switch {
		case l > 1 && (u == n || below > above*(1-1e-9)): // 1e-9: but for rounding
			l--
			covered += below
			below /= ratio(l)
		case u < n:
			u++
			covered += above
			above *= ratio(u)
		default:
			return 0, 0, false
		}
	}
	return l, u, true
}

const confidence = 0.95

// binomial returns P(Binomial(n, q) = k). The logarithms keep it from being Inf
// or NaN for large n, as that of go-moremath is from about 1,000 on.
func binomial(n, k int, q float64) float64 {
	logFactorial := func(k int) float64 { l, _ := math.Lgamma(float64(k + 1)); return l }
	return math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q))
}
