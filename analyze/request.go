package analyze

import (
	"time"

	"codexlag/parse/record"
)

// NewRequest returns r with everything that is derived from it.
func NewRequest(r *record.Request, o *Options) *Request {
	m := derive(r, o)
	q := &Request{
		Source:       r.Pos.String(),
		Format:       string(r.Format),
		Session:      text(r.Session),
		Turn:         text(r.Turn),
		Model:        text(r.Model),
		Provider:     text(r.Provider),
		Effort:       text(r.Effort),
		Label:        text(r.Label),
		TTFTQuality:  r.Quality.String(),
		OutputTokens: count(r.Output),
		DecodeTokens: count(m.decodeTokens),
		InputTokens:  count(r.Input),
		CachedTokens: count(r.Cached),
		Reasoning:    count(r.Reasoning),
		Status:       r.Status.String(),
		Flags:        m.flags.list(),
		Error:        text(r.Error.Kind),
	}
	if !r.End.IsZero() {
		end := r.End.UTC()
		q.Time = &end
	}
	if m.hasTTFT || r.Quality == record.Bound {
		q.TTFT = ms(r.TTFT)
	}
	if m.hasTotal {
		q.Total = ms(m.total)
	}
	if m.hasDecode {
		q.Decode = ms(m.decode)
	}
	if m.hasShare {
		q.PrefillShare = num(m.share())
		p := phase(m.share())
		q.Phase = &p
	}
	if m.hasTPS {
		q.TPS = num(m.tps)
		q.TPSError = num(1/float64(m.decodeTokens.N) + 1/milliseconds(m.decode))
	}
	if m.hasTPOT {
		q.TPOT = num(m.tpot())
	}
	if r.HasReportedTPS {
		q.ReportedTPS = num(r.ReportedTPS)
	}
	if status := r.Error.HTTPStatus; status != 0 {
		q.HTTPStatus = &status // r is used again
	}
	return q
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func count(t record.Tokens) *int64 {
	if !t.Known {
		return nil
	}
	return &t.N
}

func ms(d time.Duration) *float64 { return num(milliseconds(d)) }
