package analyze

import (
	"sync"
	"time"

	"codexlag/parse/record"
)

// A group adds up the requests and turns of one set. Its figures do not depend
// on the order in which they came, nor on how they were split before merging.
type group struct {
	requests, failed, aborted, warmup int
	// whole says that the group holds all requests, so that it knows what was
	// in flight at the same time.
	whole bool

	ttft, total, decode, tpsAll, tpsClean, tpot, output sample

	// requests with a known split: completed, no burst, ttft and total known
	splits               int
	splitPrefill         sum // µs
	splitDecode          sum
	unsplit              sum // Σ total of completed requests without a split
	broken               int // failed and aborted requests with a total
	brokenTime           sum // their Σ total
	pooledTokens, pooled sum // over all defined TPS: tokens, µs of decode
	byTotal              totalTable
	sloMet, sloMissed    int
	sloUnknown           int // of the missed
	slowStarts           int // completed requests with the flag
	slowStreams          int
	bothSlow             int // requests that are a slow start and a slow stream
	lateStarts           sum // Σ TTFT of the slow starts, µs
	reasoning            reasoningSums
	qualities            [record.Measured + 1]int
	turns                turnSums
	population           population
}

func micros(d time.Duration) int64 { return int64(d / time.Microsecond) }

func (g *group) add(r *record.Request, m *metrics, o *Options) {
	g.population.add(r, m)
	g.tally(r, m, o)
}

// tally adds up what the figures need; of r it looks at status, quality and
// tokens alone.
func (g *group) tally(r *record.Request, m *metrics, o *Options) {
	g.requests++
	g.qualities[r.Quality]++
	switch r.Status {
	case record.Failed:
		g.failed++
	case record.Aborted:
		g.aborted++
	case record.Warmup:
		g.warmup++
		return
	}
	if m.meets(o) {
		g.sloMet++
	} else {
		g.sloMissed++
	}
	if m.unjudged(o) {
		g.sloUnknown++
	}
	if !m.completed {
		if m.hasTotal {
			g.broken++
			g.brokenTime.add(micros(m.total))
		}
		return
	}
	g.addMetrics(r, m)
	g.addTime(m)
	g.reasoning.add(r)
	if m.flags&bothSlow == bothSlow {
		g.bothSlow++
	}
	if m.flags&slowStreamBit != 0 {
		g.slowStreams++
	}
	if m.flags&slowStartBit != 0 {
		g.slowStarts++
		g.lateStarts.add(int64(1000 * milliseconds(m.ttft)))
	}
}

func (g *group) addMetrics(r *record.Request, m *metrics) {
	if m.hasTTFT && !m.burst {
		g.ttft.addTime(m.ttft)
	}
	if m.hasTotal {
		g.total.addTime(m.total)
	}
	if m.hasDecode {
		g.decode.addTime(m.decode)
	}
	if r.Output.Known {
		g.output.addCount(r.Output.N)
	}
	if m.hasTPS {
		g.tpsAll.add(m.tps)
		g.pooledTokens.add(m.decodeTokens.N)
		g.pooled.add(micros(m.decode))
	}
	if m.clean {
		g.tpsClean.add(m.tps)
		if m.hasTPOT {
			g.tpot.add(m.tpot())
		}
	}
}

// addTime files the time of a request under prefill and decode, or as unsplit.
func (g *group) addTime(m *metrics) {
	if !m.hasTotal {
		return
	}
	if !m.hasShare || m.burst {
		g.unsplit.add(micros(m.total))
		return
	}
	g.splits++
	g.splitPrefill.add(micros(m.ttft))
	g.splitDecode.add(micros(m.decode))
	if m.decodeTokens.Known {
		g.byTotal.add(splitRow{micros(m.total), micros(m.ttft), m.decodeTokens.N})
	}
}

func (g *group) merge(o *group) {
	if g.requests == 0 && g.turns.count == 0 { // take it as it is
		whole := g.whole
		*g = *o
		g.whole = whole
		return
	}
	g.requests += o.requests
	g.failed += o.failed
	g.aborted += o.aborted
	g.warmup += o.warmup
	others := o.samples()
	for i, s := range g.samples() {
		s.merge(others[i])
	}
	g.splits += o.splits
	g.splitPrefill.merge(o.splitPrefill)
	g.splitDecode.merge(o.splitDecode)
	g.unsplit.merge(o.unsplit)
	g.broken += o.broken
	g.brokenTime.merge(o.brokenTime)
	g.pooledTokens.merge(o.pooledTokens)
	g.pooled.merge(o.pooled)
	g.byTotal.merge(&o.byTotal)
	g.sloMet += o.sloMet
	g.sloMissed += o.sloMissed
	g.sloUnknown += o.sloUnknown
	g.slowStarts += o.slowStarts
	g.slowStreams += o.slowStreams
	g.bothSlow += o.bothSlow
	g.lateStarts.merge(o.lateStarts)
	g.reasoning.merge(&o.reasoning)
	g.turns.merge(&o.turns)
	for q, n := range o.qualities {
		g.qualities[q] += n
	}
	g.population.merge(&o.population)
}

// samples lists the samples that grow with the requests and turns.
func (g *group) samples() [9]*sample {
	return [...]*sample{&g.ttft, &g.total, &g.decode, &g.tpsAll, &g.tpsClean, &g.tpot, &g.output, &g.turns.duration, &g.turns.ttft}
}

// bound lets sketches take over where there are more values than the limit.
func (g *group) bound(limit int) {
	for _, s := range g.samples() {
		s.bound(limit)
	}
	g.byTotal.bound(limit)
}

// exact reports whether no sketch has taken over.
func (g *group) exact() bool {
	for _, s := range g.samples() {
		if !s.exact() {
			return false
		}
	}
	return !g.byTotal.coarse
}

// reasoningSums adds up the output of the requests that tell how much of it was
// hidden reasoning.
type reasoningSums struct {
	requests          int
	reasoning, output sum // tokens
}

func (s *reasoningSums) add(r *record.Request) {
	if !r.Output.Known || !r.Reasoning.Known || r.Reasoning.N > r.Output.N {
		return
	}
	s.requests++
	s.reasoning.add(r.Reasoning.N)
	s.output.add(r.Output.N)
}

func (s *reasoningSums) merge(o *reasoningSums) {
	s.requests += o.requests
	s.reasoning.merge(o.reasoning)
	s.output.merge(o.output)
}

func (s *reasoningSums) figures() *Reasoning {
	if s.requests == 0 {
		return nil
	}
	r := &Reasoning{Requests: s.requests, Reasoning: s.reasoning.float(), Output: s.output.float()}
	r.Share = num(r.Reasoning / r.Output)
	return r
}

// togetherFrom is the number of requests from which figures are worth computing
// at the same time.
const togetherFrom = 10_000

// A together does several things at once, or one after the other.
type together struct {
	sync.WaitGroup
	alone bool
}

func (t *together) do(f func()) {
	if t.alone {
		f()
	} else {
		t.Go(f)
	}
}

// slo counts the requests that kept the limits.
func (g *group) slo() SLO {
	s := SLO{Met: g.sloMet, Missed: g.sloMissed, Unknown: g.sloUnknown, SlowStart: g.slowStarts, SlowStream: g.slowStreams, Both: g.bothSlow}
	if n := s.Met + s.Missed; n > 0 {
		s.Share = num(float64(s.Met) / float64(n))
	}
	s.LateBursts = s.Missed - s.Unknown - g.failed - g.aborted - (s.SlowStart + s.SlowStream - s.Both)
	return s
}

// figures computes what the group comes to.
func (g *group) figures(o *Options) *Group {
	ps := o.Percentiles
	f := &Group{
		Requests: g.requests, Failed: g.failed, Aborted: g.aborted, Warmup: g.warmup,
		Time: TimeSplit{
			Requests: g.splits,
			Prefill:  g.splitPrefill.ms(),
			Decode:   g.splitDecode.ms(),
			Unsplit:  g.unsplit.ms(),

			Failed: g.brokenTime.ms(), FailedRequests: g.broken,
		},
		Turns:         g.turns.figures(ps),
		SLO:           g.slo(),
		TTFTQualities: map[string]int{},
	}
	var work together
	if g.requests < togetherFrom {
		work.alone = true
	}
	for s, d := range map[*sample]**Dist{&g.ttft: &f.TTFT, &g.total: &f.Total, &g.decode: &f.Decode, &g.output: &f.OutputTokens,
		&g.tpsClean: &f.TPS.Clean, &g.tpsAll: &f.TPS.All, &g.tpot: &f.TPOT} {
		work.do(func() { *d = s.dist(ps) })
	}
	if g.pooled != (sum{}) {
		f.TPS.Pooled = num(g.pooledTokens.float() / (g.pooled.ms() / 1000))
	}
	if split := f.Time.Prefill + f.Time.Decode; split > 0 {
		f.Time.PrefillShare = num(f.Time.Prefill / split)
	}
	f.Time.Total = f.Time.Prefill + f.Time.Decode
	for q, n := range g.qualities {
		f.TTFTQualities[record.Quality(q).String()] = n
	}
	f.Reasoning = g.reasoning.figures()
	fits := g.addModels(f, &work)
	work.Wait()
	f.Verdict = g.verdict(f, &fits, o)
	return f
}
