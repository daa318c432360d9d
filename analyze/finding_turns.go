package analyze

import (
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

const (
	minTurns  = 3   // fewer are not typical
	dominates = 0.5 // of the summed duration
)

// turnPart returns the share of a part in the summed duration of the turns.
func (f *facts) turnPart(ms float64) (share float64, evidence string) {
	t := &f.all.Turns
	sum := t.Prefill + t.Decode + t.Model + t.Tool + t.Other
	if t.Duration == nil || t.Duration.N < minTurns || sum <= 0 {
		return 0, ""
	}
	return ms / sum, f.Sprintf("%s of %s in %s (%s)", human.Duration(ms), human.Duration(sum), lang.Plural(f.Language, t.Duration.N, "turn"), human.Percent(ms/sum))
}

func toolsDominate(f *facts) []found {
	ms := f.all.Turns.Tool
	share, evidence := f.turnPart(ms)
	if share <= dominates {
		return nil
	}
	return one(SeverityWarn, "tools_dominate", int64(1000*ms), f.Text("Tools take most of the time, not the model"),
		f.Sprintf("%s went into tool calls, waits for approval inside them included", evidence),
		f.Text("A faster model would change little: look at what the tools run (builds, tests, searches over everything), and allow commands beforehand that you always approve"))
}

func waitsDominate(f *facts) []found {
	ms := f.all.Turns.Other
	share, evidence := f.turnPart(ms)
	if share <= dominates {
		return nil
	}
	return one(SeverityWarn, "waits_dominate", int64(1000*ms), f.Text("Most of the time is neither model nor tools"),
		f.Sprintf("%s lie between the requests and the tool calls that the logs tell of", evidence),
		f.Text("Look at approvals that waited for a person, retries and a queue that the logs don't show, set-up (MCP servers, hooks) and compaction"))
}
