package analyze

import (
	"slices"
	"testing"

	"codexlag/parse/record"
)

func TestFewClean(t *testing.T) {
	short := func(n int) []record.Record {
		return requests("short", n, func(_ int, r *record.Request) { r.Output = record.Count(499); rateOf(r, 50) })
	}
	checkFindings(t, "few_clean_samples", []findingCase{
		{name: "five", records: slices.Concat(short(10), requests("ok", 5, nil)), want: SeverityInfo, says: []string{"5 of 15 requests", "Measure 1 more", "500 tokens", "from 10 on", "from 100 on"}},
		{name: "six", records: slices.Concat(short(10), requests("ok", 6, nil))},
		{name: "none", records: short(10), want: SeverityInfo, says: []string{"No clean sample", "0 of 10 requests"}},
		{name: "no token counts", records: requests("a", 8, func(_ int, r *record.Request) { r.Output = record.Tokens{} }), want: undecided, says: []string{"8 requests"}},
		{name: "no first token is another matter", records: requests("a", 8, func(_ int, r *record.Request) { r.Quality = record.None })},
	})
}

func TestNoFirstToken(t *testing.T) {
	at := func(n, without int, q record.Quality) []record.Record {
		return requests("a", n, func(i int, r *record.Request) {
			if i < without {
				r.Quality = q
			}
		})
	}
	formats := func(f map[string]int) Inputs { return Inputs{Formats: f} }
	checkFindings(t, "no_first_token", []findingCase{
		{name: "most", records: at(10, 6, record.None), want: SeverityWarn, says: []string{"6 of 10 requests", "first_token_ms", "RUST_LOG=codex_otel=info", "no --verbose"}},
		{name: "half", records: at(10, 5, record.None)},
		{name: "only bounds", records: at(10, 10, record.Bound), inputs: formats(map[string]int{"rollout": 1, "request": 0}), want: SeverityWarn, says: []string{"for 10 an upper limit", "For Codex"}},
		{name: "request lines", records: at(10, 10, record.None), inputs: formats(map[string]int{"request": 1}), want: SeverityWarn, says: []string{"In request lines"}},
		{name: "logs of both kinds", records: at(10, 10, record.None), inputs: formats(map[string]int{"request": 1, "rollout": 2}), want: SeverityWarn, says: []string{"In request lines", "For Codex"}},
		{name: "what is no log asks for nothing", records: at(10, 10, record.None), inputs: formats(map[string]int{"request": 1, "unknown": 2, "trace": 0}), want: SeverityWarn, says: []string{"In request lines"}, silent: []string{"For Codex"}},
		{name: "logs of Codex alone", records: at(10, 10, record.None), inputs: formats(map[string]int{"request": 0, "trace": 2}), want: SeverityWarn, says: []string{"For Codex"}, silent: []string{"In request lines"}},
		{name: "a model splits them", records: withModel(), want: SeverityInfo},
		{name: "failed ones are not asked", records: requests("a", 10, func(_ int, r *record.Request) { failed(r, 500, "") })},
	})
	o := findingCase{records: at(10, 10, record.None), inputs: formats(map[string]int{"request": 1})}
	for _, f := range o.findings(o.records) {
		if f.ID == "no_first_token" && f.Advice != howToLog[0].advice {
			t.Errorf("advice on Codex without its logs: %s", f.Advice)
		}
	}
}

func TestTokenMismatch(t *testing.T) {
	at := func(n, off int) []record.Record {
		return requests("a", n, func(i int, r *record.Request) {
			if r.ReportedTPS, r.HasReportedTPS = 50, true; i < off {
				r.ReportedTPS = 40
			}
		})
	}
	checkFindings(t, "token_mismatch", []findingCase{
		{name: "three of many", records: at(100, 3), want: SeverityWarn, says: []string{"3 of 100 requests"}},
		{name: "two of many", records: at(100, 2)},
		{name: "one of few", records: at(10, 1), want: SeverityWarn},
		{name: "none", records: at(100, 0)},
	})
}

func TestUnreadable(t *testing.T) {
	dropped := func(why record.Reason, n int) []record.Record {
		var l []record.Record
		for range n {
			l = append(l, &record.Dropped{Reason: why})
		}
		return l
	}
	checkFindings(t, "unreadable", []findingCase{
		{name: "a cut last line", records: dropped(record.BadJSON, 1), inputs: Inputs{Lines: 1000}, want: SeverityInfo, says: []string{"1 line of 1,000", "no JSON"}},
		{name: "many", records: slices.Concat(dropped(record.BadJSON, 20), dropped(record.TooLong, 30)), inputs: Inputs{Lines: 1000}, want: SeverityWarn, says: []string{"50 lines of 1,000", "(30)", "too long"}},
		{name: "just not many", records: dropped(record.NotText, 49), inputs: Inputs{Lines: 1000}, want: SeverityInfo},
		{name: "left out on purpose", records: slices.Concat(dropped(record.Repeat, 40), dropped(record.UnknownType, 40), dropped(record.Synthetic, 9))},
	})
	for _, why := range []record.Reason{record.BadJSON, record.NotAnObject, record.BadTime, record.NotText, record.NoNumbers, record.TooLong, record.BadRow} {
		if reasonText[why] == "" {
			t.Errorf("no words for %s", why)
		}
	}
}

// withModel are requests without a TTFT that a model splits.
func withModel() (l []record.Record) {
	for _, r := range (truth{500, 5000, 60}).requests("m", 200, 1) {
		l = append(l, r)
	}
	return l
}
