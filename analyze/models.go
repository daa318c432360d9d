package analyze

import (
	"cmp"
	"maps"
	"slices"

	"codexlag/parse/record"
)

// Fewer requests give no model (metrics.md).
const (
	minRequestModel = 50
	minPrefillModel = 20
)

// addModels sets the figures of f that need the requests one by one, and
// returns the fits of the request models.
func (g *group) addModels(f *Group, work *together) requestFits {
	p := &g.population
	p.ordered() // once for all
	share, sampled := p.sampled()
	if sampled {
		f.SampledShare = num(share)
	}
	work.do(func() { f.PrefillModel = p.prefillModel() })
	work.do(func() { f.TTFTByCache = p.ttftByCache() })
	if g.whole && !sampled {
		work.do(func() { f.Concurrency = concurrency(p.ordered()) })
	}
	fits := p.requestModels(work.alone)
	fits.requests = int(float64(fits.requests)/share + 0.5)
	fits.total /= share
	f.RequestModels = fits.models
	f.RequestModel = fits.main()
	return fits
}

// requestFits is the request models of a population, one a model.
type requestFits struct {
	models []ModelFit // the one with the most requests first

	// Over the requests that a fit covers:
	requests int
	total    float64 // Σ total, ms
	modelled split
}

// A split is modelled time, in ms.
type split struct{ prefill, decode float64 }

func (s *split) share() *float64 { return num(s.prefill / (s.prefill + s.decode)) }

// main is the fit of the model with the most requests, with the prefill share
// of all fits; nil where there is none.
func (s *requestFits) main() *RequestModel {
	if len(s.models) == 0 {
		return nil
	}
	m := s.models[0].RequestModel
	m.PrefillShare = s.modelled.share()
	return &m
}

// requestModels fits the totals of each model with enough requests.
//
// Requests with a known TTFT are in as well. Codex tells the first request of a
// turn from the turn's start, set-up included. That may lengthen its total; it
// does not change what a token takes.
func (p *population) requestModels(alone bool) requestFits {
	byModel := make(map[string][]*row)
	rows := p.ordered()
	for i := range rows {
		w := &rows[i]
		if _, known := w.uncached(); known && w.ok() && w.total > 0 && w.output >= 0 && w.flags&burstBit == 0 {
			byModel[w.model()] = append(byModel[w.model()], w)
		}
	}
	names := slices.SortedFunc(maps.Keys(byModel), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byModel[b]), len(byModel[a])), cmp.Compare(a, b))
	})
	work := together{alone: alone}
	fits := make([]*modelled, len(names))
	for i, name := range names {
		work.do(func() { fits[i] = fitModel(byModel[name]) })
	}
	work.Wait()
	s := requestFits{models: []ModelFit{}}
	for i, m := range fits {
		if m == nil {
			continue
		}
		s.models = append(s.models, ModelFit{names[i], m.RequestModel})
		s.requests += m.Requests
		s.total += m.total
		s.modelled.prefill += m.part.prefill
		s.modelled.decode += m.part.decode
	}
	return s
}

// A modelled is the fit of one model and the time that it splits.
type modelled struct {
	RequestModel
	total float64 // ms
	part  split
}

// fitModel fits the requests of one model; nil where they are not enough. A fit
// that doesn't tell what an output token takes splits nothing and is none.
func fitModel(rows []*row) *modelled {
	if len(rows) < minRequestModel {
		return nil
	}
	var points []point
	for _, w := range fewer(rows) {
		n, _ := w.uncached()
		points = append(points, point{[maxTerms]float64{1, float64(n), float64(w.output)}, float64(w.total) / 1000})
	}
	f, ok := regress(points, 3)
	if !ok || !f.told[2] {
		return nil
	}
	// Whole numbers are summed, then weighed: in any order the same.
	var uncached, output, total sum
	for _, w := range rows {
		n, _ := w.uncached()
		uncached.add(int64(n))
		output.add(int64(w.output))
		total.add(w.total)
	}
	part := split{
		prefill: float64(len(rows))*f.beta[0] + uncached.float()*f.beta[1],
		decode:  output.float() * f.beta[2],
	}
	m := modelled{RequestModel{
		Requests: len(rows), Overhead: f.beta[0], PrefillRate: f.promptRate(), TPOT: f.beta[2],
		Explained: f.explained, PrefillShare: part.share(),
	}, total.ms(), part}
	m.compare(&f, rows)
	return &m
}

// promptRate returns the tokens/s at which the prompt is read; nil where the
// time does not grow with it.
func (f *fit) promptRate() *float64 {
	if !f.told[1] {
		return nil
	}
	return num(1000 / f.beta[1])
}

// compare says how far the fit is from the TTFTs that are known. Where those
// end at the first visible output, hidden reasoning is decoded before it.
func (m *RequestModel) compare(f *fit, rows []*row) {
	var off, known sample
	for _, w := range rows {
		ttft, ok := w.firstToken()
		if !ok {
			continue
		}
		n, _ := w.uncached()
		hidden := w.output - w.decodeTokens
		known.add(ttft)
		off.add(f.predict(&[maxTerms]float64{1, float64(n), float64(hidden)}) - ttft)
	}
	m.TTFTRequests = known.n()
	if known.n() == 0 {
		return
	}
	off50 := off.quantile(50)
	m.TTFTError = num(off50)
	m.TTFTErrorShare = num(off50 / known.quantile(50))
}

// prefillModel fits TTFT to the part of the prompt that had to be read.
func (p *population) prefillModel() *PrefillModel {
	var rows []*row
	all := p.ordered()
	for i := range all {
		_, ok := all[i].firstToken()
		if _, known := all[i].uncached(); ok && known {
			rows = append(rows, &all[i])
		}
	}
	if len(rows) < minPrefillModel {
		return nil
	}
	var points []point
	for _, w := range fewer(rows) {
		ttft, _ := w.firstToken()
		n, _ := w.uncached()
		points = append(points, point{[maxTerms]float64{1, float64(n)}, ttft})
	}
	f, ok := regress(points, 2)
	if !ok {
		return nil
	}
	return &PrefillModel{Requests: len(rows), Overhead: f.beta[0], Rate: f.promptRate(), Explained: f.explained}
}

// maxPoints is how many requests a fit looks at: with more, the coefficients only
// change in digits that their doubt covers.
const maxPoints = 1 << 12

// fewer returns so many of the rows, by their keys: a sample that depends on the
// requests alone.
func fewer(rows []*row) []*row {
	if len(rows) <= maxPoints {
		return rows
	}
	keys := make([]uint64, len(rows))
	for i, w := range rows {
		keys[i] = w.key
	}
	last := nth(keys, maxPoints-1)
	kept := make([]*row, 0, maxPoints)
	for _, w := range rows {
		if w.key <= last {
			kept = append(kept, w)
		}
	}
	return kept
}

// ttftByCache gives the TTFTs by the part of the prompt that came from the
// cache, the smallest part first.
func (p *population) ttftByCache() []Band {
	bands := make([]sample, len(cacheBands))
	rows := p.ordered()
	for i := range rows {
		w := &rows[i]
		ttft, ok := w.firstToken()
		band := slices.Index(cacheBands, cacheBand(&record.Request{Input: record.Count(int64(w.input)), Cached: record.Count(int64(w.cached))}))
		if ok && band >= 0 {
			bands[band].add(ttft)
		}
	}
	l := []Band{}
	for i := range bands {
		if n := bands[i].n(); n > 0 {
			l = append(l, Band{cacheBands[i], n, num(bands[i].quantile(50))})
		}
	}
	return l
}

// cacheBands are the values of the dimension "cache" in their order.
var cacheBands = []string{"0 %", "below 50 %", "50–90 %", "90–100 %"}
