package report

import (
	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/parse/record"
)

// A flagWord says in one line what a flag means and what it does.
type flagWord struct {
	flag    analyze.Flag
	meaning string
	effect  string
}

const (
	outOfTPS = "not in clean TPS, TPOT"
	noEffect = "stays in"
)

// flagWords are in the order of the flags.
func flagWords(o analyze.OptionsOut) []flagWord {
	few := "fewer decode tokens than the minimum"
	if o.MinTokens > 0 {
		few = "fewer than " + human.Count(o.MinTokens) + " decode tokens"
	}
	start, stream := "TTFT above the limit", "clean TPS below the limit"
	if o.SLO.TTFTms > 0 {
		start = "TTFT above " + human.Limit(o.SLO.TTFTms)
	}
	if o.SLO.TPS > 0 {
		stream = "clean TPS below " + human.LimitRate(o.SLO.TPS)
	}
	return []flagWord{
		{analyze.FewTokens, few + ": the rate is noise", outOfTPS},
		{analyze.ShortDecode, "decode shorter than 500 ms: the rate is noise", outOfTPS},
		{analyze.Burst, "the answer came in one piece: its first-token time is not one", "not in TTFT, clean TPS, TPOT"},
		{analyze.NoTTFT, "no first-token time in the log", "no split, no TPS"},
		{analyze.NoTotal, "no total time in the log", "no decode, no TPS"},
		{analyze.NoTokens, "no token count in the log", "no TPS"},
		{analyze.TTFTAfterTotal, "first token after the end: the times contradict each other", "not in any timing"},
		{analyze.TPSMismatch, "the rate in the log differs from tokens / decode time", noEffect},
		{analyze.FlagWarmup, "generated no token by design", "only counted"},
		{analyze.FlagFailed, "did not complete", "only counted"},
		{analyze.FlagAborted, "was interrupted", "only counted"},
		{analyze.SlowStart, start, noEffect},
		{analyze.SlowStream, stream, noEffect},
	}
}

// reasonWords say why something that was read is not in the figures.
var reasonWords = map[record.Reason]string{
	record.Repeat:       "usage that repeats the record before it",
	record.Replayed:     "history of a parent session, copied into a fork",
	record.Duplicate:    "request already read from another copy of the log",
	record.Merge:        "second account of a request, joined to the first",
	record.BadJSON:      "line that is no JSON value (cut off or glued together)",
	record.NotAnObject:  "JSON, but not of the expected shape",
	record.BadTime:      "timestamp that cannot be read",
	record.NotText:      "NUL bytes or bytes that are no UTF-8",
	record.NoNumbers:    "request line without a usable number",
	record.TooLong:      "line beyond the length that is kept",
	record.BadRow:       "database row that cannot be read",
	record.UnknownType:  "well-formed record of a type that is not known",
	record.Synthetic:    "usage made up by Codex, not a request",
	record.OutsideTurn:  "part of a request that began before the log",
	record.NoTime:       "request without any time",
	record.Continuation: "further line of a log event's text",
}
