package analyze

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A speed is a figure that is watched over time.
type speed struct {
	name   string
	figure func(*row) (float64, bool)
	write  func(float64) string
	// waiting is the part of a request's time that the figure is about, in µs.
	waiting func(*row) int64
	// slower says whether a larger value is the worse one.
	slower bool
	// byPrompt says that the figure also depends on the length of the prompt.
	byPrompt bool
}

var speeds = [...]speed{
	{"TTFT", (*row).firstToken, human.Duration, func(w *row) int64 { return w.ttft }, true, true},
	{"TPS", (*row).steadyRate, human.Rate, func(w *row) int64 { return w.total - w.ttft }, false, false},
}

// A series is the requests of the most used model that have a speed and a
// time, in the order of time.
type series struct {
	*speed
	model string
	rows  []*row
	v     []float64
	order []int // of the values, ascending: sorted once for all that is asked
}

func (f *facts) series(i int) *series {
	if f.over[i] != nil {
		return f.over[i]
	}
	s := &series{speed: &speeds[i]}
	s.model, s.rows = mostUsed(f.rowsWith(func(w *row) (float64, bool) {
		v, ok := s.figure(w)
		return v, ok && w.end > 0
	}))
	s.v = values(s.rows, s.figure)
	type point struct {
		v float64
		i int
	}
	points := make([]point, len(s.v))
	for i, v := range s.v {
		points[i] = point{v, i}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.v, b.v) })
	s.order = make([]int, len(points))
	for i, p := range points {
		s.order[i] = p.i
	}
	f.over[i] = s
	return s
}

// slowdown turns a factor of the figure into one of slowness: above 1 is worse.
func (s *speed) slowdown(factor float64) float64 {
	if s.slower {
		return factor
	}
	return 1 / factor
}

// lost is the waiting of the rows that would not have been at the other speed.
func (s *speed) lost(rows []*row, slowdown float64) int64 {
	var all int64
	for _, w := range rows {
		all += s.waiting(w)
	}
	return int64(float64(all) * (1 - 1/slowdown))
}

// holds reports whether the slowdown from a to b is still there, by at least
// the factor, between prompts of like size: longer prompts are no slower hour.
// Where the size of most prompts is not known, that is left open.
func (s *speed) holds(a, b []*row, factor float64) bool {
	if !s.byPrompt {
		return true
	}
	likeForLike, known := s.likeForLike(a, b)
	return !known || likeForLike >= factor
}

// minBand is how many requests of one size each side needs.
const minBand = 5

// likeForLike is the mean slowdown from a to b between requests whose uncached
// prompts are of the same power of two; 0 where there are none such on both sides.
func (s *speed) likeForLike(a, b []*row) (slowdown float64, known bool) {
	var bands [65][2][]float64
	var n [2]int
	for side, rows := range [2][]*row{a, b} {
		for _, w := range rows {
			if tokens, ok := w.uncached(); ok {
				v, _ := s.figure(w)
				band := bits.Len64(uint64(tokens))
				bands[band][side] = append(bands[band][side], v)
				n[side]++
			}
		}
	}
	if 2*n[0] < len(a) || 2*n[1] < len(b) {
		return 0, false
	}
	var logs, weight float64
	for _, band := range bands {
		na, nb := len(band[0]), len(band[1])
		if na < minBand || nb < minBand {
			continue
		}
		ma, mb := (&sample{values: band[0]}).quantile(50), (&sample{values: band[1]}).quantile(50)
		if ma > 0 && mb > 0 {
			k := float64(min(na, nb))
			logs += k * math.Log(s.slowdown(mb/ma))
			weight += k
		}
	}
	if weight == 0 {
		return 0, true
	}
	return math.Exp(logs / weight), true
}

// slowHour: an hour is slow where its median is that much worse than the rest's.
const slowHour = 1.5

// slowHours names the hours of the day in which answers start later or come
// more slowly than in the rest.
func slowHours(f *facts) []found {
	var l []found
	for i := range speeds {
		l = append(l, f.slowHoursOf(f.series(i))...)
	}
	return l
}

// An hourly is the requests of one hour of the day against the others.
type hourly struct {
	hour     int
	slowdown float64
	*contrast
	rows []*row
}

func (f *facts) slowHoursOf(s *series) []found {
	hours := make([]int, len(s.rows)) // where the user is
	for i, w := range s.rows {
		hours[i] = time.UnixMicro(w.end).In(f.options.Location).Hour()
	}
	tests := 0
	var late []int
	for hour, n := range countHours(hours) {
		if n < minMedian || len(hours)-n < minMedian {
			continue
		}
		tests++
		in, rest := s.medians(n, func(i int) bool { return hours[i] == hour })
		if in > 0 && rest > 0 && s.slowdown(in/rest) >= slowHour {
			late = append(late, hour)
		}
	}
	var slow []hourly
	for _, hour := range late {
		h := s.against(hours, hour)
		if h.p() < Alpha/float64(tests) && h.slowdown >= slowHour {
			slow = append(slow, h)
		}
	}
	if len(slow) == 0 {
		return nil
	}
	return f.slowHourFinding(s, slow, tests)
}

func countHours(hours []int) (n [24]int) {
	for _, h := range hours {
		n[h]++
	}
	return n
}

// medians returns those of the n values that are in and of the others, to
// within one rank.
func (s *series) medians(n int, isIn func(i int) bool) (in, others float64) {
	var seen [2]int
	var medians [2]float64
	middle := [2]int{(n - 1) / 2, (len(s.v) - n - 1) / 2}
	for _, i := range s.order {
		side := 1
		if isIn(i) {
			side = 0
		}
		if seen[side] == middle[side] {
			medians[side] = s.v[i]
		}
		seen[side]++
		if seen[0] > middle[0] && seen[1] > middle[1] {
			break
		}
	}
	return medians[0], medians[1]
}

// against compares the hour with the others. A slowdown that is only one of
// longer prompts is none.
func (s *series) against(hours []int, hour int) hourly {
	var in, rest []*row
	for i, w := range s.rows {
		if hours[i] == hour {
			in = append(in, w)
		} else {
			rest = append(rest, w)
		}
	}
	h := hourly{hour: hour, rows: in}
	h.contrast, _ = contrasted(values(rest, s.figure), values(in, s.figure), minMedian)
	if c := h.contrast.factor(); c > 0 && s.holds(rest, in, slowHour) {
		h.slowdown = s.speed.slowdown(c)
	}
	return h
}

func (f *facts) slowHourFinding(s *series, slow []hourly, tests int) []found {
	slices.SortStableFunc(slow, func(a, b hourly) int { return cmp.Compare(b.slowdown, a.slowdown) })
	var evidence []string
	var stake int64
	for i, h := range slow {
		stake += s.lost(h.rows, h.slowdown)
		if i < maxNamed {
			evidence = append(evidence, f.Sprintf("from %02d:00 to %02d:00 %s (n=%d, on %s) against %s in the other hours (n=%d), %s",
				h.hour, (h.hour+1)%24, s.write(h.mb), h.b.n(), lang.Plural(f.Language, f.days(h.rows), "day"), s.write(h.ma), h.a.n(), human.PValue(h.p())))
		}
	}
	title := f.Sprintf("From %02d:00 to %02d:00 %s", slow[0].hour, (slow[0].hour+1)%24, f.became(s, slow[0].factor()))
	if more := len(slow) - 1; more > 0 {
		title += f.Sprintf("; %s like it", lang.Plural(f.Language, more, "more hour"))
	}
	return one(SeverityWarn, "slow_hours", stake, title,
		f.Sprintf("%s p50%s: %s (%d hours tested)", s.name, f.of(s.model), strings.Join(evidence, f.Text("; ")), tests),
		f.Text("Move what can wait, such as batches, to other hours; where it was one day only, see whether it comes back (--by hour, --by day)"))
}

// days counts the days that the rows, which are in order, ended on.
func (f *facts) days(rows []*row) int {
	n, last := 0, ""
	for _, w := range rows {
		if day := time.UnixMicro(w.end).In(f.options.Location).Format("2006-01-02"); day != last {
			n, last = n+1, day
		}
	}
	return n
}

const (
	minSide     = 20    // requests before and after a change
	changeAlpha = 0.001 // of all splits that were tried, taken together
)

// changePoint finds the moment since which a speed is another one.
func changePoint(f *facts) []found {
	var l []found
	for i := range speeds {
		l = append(l, f.changeOf(f.series(i))...)
	}
	return l
}

func (f *facts) changeOf(s *series) []found {
	at, tried := s.bestSplit()
	if tried == 0 {
		return nil
	}
	// A first look without sorting again; the exact figures follow.
	if b, a := s.medians(at, func(i int) bool { return i < at }); b <= 0 || a/b > 1/notable*1.05 && a/b < notable/1.05 {
		return nil
	}
	before, after := s.rows[:at], s.rows[at:]
	c, ok := contrasted(slices.Clone(s.v[:at]), slices.Clone(s.v[at:]), minSide)
	if !ok || c.factor() <= 0 || c.factor() > 1/notable && c.factor() < notable || c.p() >= changeAlpha/float64(tried) {
		return nil
	}
	slowdown := s.slowdown(c.factor())
	since := f.moment(after[0], s.rows)
	evidence := f.Sprintf("%s p50%s was %s before (n=%d) and is %s since (n=%d): %s, %s after allowing for the %s that were tried",
		s.name, f.of(s.model), s.write(c.ma), c.a.n(), s.write(c.mb), c.b.n(), human.Change(c.factor()-1), human.PValue(min(1, c.p()*float64(tried))), lang.Plural(f.Language, tried, "moment"))
	switch {
	case slowdown >= notable && s.holds(before, after, notable):
		return one(SeverityWarn, "change_point", s.lost(after, slowdown), f.Sprintf("Since %s %s", since, f.became(s, c.factor())), evidence,
			f.Text("Look at what changed then: Codex's version, model or effort, provider, network, gateway; codexlag compare --at TIME shows both sides"))
	case slowdown <= 1/notable && s.holds(after, before, notable):
		return one(SeverityInfo, "change_point", 0, f.Sprintf("Since %s %s", since, f.became(s, c.factor())), evidence,
			f.Text("Judge what was slow before by the requests since then (--since)"))
	}
	return nil
}

// became says how the figure changed: TTFT p50 is 2.1× higher.
func (f *facts) became(s *series, factor float64) string {
	if factor >= 1 {
		return f.Sprintf("%s p50 is %s as high", s.name, times(factor))
	}
	return f.Sprintf("%s p50 is %s lower", s.name, human.Percent(1-factor))
}

// moment writes when w ended, which is what --since and --at go by, as exactly
// as the span of the rows asks for.
func (f *facts) moment(w *row, rows []*row) string {
	layout := f.Text("2 January 2006")
	if span := rows[len(rows)-1].end - rows[0].end; span < 3*24*time.Hour.Microseconds() {
		layout = f.Text("2 January 2006, 15:04,")
	}
	return time.UnixMicro(w.end).In(f.options.Location).Format(layout)
}

// bestSplit returns where in the ordered rows the figure differs most before
// and after, by the Mann–Whitney statistic, and how many places were tried.
// One sum of ranks, carried along, serves all of them.
func (s *series) bestSplit() (at, tried int) {
	n := len(s.v)
	if n < 2*minSide {
		return 0, 0
	}
	ranks, ties := s.ranks()
	best, sum := -1.0, 0.0 // largest statistic; ranks so far
	for k := 1; k <= n-minSide; k++ {
		sum += ranks[k-1]
		if k < minSide || s.rows[k-1].end == s.rows[k].end {
			continue // requests of the same moment have no order
		}
		tried++
		a, b := float64(k), float64(n-k)
		u := sum - a*(a+1)/2
		variance := a * b / 12 * (float64(n+1) - ties/(float64(n)*float64(n-1)))
		if variance <= 0 {
			continue
		}
		if z := math.Abs(u-a*b/2) / math.Sqrt(variance); z > best {
			at, best = k, z
		}
	}
	if best < 0 {
		return 0, 0
	}
	return at, tried
}

// ranks returns the rank of each value, from 1, ties sharing their mean, and
// the tie correction Σ(t³−t).
func (s *series) ranks() (ranks []float64, ties float64) {
	ranks = make([]float64, len(s.v))
	for i := 0; i < len(s.order); {
		j := i
		for j < len(s.order) && s.v[s.order[j]] == s.v[s.order[i]] {
			j++
		}
		for _, k := range s.order[i:j] {
			ranks[k] = float64(i+1+j) / 2
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}
