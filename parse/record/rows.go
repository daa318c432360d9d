package record

import "time"

// A Row is a request that states the usual and nothing else: a measured TTFT,
// a total, generated tokens, maybe a rate, a model and when it ended. Logs of
// gateways hold millions of them, so it is small and has no pointers.
type Row struct {
	Seconds     int64   // when it ended, in Unix time; means something only if HasEnd
	Rate        float64 // tokens/s as the log prints it; below 0 for none
	Nanoseconds uint32
	Line        uint32 // after Rows.Line
	TTFT        uint32 // ms
	Total       uint32 // ms, never 0
	Output      uint32 // tokens
	Model       uint16 // index in Rows.Models plus 1; 0 for none
	HasEnd      bool
}

// Rows are plain requests of one log, in its order. They belong to their
// reader: whoever takes them keeps nothing of them.
type Rows struct {
	Pos    // the line before the first that was looked at
	List   []Row
	Models []string
}

// Request makes r the request of row i. r is the zero value, or was made by
// Request before.
func (l *Rows) Request(i int, r *Request) {
	w := &l.List[i]
	r.Pos = Pos{File: l.File, Line: l.Line + int64(w.Line)}
	r.Format = FormatRequest
	r.TTFT, r.Quality = time.Duration(w.TTFT)*time.Millisecond, Measured
	r.Total = time.Duration(w.Total) * time.Millisecond
	r.Output = Tokens{N: int64(w.Output), Known: true}
	r.ReportedTPS, r.HasReportedTPS = 0, w.Rate >= 0
	if r.HasReportedTPS {
		r.ReportedTPS = w.Rate
	}
	r.Model = ""
	if w.Model > 0 {
		r.Model = l.Models[w.Model-1]
	}
	r.Start, r.End = time.Time{}, time.Time{}
	if w.HasEnd {
		r.End = time.Unix(w.Seconds, int64(w.Nanoseconds)).UTC()
		r.Start = r.End.Add(-r.Total)
	}
}
