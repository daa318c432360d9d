package analyze

import (
	"cmp"
	"maps"
	"slices"

	"codexlag/parse/record"
)

// Charts are the figures of a report to look at: binned, thinned and bounded,
// so that a page of any number of requests stays small. Nothing is computed
// from what is thinned. A nil or empty chart has no data.
type Charts struct {
	// SampledShare is the part of the requests that all charts but the
	// distributions and the time stand on, 0..1; nil where it is all of them.
	SampledShare *float64

	TTFT *Spread // ms
	TPS  *Spread // tokens/s

	Time     []TimeBar // where the waiting of requests went
	TurnTime []TurnBar // where the time of agent turns went

	Prompt *Scatter // TTFT in ms against uncached input tokens, with the prefill model
	Length *Scatter // total in ms against output tokens
	Crowd  *Scatter // TPS against requests in flight, with the median of each band

	TTFTOverTime *Course  // ms
	TPSOverTime  *Course  // tokens/s, bursts left out
	Hours        *HourMap // TTFT by weekday and hour

	SlowTurns []Lane // the longest turns, the longest first
}

// Charts computes the charts of r, which the collector has just reported.
func (c *Collector) Charts(r *Report) *Charts {
	g, o := &c.overall, &c.options
	rows := g.population.ordered()
	share, sampled := g.population.sampled()
	ch := &Charts{
		TTFT:         ttftSpread(g, rows, o),
		TPS:          tpsSpread(g, o),
		Time:         timeBars(r, rows, share),
		TurnTime:     turnBars(r),
		Prompt:       promptScatter(rows, r.Overall.PrefillModel),
		Length:       lengthScatter(rows),
		TTFTOverTime: newCourse(rows, (*row).firstToken, []float64{50, 90}, o.Location),
		TPSOverTime:  newCourse(rows, (*row).anyRate, []float64{50, 10}, o.Location),
		Hours:        newHourMap(rows, o.Location),
		SlowTurns:    c.slowTurns.lanes(),
	}
	if sampled {
		ch.SampledShare = num(share)
	} else {
		ch.Crowd = crowdScatter(rows, r.Overall.Concurrency) // a sample doesn't know what else was in flight
	}
	return ch
}

// anyRate returns the request's TPS, noisy or not, if it is not of a burst.
func (w *row) anyRate() (tps float64, ok bool) {
	tps, _, ok = w.streamRate()
	return tps, ok
}

// A TimeBar is where the waiting of a set of requests went, in ms.
type TimeBar struct {
	By, Key  string // "" and "" for all requests
	Requests int    // completed ones with a total
	Prefill  float64
	Decode   float64
	Unsplit  float64 // Σ total of requests whose split is unknown
}

// A TurnBar is where the time of a set of agent turns went.
type TurnBar struct {
	By, Key string
	Turns
}

// maxBars bounds the groups that are drawn, minBars those of one dimension:
// those with the most waiting come first.
const (
	maxBars = 10
	minBars = 3
)

// timeBars takes the bars of all requests and of the groups. Where no groups
// were asked for, models are.
func timeBars(r *Report, rows []row, share float64) []TimeBar {
	l := []TimeBar{newTimeBar("", "", r.Overall)}
	if l[0].total() <= 0 {
		return nil
	}
	for _, k := range firstGroups(r) {
		if b := newTimeBar(k.By, k.Key, k.Group); b.total() > 0 {
			l = append(l, b)
		}
	}
	if len(r.Options.By) == 0 {
		l = append(l, modelBars(rows, share)...)
	}
	return l
}

func newTimeBar(by, key string, g *Group) TimeBar {
	n := 0
	if g.Total != nil {
		n = g.Total.N
	}
	return TimeBar{by, key, n, g.Time.Prefill, g.Time.Decode, g.Time.Unsplit}
}

func (b *TimeBar) total() float64 { return b.Prefill + b.Decode + b.Unsplit }

// firstGroups returns the groups of each dimension that are drawn.
func firstGroups(r *Report) []Keyed {
	var l []Keyed
	n := make(map[string]int)
	most := max(minBars, maxBars/max(1, len(r.Options.By)))
	for _, k := range r.Groups {
		if n[k.By]++; n[k.By] <= most {
			l = append(l, k)
		}
	}
	return l
}

// modelBars are the bars by model, the most waiting first; none where there is
// but one. Of a sample each request stands for several.
func modelBars(rows []row, share float64) []TimeBar {
	type sums struct {
		requests                 int
		prefill, decode, unsplit sum
	}
	by := make(map[string]*sums)
	for i := range rows {
		w := &rows[i]
		if !w.ok() || w.total <= 0 {
			continue
		}
		s := by[w.model()]
		if s == nil {
			s = &sums{}
			by[w.model()] = s
		}
		s.requests++
		if _, ok := w.firstToken(); ok {
			s.prefill.add(w.ttft)
			s.decode.add(w.total - w.ttft)
		} else {
			s.unsplit.add(w.total)
		}
	}
	if len(by) < 2 {
		return nil
	}
	var l []TimeBar
	for _, m := range slices.Sorted(maps.Keys(by)) {
		s := by[m]
		l = append(l, TimeBar{"model", m, int(float64(s.requests)/share + 0.5), s.prefill.ms() / share, s.decode.ms() / share, s.unsplit.ms() / share})
	}
	slices.SortStableFunc(l, func(a, b TimeBar) int { return cmp.Compare(b.total(), a.total()) })
	return l[:min(len(l), maxBars)]
}

func turnBars(r *Report) []TurnBar {
	if r.Overall.Turns.Duration == nil {
		return nil
	}
	l := []TurnBar{{"", "", r.Overall.Turns}}
	for _, k := range firstGroups(r) {
		if k.Group.Turns.Duration != nil {
			l = append(l, TurnBar{k.By, k.Key, k.Group.Turns})
		}
	}
	return l
}

// A Lane is one turn on a time axis.
type Lane struct {
	Source   string  // where its record ends: file:line
	Duration float64 // ms
	Requests int
	Tools    int // calls
	Phases   []Phase
	// Left is how many of the shortest phases are not drawn.
	Left int
}

const (
	maxLanes  = 6
	maxPhases = 150 // of a lane: an eye doesn't see more
)

// slowTurns keeps the longest turns.
type slowTurns []Lane

func (s *slowTurns) add(t *record.Turn, o *Options) {
	if t.Duration <= 0 || len(*s) >= maxLanes && milliseconds(t.Duration) < (*s)[len(*s)-1].Duration {
		return
	}
	phases := slices.DeleteFunc(turnPhases(t, o), func(p Phase) bool { return p.Kind == KindWait })
	if len(phases) == 0 {
		return
	}
	l := Lane{Source: t.Pos.String(), Duration: milliseconds(t.Duration), Requests: len(t.Requests), Tools: len(t.Tools)}
	l.Phases, l.Left = longestPhases(phases)
	*s = append(*s, l)
	s.bound()
}

// longestPhases drops the shortest of too many phases.
func longestPhases(p []Phase) (kept []Phase, left int) {
	if len(p) <= maxPhases {
		return p, 0
	}
	order := slices.Clone(p)
	slices.SortStableFunc(order, func(a, b Phase) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	order = order[:maxPhases]
	slices.SortStableFunc(order, func(a, b Phase) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	return order, len(p) - maxPhases
}

func (s *slowTurns) bound() {
	slices.SortFunc(*s, func(a, b Lane) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Source, b.Source))
	})
	*s = (*s)[:min(len(*s), maxLanes)]
}

func (s *slowTurns) merge(o slowTurns) {
	*s = append(*s, o...)
	s.bound()
}

func (s slowTurns) lanes() []Lane { return slices.Clone(s) }
