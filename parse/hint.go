package parse

import (
	"slices"

	"codexlag/parse/record"
)

// Ways to get a log with the TTFT of each request out of Codex, which has no
// --verbose. The log_dir key exists since February 2026; the TTFT of a request
// is in the telemetry of versions from July 2026 on.
const (
	traceTUI  = "RUST_LOG=codex_otel=info codex -c log_dir=./log"
	traceExec = "RUST_LOG=codex_otel=info codex exec … 2> trace.log"
)

// Hint says what to do for better data than a log holds; "" where nothing is missing.
func (s *Summary) Hint(i *Info) string {
	switch i.Format {
	case record.FormatExec:
		for _, thread := range i.Threads {
			if slices.ContainsFunc(s.Logs, func(l Log) bool { return l.Session == thread }) {
				return ""
			}
		}
		return "codex exec --json carries no times; name the session files (~/.codex/sessions) as well, or keep the trace: " + traceExec
	case record.FormatRequest:
		if i.TTFT[record.None] > 0 {
			return "some request lines have no first-token time; log first_token_ms for each request"
		}
	case record.FormatRollout:
		return rolloutHint(i)
	case record.FormatTrace, record.FormatSQLite, record.FormatOTLP:
		if i.TTFT[record.Measured]+i.TTFT[record.Derived] == 0 && i.Requests > 0 {
			return "no ttft_ms in this telemetry; Codex states it from about version 0.143 on"
		}
		if i.Requests == 0 {
			return "no telemetry in this trace; switch it on: " + traceTUI + ", or " + traceExec
		}
	case record.FormatBundle:
		return "a rollout trace has exact totals and no first-token time; keep telemetry beside it: " + traceTUI
	}
	return ""
}

func rolloutHint(i *Info) string {
	switch {
	case i.Era == "bare" || i.Era == "typescript":
		return "session files of this age carry no times; nothing can be won from them, newer Codex writes them"
	case i.Requests == 0:
		return ""
	case i.TTFT[record.Measured] > 0 || 2*i.TTFT[record.Estimated] >= i.Requests:
		return "" // a trace told more, or item times are there
	}
	return "Codex states one first-token time a turn in these session files, so most requests have none; keep the trace beside them: " + traceTUI + ", or " + traceExec
}
