// Package analyze turns records into figures: distributions with their doubt,
// where the time went, verdicts. It knows no files and no output formats.
//
// Definitions, thresholds and their reasons follow the field's usual ones;
// README.md lists them.
package analyze

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"codexlag/parse/record"
)

// A Collector adds up records, from batch reading and from following alike.
// Adding in any order, and merging collectors of any split of the records,
// gives the same report.
type Collector struct {
	options Options
	by      []Dimension // by which groups are collected
	overall group
	groups  map[Dimension]*keyed
	quality struct {
		skipped map[record.Reason]int
		flags   [len(flagOrder)]int
	}
	slowest     []*Request
	slowFloor   time.Duration // at least options.Top requests are known to have as much
	unbounded   int           // requests since bound
	plainBelow  uint32        // ms; rows with a smaller total may be plain
	columns     rowColumns    // memory for plain rows
	slowTurns   slowTurns
	ranked      map[[2]*sample]rankCounts // against another collector; see FetchSplit
	first, last time.Time
}

// NewCollector returns a collector for figures shaped by o.
func NewCollector(o Options) *Collector {
	if o.ExactLimit <= 0 {
		o.ExactLimit = DefaultExactLimit
	}
	c := &Collector{options: o, by: o.collected(), overall: group{whole: true}, groups: make(map[Dimension]*keyed)}
	c.quality.skipped = make(map[record.Reason]int)
	return c
}

// Add takes one record. It keeps nothing of it.
func (c *Collector) Add(r record.Record) {
	switch r := r.(type) {
	case *record.Request:
		c.addRequest(r)
	case *record.Rows:
		c.addRows(r)
	case *record.Turn:
		c.addTurn(r)
	case *record.Dropped:
		c.quality.skipped[r.Reason]++
	}
}

func (c *Collector) addRequest(r *record.Request) {
	o := &c.options
	m := derive(r, o)
	c.overall.add(r, &m, o)
	for _, d := range c.by {
		c.group(d, d.Key(r, o.Location)).add(r, &m, o)
	}
	for flags := m.flags; flags != 0; flags &= flags - 1 {
		c.quality.flags[bits.TrailingZeros16(uint16(flags))]++
	}
	if r.Merged {
		c.quality.skipped[record.Merge]++
	}
	c.span(r.End)
	if m.hasTotal && r.Status != record.Warmup {
		c.addSlow(r)
	}
	c.counted(1)
}

// counted bounds the memory once in a while; n requests were added.
func (c *Collector) counted(n int) {
	if c.unbounded += n; c.unbounded >= boundEvery {
		c.bound()
	}
}

// boundEvery is how many requests may come before the memory is looked at again.
const boundEvery = 1 << 16

// bound lets sketches take over where there are more values than the exact limit.
func (c *Collector) bound() {
	c.unbounded = 0
	c.overall.bound(c.options.ExactLimit)
	for _, k := range c.groups {
		for _, g := range k.groups {
			g.bound(c.options.ExactLimit)
		}
	}
}

func (c *Collector) exact() bool {
	for _, k := range c.groups {
		for _, g := range k.groups {
			if !g.exact() {
				return false
			}
		}
	}
	return c.overall.exact()
}

func (c *Collector) addTurn(t *record.Turn) {
	o := &c.options
	c.overall.turns.add(t, o)
	c.slowTurns.add(t, o)
	for _, d := range c.by {
		if key, ok := d.TurnKey(t, o.Location); ok {
			c.group(d, key).turns.add(t, o)
		}
	}
	c.span(t.End)
}

func (c *Collector) group(by Dimension, key string) *group { return c.keyed(by).group(key) }

func (c *Collector) keyed(by Dimension) *keyed {
	k := c.groups[by]
	if k == nil {
		k = &keyed{groups: make(map[string]*group)}
		c.groups[by] = k
	}
	return k
}

func (c *Collector) span(t time.Time) {
	if t.IsZero() {
		return
	}
	if c.first.IsZero() || t.Before(c.first) {
		c.first = t
	}
	if t.After(c.last) {
		c.last = t
	}
}

// addSlow keeps r if it is among the slowest so far.
func (c *Collector) addSlow(r *record.Request) {
	top := c.options.Top
	if top <= 0 {
		return
	}
	if r.Total < c.slowFloor {
		return
	}
	if len(c.slowest) >= 2*top { // sort only once in a while
		c.slowest = slowestOf(c.slowest, top)
		c.slowFloor = time.Duration(*c.slowest[top-1].Total*float64(time.Millisecond)) - 1 // however it was rounded
	}
	c.slowest = append(c.slowest, NewRequest(r, &c.options))
}

// slowestOf returns the top slowest requests, in an order that does not depend
// on how they came.
func slowestOf(l []*Request, top int) []*Request {
	slices.SortFunc(l, func(a, b *Request) int {
		return cmp.Or(cmp.Compare(*b.Total, *a.Total), cmp.Compare(a.Source, b.Source))
	})
	return l[:min(top, len(l))]
}

// Merge adds what o has collected, and takes it over: o must not be used any
// more. Both must have the same options.
func (c *Collector) Merge(o *Collector) {
	c.overall.merge(&o.overall)
	for by, k := range o.groups {
		c.keyed(by).merge(k)
	}
	for why, n := range o.quality.skipped {
		c.quality.skipped[why] += n
	}
	for i, n := range o.quality.flags {
		c.quality.flags[i] += n
	}
	c.slowest = append(c.slowest, o.slowest...)
	c.slowTurns.merge(o.slowTurns)
	c.span(o.first)
	c.span(o.last)
}

// Requests returns how many requests were added.
func (c *Collector) Requests() int { return c.overall.requests }

// Turns returns how many turns were added.
func (c *Collector) Turns() int { return c.overall.turns.count }

// Skipped returns how often records were dropped for that reason.
func (c *Collector) Skipped(why record.Reason) int { return c.quality.skipped[why] }

// Report computes all figures. The collector can go on collecting.
func (c *Collector) Report(tool Tool, in Inputs) *Report {
	o := &c.options
	c.bound()
	c.slowest = slowestOf(c.slowest, o.Top)
	in.First, in.Last = timeOrNil(c.first), timeOrNil(c.last)
	r := &Report{
		Schema:   Schema,
		Tool:     tool,
		Inputs:   in,
		Options:  o.out(),
		Overall:  c.overall.figures(o),
		Groups:   c.groupFigures(),
		Findings: []Finding{},
		Slowest:  append([]*Request{}, c.slowest...),
		Quality:  c.qualityFigures(),
	}
	if !c.exact() {
		r.Options.Exact, r.Options.SketchError = false, num(SketchError)
	}
	r.Findings = c.findings(r)
	return r
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// groupFigures lists the groups in the order of the dimensions asked for, the
// one that holds most of the waiting first.
func (c *Collector) groupFigures() []Keyed {
	l := []Keyed{}
	all := c.overall.waiting()
	for by, k := range c.groups {
		for key, g := range k.groups {
			kd := Keyed{By: string(by), Key: key, Group: g.figures(&c.options)}
			if all > 0 {
				kd.WaitingShare = num(g.waiting() / all)
			}
			l = append(l, kd)
		}
	}
	rank := make(map[string]int)
	for i, d := range c.options.By {
		rank[string(d)] = i
	}
	slices.SortFunc(l, func(a, b Keyed) int {
		return cmp.Or(cmp.Compare(rank[a.By], rank[b.By]),
			cmp.Compare(valueOr(b.WaitingShare, -1), valueOr(a.WaitingShare, -1)),
			cmp.Compare(b.Group.Requests, a.Group.Requests),
			cmp.Compare(a.Key, b.Key))
	})
	return l
}

// waiting is Σ total of the completed requests, in ms.
func (g *group) waiting() float64 {
	return g.splitPrefill.ms() + g.splitDecode.ms() + g.unsplit.ms()
}

func valueOr(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}

func (c *Collector) qualityFigures() Quality {
	q := Quality{
		Requests:   c.overall.requests,
		Skipped:    map[record.Reason]int{},
		Flags:      map[Flag]int{},
		TTFT:       map[string]int{},
		Repeats:    c.quality.skipped[record.Repeat],
		Replayed:   c.quality.skipped[record.Replayed],
		Duplicates: c.quality.skipped[record.Duplicate],
		Merged:     c.quality.skipped[record.Merge],
	}
	for why, n := range c.quality.skipped {
		switch why {
		case record.Repeat, record.Replayed, record.Duplicate, record.Merge:
		default:
			q.Skipped[why] = n
		}
	}
	for i, n := range c.quality.flags {
		if n > 0 {
			q.Flags[flagOrder[i]] = n
		}
	}
	for k, n := range c.overall.qualities {
		q.TTFT[record.Quality(k).String()] = n
	}
	return q
}

func (o *Options) out() OptionsOut {
	by := []string{}
	for _, d := range o.By {
		by = append(by, string(d))
	}
	return OptionsOut{
		MinTokens:      o.MinTokens,
		Percentiles:    o.Percentiles,
		QuantileMethod: "linear (type 7)",
		Exact:          true,
		Timezone:       o.Location.String(),
		SLO:            SLOLimits{TTFTms: milliseconds(o.SLO.TTFT), TPS: o.SLO.TPS},
		By:             by,
		Filters:        append([]string{}, o.Filters...),
		Language:       o.Language,
	}
}
