package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"codexlag/analyze"
	"codexlag/parse/record"
	"codexlag/report"
)

// requestsCmd lists requests one by one.
type requestsCmd struct {
	pathArgs
	inputFlags
	figureFlags
	colorFlags
	languageFlags

	Format string `placeholder:"FORMAT" enum:",text,csv,ndjson" default:"" group:"Output" help:"text (a table), csv or ndjson (default: by the ending of -o, else text)."`
	Output string `short:"o" placeholder:"FILE" group:"Output" help:"Write to FILE instead (.csv, .ndjson, .txt)."`
}

// Help is the long text of codexlag requests --help.
func (*requestsCmd) Help() string {
	return `Times are UTC (RFC 3339) in csv and ndjson; codexlag schema request describes the fields.

  codexlag requests --since today
  codexlag requests -o requests.csv logs/
  codexlag requests --format ndjson logs/ | jq -r 'select(.ttft_ms > 5000).source'`
}

// Run reads the logs and writes a line for each request as it comes.
func (c *requestsCmd) Run(env *environment) (err error) {
	env.quiet = c.Quiet
	zone, err := location(c.Timezone)
	if err != nil {
		return err
	}
	options, err := c.figureFlags.options(zone)
	if err != nil {
		return err
	}
	var w io.Writer = env.stdout
	if c.Output != "" {
		env.hide(c.Output)
		f, err := os.Create(c.Output)
		if err != nil {
			return fmt.Errorf("writing the requests: %w", err)
		}
		defer func() {
			if err2 := f.Close(); err == nil && err2 != nil {
				err = fmt.Errorf("writing the requests: %w", err2)
			}
		}()
		w = f
	}
	format := c.Format
	if format == "" {
		switch strings.ToLower(filepath.Ext(c.Output)) {
		case ".csv":
			format = "csv"
		case ".ndjson", ".jsonl", ".json":
			format = "ndjson"
		default:
			format = "text"
		}
	}
	screen := report.TextOptions{Unicode: true}
	if c.Output == "" {
		screen = terminal(env.stdout, c.color())
	}
	screen.Language = c.Lang
	out, err := report.NewRequestWriter(w, format, zone, screen)
	if err != nil {
		return err
	}
	requests := 0
	var writeErr error
	read, err := c.read(env, zone, c.Paths, func(r record.Record) {
		if q, ok := r.(*record.Request); ok && writeErr == nil {
			requests++
			writeErr = out.Write(analyze.NewRequest(q, &options))
		}
	}, nil)
	if err == nil {
		err = writeErr
	}
	if err2 := out.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return fmt.Errorf("writing the requests: %w", err)
	}
	if requests == 0 {
		return read.nothing()
	}
	return read.verdict()
}
