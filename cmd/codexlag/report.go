package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"codexlag/analyze"
	"codexlag/parse/record"
	"codexlag/report"
)

// reportCmd is the default command.
type reportCmd struct {
	pathArgs
	inputFlags
	figureFlags
	colorFlags
	languageFlags
	followFlags
	fromFlags

	By     []string `placeholder:"KEY" group:"Figures" help:"Group by ${dimensions}. Repeatable: a table for each."`
	Top    int      `default:"10" placeholder:"N" group:"Figures" help:"List the slowest N requests (default ${default})."`
	SLOMin string   `name:"slo-min" placeholder:"SHARE" group:"Figures" help:"Exit with 3 when a smaller share of the requests keeps the limits of --slo, such as 90%."`

	Format string   `placeholder:"FORMAT" enum:",markdown,text,html,json,csv" default:"" group:"Output" help:"markdown, text, html, json or csv (default: text on a terminal, else markdown)."`
	Output []string `short:"o" placeholder:"FILE" sep:"none" group:"Output" help:"Write the report to FILE instead, in the format of its ending (.md .txt .html .json .csv). Repeatable."`
}

// Help is the long text of codexlag report --help.
func (*reportCmd) Help() string {
	return `Examples:

  codexlag --by model --by hour --since -7d
  codexlag --slo ttft=3s,tps=30 --slo-min 95% logs/   exit code 3 when it is not met
  codexlag --anonymize -o report.html                 fit to be shown to others
  codexlag --color always | less -R
  codexlag --from clickhouse://logs.example/codex     what codexlag load brought there`
}

// Run reads the logs and writes the report.
func (c *reportCmd) Run(env *environment) error {
	env.quiet = c.Quiet
	if err := misplaced(c.Paths); err != nil {
		return err
	}
	zone, err := location(c.Timezone)
	if err != nil {
		return err
	}
	options, err := c.figureFlags.options(zone)
	if err != nil {
		return err
	}
	if options.By, err = dimensions(c.By); err != nil {
		return err
	}
	if c.Top < 0 {
		return usageError("--top: %d is negative", c.Top)
	}
	options.Top, options.Filters, options.Language = c.Top, c.filters(), c.Lang
	gate := -1.0
	if c.SLOMin != "" {
		if gate, err = parseShare("slo-min", c.SLOMin); err != nil {
			return err
		}
	}
	outputs, err := outputs(env, c.Format, c.Output, c.color())
	if err != nil {
		return err
	}
	if err := c.followFlags.check(env); err != nil {
		return err
	}
	if c.fromFlags.wanted(env, c.Paths) {
		collector, read, err := c.fetch(env, zone, outputs, options)
		if err != nil {
			return err
		}
		return c.conclude(collector, read, outputs, gate)
	}
	if c.Follow {
		return c.follow(env, zone, options, outputs, gate)
	}
	collector := analyze.NewCollector(options)
	var workers []*analyze.Collector
	read, err := c.read(env, zone, c.Paths, collector.Add, func() func(record.Record) {
		workers = append(workers, analyze.NewCollector(options))
		return workers[len(workers)-1].Add
	})
	if err != nil {
		return err
	}
	for i, w := range workers {
		collector.Merge(w)
		workers[i] = nil // it can be as big as the whole
	}
	return c.conclude(collector, read, outputs, gate)
}

// conclude writes the report and says what the exit code must tell.
func (c *reportCmd) conclude(collector *analyze.Collector, read *reading, outputs []output, gate float64) error {
	if collector.Requests() == 0 && collector.Turns() == 0 {
		return read.nothing()
	}
	r := collector.Report(analyze.Tool{Name: "codexlag", Version: version()}, read.inputs())
	if anyPage(outputs) {
		r.Charts = collector.Charts(r)
	}
	for _, o := range outputs {
		if err := o.write(rendering(r)); err != nil {
			return err
		}
	}
	if err := read.verdict(); err != nil {
		return err
	}
	if share := r.Overall.SLO.Share; gate >= 0 && (share == nil || *share < gate) {
		s := r.Overall.SLO
		msg := fmt.Sprintf("%d of %d requests keep the limits, fewer than %s", s.Met, s.Met+s.Missed, c.SLOMin)
		if s.Unknown > 0 {
			msg += fmt.Sprintf("; of %d it is not known, which counts as no: the logs do not tell their TTFT, or only an upper bound beyond the limit", s.Unknown)
		}
		return &exitError{exitGate, msg}
	}
	return nil
}

func dimensions(names []string) ([]analyze.Dimension, error) {
	var l []analyze.Dimension
	for _, n := range names {
		d, err := analyze.ParseDimension(strings.TrimSpace(n))
		if err != nil {
			return nil, usageError("--by: %v%s", err, suggest(n, dimensionNames()))
		}
		if !slices.Contains(l, d) {
			l = append(l, d)
		}
	}
	return l, nil
}

// rendering is the report in each of its formats.
func rendering(r *analyze.Report) formats {
	return formats{
		document: func() *report.Document { return report.New(r) },
		json:     func(w io.Writer) error { return report.JSON(w, r) },
		csv:      func(w io.Writer) error { return report.CSV(w, r) },
	}
}

// now is the time that --since -3d counts from.
func now() time.Time { return time.Now() }
