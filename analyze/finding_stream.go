package analyze

import (
	"cmp"
	"slices"
	"strings"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// longOutput tells that the slow tail is long, not slow.
func longOutput(f *facts) []found {
	t := f.all.Verdict.Tail
	if t == nil || t.Cause != CauseLongOutput || t.Length < t.Delta/2 {
		return nil
	}
	return one(SeverityInfo, "long_output", int64(1000*t.Length*float64(t.Requests)), f.Text("The slowest requests are long, not slow"),
		f.Sprintf("The slowest %s take %s longer than the others, %s of it because they generate more tokens%s",
			lang.Plural(f.Language, t.Requests, "request"), human.Duration(t.Delta), human.Percent(min(1, t.Length/t.Delta)), f.thinking()),
		f.Text("A faster model or network would change little: ask for shorter answers (a diff, not the whole file), or lower model_reasoning_effort"))
}

// thinking says which part of the output is reasoning, where that is known and much.
func (f *facts) thinking() string {
	var output, reasoning int64
	n := 0
	for _, w := range f.rows {
		if w.ok() && w.output > 0 && w.reasoning >= 0 && w.reasoning <= w.output {
			output += int64(w.output)
			reasoning += int64(w.reasoning)
			n++
		}
	}
	if output == 0 || float64(reasoning) < 0.3*float64(output) {
		return ""
	}
	return f.Sprintf("; reasoning is %s of the output of %s", human.Percent(float64(reasoning)/float64(output)), f.requests(n))
}

// A stream is how fast one model generates.
type stream struct {
	model          string
	clean          sample
	n              int
	tokens, decode int64 // of all defined rates; µs
}

// rate is the median of the clean samples where there are enough, else the pooled rate.
func (s *stream) rate() (tps float64, pooled bool) {
	if s.clean.n() >= minClean {
		return s.clean.quantile(50), false
	}
	return float64(s.tokens) / (float64(s.decode) / 1e6), true
}

// enough reports whether the rate is more than noise.
func (s *stream) enough(o *Options) bool {
	return s.clean.n() >= minClean || s.n >= MinTest && s.tokens >= o.MinTokens && s.decode > 0
}

// stream writes a model with its rate.
func (f *facts) stream(s *stream) string {
	name := s.model
	if name == "" {
		name = f.Text("requests without a model's name")
	}
	tps, pooled := s.rate()
	if pooled {
		return f.Sprintf("%s %s (pooled, n=%d)", name, human.Rate(tps), s.n)
	}
	return f.Sprintf("%s %s (median, n=%d)", name, human.Rate(tps), s.clean.n())
}

// streams lists the models with a rate, those with most decode time first.
func (f *facts) streams() []*stream {
	by := make(map[string]*stream)
	var l []*stream
	for _, w := range f.rows {
		tps, clean, ok := w.streamRate()
		if !ok {
			continue
		}
		s := by[w.model()]
		if s == nil {
			s = &stream{model: w.model()}
			by[w.model()] = s
			l = append(l, s)
		}
		s.n++
		s.tokens += int64(w.decodeTokens)
		s.decode += w.total - w.ttft
		if clean {
			s.clean.add(tps)
		}
	}
	slices.SortFunc(l, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(b.decode, a.decode), cmp.Compare(a.model, b.model))
	})
	return l
}

// maxNamed bounds how many models a sentence names.
const maxNamed = 3

// slowStream names the models whose tokens come more slowly than the limit.
func slowStream(f *facts) []found {
	limit := f.options.SLO.TPS
	var slow []string
	var decode int64
	severity := SeverityWarn
	for _, s := range f.streams() {
		tps, pooled := s.rate()
		if !s.enough(f.options) || tps >= limit {
			continue
		}
		slow = append(slow, f.stream(s))
		decode += s.decode
		if !pooled {
			severity = SeverityBad
		}
	}
	if len(slow) == 0 {
		return nil
	}
	more := ""
	if len(slow) > maxNamed {
		more = f.Sprintf(" and %s more", human.Count(len(slow)-maxNamed))
		slow = slow[:maxNamed]
	}
	return one(severity, "slow_stream", decode, f.Text("Tokens come slowly"),
		f.Sprintf("Below the limit of %s: %s%s", human.LimitRate(limit), strings.Join(slow, f.Text(", ")), more),
		f.Text("Try another model or a faster tier, another time of day, and fewer sessions at once; shorter prompts do not speed up the stream"))
}

const (
	burstShare = 0.2 // of the requests with a split
	minBursts  = 2   // one alone is chance
	manyBursts = 5
)

// bufferedStream tells that answers arrive in one piece: something between
// here and the model holds the stream back.
func bufferedStream(f *facts) []found {
	var bursts, splits int
	var waited int64
	for _, w := range f.rows {
		if !w.ok() || w.ttft < 0 || w.total < 0 {
			continue
		}
		splits++
		if w.flags&burstBit != 0 {
			bursts++
			waited += w.total
		}
	}
	most := float64(bursts) >= burstShare*float64(splits)
	if bursts < minBursts || !most && bursts < manyBursts {
		return nil
	}
	severity := SeverityInfo
	if most {
		severity = SeverityWarn
	}
	return one(severity, "buffered_stream", waited, f.Text("Answers arrive in one piece"),
		f.Sprintf("In %s of %s with a TTFT and a total the first token came with the last: that is not a TTFT, and they are in no TTFT, TPS or split",
			f.count(bursts), f.requests(splits)),
		f.Text("Something buffers the stream: switch it off in the proxy or gateway (for nginx proxy_buffering off), ask for streaming, then measure again"))
}
