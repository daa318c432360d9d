package report

import (
	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
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
func (b *builder) flagWords(o analyze.OptionsOut) []flagWord {
	few := b.Text("fewer decode tokens than the minimum")
	if o.MinTokens > 0 {
		few = b.Sprintf("fewer than %s decode tokens", human.Count(o.MinTokens))
	}
	start, stream := b.Text("TTFT above the limit"), b.Text("clean TPS below the limit")
	if o.SLO.TTFTms > 0 {
		start = b.Sprintf("TTFT above %s", human.Limit(o.SLO.TTFTms))
	}
	if o.SLO.TPS > 0 {
		stream = b.Sprintf("clean TPS below %s", human.LimitRate(o.SLO.TPS))
	}
	return []flagWord{
		{analyze.FewTokens, b.Sprintf("%s: the rate is noise", few), b.Text(outOfTPS)},
		{analyze.ShortDecode, b.Text("decode shorter than 500 ms: the rate is noise"), b.Text(outOfTPS)},
		{analyze.Burst, b.Text("the answer came in one piece: its first-token time is not one"), b.Text("not in TTFT, clean TPS, TPOT")},
		{analyze.NoTTFT, b.Text("no first-token time in the log"), b.Text("no split, no TPS")},
		{analyze.NoTotal, b.Text("no total time in the log"), b.Text("no decode, no TPS")},
		{analyze.NoTokens, b.Text("no token count in the log"), b.Text("no TPS")},
		{analyze.TTFTAfterTotal, b.Text("first token after the end: the times contradict each other"), b.Text("not in any timing")},
		{analyze.TPSMismatch, b.Text("the rate in the log differs from tokens / decode time"), b.Text(noEffect)},
		{analyze.FlagWarmup, b.Text("generated no token by design"), b.Text("only counted")},
		{analyze.FlagFailed, b.Text("did not complete"), b.Text("only counted")},
		{analyze.FlagAborted, b.Text("was interrupted"), b.Text("only counted")},
		{analyze.SlowStart, start, b.Text(noEffect)},
		{analyze.SlowStream, stream, b.Text(noEffect)},
	}
}

// reasonWords say why something that was read is not in the figures.
var reasonWords = map[record.Reason]string{
	record.Repeat:       lang.Mark("usage that repeats the record before it"),
	record.Replayed:     lang.Mark("history of a parent session, copied into a fork"),
	record.Duplicate:    lang.Mark("request already read from another copy of the log"),
	record.Merge:        lang.Mark("second account of a request, joined to the first"),
	record.BadJSON:      lang.Mark("line that is no JSON value (cut off or glued together)"),
	record.NotAnObject:  lang.Mark("JSON, but not of the expected shape"),
	record.BadTime:      lang.Mark("timestamp that cannot be read"),
	record.NotText:      lang.Mark("NUL bytes or bytes that are no UTF-8"),
	record.NoNumbers:    lang.Mark("request line without a usable number"),
	record.BadValue:     lang.Mark("figure in a request line that is no number, or an impossible one; the request counts without it"),
	record.TooLong:      lang.Mark("line beyond the length that is kept"),
	record.BadRow:       lang.Mark("database row that cannot be read"),
	record.UnknownType:  lang.Mark("well-formed record of a type that is not known"),
	record.Synthetic:    lang.Mark("usage made up by Codex, not a request"),
	record.OutsideTurn:  lang.Mark("part of a request that began before the log"),
	record.NoTime:       lang.Mark("request without any time"),
	record.Continuation: lang.Mark("further line of a log event's text"),
}
