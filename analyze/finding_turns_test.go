package analyze

import (
	"testing"
	"time"

	"codexlag/parse/record"
)

// turns makes n turns of 100 s with one request of 20 s and tools as long as said.
func turns(n int, tools float64) []record.Record {
	var l []record.Record
	for i := range n {
		begin := midnight.Add(time.Duration(i) * time.Hour)
		l = append(l, &record.Turn{
			Pos: record.Pos{File: "t", Line: int64(i + 1)}, Format: record.FormatRollout,
			Start: begin, End: begin.Add(seconds(100)), Duration: seconds(100),
			Requests: []*record.Request{{TTFT: seconds(2), Quality: record.Measured, Total: seconds(20), Output: record.Count(900)}},
			Tools:    []record.Interval{{Start: begin, End: begin.Add(seconds(tools))}},
		})
	}
	return l
}

func TestTurnsDominatedByOthers(t *testing.T) {
	checkFindings(t, "tools_dominate", []findingCase{
		{name: "most", records: turns(5, 60), want: SeverityWarn, says: []string{"5.00 min of 8.33 min in 5 turns", "60.0 %"}},
		{name: "half", records: turns(5, 50)},
		{name: "too few turns", records: turns(2, 60)},
	})
	checkFindings(t, "waits_dominate", []findingCase{
		{name: "most", records: turns(5, 20), want: SeverityWarn, says: []string{"60.0 %", "5 turns", "approvals"}},
		{name: "half", records: turns(5, 30)},
		{name: "too few turns", records: turns(2, 20)},
	})
}
