package report

import (
	"maps"
	"slices"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
	"codexlag/parse/record"
)

// noise lists the flags: what must not be trusted and why.
func (b *builder) noise() {
	t := Table{Columns: []Column{{Title: b.Text("Flag")}, {Title: b.Text("Requests"), Right: true},
		{Title: b.Text("Share"), Right: true, Drop: 3}, {Title: b.Text("Meaning"), Fit: Wrap}, {Title: b.Text("Effect"), Fit: Wrap, Drop: 2}}}
	row := func(f analyze.Flag, n int, meaning, effect string) {
		part := human.Undefined
		if b.r.Quality.Requests > 0 {
			part = human.Percent(float64(n) / float64(b.r.Quality.Requests))
		}
		t.Rows = append(t.Rows, []Cell{nameCell(string(f)), cell(human.Count(n)), cell(part), cell(meaning), cell(effect)})
	}
	left := maps.Clone(b.r.Quality.Flags)
	for _, w := range b.flagWords(b.r.Options) {
		if n := left[w.flag]; n > 0 {
			row(w.flag, n, w.meaning, w.effect)
		}
		delete(left, w.flag)
	}
	for _, f := range slices.Sorted(maps.Keys(left)) {
		if left[f] > 0 {
			row(f, left[f], human.Undefined, human.Undefined)
		}
	}
	if len(t.Rows) == 0 {
		return
	}
	b.section(b.Text("Noisy and special samples"))
	b.add(t)
}

// slo says how many requests kept the limits.
func (b *builder) slo() {
	s, limits := b.all.SLO, b.r.Options.SLO
	if s.Met+s.Missed == 0 {
		return
	}
	var what []string
	if limits.TTFTms > 0 {
		what = append(what, "TTFT ≤ "+human.Limit(limits.TTFTms))
	}
	if limits.TPS > 0 {
		what = append(what, b.Sprintf("clean TPS ≥ %s", human.LimitRate(limits.TPS)))
	}
	b.section(b.Text("Limits (SLO)"))
	tone := NoTone
	if s.Missed > 0 {
		tone = Warn
	}
	head := b.Text("Met by ")
	if len(what) > 0 {
		head = b.Sprintf("%s: met by ", strings.Join(what, b.Text(" and ")))
	}
	b.paragraph(plain(head),
		Span{b.Sprintf("%s of %s", human.Count(s.Met), lang.Plural(b.Language, s.Met+s.Missed, "request")), Strong, tone},
		plain(b.Sprintf(" (%s), missed by %s%s.", human.PercentOr(s.Share), human.Count(s.Missed-s.Unknown), b.missed())+b.ratesJudged()+b.unjudged()))
}

// missed says why requests did not keep the limits.
func (b *builder) missed() string {
	var l []string
	s := b.all.SLO
	for _, x := range []struct {
		n    int
		what string
	}{{s.SlowStart, b.Text("slow start")}, {s.SlowStream, b.Text("slow stream")}, {s.LateBursts, b.Text("in one piece after the limit")},
		{b.all.Failed, b.Text("failed")}, {b.all.Aborted, b.Text("aborted")}} {
		if x.n > 0 {
			l = append(l, b.Sprintf("%s %s", human.Count(x.n), x.what))
		}
	}
	if len(l) == 0 {
		return ""
	}
	if s.Both > 0 {
		l = append(l, b.Sprintf("%s of them both slow", human.Count(s.Both)))
	}
	return b.Sprintf(" (%s)", strings.Join(l, b.Text(", ")))
}

// ratesJudged says of how many requests a rate could be judged at all.
func (b *builder) ratesJudged() string {
	if b.r.Options.SLO.TPS <= 0 {
		return ""
	}
	n := cleanCount(b.all)
	if n == 0 {
		return b.Text(" No request has a clean TPS, so none can miss the limit of TPS.")
	}
	return b.Sprintf(" Only the %s with a clean TPS can miss the limit of TPS.", lang.Plural(b.Language, n, "request"))
}

// unjudged tells of the requests of which nobody knows whether they kept the limits.
func (b *builder) unjudged() string {
	s := b.all.SLO
	if s.Unknown == 0 {
		return ""
	}
	told := b.Sprintf(" Not known of %s: when their first token came is not told, or only an upper bound beyond the limit. They count as not met.", human.Count(s.Unknown))
	if known := s.Met + s.Missed - s.Unknown; known > 0 {
		told += b.Sprintf(" Of the %s that can be judged, %s met the limits.", human.Count(known), human.Percent(float64(s.Met)/float64(known)))
	}
	return told
}

// quality says what was read and what of it is not in the figures.
func (b *builder) quality() {
	in, q := b.r.Inputs, b.r.Quality
	b.section(b.Text("Data quality"))
	items := []string{b.Sprintf("Read: %s%s, %s, %s", lang.Plural(b.Language, in.Files, "file"), b.formats(in.Formats), human.Bytes(in.Bytes), lang.Plural(b.Language, in.Lines, "line"))}
	status := b.Sprintf("Requests: %s", human.Count(q.Requests))
	if n := b.all.Failed + b.all.Aborted + b.all.Warmup; n > 0 {
		status += b.Sprintf(" — %s ok, %s failed, %s aborted, %s warm-up", human.Count(q.Requests-n), human.Count(b.all.Failed), human.Count(b.all.Aborted), human.Count(b.all.Warmup))
	}
	items = append(items, status)
	var from []string
	for _, x := range []struct{ quality, word string }{{"measured", b.Text("measured")}, {"derived", b.Text("derived")},
		{"estimated", b.Text("estimated")}, {"bound", b.Text("only bounded")}, {"none", b.Text("unknown")}} {
		if n := q.TTFT[x.quality]; n > 0 {
			from = append(from, b.Sprintf("%s %s", human.Count(n), x.word))
		}
	}
	if len(from) > 0 {
		items = append(items, b.Sprintf("TTFT: %s", strings.Join(from, b.Text(", "))))
	}
	var copies []string
	for _, x := range []struct {
		n    int
		what string
	}{{q.Repeats, b.Text("repeated usage records")}, {q.Replayed, b.Text("replayed from a parent session")},
		{q.Duplicates, b.Text("duplicates from other copies of a log")}, {q.Merged, b.Text("merged from two logs")}} {
		if x.n > 0 {
			copies = append(copies, b.Sprintf("%s %s", human.Count(x.n), x.what))
		}
	}
	if len(copies) > 0 {
		items = append(items, b.Sprintf("Counted once: %s", strings.Join(copies, b.Text(", "))))
	}
	if in.First != nil && in.Last != nil {
		items = append(items, b.Sprintf("Time: %s to %s, zone %s", b.time(*in.First), b.time(*in.Last), b.zoneName(*in.Last)))
	}
	if !b.r.Options.Exact && q.Requests > 0 {
		items = append(items, b.Sprintf("Percentiles of figures that are not whole milliseconds or tokens: from a sketch, because there are so many requests; off by at most %.2f %% of their value (--exact-limit)", 100*analyze.SketchError))
	}
	var l List
	for _, s := range items {
		l.Items = append(l.Items, Item{Text: text(s)})
	}
	b.add(l)
	b.skipped()
}

// skipped lists what could not be used, except what is told as counted once.
func (b *builder) skipped() {
	q := b.r.Quality
	told := map[record.Reason]int{record.Repeat: q.Repeats, record.Replayed: q.Replayed, record.Duplicate: q.Duplicates, record.Merge: q.Merged}
	t := Table{Columns: []Column{{Title: b.Text("Skipped because")}, {Title: b.Text("Records"), Right: true}, {Title: b.Text("Meaning"), Fit: Wrap}}}
	for _, reason := range slices.Sorted(maps.Keys(q.Skipped)) {
		n := q.Skipped[reason]
		if n <= 0 || told[reason] > 0 {
			continue
		}
		meaning, known := reasonWords[reason]
		if !known {
			meaning = human.Undefined
		}
		t.Rows = append(t.Rows, []Cell{nameCell(string(reason)), cell(human.Count(n)), cell(b.Word(meaning))})
	}
	if len(t.Rows) > 0 {
		b.add(t)
	}
}

// formats writes how many files are of each: " (request 2, rollout 3)".
func (b *builder) formats(counts map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if counts[k] > 0 {
			parts = append(parts, k+" "+human.Count(counts[k]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return b.Sprintf(" (%s)", strings.Join(parts, b.Text(", ")))
}

// definitions are the words and methods in short.
func (b *builder) definitions() {
	b.section(b.Text("Definitions"))
	method := b.r.Options.QuantileMethod
	if method == "" {
		method = "linear (type 7)"
	}
	var l List
	for _, s := range []string{
		b.Text("TTFT: request sent until the first generated token (prefill, queue and network). Decode: total − TTFT."),
		b.Text("TPS: decode tokens / decode time. Clean leaves out noisy samples (see the flags), all keeps every one, pooled divides the sums."),
		b.Text("TPOT: decode time / (decode tokens − 1), over clean requests."),
		b.Text("Phase: prefill where TTFT is at least 60 % of the total, decode where it is at most 40 %, else balanced."),
		b.Sprintf("Quantiles: %s. Intervals: 95 %%, from order statistics, without an assumption about the distribution.", b.Word(method)),
		b.Text("Modelled figures come from a robust regression over many requests; they are never mixed with measured ones."),
		b.Text("— is not defined. Failed, aborted and warm-up requests are counted and in no metric."),
	} {
		l.Items = append(l.Items, Item{Text: text(s)})
	}
	b.add(l)
}
