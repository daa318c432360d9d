package analyze

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"codexlag/parse/record"
)

// A Dimension is something to group requests by, or to select them by.
type Dimension string

// Dimensions lists the names that --by and --where take.
var Dimensions = []Dimension{"model", "effort", "provider", "session", "file", "dir", "label", "day", "hour",
	"version", "source", "cache", "input-size", "output-size", "status", "format", "turn"}

// byModel is the dimension that figures are mixed up over most often.
const byModel Dimension = "model"

// ParseDimension returns the dimension of that name.
func ParseDimension(name string) (Dimension, error) {
	for _, d := range Dimensions {
		if string(d) == name {
			return d, nil
		}
	}
	return "", fmt.Errorf("unknown key %q: one of %s", name, DimensionNames())
}

// DimensionNames lists the dimensions for a person to read.
func DimensionNames() string {
	names := make([]string, len(Dimensions))
	for i, d := range Dimensions {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}

// Key returns the value that r has in dimension d, "" where it has none.
func (d Dimension) Key(r *record.Request, location *time.Location) string {
	switch d {
	case byModel:
		return r.Model
	case "effort":
		return r.Effort
	case "provider":
		return r.Provider
	case "session":
		return r.Session
	case "turn":
		return r.Turn
	case "file":
		return r.File
	case "dir":
		return filepath.Dir(r.File)
	case "label":
		return r.Label
	case "version":
		return r.Version
	case "source":
		return r.Origin
	case "status":
		return r.Status.String()
	case "format":
		return string(r.Format)
	case "day":
		if r.End.IsZero() {
			return ""
		}
		return r.End.In(location).Format("2006-01-02")
	case "hour":
		if r.End.IsZero() {
			return ""
		}
		return r.End.In(location).Format("15h")
	case "cache":
		return cacheBand(r)
	case "input-size":
		return sizeBand(r.Input)
	case "output-size":
		return sizeBand(r.Output)
	}
	return ""
}

// TurnKey returns the value that a turn has in dimension d; ok is false where
// a turn has no such thing, so that the dimension does not split turns.
func (d Dimension) TurnKey(t *record.Turn, location *time.Location) (key string, ok bool) {
	switch d {
	case "label", "cache", "input-size", "output-size":
		return "", false
	case "status":
		return t.Status.String(), true
	}
	return d.Key(&record.Request{Pos: t.Pos, Format: record.FormatRollout, End: t.End, Session: t.Session, Turn: t.ID,
		Model: t.Model, Provider: t.Provider, Effort: t.Effort, Version: t.Version, Origin: t.Origin}, location), true
}

// cacheBand groups by the share of the prompt that came from the cache.
func cacheBand(r *record.Request) string {
	if !r.Input.Known || !r.Cached.Known || r.Input.N == 0 || r.Cached.N > r.Input.N {
		return ""
	}
	switch hit := float64(r.Cached.N) / float64(r.Input.N); {
	case hit == 0:
		return "0 %"
	case hit < 0.5:
		return "below 50 %"
	case hit < 0.9:
		return "50–90 %"
	}
	return "90–100 %"
}

// sizeBand groups token counts by the powers that people speak in.
func sizeBand(t record.Tokens) string {
	if !t.Known {
		return ""
	}
	for _, b := range sizeBands {
		if t.N < b.below {
			return b.name
		}
	}
	return largestSize
}

var sizeBands = []struct {
	below int64
	name  string
}{{100, "below 100"}, {500, "100–499"}, {2_000, "500–1,999"}, {10_000, "2,000–9,999"}, {50_000, "10,000–49,999"}, {200_000, "50,000–199,999"}}

const largestSize = "200,000 and more"
