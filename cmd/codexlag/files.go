package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"codexlag/parse"
	"codexlag/parse/record"
	"codexlag/report"
)

// filesCmd lists what was found.
type filesCmd struct {
	pathArgs
	colorFlags
	languageFlags
	anonymousFlags

	Jobs    int    `placeholder:"N" group:"Reading" help:"Files read at once (default: one a core, at most 64)."`
	Quiet   bool   `short:"q" group:"Reading" help:"No warnings on standard error."`
	NoCache bool   `group:"Reading" help:"Read all logs anew: do not use or write the index in the cache directory."`
	Format  string `placeholder:"FORMAT" enum:",text,markdown,html,json" default:"" group:"Output" help:"text, markdown, html or json (default: text on a terminal, else markdown)."`
}

// Help is the long text of codexlag files --help.
func (*filesCmd) Help() string {
	return `Examples:

  codexlag files
  codexlag files --format json logs/ | jq '.files[] | select(.timing == "none").path'`
}

// Run reads the logs whole, so that what it says of them is true.
func (c *filesCmd) Run(env *environment) error {
	env.quiet = c.Quiet
	in := inputFlags{Jobs: c.Jobs, Quiet: c.Quiet, NoCache: c.NoCache}
	zone, err := location("")
	if err != nil {
		return err
	}
	duplicates := map[string]int{}
	read, err := in.read(env, zone, c.Paths, func(r record.Record) {
		if d, ok := r.(*record.Dropped); ok && d.Reason == record.Duplicate {
			duplicates[d.File]++
		}
	}, nil)
	if err != nil {
		return err
	}
	l := listing(read.Summary, duplicates)
	l.Language = c.Lang
	if c.Format == "json" {
		err = report.ListingJSON(env.stdout, l)
	} else {
		err = writeDocument(env.stdout, c.Format, report.Files(l), terminal(env.stdout, c.color()))
	}
	if err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	if err := read.verdict(); err != nil {
		return err
	}
	if len(l.Files) == 0 {
		return &exitError{exitNothing, "no file found"}
	}
	return nil
}

func listing(s *parse.Summary, duplicates map[string]int) *report.Listing {
	l := &report.Listing{Files: []report.File{}, NotOpened: []report.NotOpened{}, Unreadable: []string{}}
	for i := range s.Logs {
		f := file(&s.Logs[i])
		f.Duplicates = duplicates[f.Path]
		f.Hint = s.Hint(&s.Logs[i].Info)
		l.Files = append(l.Files, f)
	}
	for _, k := range s.Skipped {
		l.NotOpened = append(l.NotOpened, report.NotOpened{Path: k.Path, Why: k.Why})
	}
	for _, p := range s.Problems {
		l.Unreadable = append(l.Unreadable, p.Err.Error())
	}
	return l
}

func file(l *parse.Log) report.File {
	f := report.File{
		Path: l.Path, Format: string(l.Format), Era: l.Era, Version: l.Version, Bytes: l.Bytes, Lines: l.Lines,
		Requests: l.Requests, Turns: l.Turns, Skipped: map[string]int{}, TTFT: map[string]int{}, Timing: timing(&l.Info),
	}
	for why, n := range l.Dropped {
		f.Skipped[string(why)] = n
	}
	for q, n := range l.TTFT {
		f.TTFT[record.Quality(q).String()] = n
	}
	if l.Err != nil {
		f.Error = cause(l.Err).Error()
	}
	return f
}

// timing names the best that the requests of a log have.
func timing(i *parse.Info) string {
	for q := record.Measured; q > record.None; q-- {
		if i.TTFT[q] > 0 {
			return q.String()
		}
	}
	if i.Totals > 0 {
		return "total"
	}
	return "none"
}

// cause leaves out what an error of a file says of its path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return cmp.Or(errors.Unwrap(err), err)
}
