package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"codexlag/analyze"
	"codexlag/report"
)

// reportCmd is the default command.
type reportCmd struct {
	inputFlags
	figureFlags

	By     []string `placeholder:"KEY" group:"Figures" help:"Group by ${dimensions}. Repeatable."`
	Top    int      `default:"10" placeholder:"N" group:"Figures" help:"List the slowest N requests (default ${default})."`
	SLOMin string   `name:"slo-min" placeholder:"SHARE" group:"Figures" help:"Exit with 3 when a smaller share of the requests keeps the limits of --slo, such as 90%."`

	Format  string   `placeholder:"FORMAT" enum:",markdown,text,html,json,csv" default:"" group:"Output" help:"markdown, text, html, json or csv (default: text on a terminal, else markdown)."`
	Output  []string `short:"o" placeholder:"FILE" sep:"none" group:"Output" help:"Write the report to FILE instead, in the format of its ending (.md .txt .html .json .csv). Repeatable."`
	NoColor bool     `group:"Output" help:"No colours (also: the variable NO_COLOR)."`
}

// Run reads the logs and writes the report.
func (c *reportCmd) Run(env *environment) error {
	env.quiet = c.Quiet
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
	options.Top = c.Top
	gate := -1.0
	if c.SLOMin != "" {
		if gate, err = parseShare("slo-min", c.SLOMin); err != nil {
			return err
		}
	}
	outputs, err := c.outputs(env)
	if err != nil {
		return err
	}
	collector := analyze.NewCollector(options)
	read, err := c.read(env, zone, collector.Add)
	if err != nil {
		return err
	}
	if collector.Requests() == 0 && collector.Turns() == 0 {
		return read.nothing()
	}
	r := collector.Report(analyze.Tool{Name: "codexlag", Version: version()}, read.inputs())
	for _, o := range outputs {
		if err := o.write(r); err != nil {
			return err
		}
	}
	if err := read.verdict(); err != nil {
		return err
	}
	if share := r.Overall.SLO.Share; gate >= 0 && (share == nil || *share < gate) {
		return &exitError{exitGate, fmt.Sprintf("%d of %d requests keep the limits, fewer than %s", r.Overall.SLO.Met, r.Overall.SLO.Met+r.Overall.SLO.Missed, c.SLOMin)}
	}
	return nil
}

func dimensions(names []string) ([]analyze.Dimension, error) {
	var l []analyze.Dimension
	for _, n := range names {
		d, err := analyze.ParseDimension(strings.TrimSpace(n))
		if err != nil {
			return nil, usageError("--by: %v", err)
		}
		l = append(l, d)
	}
	return l, nil
}

// An output is one place that the report goes to.
type output struct {
	path   string // "" for standard output
	format string
	stdout io.Writer
	text   report.TextOptions
}

var endings = map[string]string{".md": "markdown", ".markdown": "markdown", ".txt": "text", ".html": "html", ".htm": "html", ".json": "json", ".csv": "csv"}

// outputs lists where the report goes: the files of -o, else standard output.
func (c *reportCmd) outputs(env *environment) ([]output, error) {
	if len(c.Output) == 0 {
		o := output{format: c.Format, stdout: env.stdout, text: terminal(env.stdout, c.NoColor)}
		if o.format == "" {
			o.format = "markdown"
			if isTerminal(env.stdout) {
				o.format = "text"
			}
		}
		return []output{o}, nil
	}
	var l []output
	for _, path := range c.Output {
		format := endings[strings.ToLower(filepath.Ext(path))]
		if format == "" {
			format = c.Format
		}
		if format == "" {
			return nil, usageError("-o %s: the ending names no format (.md .txt .html .json .csv); add --format", path)
		}
		l = append(l, output{path: path, format: format, text: report.TextOptions{Unicode: true}})
	}
	return l, nil
}

// write renders the report and writes it: a file appears whole or not at all.
func (o *output) write(r *analyze.Report) error {
	if o.path == "" {
		if err := o.render(o.stdout, r); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		return nil
	}
	var b bytes.Buffer
	if err := o.render(&b, r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := writeFile(o.path, b.Bytes()); err != nil {
		return fmt.Errorf("writing the report to %s: %w", o.path, err)
	}
	return nil
}

func (o *output) render(w io.Writer, r *analyze.Report) error {
	switch o.format {
	case "json":
		return report.JSON(w, r)
	case "csv":
		return report.CSV(w, r)
	case "html":
		return report.HTML(w, report.New(r))
	case "text":
		return report.Text(w, report.New(r), o.text)
	}
	return report.Markdown(w, report.New(r))
}

// writeFile replaces path atomically. What is no regular file (/dev/stdout, a
// pipe) is written to as it is.
func writeFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o644)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // replace what a link points to, not the link
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone after the rename
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminal tells what the standard output can show.
func terminal(w io.Writer, noColor bool) report.TextOptions {
	o := report.TextOptions{Unicode: true}
	if !isTerminal(w) {
		return o
	}
	f := w.(*os.File)
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		o.Width = width
	}
	o.Color = !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	o.Unicode = hasUnicode()
	return o
}

// hasUnicode looks whether the locale has UTF-8; without any hint it is assumed.
func hasUnicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			return strings.Contains(strings.ToUpper(strings.ReplaceAll(v, "-", "")), "UTF8")
		}
	}
	return true
}

// now is the time that --since -3d counts from.
func now() time.Time { return time.Now() }
