package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/parse"
	"codexlag/parse/record"
	"codexlag/parse/source"
)

// A reading is what reading the logs came to, beside the records.
type reading struct {
	*parse.Summary
	strict bool
	keys   []string // of --where
	tally
	stored *analyze.Inputs // what a database holds, where the records are there
}

// read reads the logs at paths and passes the records that the filters keep to
// sink. Where workerSink is given, plain request lines of big files go to sinks
// that it makes, several at once. What could not be read is told on standard
// error.
func (f *inputFlags) read(env *environment, zone *time.Location, paths []string, sink func(record.Record), workerSink func() func(record.Record)) (*reading, error) {
	filter, err := f.filter(now(), zone)
	if err != nil {
		return nil, err
	}
	if f.Jobs < 0 {
		return nil, usageError("--jobs: %d is negative", f.Jobs)
	}
	env.hide(paths...)
	paths, err = orHome(paths)
	if err != nil {
		return nil, err
	}
	rd := &reading{strict: f.Strict}
	for _, c := range filter.Where {
		if c.By != "model" { // those are listed anyway
			rd.keys = append(rd.keys, string(c.By))
		}
	}
	o := parse.Options{Jobs: f.Jobs, Location: zone, Stdin: env.stdin, Meter: new(parse.Meter)}
	if !f.NoCache {
		o.Index = openIndex()
	}
	var workers []*tally
	if workerSink != nil {
		var mu sync.Mutex
		o.WorkerSink = func() func(record.Record) {
			t := new(tally)
			mu.Lock()
			workers = append(workers, t)
			own := workerSink()
			mu.Unlock()
			return t.filtered(&filter, env.anonymous(own))
		}
	}
	stop := env.showProgress(o.Meter, f.NoProgress)
	rd.Summary = parse.Read(env.ctx, paths, o, rd.tally.filtered(&filter, env.anonymous(sink)))
	stop()
	if env.names != nil {
		env.names.Summary(rd.Summary)
	}
	for _, t := range workers {
		rd.tally.merge(t)
	}
	rd.rename(env)
	if err := env.ctx.Err(); err != nil {
		return nil, err
	}
	rd.tell(env)
	return rd, nil
}

// A tally counts what the filters saw.
type tally struct {
	seen     int // requests
	timeless int // of those, left out by --since or --until for want of a time
	newest   time.Time
	models   map[string]bool // at most maxModels
}

const maxModels = 8

// filtered returns a sink that passes on to next what the filter keeps.
func (t *tally) filtered(f *analyze.Filter, next func(record.Record)) func(record.Record) {
	t.models = map[string]bool{}
	return func(r record.Record) {
		rows, ok := r.(*record.Rows)
		switch {
		case ok && f.KeepsAll():
			t.seen += len(rows.List)
			next(rows)
		case ok:
			var q record.Request
			for i := range rows.List {
				if rows.Request(i, &q); t.keep(f, &q) {
					next(&q)
				}
			}
		case t.keep(f, r):
			next(r)
		}
	}
}

func (t *tally) keep(f *analyze.Filter, r record.Record) bool {
	switch r := r.(type) {
	case *record.Request:
		t.seen++
		if r.End.After(t.newest) {
			t.newest = r.End
		}
		if len(t.models) < maxModels && r.Model != "" {
			t.models[r.Model] = true
		}
		if f.NeedsTime() && r.End.IsZero() {
			t.timeless++
		}
		return f.Keeps(r)
	case *record.Turn:
		return f.KeepsTurn(r)
	}
	return true
}

func (t *tally) merge(o *tally) {
	t.seen += o.seen
	t.timeless += o.timeless
	if o.newest.After(t.newest) {
		t.newest = o.newest
	}
	for m := range o.models {
		if len(t.models) < maxModels {
			t.models[m] = true
		}
	}
}

// rename puts pseudonyms into what the filters saw.
func (t *tally) rename(env *environment) {
	if env.names == nil {
		return
	}
	models := map[string]bool{}
	for m := range t.models {
		models[env.names.Model(m)] = true
	}
	t.models = models
}

// orHome returns the paths of the command line, without any the home of Codex.
func orHome(paths []string) ([]string, error) {
	if len(paths) > 0 {
		return paths, nil
	}
	if dirs := codexHomes(); len(dirs) > 0 {
		if slices.IndexFunc(dirs, exists) < 0 {
			return nil, &exitError{exitIO, "the variable CODEX_HOME names " + strings.Join(dirs, ",") + ", and there is no such directory; correct it, unset it to read ~/.codex, or name a directory of logs: codexlag PATH"}
		}
		return dirs, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("looking for ~/.codex: %w; name a directory of logs", err)
	}
	path := filepath.Join(home, ".codex")
	if _, err := os.Stat(path); err != nil {
		return nil, &exitError{exitNothing, "no PATH given and there is no " + path + "; name a directory of logs, or set CODEX_HOME"}
	}
	return []string{path}, nil
}

// codexHomes are the directories that the variable CODEX_HOME names.
func codexHomes() []string {
	if home := os.Getenv("CODEX_HOME"); home != "" {
		return strings.Split(home, ",")
	}
	return nil
}

// exists reports whether something may be at path: all but a clear no.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist) || path == source.Stdin || strings.ContainsAny(path, "*?[{")
}

// homeHint says of one of several CODEX_HOMEs that this is what it is.
func homeHint(path string) string {
	if slices.Contains(codexHomes(), path) {
		return "; the variable CODEX_HOME names it"
	}
	return ""
}

// tell warns of what could not be read and of what was left out.
func (rd *reading) tell(env *environment) {
	for _, p := range rd.Problems {
		if p.Named || rd.strict {
			fmt.Fprintf(env.stderr, "codexlag: %v%s%s\n", p.Err, homeHint(p.Path), didYouMean(p.Path)) // even when quiet
		} else {
			env.warn("%v", p.Err)
		}
	}
	failed := 0
	for i := range rd.Logs {
		l := &rd.Logs[i]
		if l.Err != nil {
			if failed++; failed <= maxWarnings {
				env.warn("%v%s", l.Err, readBefore(l))
			}
		}
		if hint := rd.Hint(&l.Info); hint != "" && l.Format == record.FormatExec && l.Requests == 0 {
			env.warn("%s: %s", l.Path, hint)
		}
	}
	if failed > maxWarnings {
		env.warn("%s more could not be read to the end; codexlag files lists them", human.Plural(failed-maxWarnings, "file"))
	}
	if rd.timeless > 0 {
		env.warn("%s without a time left out: --since and --until cannot place them", human.Plural(rd.timeless, "request"))
	}
}

// maxWarnings bounds what is said of single files: a folder that is being
// cleaned up can lose thousands while it is read.
const maxWarnings = 10

func readBefore(l *parse.Log) string {
	if l.Lines == 0 {
		return ""
	}
	return "; what was read before is reported"
}

// inputs counts what was read.
func (rd *reading) inputs() analyze.Inputs {
	if rd.stored != nil {
		return *rd.stored
	}
	in := analyze.Inputs{Files: len(rd.Logs), Formats: map[string]int{"request": 0, "rollout": 0, "trace": 0}}
	for _, l := range rd.Logs {
		in.Bytes += l.Bytes
		in.Lines += l.Lines
		if l.Format != record.FormatUnknown {
			in.Formats[string(l.Format)]++
		}
	}
	return in
}

// verdict returns the error that the exit code must tell although the report
// was written: a PATH of the command line that could not be read, or, with
// --strict, anything unreadable. The problems themselves were told.
func (rd *reading) verdict() error {
	for _, p := range rd.Problems {
		if p.Named || rd.strict {
			return &exitError{code: exitIO}
		}
	}
	for _, l := range rd.Logs {
		if l.Err != nil && (l.Named || rd.strict) {
			return &exitError{code: exitIO}
		}
		if rd.strict && l.FirstUnreadable > 0 {
			return &exitError{exitIO, fmt.Sprintf("--strict: %s:%d cannot be read (%s in all the log)", l.Path, l.FirstUnreadable, human.Plural(l.Unreadable(), "such line"))}
		}
	}
	return nil
}

// nothing explains why there is no report.
func (rd *reading) nothing() error {
	if err := rd.verdict(); err != nil {
		return err
	}
	if rd.seen > 0 {
		return rd.filtered()
	}
	var b strings.Builder
	b.WriteString("nothing usable found: no log with the timing of a request")
	exec, unknown, rollouts := 0, 0, 0
	for _, l := range rd.Logs {
		switch l.Format {
		case record.FormatExec:
			exec++
		case record.FormatRollout:
			rollouts++
		case record.FormatUnknown:
			unknown++
		}
	}
	fmt.Fprintf(&b, " among %s", human.Plural(len(rd.Logs), "file"))
	if exec > 0 {
		fmt.Fprintf(&b, "; %s of codex exec --json, which carries no times: name the session files (~/.codex/sessions) as well, or keep its trace with RUST_LOG=codex_otel=info codex exec … 2> trace.log", human.Plural(exec, "file"))
	}
	if rollouts > 0 {
		fmt.Fprintf(&b, "; %s without timing or outside the filters", human.Plural(rollouts, "session file"))
	}
	if unknown > 0 {
		fmt.Fprintf(&b, "; %s of no known format", human.Plural(unknown, "file"))
	}
	return &exitError{exitNothing, b.String()}
}

// filtered says what is there, where the filters let nothing through.
func (rd *reading) filtered() error {
	msg := fmt.Sprintf("nothing usable found: none of %s passes the filters", human.Plural(rd.seen, "request"))
	if !rd.newest.IsZero() {
		msg += "; the newest ended " + rd.newest.UTC().Format("2006-01-02 15:04") + " UTC"
	}
	if len(rd.models) > 0 {
		msg += "; models: " + strings.Join(slices.Sorted(maps.Keys(rd.models)), ", ")
	}
	for _, k := range rd.keys {
		msg += "; codexlag --by " + k + " shows the values of " + k
	}
	return &exitError{exitNothing, msg}
}

// misplaced says that one of several paths is a mistyped command or one that
// does not come first, if it seems so: reading the others would answer another
// question. One path alone is looked for as it is.
func misplaced(paths []string) error {
	if len(paths) < 2 {
		return nil
	}
	for i, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			continue
		}
		if slices.Contains(commandNames(), p) {
			return usageError("there is no path %q; the command %[1]q comes before all paths: codexlag %[1]s %s", p, paths[0])
		}
		if name := nearest(p, commandNames()); i == 0 && name != "" {
			return usageError("no command and no path %q; did you mean the command %q?", p, name)
		}
	}
	return nil
}

// didYouMean suggests a command for a path that does not exist and is spelled
// nearly like one: without a command, kong takes the first word for a path.
func didYouMean(path string) string {
	if name := nearest(path, commandNames()); name != "" {
		return fmt.Sprintf("; did you mean the command %q?", name)
	}
	return ""
}
