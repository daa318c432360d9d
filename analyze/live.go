package analyze

import (
	"slices"
	"time"

	"codexlag/parse/record"
)

// LiveFigures are the few figures of a set of requests that a screen shows
// while they come in. Definitions are those of [Group].
type LiveFigures struct {
	Requests, Failed, Aborted int

	TTFT      []Quantile // p50 and p90 in ms; nil where there is none
	TPSClean  *float64   // median, tokens/s
	CleanN    int        // samples of TPSClean
	TPSPooled *float64   // tokens/s

	Prefill, Decode, Unsplit float64 // ms, of completed requests
	Turns                    LiveTurns
	SLO                      SLO

	// InFlight is the mean number of requests that were under way at a time,
	// from the starts and ends of those that have ended; nil where it means
	// nothing.
	InFlight *float64
	// Cut says that more requests ended than a window keeps: the figures are
	// those of the latest.
	Cut bool
}

// LiveTurns says where the time of agent turns went, in ms.
type LiveTurns struct {
	Count                               int
	Prefill, Decode, Model, Tool, Other float64
}

// Live returns the few figures of everything that was added. It is cheap beside
// Report, but grows with the number of requests as well.
func (c *Collector) Live() *LiveFigures { return c.overall.live() }

func (g *group) live() *LiveFigures {
	f := &LiveFigures{
		Requests: g.requests, Failed: g.failed, Aborted: g.aborted,
		CleanN:  g.tpsClean.n(),
		Prefill: g.splitPrefill.ms(), Decode: g.splitDecode.ms(), Unsplit: g.unsplit.ms(),
		SLO: g.slo(),
		Turns: LiveTurns{Count: g.turns.count, Prefill: g.turns.prefill.ms(), Decode: g.turns.decode.ms(),
			Model: g.turns.model.ms(), Tool: g.turns.tool.ms(), Other: g.turns.other.ms()},
	}
	if n := g.ttft.n(); n > 0 {
		for _, p := range []float64{50, 90} {
			f.TTFT = append(f.TTFT, Quantile{P: p, Value: g.ttft.quantile(p), Thin: n < SamplesFor(p)})
		}
	}
	if f.CleanN > 0 {
		f.TPSClean = num(g.tpsClean.quantile(50))
	}
	if g.pooled != (sum{}) {
		f.TPSPooled = num(g.pooledTokens.float() / (g.pooled.ms() / 1000))
	}
	return f
}

// maxLive bounds what Windows keep, whatever comes: four requests a second for
// an hour, a few megabytes.
const maxLive = 1 << 14

// Windows keep what ended in the last hour, so that figures of the last minutes
// can be had at any time. Their memory is bounded. They are not safe for use by
// several goroutines.
type Windows struct {
	options  *Options
	length   time.Duration
	requests []liveRequest
	turns    []liveTurn
	cut      time.Time // what ended before may be missing
}

type liveRequest struct {
	end     time.Time
	metrics metrics
	status  record.Status
	quality record.Quality
	output  record.Tokens
}

type liveTurn struct {
	end   time.Time
	known bool // how long it took
	parts turnParts
}

// NewWindows returns windows that go back as far as length. o must not change.
func NewWindows(o *Options, length time.Duration) *Windows {
	return &Windows{options: o, length: length}
}

// Add takes one record at the time now and keeps nothing of it. What tells no
// end ended now if it came while following (arrived), and else is left out.
func (w *Windows) Add(r record.Record, now time.Time, arrived bool) {
	switch r := r.(type) {
	case *record.Request:
		if end, ok := w.ended(r.End, now, arrived); ok {
			w.requests = append(w.requests, liveRequest{end, derive(r, w.options), r.Status, r.Quality, r.Output})
		}
	case *record.Turn:
		if end, ok := w.ended(r.End, now, arrived); ok {
			w.turns = append(w.turns, liveTurn{end, r.Duration > 0, splitTurn(r, w.options)})
		}
	}
	if len(w.requests) > maxLive || len(w.turns) > maxLive {
		w.forget(now)
	}
}

// ended says when something ended for a window: never later than now, whatever
// clock the log has. ok is false where that is too long ago.
func (w *Windows) ended(end, now time.Time, arrived bool) (at time.Time, ok bool) {
	switch {
	case end.IsZero():
		return now, arrived
	case end.After(now):
		end = now
	}
	return end, end.After(now.Add(-w.length))
}

// Recent returns the TTFTs, in ms, of the up to n requests that ended last and
// have one, the last one at the end.
func (w *Windows) Recent(n int) []float64 {
	w.sort()
	var l []float64
	for i := len(w.requests) - 1; i >= 0 && len(l) < n; i-- {
		if m := &w.requests[i].metrics; m.countsInTTFT() {
			l = append(l, milliseconds(m.ttft))
		}
	}
	slices.Reverse(l)
	return l
}

// sort puts the requests into the order of their ends; those of one time stay
// as they came.
func (w *Windows) sort() {
	byEnd := func(a, b liveRequest) int { return a.end.Compare(b.end) }
	if !slices.IsSortedFunc(w.requests, byEnd) {
		slices.SortStableFunc(w.requests, byEnd)
	}
}

// Empty reports whether the windows hold nothing that time could move out.
func (w *Windows) Empty() bool { return len(w.requests) == 0 && len(w.turns) == 0 }

// forget drops what is older than the windows go back, and the oldest of what
// is more than they keep.
func (w *Windows) forget(now time.Time) {
	oldest := now.Add(-w.length)
	w.requests = slices.DeleteFunc(w.requests, func(r liveRequest) bool { return !r.end.After(oldest) })
	w.turns = slices.DeleteFunc(w.turns, func(t liveTurn) bool { return !t.end.After(oldest) })
	// Half of the room is made free at once, so that a flood does not sort anew
	// with each record.
	if n := len(w.requests) - maxLive/2; len(w.requests) > maxLive {
		w.sort()
		w.cut = w.requests[n-1].end
		w.requests = slices.Delete(w.requests, 0, n)
	}
	if n := len(w.turns) - maxLive/2; len(w.turns) > maxLive {
		slices.SortStableFunc(w.turns, func(a, b liveTurn) int { return a.end.Compare(b.end) })
		w.turns = slices.Delete(w.turns, 0, n)
	}
}

// Figures returns the figures of what ended within the time length before now.
func (w *Windows) Figures(now time.Time, length time.Duration) *LiveFigures {
	w.forget(now)
	from := now.Add(-length)
	var g group
	var busy time.Duration
	for i := range w.requests {
		r := &w.requests[i]
		if !r.end.After(from) {
			continue
		}
		g.tally(&record.Request{Status: r.status, Quality: r.quality, Output: r.output}, &r.metrics, w.options)
		if r.metrics.hasTotal {
			busy += min(r.metrics.total, r.end.Sub(from))
		}
	}
	for i := range w.turns {
		if t := &w.turns[i]; t.end.After(from) {
			g.turns.count++
			if t.known {
				g.turns.addParts(t.parts)
			}
		}
	}
	f := g.live()
	f.Cut = w.cut.After(from)
	if busy > 0 && !f.Cut {
		f.InFlight = num(float64(busy) / float64(length))
	}
	return f
}

func (m *metrics) countsInTTFT() bool { return m.completed && m.hasTTFT && !m.burst }

// CountsInTTFT reports whether the request's TTFT is one of those that TTFT
// percentiles are made of: it completed, its TTFT is known, not just an upper
// bound, and the answer did not come in one piece.
func (q *Request) CountsInTTFT() bool {
	return q.TTFT != nil && q.Status == record.OK.String() && q.TTFTQuality != record.Bound.String() && !slices.Contains(q.Flags, Burst)
}

// Clean reports whether the request's TPS and TPOT can be trusted.
func (q *Request) Clean() bool {
	noisy := func(f Flag) bool { return f == FewTokens || f == ShortDecode || f == Burst }
	return q.TPS != nil && q.Status == record.OK.String() && !slices.ContainsFunc(q.Flags, noisy)
}

// MeetsSLO reports whether the request kept the limits of o; ok is false for a
// request that is none to judge, a warm-up.
func (q *Request) MeetsSLO(o *Options) (met, ok bool) {
	switch {
	case q.Status == record.Warmup.String():
		return false, false
	case q.Status != record.OK.String() || q.TTFT == nil:
		return false, true
	}
	return *q.TTFT <= milliseconds(o.SLO.TTFT) && !slices.Contains(q.Flags, SlowStream), true
}

// TurnParts returns where the time of a turn went; nil where its length is
// unknown.
func TurnParts(t *record.Turn, o *Options) *LiveTurns {
	if t.Duration <= 0 {
		return nil
	}
	p := splitTurn(t, o)
	return &LiveTurns{1, milliseconds(p.prefill), milliseconds(p.decode), milliseconds(p.model), milliseconds(p.tool), milliseconds(p.other)}
}
