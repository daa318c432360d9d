package analyze

import (
	"fmt"
	"strings"

	"codexlag/analyze/human"
	"codexlag/parse/record"
)

const (
	// minConfident: fewer requests give a verdict, but not a sure one.
	minConfident = 10
	// minClean is the number of clean samples from which the clean median has an
	// interval and is the headline; below, it is the pooled rate.
	minClean = 6
)

// verdict says which phase the summed time of the group went to. f holds the
// group's figures so far.
func (g *group) verdict(f *Group, o *Options) Verdict {
	v := Verdict{Phase: PhaseNone, Basis: BasisMeasured, Confidence: ConfidenceNone, Doubts: []string{}, Tail: g.tail()}
	if f.Time.PrefillShare != nil {
		v.Phase = phase(*f.Time.PrefillShare)
		v.Doubts = g.doubts(f)
		v.Confidence = ConfidenceHigh
		if len(v.Doubts) > 0 {
			v.Confidence = ConfidenceLow
		}
	}
	v.Headline = headline(f, &v, o)
	return v
}

// doubts lists the reasons why the verdict is not sure.
func (g *group) doubts(f *Group) []string {
	d := []string{}
	if g.splits < minConfident {
		d = append(d, fmt.Sprintf("%s with a known split, %d are needed", human.Plural(g.splits, "request"), minConfident))
	}
	usable := g.qualities[record.Measured] + g.qualities[record.Derived] + g.qualities[record.Estimated]
	if e := g.qualities[record.Estimated]; 2*e > usable {
		d = append(d, fmt.Sprintf("%d of %d TTFTs are estimated from timestamps", e, usable))
	}
	if f.Time.Unsplit > f.Time.Total {
		d = append(d, fmt.Sprintf("%s of %s are requests whose split is unknown",
			human.Duration(f.Time.Unsplit), human.Duration(f.Time.Unsplit+f.Time.Total)))
	}
	return d
}

// headline is the answer in one or two sentences: what dominates, by how much,
// on how many requests, and what to do.
func headline(f *Group, v *Verdict, o *Options) string {
	if f.Requests == 0 {
		return "No request was found: nothing can be said."
	}
	if v.Phase == PhaseNone {
		return "No request tells when its first token came: the waiting cannot be split into prefill and decode. " + howToMeasure
	}
	share := *f.Time.PrefillShare
	n := human.Plural(f.Time.Requests, "request")
	total := human.Duration(f.Time.Total)
	switch v.Phase {
	case PhasePrefill:
		return fmt.Sprintf("Prefill dominates: %s of %s in %s passed before the first token%s. %s",
			human.Percent(share), total, n, middle(f.TTFT, "TTFT"), advisePrefill)
	case PhaseDecode:
		return fmt.Sprintf("Decode dominates: %s of %s in %s went into generating tokens, at %s. %s",
			human.Percent(1-share), total, n, rate(f), adviseDecode(f, o))
	}
	return fmt.Sprintf("Prefill and decode share the time: %s of %s in %s passed before the first token%s, the rest generating tokens at %s.",
		human.Percent(share), total, n, middle(f.TTFT, "TTFT"), rate(f))
}

const (
	howToMeasure  = "Log first_token_ms, or run Codex with RUST_LOG=codex_otel=info and keep its log."
	advisePrefill = "Look at prompt length, cache hits, the queue and the network before blaming the model's speed."
)

// middle writes the median of a distribution in brackets.
func middle(d *Dist, name string) string {
	q := d.At(50)
	if q == nil {
		return ""
	}
	return fmt.Sprintf(" (%s p50 %s)", name, human.Duration(q.Value))
}

// rate writes the group's output rate: the clean median where there are enough
// clean samples for one, else the pooled rate, and says which.
func rate(f *Group) string {
	if q := f.TPS.Clean.At(50); q != nil && f.TPS.Clean.N >= minClean {
		return fmt.Sprintf("%s (median of %d clean samples)", human.Rate(q.Value), f.TPS.Clean.N)
	}
	if f.TPS.Pooled == nil {
		return "an unknown rate"
	}
	clean := 0
	if f.TPS.Clean != nil {
		clean = f.TPS.Clean.N
	}
	return fmt.Sprintf("%s (pooled: only %s)", human.Rate(*f.TPS.Pooled), human.Plural(clean, "clean sample"))
}

// adviseDecode tells a slow stream from long answers.
func adviseDecode(f *Group, o *Options) string {
	r := f.TPS.Pooled
	if q := f.TPS.Clean.At(50); q != nil && f.TPS.Clean.N >= minClean {
		r = &q.Value
	}
	var b strings.Builder
	switch {
	case r == nil:
		b.WriteString("The token counts are missing, so a slow stream cannot be told from long answers.")
	case *r < o.SLO.TPS:
		fmt.Fprintf(&b, "The stream is slow (below %s): try another model, tier or time of day.", human.Rate(o.SLO.TPS))
	default:
		b.WriteString("The stream keeps its rate: answers are long, so ask for shorter ones or less reasoning effort.")
	}
	return b.String()
}
