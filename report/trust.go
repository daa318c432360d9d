package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/parse/record"
)

// noise lists the flags: what must not be trusted and why.
func (b *builder) noise() {
	t := Table{Columns: []Column{{Title: "Flag"}, {Title: "Requests", Right: true},
		{Title: "Share", Right: true, Drop: 3}, {Title: "Meaning", Fit: Wrap}, {Title: "Effect", Fit: Wrap, Drop: 2}}}
	row := func(f analyze.Flag, n int, meaning, effect string) {
		part := human.Undefined
		if b.r.Quality.Requests > 0 {
			part = human.Percent(float64(n) / float64(b.r.Quality.Requests))
		}
		t.Rows = append(t.Rows, []Cell{nameCell(string(f)), cell(human.Count(n)), cell(part), cell(meaning), cell(effect)})
	}
	left := maps.Clone(b.r.Quality.Flags)
	for _, w := range flagWords(b.r.Options) {
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
	b.section("Noisy and special samples")
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
		what = append(what, "clean TPS ≥ "+human.LimitRate(limits.TPS))
	}
	b.section("Limits (SLO)")
	tone := NoTone
	if s.Missed > 0 {
		tone = Warn
	}
	head := "Met by "
	if len(what) > 0 {
		head = strings.Join(what, " and ") + ": met by "
	}
	b.paragraph(plain(head),
		Span{human.Count(s.Met) + " of " + human.Plural(s.Met+s.Missed, "request"), Strong, tone},
		plain(" ("+human.PercentOr(s.Share)+"), missed by "+human.Count(s.Missed)+"."))
}

// quality says what was read and what of it is not in the figures.
func (b *builder) quality() {
	in, q := b.r.Inputs, b.r.Quality
	b.section("Data quality")
	items := []string{"Read: " + human.Plural(in.Files, "file") + formats(in.Formats) + ", " + human.Bytes(in.Bytes) + ", " + human.Plural(in.Lines, "line")}
	status := "Requests: " + human.Count(q.Requests)
	if n := b.all.Failed + b.all.Aborted + b.all.Warmup; n > 0 {
		status += " — " + human.Count(q.Requests-n) + " ok, " + human.Count(b.all.Failed) + " failed, " + human.Count(b.all.Aborted) + " aborted, " + human.Count(b.all.Warmup) + " warm-up"
	}
	items = append(items, status)
	var from []string
	for _, x := range []struct{ quality, word string }{{"measured", "measured"}, {"derived", "derived"},
		{"estimated", "estimated"}, {"bound", "only bounded"}, {"none", "unknown"}} {
		if n := q.TTFT[x.quality]; n > 0 {
			from = append(from, human.Count(n)+" "+x.word)
		}
	}
	if len(from) > 0 {
		items = append(items, "TTFT: "+strings.Join(from, ", "))
	}
	var copies []string
	for _, x := range []struct {
		n    int
		what string
	}{{q.Repeats, "repeated usage records"}, {q.Replayed, "replayed from a parent session"},
		{q.Duplicates, "duplicates from other copies of a log"}, {q.Merged, "merged from two logs"}} {
		if x.n > 0 {
			copies = append(copies, human.Count(x.n)+" "+x.what)
		}
	}
	if len(copies) > 0 {
		items = append(items, "Counted once: "+strings.Join(copies, ", "))
	}
	if in.First != nil && in.Last != nil {
		items = append(items, "Time: "+b.time(*in.First)+" to "+b.time(*in.Last)+", zone "+b.zoneName(*in.Last))
	}
	if !b.r.Options.Exact && q.Requests > 0 {
		items = append(items, fmt.Sprintf("Percentiles of figures that are not whole milliseconds or tokens: from a sketch, because there are so many requests; off by at most %.2f %% of their value (--exact-limit)", 100*analyze.SketchError))
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
	t := Table{Columns: []Column{{Title: "Skipped because"}, {Title: "Records", Right: true}, {Title: "Meaning", Fit: Wrap}}}
	for _, reason := range slices.Sorted(maps.Keys(q.Skipped)) {
		n := q.Skipped[reason]
		if n <= 0 || told[reason] > 0 {
			continue
		}
		meaning, known := reasonWords[reason]
		if !known {
			meaning = human.Undefined
		}
		t.Rows = append(t.Rows, []Cell{nameCell(string(reason)), cell(human.Count(n)), cell(meaning)})
	}
	if len(t.Rows) > 0 {
		b.add(t)
	}
}

// formats writes how many files are of each: " (request 2, rollout 3)".
func formats(counts map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if counts[k] > 0 {
			parts = append(parts, k+" "+human.Count(counts[k]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// definitions are the words and methods in short.
func (b *builder) definitions() {
	b.section("Definitions")
	method := b.r.Options.QuantileMethod
	if method == "" {
		method = "linear (type 7)"
	}
	var l List
	for _, s := range []string{
		"TTFT: request sent until the first generated token (prefill, queue and network). Decode: total − TTFT.",
		"TPS: decode tokens / decode time. Clean leaves out noisy samples (see the flags), all keeps every one, pooled divides the sums.",
		"TPOT: decode time / (decode tokens − 1), over clean requests.",
		"Phase: prefill where TTFT is at least 60 % of the total, decode where it is at most 40 %, else balanced.",
		"Quantiles: " + method + ". Intervals: 95 %, from order statistics, without an assumption about the distribution.",
		"Modelled figures come from a robust regression over many requests; they are never mixed with measured ones.",
		"— is not defined. Failed, aborted and warm-up requests are counted and in no metric.",
	} {
		l.Items = append(l.Items, Item{Text: text(s)})
	}
	b.add(l)
}
