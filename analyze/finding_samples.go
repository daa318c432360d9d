package analyze

import (
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
	"codexlag/parse/record"
)

// fewClean says what is missing for an output rate that can be trusted.
func fewClean(f *facts) []found {
	const id = "few_clean_samples"
	t := &f.all.TPS
	if t.All == nil {
		if f.all.Time.Requests == 0 {
			return nil // no first token: that is said elsewhere
		}
		return f.inconclusive(id, f.Text("how fast do the tokens come?"),
			f.Sprintf("None of %s with a TTFT and a total has both a token count and a time to generate them in", lang.Plural(f.Language, f.all.Time.Requests, "request")),
			f.Text("Log the generated tokens of each request (completion_tokens or output_tokens)"))
	}
	clean := 0
	if t.Clean != nil {
		clean = t.Clean.N
	}
	if clean >= minClean {
		return nil
	}
	title := f.Text("Too few clean samples of the output rate")
	if clean == 0 {
		title = f.Text("No clean sample of the output rate")
	}
	return one(SeverityInfo, id, 0, title,
		f.Sprintf("%s of %s with a rate generated at least %s tokens in at least %s, %d are needed for a median with an interval: until then go by the pooled rate",
			human.Count(clean), lang.Plural(f.Language, t.All.N, "request"), human.Count(f.options.MinTokens), human.Limit(milliseconds(minDecode)), minClean),
		f.Sprintf("Measure %d more with answers of at least %s tokens (--min-tokens); a p90 means something from %d on, a p99 from %d on",
			minClean-clean, human.Count(f.options.MinTokens), SamplesFor(90), SamplesFor(99)))
}

// howToLog tells by the formats that were read what to switch on.
var howToLog = []struct{ format, advice string }{
	{string(record.FormatRequest), lang.Mark("In request lines log first_token_ms beside total_ms")},
	{"codex", lang.Mark("For Codex run RUST_LOG=codex_otel=info codex exec … 2> trace.log, or RUST_LOG=codex_otel=info codex -c log_dir=DIR for the TUI, and give codexlag that log too (ttft_ms is in there from about 0.143 on; Codex has no --verbose)")},
}

// noFirstToken tells how to get the TTFTs that most requests lack.
func noFirstToken(f *facts) []found {
	var without, completed, bound int
	var waited int64
	for _, w := range f.rows {
		if !w.ok() {
			continue
		}
		completed++
		if w.quality.Usable() {
			continue
		}
		without++
		waited += w.waited()
		if w.quality == record.Bound {
			bound++
		}
	}
	if 2*without <= completed {
		return nil
	}
	evidence := f.Sprintf("%s of %s that completed tell no first token", f.count(without), f.requests(completed))
	if bound > 0 {
		evidence += f.Sprintf("; for %s an upper limit is known, which is no TTFT", f.count(bound))
	}
	severity := SeverityWarn
	if f.all.RequestModel != nil {
		severity = SeverityInfo // the model splits them
	}
	return one(severity, "no_first_token", waited, f.Text("Most requests don't tell when their first token came"), evidence, f.whatToLog())
}

func (f *facts) whatToLog() string {
	requestLines := f.inputs.Formats[howToLog[0].format] > 0
	codex := false
	for format, n := range f.inputs.Formats {
		codex = codex || n > 0 && format != howToLog[0].format && format != string(record.FormatUnknown)
	}
	switch {
	case requestLines && !codex:
		return f.Word(howToLog[0].advice)
	case codex && !requestLines:
		return f.Word(howToLog[1].advice)
	}
	return f.Word(howToLog[0].advice) + f.Text(". ") + f.Word(howToLog[1].advice)
}

const (
	minMismatches  = 3
	mismatchesPart = 0.1 // of all requests, where there are few
)

// tokenMismatch tells that the log's own rate is another one than tokens by time.
func tokenMismatch(f *facts) []found {
	n := f.quality.Flags[TPSMismatch]
	if n == 0 || n < minMismatches && float64(n) < mismatchesPart*float64(f.all.Requests) {
		return nil
	}
	return one(SeverityWarn, "token_mismatch", 0, f.Text("The rate in the log is not tokens by decode time"),
		f.Sprintf("In %s of %s tokens_per_sec differs by more than 5 %% from the tokens divided by total less TTFT, which is what this report goes by",
			human.Count(n), lang.Plural(f.Language, f.all.Requests, "request")),
		f.Text("See what the logger divides: the whole request instead of the decode time, prompt tokens counted as generated ones, or visible tokens without reasoning; codexlag explain FILE:LINE shows one request's arithmetic"))
}

// manyUnreadable: from this share of the lines on, the figures may lack much.
const manyUnreadable = 0.05

// unreadable tells how many lines could not be read, or not whole, and mostly why.
func unreadable(f *facts) []found {
	var n int
	var why record.Reason
	for reason, k := range f.quality.Skipped {
		if !reason.Unreadable() {
			continue
		}
		n += k
		if most := f.quality.Skipped[why]; why == "" || k > most || k == most && reason < why {
			why = reason
		}
	}
	if n == 0 {
		return nil
	}
	severity, lost := SeverityInfo, lang.Plural(f.Language, n, "line")
	if lines := f.inputs.Lines; lines > 0 {
		lost = f.Sprintf("%s of %s", lost, human.Count(lines))
		if float64(n) >= manyUnreadable*float64(lines) {
			severity = SeverityWarn
		}
	}
	return one(severity, "unreadable", 0, f.Text("Some lines could not be read"),
		f.Sprintf("%s left out or read in part, mostly (%s) for this reason: %s", lost, human.Count(f.quality.Skipped[why]), f.Word(reasonText[why])),
		f.Text("A cut last line is normal while Codex writes; for the rest codexlag files names the files, and --strict makes it an error"))
}

// reasonText says in words why a line cannot be read.
var reasonText = map[record.Reason]string{
	record.BadJSON:     lang.Mark("cut off or no JSON"),
	record.NotAnObject: lang.Mark("JSON of another shape than expected"),
	record.BadTime:     lang.Mark("a timestamp that is none"),
	record.NotText:     lang.Mark("bytes that are no text"),
	record.NoNumbers:   lang.Mark("a request line without a number"),
	record.BadValue:    lang.Mark("a figure that is no number, without which the request counts"),
	record.TooLong:     lang.Mark("too long"),
	record.BadRow:      lang.Mark("a damaged database row"),
}
