package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"codexlag/analyze"
	"codexlag/parse/record"
	"codexlag/report"
)

// explainCmd explains one request or turn.
type explainCmd struct {
	Place string   `arg:"" name:"path[:line]" help:"A log, and the line of a request in it as reports name it. Without a line: the slowest request of the log."`
	Paths []string `arg:"" optional:"" name:"path" help:"Other logs, such as the whole directory, that may tell more of the same request."`

	figureFlags
	colorFlags
	languageFlags
	anonymousFlags

	Timezone string `placeholder:"NAME" group:"Reading" help:"IANA name of the zone of times without one (default: local)."`
	NoCache  bool   `group:"Reading" help:"Read all logs anew: do not use or write the index in the cache directory."`
	Format   string `placeholder:"FORMAT" enum:",text,markdown,html" default:"" group:"Output" help:"text, markdown or html (default: text on a terminal, else markdown)."`
}

// Help is the long text of codexlag explain --help.
func (*explainCmd) Help() string {
	return `Reports and codexlag requests name the place of every request.

  codexlag explain trace.log                          the slowest request in there
  codexlag explain trace.log:120
  codexlag explain sessions/rollout-1.jsonl:96 .      with what a trace in . tells of it, as in reports
  codexlag explain --format html trace.log:120 > request.html`
}

// Run reads the log and explains the request at the line, with its turn.
func (c *explainCmd) Run(env *environment) error {
	zone, err := location(c.Timezone)
	if err != nil {
		return err
	}
	options, err := c.figureFlags.options(zone)
	if err != nil {
		return err
	}
	options.Language = c.Lang
	path, line := splitPlace(c.Place)
	env.hide(c.Place, path)
	if info, err := os.Stat(path); err == nil && info.IsDir() && line > 0 {
		return usageError("%s is a directory: which file of it has the line %d? codexlag requests %s names them", path, line, path)
	}
	in := inputFlags{NoCache: c.NoCache}
	var found target
	read, err := in.read(env, zone, append([]string{path}, c.Paths...), func(r record.Record) {
		if r.Where().File == path {
			found.consider(r, line)
		}
	}, nil)
	if err != nil {
		return err
	}
	if err := read.verdict(); err != nil {
		return err
	}
	if found.request == nil && found.turn == nil {
		if line > 0 && found.seen > 0 {
			return &exitError{exitNothing, fmt.Sprintf("no request and no turn at or around line %d of %s; codexlag requests %s lists them", line, path, path)}
		}
		return read.nothing()
	}
	if q := found.request; q != nil && q.Format == record.FormatRollout && len(c.Paths) == 0 && !q.Merged {
		env.warn("from this log alone; name the directory of your logs behind it, and what a trace tells of the request is used as well")
	}
	doc := found.explain(&options)
	if line == 0 && found.seen > 1 {
		env.warn("the slowest of %d requests; name another as FILE:LINE, as codexlag requests %s does", found.seen, path)
	}
	if err := writeDocument(env.stdout, c.Format, doc, terminal(env.stdout, c.color())); err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	return nil
}

// splitPlace parts PATH:LINE; a file whose name ends like that is a file.
func splitPlace(place string) (path string, line int64) {
	if _, err := os.Stat(place); err == nil {
		return place, 0
	}
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return place, 0
	}
	n, err := strconv.ParseInt(place[i+1:], 10, 64)
	if err != nil || n <= 0 {
		return place, 0
	}
	return place[:i], n
}

// A target is the request or turn to explain, and the turn around a request.
type target struct {
	seen    int
	request *record.Request
	turn    *record.Turn
}

// consider takes the next record. Line 0 asks for the slowest request, another
// for the request at that line, else for the turn that ends there or after it.
func (t *target) consider(r record.Record, line int64) {
	switch r := r.(type) {
	case *record.Request:
		t.seen++
		if line == 0 && (t.request == nil || r.Total > t.request.Total) || line > 0 && r.Line == line {
			c := *r
			t.request, t.turn = &c, nil
		}
	case *record.Turn:
		inside := t.request != nil && t.turn == nil && contains(r, t.request.Pos)
		if inside || t.request == nil && t.turn == nil && line > 0 && r.Line >= line {
			t.turn = r
		}
	}
}

func contains(turn *record.Turn, p record.Pos) bool {
	for _, r := range turn.Requests {
		if r.Pos == p {
			return true
		}
	}
	return false
}

func (t *target) explain(o *analyze.Options) *report.Document {
	var parts []*analyze.Explanation
	if t.request != nil {
		parts = append(parts, analyze.ExplainRequest(t.request, o))
	}
	if t.turn != nil {
		parts = append(parts, analyze.ExplainTurn(t.turn, o))
	}
	return report.Explanation(parts...)
}

// writeDocument writes a document in the format asked for; by default text on
// a terminal and Markdown elsewhere.
func writeDocument(w io.Writer, format string, d *report.Document, o report.TextOptions) error {
	if format == "" {
		format = plainFormat(w, o)
	}
	switch format {
	case "html":
		return report.HTML(w, d)
	case "text":
		return report.Text(w, d, o)
	}
	return report.Markdown(w, d)
}
