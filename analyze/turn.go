package analyze

import (
	"slices"
	"time"

	"codexlag/parse/record"
)

// turnSums adds up where the time of agent turns went.
type turnSums struct {
	count, failed, aborted, unfinished  int
	duration, ttft                      sample
	prefill, decode, model, tool, other sum // µs

	failedPrefill, failedDecode, failedModel sum // of these, by requests that did not complete
}

// add takes one turn: its duration is prefill + decode of its requests with a
// known split, the total of those without, the union of its tools, and the rest.
func (s *turnSums) add(t *record.Turn, o *Options) {
	s.count++
	switch t.Status {
	case record.Failed:
		s.failed++
	case record.Aborted:
		s.aborted++
	case record.Unfinished:
		s.unfinished++
	}
	if t.HasTTFT {
		s.ttft.add(milliseconds(t.TTFT))
	}
	if t.Duration <= 0 {
		return // a turn of unknown length has no parts that could add up
	}
	s.duration.add(milliseconds(t.Duration))
	s.addParts(splitTurn(t, o))
}

func (s *turnSums) addParts(p turnParts) {
	s.prefill.add(micros(p.prefill))
	s.decode.add(micros(p.decode))
	s.model.add(micros(p.model))
	s.tool.add(micros(p.tool))
	s.other.add(micros(p.other))
	s.failedPrefill.add(micros(p.failedPrefill))
	s.failedDecode.add(micros(p.failedDecode))
	s.failedModel.add(micros(p.failedModel))
}

// turnParts is where the time of one turn went.
type turnParts struct {
	prefill, decode, model, tool, other      time.Duration
	failedPrefill, failedDecode, failedModel time.Duration // by requests that failed or were aborted
}

func splitTurn(t *record.Turn, o *Options) turnParts {
	var p turnParts
	for _, r := range t.Requests {
		m := derive(r, o)
		switch {
		case m.hasShare && !m.burst:
			p.prefill += m.ttft
			p.decode += m.decode
			if r.Status.Broken() {
				p.failedPrefill += m.ttft
				p.failedDecode += m.decode
			}
		case r.Total > 0:
			p.model += r.Total
			if r.Status.Broken() {
				p.failedModel += r.Total
			}
		}
	}
	p.tool = union(t.Tools)
	p.other = max(0, t.Duration-p.prefill-p.decode-p.model-p.tool)
	return p
}

// union returns the length of the union of the intervals: tools overlap.
func union(tools []record.Interval) time.Duration {
	spans := make([]record.Interval, 0, len(tools))
	for _, t := range tools {
		if t.End.After(t.Start) {
			spans = append(spans, t)
		}
	}
	slices.SortFunc(spans, func(a, b record.Interval) int { return a.Start.Compare(b.Start) })
	var length time.Duration
	var end time.Time
	for _, t := range spans {
		if t.Start.Before(end) {
			t.Start = end
		}
		if t.End.After(t.Start) {
			length += t.End.Sub(t.Start)
			end = t.End
		}
	}
	return length
}

// merge adds the sums of o; group.merge sees to the samples.
func (s *turnSums) merge(o *turnSums) {
	s.count += o.count
	s.failed += o.failed
	s.aborted += o.aborted
	s.unfinished += o.unfinished
	s.prefill.merge(o.prefill)
	s.decode.merge(o.decode)
	s.model.merge(o.model)
	s.tool.merge(o.tool)
	s.other.merge(o.other)
	s.failedPrefill.merge(o.failedPrefill)
	s.failedDecode.merge(o.failedDecode)
	s.failedModel.merge(o.failedModel)
}

func (s *turnSums) figures(ps []float64) Turns {
	return Turns{
		Count: s.count, Failed: s.failed, Aborted: s.aborted, Unfinished: s.unfinished,
		Duration: s.duration.dist(ps), TTFT: s.ttft.dist(ps),
		Prefill: s.prefill.ms(), Decode: s.decode.ms(), Model: s.model.ms(), Tool: s.tool.ms(), Other: s.other.ms(),
		FailedPrefill: s.failedPrefill.ms(), FailedDecode: s.failedDecode.ms(), FailedModel: s.failedModel.ms(),
	}
}

// SplitTurn returns where the time of a turn went: prefill, decode, the model
// where its split is unknown, tools, other. No option changes that.
func SplitTurn(t *record.Turn) [5]time.Duration {
	p := splitTurn(t, &Options{})
	return [...]time.Duration{p.prefill, p.decode, p.model, p.tool, p.other}
}
