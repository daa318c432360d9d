package analyze

import (
	"slices"
	"testing"

	"codexlag/parse/record"
)

func TestModelsDiffer(t *testing.T) {
	at := func(model string, n int, rate float64) []record.Record {
		return requests(model, n, func(_ int, r *record.Request) { r.Model = model; rateOf(r, rate) })
	}
	checkFindings(t, "models_differ", []findingCase{
		{name: "twice as fast", records: slices.Concat(at("slow-x", 12, 30), at("fast-x", 14, 60)), want: SeverityInfo,
			says: []string{"fast-x 60.0 tok/s (n=14)", "slow-x 30.0 tok/s (n=12)", "--by model"}},
		{name: "medians, whatever is around", records: slices.Concat(at("slow-x", 7, 10), at("slow-x", 7, 30), at("slow-x", 7, 32), at("fast-x", 7, 44), at("fast-x", 7, 60), at("fast-x", 7, 99)), want: SeverityInfo,
			says: []string{"fast-x 60.0 tok/s (n=21)", "slow-x 30.0 tok/s (n=21)"}},
		{name: "a third faster", records: slices.Concat(at("slow-x", 12, 30), at("fast-x", 14, 40))},
		{name: "too few of one", records: slices.Concat(at("slow-x", 12, 30), at("fast-x", minMedian-1, 60))},
		{name: "one model", records: at("only-x", 30, 30)},
	})
}
