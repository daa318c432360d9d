package analyze

import (
	"slices"
	"testing"

	"codexlag/parse/record"
)

func labelled(label string, n int, ttft float64, input int64) []record.Record {
	random := noise(uint64(len(label)))
	return requests(label+".log", n, func(_ int, r *record.Request) {
		r.Label, r.Input = label, record.Count(input)
		start(r, ttft*(0.9+0.2*random()))
	})
}

func TestLongInput(t *testing.T) {
	short := labelled("short-input", 12, 1, 60)
	label, file := []Dimension{"model", "label"}, []Dimension{"file"}
	checkFindings(t, "long_input_no_difference", []findingCase{
		{name: "no difference", by: label, records: slices.Concat(short, labelled("long-input", 10, 1.05, 900)), want: SeverityInfo,
			says: []string{"(n=10)", "(n=12)", "900 against 60", "several thousand"}},
		{name: "by file", by: file, records: slices.Concat(short, labelled("long-input", 10, 1, 900)), want: SeverityInfo},
		{name: "tokens unknown", by: label, records: slices.Concat(short, labelled("long-input", 10, 1, -1)), want: SeverityInfo, says: []string{"several thousand"}},
		{name: "long enough", by: label, records: slices.Concat(short, labelled("long-input", 10, 1, 30_000)), want: SeverityInfo, says: []string{"queue"}},
		{name: "a difference", by: label, records: slices.Concat(short, labelled("long-input", 10, 3, 30_000))},
		{name: "too few to compare", by: label, records: slices.Concat(short, labelled("long-input", 5, 3, 30_000)), want: undecided, says: []string{"5 requests", "12 a short one"}},
		{name: "overlap", by: label, records: slices.Concat(
			requests("s", 6, func(i int, r *record.Request) { r.Label = "short"; start(r, float64(1+i)) }),
			requests("l", 6, func(i int, r *record.Request) { r.Label = "long"; start(r, 1.3*float64(1+i)) })), want: undecided, says: []string{"overlap"}},
		{name: "not grouped, tokens unknown", records: slices.Concat(labelled("short", 12, 1, -1), labelled("long", 12, 1, -1))},
		{name: "by the size of the prompt", records: slices.Concat(labelled("a", 12, 1, 100), labelled("b", 12, 1, 1500)), want: SeverityInfo, says: []string{"1,500 against 100"}},
		{name: "sizes much alike", records: slices.Concat(labelled("a", 12, 1, 500), labelled("b", 12, 1, 1500))},
		{name: "an agent's prompts are long", records: slices.Concat(labelled("a", 12, 1, 100), labelled("b", 12, 1, 15_000))},
	})
}

func TestSpeaksOfInput(t *testing.T) {
	for _, c := range []struct {
		name        string
		long, short bool
	}{
		{"long-input", true, false},
		{"Short Prompt", false, true},
		{"logs/long/experiment_short.log", false, true},
		{"long", true, false},
		{"long-output", false, false},
		{"long-input-short-output", true, false},
		{"short_prompt_long_answer", false, true},
		{"long-short", false, false},
		{"belongings", false, false},
		{"", false, false},
	} {
		if long, short := speaksOfInput(c.name, "long"), speaksOfInput(c.name, "short"); long != c.long || short != c.short {
			t.Errorf("%q: long %v, short %v", c.name, long, short)
		}
	}
}
