package analyze

import "math"

// minTail is the number of requests below which the slowest tenth is not a group.
const minTail = 20

// tail says why the slow requests (total ≥ p90) are slower than the others.
//
// With means over each set, Δtotal = Δttft + Δdecode. A decode time is tokens
// times time per token, n·s, and Δ(n·s) splits exactly into a part of the
// length and one of the speed (Shapley with two factors). Nil below minTail
// requests, or where one of the sets is empty or generated nothing.
func (g *group) tail() *Tail {
	if len(g.rows) < minTail {
		return nil
	}
	var total sample
	for _, r := range g.rows {
		total.add(milliseconds(r.total))
	}
	p90 := total.quantile(90)
	var slow, others tailSet
	for _, r := range g.rows {
		if milliseconds(r.total) >= p90 {
			slow.add(r)
		} else {
			others.add(r)
		}
	}
	if slow.n == 0 || others.n == 0 || slow.tokens == (sum{}) || others.tokens == (sum{}) {
		return nil
	}
	nS, sS := slow.meanTokens(), slow.timePerToken()
	nT, sT := others.meanTokens(), others.timePerToken()
	t := &Tail{
		Requests: slow.n,
		Delta:    slow.mean(slow.total) - others.mean(others.total),
		TTFT:     slow.mean(slow.ttft) - others.mean(others.ttft),
		Length:   (nS - nT) * (sS + sT) / 2,
		Speed:    (sS - sT) * (nS + nT) / 2,
	}
	largest := math.Max(t.TTFT, math.Max(t.Length, t.Speed))
	switch largest {
	case t.TTFT:
		t.Cause = CauseSlowStart
	case t.Length:
		t.Cause = CauseLongOutput
	default:
		t.Cause = CauseSlowStream
	}
	return t
}

// A tailSet is the sums over one side of the tail.
type tailSet struct {
	n                   int
	total, ttft, tokens sum // µs, µs, tokens
}

func (s *tailSet) add(r splitRow) {
	s.n++
	s.total.add(micros(r.total))
	s.ttft.add(micros(r.ttft))
	s.tokens.add(r.tokens)
}

// mean returns the mean of a summed time, in ms.
func (s *tailSet) mean(t sum) float64 { return t.ms() / float64(s.n) }

func (s *tailSet) meanTokens() float64 { return s.tokens.float() / float64(s.n) }

// timePerToken returns the pooled time per token, Σ decode / Σ tokens, in ms.
func (s *tailSet) timePerToken() float64 { return (s.total.ms() - s.ttft.ms()) / s.tokens.float() }
