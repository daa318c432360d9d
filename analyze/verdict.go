package analyze

import (
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
	"codexlag/parse/record"
)

const (
	// minConfident: fewer requests give a verdict, but not a sure one.
	minConfident = 10
	// minClean is the number of clean samples from which the clean median has an
	// interval and is the headline; below, it is the pooled rate.
	minClean = 6
	// minExplained: a request model that explains less is not sure.
	minExplained = 0.7
)

// verdict says which phase the time of the group went to: by the summed time of
// the requests with a known split, where they are at least half of it; else by
// the request model, where it covers more. f holds the group's figures so far.
func (g *group) verdict(f *Group, fits *requestFits, o *Options) Verdict {
	v := Verdict{Phase: PhaseNone, Basis: BasisMeasured, Confidence: ConfidenceNone, Doubts: []string{}, Tail: g.tail()}
	t := &f.Time
	switch {
	case t.PrefillShare != nil && (t.Total >= t.Unsplit || fits.total <= t.Total):
		v.Phase = phase(*t.PrefillShare)
		v.Doubts = g.doubts(f, o.Language)
	case f.RequestModel != nil && f.RequestModel.PrefillShare != nil:
		v.Phase, v.Basis = phase(*f.RequestModel.PrefillShare), BasisModelled
		v.Doubts = fits.doubts(f, o.Language)
	}
	if v.Phase != PhaseNone {
		v.Confidence = ConfidenceHigh
		if len(v.Doubts) > 0 {
			v.Confidence = ConfidenceLow
		}
	}
	h := headliner{Language: o.Language, group: g, f: f, v: &v, fits: fits, limits: &o.SLO}
	v.Headline = h.headline()
	return v
}

// doubts lists the reasons why a measured verdict is not sure.
func (g *group) doubts(f *Group, l lang.Language) []string {
	d := []string{}
	if g.splits < minConfident {
		d = append(d, l.Sprintf("%s with a known split, %d are needed", lang.Plural(l, g.splits, "request"), minConfident))
	}
	usable := g.qualities[record.Measured] + g.qualities[record.Derived] + g.qualities[record.Estimated]
	if e := g.qualities[record.Estimated]; 2*e > usable {
		d = append(d, l.Sprintf("%s of %s TTFTs are estimated from timestamps", human.Count(e), human.Count(usable)))
	}
	if f.Time.Unsplit > f.Time.Total {
		d = append(d, l.Sprintf("%s of %s are requests whose split is unknown",
			human.Duration(f.Time.Unsplit), human.Duration(f.Time.Unsplit+f.Time.Total)))
	}
	return d
}

// doubts lists the reasons why a modelled verdict is not sure.
func (s *requestFits) doubts(f *Group, l lang.Language) []string {
	d := []string{}
	if m := f.RequestModel; m.Explained < minExplained {
		d = append(d, l.Sprintf("the model explains only %s of the spread of the totals", human.Percent(m.Explained)))
	}
	if all := f.Time.Total + f.Time.Unsplit; 2*s.total < all {
		d = append(d, l.Sprintf("the model covers only %s of %s", human.Duration(s.total), human.Duration(all)))
	}
	return d
}
