package analyze

import (
	"math"
	"time"

	"codexlag/parse/record"
)

// Limits of metrics.md, "Flags".
const (
	// DefaultMinTokens: below, a TPS says more about chance than about the stream.
	DefaultMinTokens = 500
	minDecode        = 500 * time.Millisecond
	// maxTPS: no model streams faster; the answer came in one piece.
	maxTPS = 2000
	// A reported rate may differ from the derived one by rounding.
	tpsMismatchShare = 0.05
	tpsMismatchRate  = 0.1
)

// Thresholds of metrics.md, "Phase of one request".
const (
	prefillFrom = 0.6
	decodeUpTo  = 0.4
)

// A metrics is what one request comes to. A figure means something only where
// its has… is true.
type metrics struct {
	ttft, total, decode time.Duration
	decodeTokens        record.Tokens
	tps                 float64 // tokens/s

	hasTTFT   bool // usable, and not after total
	bounded   bool // ttft is an upper bound
	hasTotal  bool
	hasDecode bool // decode > 0
	hasTPS    bool
	hasTPOT   bool
	hasShare  bool

	completed bool // neither failed nor aborted nor a warm-up: counts in the metrics
	burst     bool
	clean     bool // TPS and TPOT can be trusted
	flags     flagSet
}

// derive computes the metrics of r, as metrics.md defines them.
func derive(r *record.Request, o *Options) metrics {
	m := metrics{completed: r.Status == record.OK}
	switch r.Status {
	case record.Failed:
		m.flags |= failedBit
	case record.Aborted:
		m.flags |= abortedBit
	case record.Warmup:
		m.flags |= warmupBit
	}
	m.decodeTokens = decodeTokens(r)
	if !m.completed {
		m.times(r)
		return m
	}
	m.missing(r)
	m.times(r)
	m.rates(r, o)
	m.limits(o)
	return m
}

// decodeTokens returns the tokens of the decode window: where TTFT is that of
// the first visible output, hidden reasoning was generated before it.
func decodeTokens(r *record.Request) record.Tokens {
	t := r.Output
	if t.Known && r.FirstVisible && r.Reasoning.Known && r.Reasoning.N <= t.N {
		t.N -= r.Reasoning.N
	}
	return t
}

func (m *metrics) missing(r *record.Request) {
	if r.Quality == record.None {
		m.flags |= noTTFTBit
	}
	if r.Total <= 0 {
		m.flags |= noTotalBit
	}
	if !r.Output.Known {
		m.flags |= noTokensBit
	}
}

func (m *metrics) times(r *record.Request) {
	m.ttft, m.hasTTFT = r.TTFT, r.Quality.Usable()
	m.bounded = r.Quality == record.Bound
	m.total, m.hasTotal = r.Total, r.Total > 0
	if !m.hasTTFT || !m.hasTotal {
		return
	}
	if m.ttft > m.total {
		m.hasTTFT, m.hasTotal = false, false
		m.flags |= ttftAfterTotalBit
		return
	}
	m.hasShare = true
	m.decode = m.total - m.ttft
	m.hasDecode = m.decode > 0
}

func (m *metrics) rates(r *record.Request, o *Options) {
	n := m.decodeTokens
	if n.Known && n.N < o.MinTokens {
		m.flags |= fewTokensBit
	}
	if m.hasDecode && m.decode < minDecode {
		m.flags |= shortDecodeBit
	}
	if m.hasDecode && n.Known && n.N >= 1 {
		m.tps, m.hasTPS = float64(n.N)*1e9/float64(m.decode), true
	}
	m.hasTPOT = m.hasDecode && n.Known && n.N >= 2
	if m.hasTPS && m.tps > maxTPS || m.hasShare && m.decode == 0 && n.N >= 2 {
		m.burst = true
		m.flags |= burstBit
	}
	m.clean = m.hasTPS && m.flags&unclean == 0
	if m.hasTPS && r.HasReportedTPS && mismatched(r.ReportedTPS, m.tps) {
		m.flags |= tpsMismatchBit
	}
}

// mismatched reports whether a reported rate is another than the derived one.
func mismatched(reported, tps float64) bool {
	d := math.Abs(reported - tps)
	return d > tpsMismatchShare*tps && d > tpsMismatchRate
}

func (m *metrics) limits(o *Options) {
	if m.hasTTFT && !m.burst && m.ttft > o.SLO.TTFT {
		m.flags |= slowStartBit
	}
	if m.clean && m.tps < o.SLO.TPS {
		m.flags |= slowStreamBit
	}
}

// meets reports whether the request kept the limits: it completed, its TTFT is
// known to be within (an upper bound within the limit tells that as well), and
// its TPS, where clean, is not below (a noisy one can't miss).
func (m *metrics) meets(o *Options) bool {
	return m.completed && (m.hasTTFT || m.bounded) && m.ttft <= o.SLO.TTFT && m.flags&slowStreamBit == 0
}

// unjudged reports whether the request may have kept the limits for all that
// is known: it completed, and of its TTFT nothing is known, or a bound beyond
// the limit.
func (m *metrics) unjudged(o *Options) bool {
	return m.completed && !m.hasTTFT && !(m.bounded && m.ttft <= o.SLO.TTFT)
}

// share returns the share of prefill in the total; it means something only if
// hasShare.
func (m *metrics) share() float64 { return float64(m.ttft) / float64(m.total) }

// tpot returns the time per token, in ms; it means something only if hasTPOT.
func (m *metrics) tpot() float64 { return milliseconds(m.decode) / float64(m.decodeTokens.N-1) }

// phase names the phase that dominates a share of prefill.
func phase(share float64) string {
	switch {
	case share >= prefillFrom:
		return PhasePrefill
	case share <= decodeUpTo:
		return PhaseDecode
	}
	return PhaseBalanced
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// A flagSet is a set of flags, in the order of flagOrder.
type flagSet uint16

var flagOrder = [...]Flag{FewTokens, ShortDecode, Burst, NoTTFT, NoTotal, NoTokens, TTFTAfterTotal,
	TPSMismatch, FlagWarmup, FlagFailed, FlagAborted, SlowStart, SlowStream}

// The flags' places in a set.
const (
	fewTokensBit flagSet = 1 << iota
	shortDecodeBit
	burstBit
	noTTFTBit
	noTotalBit
	noTokensBit
	ttftAfterTotalBit
	tpsMismatchBit
	warmupBit
	failedBit
	abortedBit
	slowStartBit
	slowStreamBit

	unclean  = fewTokensBit | shortDecodeBit | burstBit
	bothSlow = slowStartBit | slowStreamBit
)

// list returns the flags of the set in order, never nil.
func (s flagSet) list() []Flag {
	l := []Flag{}
	for i, f := range flagOrder {
		if s&(1<<i) != 0 {
			l = append(l, f)
		}
	}
	return l
}
