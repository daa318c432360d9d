package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

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
	return `The main fields of csv and ndjson: source (FILE:LINE), time (its end, UTC, RFC 3339), ttft_ms and ttft_quality,
total_ms, decode_ms, tps, phase, status, and flags, with ";" between them in csv. Tokens are counts. What is not known
or not defined is empty (null). codexlag schema request describes every field.

  codexlag requests --since today
  codexlag requests -o requests.csv logs/
  codexlag requests --format ndjson logs/ | jq -r 'select(.ttft_ms > 5000).source'`
}

// Run reads the logs and writes a line for each request as it comes.
func (c *requestsCmd) Run(env *environment) error {
	env.quiet = c.Quiet
	zone, err := location(c.Timezone)
	if err != nil {
		return err
	}
	options, err := c.figureFlags.options(zone)
	if err != nil {
		return err
	}
	format, err := c.format(env)
	if err != nil {
		return err
	}
	var w io.Writer = env.stdout
	screen := terminal(env.stdout, c.color())
	var file *newFile
	if c.Output != "" {
		env.hide(c.Output)
		if file, err = createFile(c.Output); err != nil {
			return fmt.Errorf("writing the requests to %s: %w", c.Output, cause(err))
		}
		w, screen = file, report.TextOptions{Unicode: true}
	}
	screen.Language = c.Lang
	requests, read, err := c.list(env, zone, &options, format, w, screen)
	if file != nil {
		if err2 := file.finish(err); err == nil && err2 != nil {
			err = fmt.Errorf("writing the requests to %s: %w", c.Output, cause(err2))
		}
	}
	switch {
	case err != nil:
		return err
	case requests == 0:
		return read.nothing()
	}
	return read.verdict()
}

// requestEndings are the formats of requests that a file's ending means.
var requestEndings = map[string]string{".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".txt": "text"}

// format is that of the file's ending, else that of --format, else text.
func (c *requestsCmd) format(env *environment) (string, error) {
	ending := filepath.Ext(c.Output)
	f := requestEndings[strings.ToLower(ending)]
	switch {
	case f != "" && f != c.Format && env.saidFormat(c.Format):
		return "", contradiction(c.Output, f, c.Format)
	case f == "" && c.Format == "" && ending != "":
		return "", usageError("-o %s: the ending names no format of requests (.csv .ndjson .txt); add --format", c.Output)
	}
	return cmp.Or(f, c.Format, "text"), nil
}

// list writes the requests as they are read, and returns how many there were.
func (c *requestsCmd) list(env *environment, zone *time.Location, options *analyze.Options, format string, w io.Writer, screen report.TextOptions) (int, *reading, error) {
	out, err := report.NewRequestWriter(w, format, zone, screen)
	if err != nil {
		return 0, nil, err
	}
	requests := 0
	var writeErr error
	read, err := c.read(env, zone, c.Paths, func(r record.Record) {
		if q, ok := r.(*record.Request); ok && writeErr == nil {
			requests++
			writeErr = out.Write(analyze.NewRequest(q, options))
		}
	}, nil)
	if err != nil {
		return 0, nil, err
	}
	if err := out.Close(); writeErr == nil {
		writeErr = err
	}
	if writeErr != nil {
		return 0, nil, fmt.Errorf("writing the requests: %w", writeErr)
	}
	return requests, read, nil
}
