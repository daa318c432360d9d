package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"codexlag/analyze"
)

// location returns the time zone of that IANA name, the local one for "".
func location(name string) (*time.Location, error) {
	if name == "" {
		return localZone(), nil
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, usageError("--timezone: %q is no IANA time zone, such as Europe/Berlin or UTC", name)
	}
	return l, nil
}

// localZone returns the local time zone under its IANA name where that is
// known, so that a report says "Europe/Berlin" and not "Local".
func localZone() *time.Location {
	name, set := os.LookupEnv("TZ")
	if !set {
		target, err := os.Readlink("/etc/localtime")
		if err != nil {
			return time.Local
		}
		_, name, _ = strings.Cut(filepath.ToSlash(target), "/zoneinfo/")
	}
	name = strings.TrimPrefix(name, ":")
	if name == "" && !set {
		return time.Local
	}
	if strings.HasPrefix(name, "Etc/") && strings.HasSuffix(name, "UTC") {
		name = "UTC"
	}
	l, err := time.LoadLocation(name) // UTC for ""
	if err != nil {
		return time.Local
	}
	return l
}

// parseWhen reads a point in time: a date, an RFC 3339 time, a time before now
// (-3d, 24h) or today.
func parseWhen(flag, s string, now time.Time, l *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	now = now.In(l)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, l)
	switch s {
	case "now":
		return now, nil
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.ParseInLocation(layout, s, l); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if d, err := parseSpan(strings.TrimPrefix(s, "-")); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, usageError("--%s: %q is no time: write 2026-09-01, 2026-09-01T12:00:00Z, -3d, 24h or today", flag, s)
}

// parseSpan reads a length of time: what time.ParseDuration takes, and days and weeks.
func parseSpan(s string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			v, err := strconv.ParseFloat(n, 64)
			if err != nil || v < 0 || v > 36500 {
				return 0, fmt.Errorf("%q is no number of days or weeks", n)
			}
			return time.Duration(v * float64(length)), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	return d, err
}

// parseSLO reads limits such as ttft=5s,tps=20. What is not named keeps its default.
func parseSLO(s string) (analyze.SLOTarget, error) {
	t := analyze.DefaultOptions().SLO
	for _, part := range strings.Split(s, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return t, usageError("--slo: %q is not KEY=VALUE; write ttft=5s,tps=20", part)
		}
		switch key {
		case "ttft":
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 {
				return t, usageError("--slo: ttft=%s is no length of time, such as 5s or 800ms", value)
			}
			t.TTFT = d
		case "tps":
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
				return t, usageError("--slo: tps=%s is no number of tokens per second", value)
			}
			t.TPS = v
		default:
			return t, usageError("--slo: unknown limit %q: ttft and tps can be limited%s", key, suggest(key, []string{"ttft", "tps"}))
		}
	}
	return t, nil
}

// parseShare reads 90% or 0.9 as a share 0..1.
func parseShare(flag, s string) (float64, error) {
	n, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, usageError("--%s: %q is no share: write 90%% or 0.9", flag, s)
	}
	return v, nil
}

// parsePercentiles reads a list of percentiles; the result is sorted, each once.
func parsePercentiles(l []string) ([]float64, error) {
	var ps []float64
	for _, s := range l {
		p, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(s), "p"), 64)
		if err != nil || !(p > 0 && p <= 100) {
			return nil, usageError("--percentiles: %q is no number above 0 and up to 100", s)
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		return nil, usageError("--percentiles: none given")
	}
	slices.Sort(ps)
	return slices.Compact(ps), nil
}

// filters writes the flags that leave something out, for reports to tell. The
// values of an anonymous run, which may be names, are left out.
func (f *inputFlags) filters() []string {
	l := []string{}
	add := func(flag, value string) {
		if value != "" {
			l = append(l, "--"+flag+" "+value)
		}
	}
	add("since", f.Since)
	add("until", f.Until)
	names := func(flag, values string) {
		if values != "" && f.Anonymize {
			values = "…"
		}
		add(flag, values)
	}
	names("model", strings.Join(f.Model, ","))
	names("session", strings.Join(f.Session, ","))
	for _, w := range f.Where {
		if key, _, ok := strings.Cut(w, "="); ok && f.Anonymize {
			w = key + "=…"
		}
		add("where", w)
	}
	return l
}

// options makes the figures' options of the flags.
func (f *figureFlags) options(l *time.Location) (analyze.Options, error) {
	o := analyze.DefaultOptions()
	o.Location = l
	if f.MinTokens < 0 {
		return o, usageError("--min-tokens: %d is negative", f.MinTokens)
	}
	o.MinTokens = f.MinTokens
	if f.ExactLimit <= 0 {
		return o, usageError("--exact-limit: %d is no number of requests above 0", f.ExactLimit)
	}
	o.ExactLimit = f.ExactLimit
	var err error
	if o.Percentiles, err = parsePercentiles(f.Percentiles); err != nil {
		return o, err
	}
	o.SLO, err = parseSLO(f.SLO)
	return o, err
}

// filter makes the filter of the flags.
func (f *inputFlags) filter(now time.Time, l *time.Location) (analyze.Filter, error) {
	out := analyze.Filter{Location: l}
	var err error
	if out.Since, err = parseWhen("since", f.Since, now, l); err != nil {
		return out, err
	}
	if out.Until, err = parseWhen("until", f.Until, now, l); err != nil {
		return out, err
	}
	for _, c := range []struct {
		by     analyze.Dimension
		values []string
	}{{"model", f.Model}, {"session", f.Session}} {
		if len(c.values) > 0 {
			out.Where = append(out.Where, analyze.Condition{By: c.by, Values: c.values})
		}
	}
	for _, w := range f.Where {
		c, err := analyze.ParseCondition(w)
		if err != nil {
			key, _, _ := strings.Cut(w, "=")
			return out, usageError("--where: %v%s", err, suggest(strings.TrimSpace(key), dimensionNames()))
		}
		out.Where = append(out.Where, c)
	}
	return out, nil
}
