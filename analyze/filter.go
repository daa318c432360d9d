package analyze

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"codexlag/parse/record"
)

// A Filter keeps some requests and turns. The zero value keeps all.
type Filter struct {
	Since, Until time.Time // of the end; zero for no limit. Until is not included
	Where        []Condition
	Location     *time.Location
}

// A Condition keeps what has one of the values in a dimension. Values may hold
// the wildcards * and ?. An empty value keeps what has none.
type Condition struct {
	By     Dimension
	Values []string
}

// ParseCondition reads KEY=VALUE or KEY=VALUE,VALUE.
func ParseCondition(s string) (Condition, error) {
	key, values, ok := strings.Cut(s, "=")
	if !ok {
		return Condition{}, fmt.Errorf("%q is not KEY=VALUE", s)
	}
	by, err := ParseDimension(strings.TrimSpace(key))
	if err != nil {
		return Condition{}, err
	}
	c := Condition{By: by, Values: strings.Split(values, ",")}
	for i, v := range c.Values {
		if _, err := path.Match(v, ""); err != nil {
			return Condition{}, fmt.Errorf("bad pattern %q: %w", v, err)
		}
		if by == "hour" {
			c.Values[i] = hourKey(v)
		}
	}
	return c, nil
}

// hourKey writes an hour of the day as its key is: 9, 09 and 9h are 09h. What
// is no such number stays as it is.
func hourKey(s string) string {
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "h"), 10, 8)
	if err != nil || n > 23 {
		return s
	}
	return fmt.Sprintf("%02dh", n)
}

func (c Condition) holds(value string) bool {
	return slices.ContainsFunc(c.Values, func(want string) bool {
		if value == want {
			return true
		}
		ok, _ := path.Match(want, value)
		return ok
	})
}

// KeepsAll reports whether everything passes.
func (f *Filter) KeepsAll() bool {
	return f.Since.IsZero() && f.Until.IsZero() && len(f.Where) == 0
}

// Keeps reports whether r passes.
func (f *Filter) Keeps(r *record.Request) bool {
	if !f.inTime(r.End) {
		return false
	}
	for _, c := range f.Where {
		if !c.holds(c.By.Key(r, f.Location)) {
			return false
		}
	}
	return true
}

// KeepsTurn reports whether t passes. A condition that turns don't have is
// decided by their requests: one that passes keeps the turn.
func (f *Filter) KeepsTurn(t *record.Turn) bool {
	if !f.inTime(t.End) {
		return false
	}
	for _, c := range f.Where {
		key, ok := c.By.TurnKey(t, f.Location)
		if ok && !c.holds(key) {
			return false
		}
		if !ok && !slices.ContainsFunc(t.Requests, func(r *record.Request) bool { return c.holds(c.By.Key(r, f.Location)) }) {
			return false
		}
	}
	return true
}

// NeedsTime reports whether what has no time is dropped.
func (f *Filter) NeedsTime() bool { return !f.Since.IsZero() || !f.Until.IsZero() }

func (f *Filter) inTime(t time.Time) bool {
	if t.IsZero() {
		return !f.NeedsTime()
	}
	return (f.Since.IsZero() || !t.Before(f.Since)) && (f.Until.IsZero() || t.Before(f.Until))
}
