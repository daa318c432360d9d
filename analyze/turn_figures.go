package analyze

import (
	"time"

	"codexlag/parse/record"
)

// A Turn is one agent turn with everything that is derived from it. Durations
// are in ms; a nil pointer is a figure that is not defined.
type Turn struct {
	Source   string     // file:line
	Format   string     // of the log
	Time     *time.Time // when it ended, UTC
	Session  *string
	Turn     *string
	Model    *string
	Provider *string
	Effort   *string
	Version  *string // of Codex
	Status   string  // ok, failed, aborted or unfinished
	Duration *float64
	TTFT     *float64 // turn start to first visible output, as Codex states it

	// The parts of Duration: nil where it is. Other is the rest, never negative.
	Prefill, Decode, ModelTime, Tool, Other *float64

	Requests, Tools int64 // calls of the model and of tools
}

// NewTurn returns t with everything that is derived from it. It keeps nothing of t.
func NewTurn(t *record.Turn, o *Options) *Turn {
	q := &Turn{
		Source:   t.Pos.String(),
		Format:   string(t.Format),
		Session:  text(t.Session),
		Turn:     text(t.ID),
		Model:    text(t.Model),
		Provider: text(t.Provider),
		Effort:   text(t.Effort),
		Version:  text(t.Version),
		Status:   t.Status.String(),
		Requests: int64(len(t.Requests)),
		Tools:    int64(len(t.Tools)),
	}
	if !t.End.IsZero() {
		end := t.End.UTC()
		q.Time = &end
	}
	if t.HasTTFT {
		q.TTFT = ms(t.TTFT)
	}
	if t.Duration > 0 {
		p := splitTurn(t, o)
		q.Duration = ms(t.Duration)
		q.Prefill, q.Decode, q.ModelTime, q.Tool, q.Other = ms(p.prefill), ms(p.decode), ms(p.model), ms(p.tool), ms(p.other)
	}
	return q
}
