package analyze

import (
	"slices"
	"time"

	"codexlag/analyze/lang"
)

// Options shape the figures.
type Options struct {
	MinTokens   int64     // below, a TPS is noisy
	Percentiles []float64 // percent, ascending
	SLO         SLOTarget
	By          []Dimension
	// Mix collects by model as well, whether By has it or not: see Compare.
	Mix      bool
	Top      int            // how many of the slowest requests to list
	Location *time.Location // of days and hours
	// ExactLimit is from how many values a sketch takes over from keeping them.
	// Whole milliseconds and tokens stay exact beyond it. 0: DefaultExactLimit.
	ExactLimit int
	Filters    []string      // what left out others, as it is to be told; it changes no figure
	Language   lang.Language // of sentences
}

// An SLOTarget is the limits that a request must keep.
type SLOTarget struct {
	TTFT time.Duration // at most
	TPS  float64       // at least, tokens/s
}

// DefaultExactLimit keeps the exact figures of a plain log within some 300 MB.
const DefaultExactLimit = 10_000_000

// DefaultOptions returns the options of a plain call.
func DefaultOptions() Options {
	return Options{
		MinTokens:   DefaultMinTokens,
		Percentiles: []float64{50, 90, 95, 99},
		SLO:         SLOTarget{TTFT: 5 * time.Second, TPS: 20},
		Top:         10,
		Location:    time.UTC,
		ExactLimit:  DefaultExactLimit,
	}
}

// collected returns the dimensions by which requests are told apart.
func (o *Options) collected() []Dimension {
	if o.Mix && !slices.Contains(o.By, byModel) {
		return append(slices.Clone(o.By), byModel)
	}
	return o.By
}
