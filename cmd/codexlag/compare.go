package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/parse"
	"codexlag/parse/record"
	"codexlag/report"
)

// compareCmd sets two sets of logs side by side.
type compareCmd struct {
	Paths []string `arg:"" optional:"" name:"path" help:"BEFORE and AFTER; with --at the logs to split (without one: $$CODEX_HOME, else ~/.codex)."`

	inputFlags
	figureFlags
	colorFlags
	languageFlags

	At        string   `placeholder:"TIME" group:"Comparison" help:"Split one set in two: requests that ended before TIME, and the others. 2026-09-01, an RFC 3339 time, -3d, 24h, today."`
	By        []string `placeholder:"KEY" group:"Comparison" help:"Compare also by ${dimensions}. Repeatable."`
	Threshold string   `default:"5%" placeholder:"SHARE" group:"Comparison" help:"A smaller change of a median is no practical difference, even a significant one (default ${default})."`
	FailOn    []string `placeholder:"CONDITION" sep:"none" group:"Comparison" help:"Exit with 3 when the condition holds: METRIC:STAT>LIMIT or <. METRIC: ttft, total, tps, tpot, output_tokens, prefill_share (without STAT). STAT: mean, p50, p90 or another percentile. LIMIT: a relative change such as +20%, or a value of AFTER such as 5s. Repeatable."`

	Format string   `placeholder:"FORMAT" enum:",markdown,text,html,json" default:"" group:"Output" help:"markdown, text, html or json (default: text on a terminal, else markdown)."`
	Output []string `short:"o" placeholder:"FILE" sep:"none" group:"Output" help:"Write the comparison to FILE instead, in the format of its ending (.md .txt .html .json). Repeatable."`

	fromFlags
}

// Help is the long text of codexlag compare --help.
func (*compareCmd) Help() string {
	return `Without --at, exactly two paths are compared: codexlag compare BEFORE AFTER. Quote a glob.

  codexlag compare before/ after/
  codexlag compare --at 2026-09-01 --by model ~/.codex
  codexlag compare --fail-on 'ttft:p90>+20%' --fail-on 'tps:p50<20' before/ after/`
}

// Run reads both sets and writes the comparison.
func (c *compareCmd) Run(env *environment) error {
	env.quiet = c.Quiet
	zone, err := location(c.Timezone)
	if err != nil {
		return err
	}
	gates, err := c.gates()
	if err != nil {
		return err
	}
	options, err := c.options(zone, gates)
	if err != nil {
		return err
	}
	threshold, err := parseShare("threshold", c.Threshold)
	if err != nil {
		return err
	}
	outputs, err := c.outputs(env)
	if err != nil {
		return err
	}
	at, err := c.at(env, zone)
	if err != nil {
		return err
	}
	var s *sides
	if c.fromFlags.wanted(env, c.Paths) {
		s, err = c.stored(env, zone, options, outputs, at)
	} else if at.IsZero() {
		s, err = c.twoSets(env, zone, options)
	} else {
		s, err = c.oneSet(env, zone, options, at)
	}
	if err != nil {
		return err
	}
	r := analyze.Compare(analyze.Tool{Name: "codexlag", Version: version()}, s.before, s.after, threshold)
	for _, o := range outputs {
		if err := o.write(formats{
			document: func() *report.Document { return report.Comparison(r) },
			json:     func(w io.Writer) error { return report.CompareJSON(w, r) },
		}); err != nil {
			return err
		}
	}
	for _, rd := range s.readings {
		if err := rd.verdict(); err != nil {
			return err
		}
	}
	return failed(gates, r)
}

func (c *compareCmd) gates() ([]gate, error) {
	var gates []gate
	for _, s := range c.FailOn {
		g, err := parseFailOn(s)
		if err != nil {
			return nil, err
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// options are those of the figures, with every percentile that is asked about.
func (c *compareCmd) options(zone *time.Location, gates []gate) (analyze.Options, error) {
	o, err := c.figureFlags.options(zone)
	if err != nil {
		return o, err
	}
	ps := append(o.Percentiles, 50) // the test is about the medians
	for _, g := range gates {
		if g.percentile > 0 {
			ps = append(ps, g.percentile)
		}
	}
	slices.Sort(ps)
	o.Percentiles = slices.Compact(ps)
	o.Top, o.Mix, o.Filters, o.Language = 0, true, c.filters(), c.Lang
	o.By, err = dimensions(c.By)
	return o, err
}

func (c *compareCmd) outputs(env *environment) ([]output, error) {
	l, err := outputs(env, c.Format, c.Output, c.color())
	for _, o := range l {
		if o.format == "csv" {
			return nil, usageError("-o %s: a comparison has no CSV; take .json", o.path)
		}
	}
	return l, err
}

// at is the time of --at, and checks that the number of paths fits.
func (c *compareCmd) at(env *environment, zone *time.Location) (time.Time, error) {
	if c.At != "" {
		return parseWhen("at", c.At, now(), zone)
	}
	switch {
	case c.fromFlags.wanted(env, c.Paths):
		return time.Time{}, usageError("--from compares by time: give --at TIME")
	case len(c.Paths) != 2:
		s := fmt.Sprintf("compare takes two paths, BEFORE and AFTER, not %d", len(c.Paths))
		if len(c.Paths) > 2 {
			s += "; put a glob in quotes"
		}
		return time.Time{}, usageError("%s; or --at TIME, which splits one set", s)
	case c.Paths[0] == "-" && c.Paths[1] == "-":
		return time.Time{}, usageError("standard input (-) can be one side only")
	}
	return time.Time{}, nil
}

// sides are the two sets and what reading them came to.
type sides struct {
	before, after analyze.Set
	readings      []*reading
}

// twoSets reads the sets one after the other.
func (c *compareCmd) twoSets(env *environment, zone *time.Location, options analyze.Options) (*sides, error) {
	s := &sides{}
	for i, set := range []*analyze.Set{&s.before, &s.after} {
		collector := analyze.NewCollector(options)
		rd, err := c.read(env, zone, c.Paths[i:i+1], collector.Add, nil)
		if err != nil {
			return nil, err
		}
		if collector.Requests() == 0 {
			return nil, emptySide([]string{"BEFORE", "AFTER"}[i]+" ("+c.Paths[i]+")", rd)
		}
		*set = analyze.Set{Name: env.shown(c.Paths[i]), Inputs: rd.inputs(), Collected: collector}
		s.readings = append(s.readings, rd)
	}
	return s, nil
}

// oneSet reads one set and splits it by when requests ended.
func (c *compareCmd) oneSet(env *environment, zone *time.Location, options analyze.Options, at time.Time) (*sides, error) {
	before, after := analyze.NewCollector(options), analyze.NewCollector(options)
	timeless := 0
	rd, err := c.read(env, zone, c.Paths, func(r record.Record) {
		end := time.Time{}
		switch r := r.(type) {
		case *record.Request:
			if end = r.End; end.IsZero() {
				timeless++
			}
		case *record.Turn:
			end = r.End
		}
		switch {
		case end.IsZero():
		case end.Before(at):
			before.Add(r)
		default:
			after.Add(r)
		}
	}, nil)
	if err != nil {
		return nil, err
	}
	return c.split(env, zone, at, before, after, timeless, rd)
}

// split makes the two sides of a set that was split at a time.
func (c *compareCmd) split(env *environment, zone *time.Location, at time.Time, before, after *analyze.Collector, timeless int, rd *reading) (*sides, error) {
	if timeless > 0 {
		env.warn("%s without a time left out: --at cannot place them", human.Plural(timeless, "request"))
	}
	when := at.In(zone).Format("2006-01-02 15:04:05 MST")
	switch b, a := before.Requests(), after.Requests(); {
	case b+a == 0:
		return nil, emptySide("the set has no request with a time", rd)
	case b == 0:
		return nil, &exitError{exitNothing, "nothing to compare: no request ended before " + when + " (--at); " + human.Plural(a, "request") + " ended then or later"}
	case a == 0:
		return nil, &exitError{exitNothing, "nothing to compare: no request ended at " + when + " (--at) or later; " + human.Plural(b, "request") + " ended before"}
	}
	return &sides{
		before:   analyze.Set{Name: c.Lang.Sprintf("before %s", when), Inputs: rd.inputs(), Collected: before},
		after:    analyze.Set{Name: c.Lang.Sprintf("from %s", when), Inputs: rd.inputs(), Collected: after},
		readings: []*reading{rd},
	}, nil
}

// stored is oneSet of what a database holds.
func (c *compareCmd) stored(env *environment, zone *time.Location, options analyze.Options, outputs []output, at time.Time) (*sides, error) {
	db, filter, err := c.open(env, &c.inputFlags, zone, c.Paths, false, outputs)
	if err != nil {
		return nil, err
	}
	before, after, in, timeless, err := analyze.FetchSplit(env.ctx, db, options, filter, at)
	if err != nil {
		return nil, err
	}
	return c.split(env, zone, at, before, after, timeless, &reading{Summary: new(parse.Summary), stored: in})
}

// emptySide explains why there is nothing to compare.
func emptySide(side string, rd *reading) error {
	err := rd.nothing()
	if msg := err.Error(); msg != "" {
		if exit, ok := err.(*exitError); ok {
			return &exitError{exit.code, side + ": " + msg}
		}
	}
	return err // told already
}

// failed tells of the conditions of --fail-on that hold.
func failed(gates []gate, r *analyze.Comparison) error {
	var why []string
	for _, g := range gates {
		if s := g.fails(r.Overall); s != "" {
			why = append(why, s)
		}
	}
	if len(why) == 0 {
		return nil
	}
	return &exitError{exitGate, strings.Join(why, "\ncodexlag: ")}
}
