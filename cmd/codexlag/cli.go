package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/alecthomas/kong"

	"codexlag/analyze"
	"codexlag/parse/pseudonym"
)

// Exit codes, part of the contract with scripts.
const (
	exitOK          = 0
	exitIO          = 1   // could not read or write
	exitUsage       = 2   // wrong usage
	exitGate        = 3   // a gate (--slo-min) is not met
	exitNothing     = 4   // nothing usable found
	exitInterrupted = 130 // Ctrl-C
)

const description = "Says where the waiting went: prefill, decode, tools or the rest. Reads the logs that Codex left on the disk; offline, read-only."

const examples = `Examples:
  codexlag                                 everything below $CODEX_HOME, else ~/.codex
  codexlag logs/ --by model                one directory, models side by side
  codexlag --since -3d --slo ttft=3s       the last three days against a limit
  codexlag -o report.md -o report.json     into files, the format from the ending
  codexlag --follow                        while Codex works: a line a request, the report at Ctrl-C
  ssh host cat trace.log | codexlag -      standard input
  codexlag requests --format csv logs/     one line a request, for a spreadsheet
  codexlag compare before/ after/          what changed, and whether it can be chance
`

// cli is the command line. kong reads it from the tags.
type cli struct {
	Report     reportCmd     `cmd:"" default:"withargs" help:"Read logs and write the report (the default command)."`
	Requests   requestsCmd   `cmd:"" help:"One line a request: a table, CSV or NDJSON."`
	Explain    explainCmd    `cmd:"" help:"One request or turn: its arithmetic step by step, and its timeline."`
	Files      filesCmd      `cmd:"" help:"What was found: format, version, timing, what was left out and why, and how to get better logs."`
	Export     exportCmd     `cmd:"" help:"Requests and turns as Parquet files, for DuckDB, Spark and Trino."`
	Compare    compareCmd    `cmd:"" help:"Two sets of logs side by side: what changed, and whether it can be chance."`
	Load       loadCmd       `cmd:"" help:"Bring the requests of logs into a ClickHouse database, for reports over many machines."`
	Cache      cacheCmd      `cmd:"" help:"The index of logs that were read: cache clear removes it."`
	Schema     schemaCmd     `cmd:"" help:"The JSON Schema of what --format json writes."`
	Man        manCmd        `cmd:"" help:"The manual page: codexlag man | man -l -"`
	Licenses   licensesCmd   `cmd:"" aliases:"licences" help:"The licences of the software that codexlag contains."`
	Completion completionCmd `cmd:"" help:"The script that makes a shell complete codexlag: bash, zsh or fish."`
	Complete   completeCmd   `cmd:"" name:"__complete" hidden:""`
	Version    versionFlag   `help:"Print the version and exit." group:"Other"`
	Config     string        `placeholder:"FILE" group:"Other" help:"Take flags that are not given from this TOML file (man page: FILES)."`
}

type versionFlag bool

// pathArgs name what is read.
type pathArgs struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Files, directories (recursive) or globs; - for standard input. Without one: $$CODEX_HOME, else ~/.codex."`
}

// inputFlags say how it is read and what of it counts.
type inputFlags struct {
	Since    string   `placeholder:"TIME" group:"What counts" help:"Only requests that ended at TIME or later: 2026-09-01, an RFC 3339 time, -3d, 24h, today."`
	Until    string   `placeholder:"TIME" group:"What counts" help:"Only requests that ended before TIME."`
	Timezone string   `placeholder:"NAME" group:"What counts" help:"IANA name of the time zone of days, hours and times without a zone (default: local)."`
	Model    []string `placeholder:"NAME" group:"What counts" help:"Only these models; * and ? are wildcards."`
	Session  []string `placeholder:"ID" group:"What counts" help:"Only these sessions."`
	Where    []string `placeholder:"KEY=VALUE" sep:"none" group:"What counts" help:"Only requests with that value; KEY as in --by. Repeatable."`

	Jobs       int  `placeholder:"N" group:"Reading" help:"Files read at once (default: one a core, at most 64)."`
	Quiet      bool `short:"q" group:"Reading" help:"No warnings and no progress on standard error."`
	NoProgress bool `group:"Reading" help:"No progress on standard error; it is shown only on a terminal."`
	Strict     bool `group:"Reading" help:"Any unreadable line is an error (exit code 1)."`
	NoCache    bool `group:"Reading" help:"Read all logs anew: do not use or write the index in the cache directory."`

	anonymousFlags
}

// figureFlags shape the figures.
type figureFlags struct {
	MinTokens   int64    `default:"500" placeholder:"N" group:"Figures" help:"Below so many tokens a TPS is noisy (default ${default})."`
	Percentiles []string `default:"50,90,95,99" placeholder:"P" group:"Figures" help:"Percentiles to report (default ${default})."`
	SLO         string   `name:"slo" default:"ttft=5s,tps=20" placeholder:"LIMITS" group:"Figures" help:"Limits that a request must keep (default ${default}). The flags slow_start and slow_stream of a request say which it missed."`
	ExactLimit  int      `default:"${exact_limit}" placeholder:"N" group:"Figures" help:"Up to N values percentiles are exact; with more, those of TPS, TPOT and times finer than a millisecond are within 0.05 %, which the report then says. Lower it to save memory (default ${default})."`
}

// run is the whole program: it reads args, does what they say and returns the
// exit code. Reports go to stdout, everything else to stderr.
func run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) int {
	var c cli
	env := &environment{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, telling: new(sync.Mutex)}
	exited := false
	out := &helpWriter{w: stdout}
	parser, err := kong.New(&c,
		kong.Name("codexlag"),
		kong.Description(description),
		kong.Writers(out, stderr),
		kong.Exit(func(int) { exited = true }),
		kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Bind(env),
		kong.Vars{"dimensions": analyze.DimensionNames(), "exact_limit": strconv.Itoa(analyze.DefaultExactLimit), "every": defaultEvery.String()},
	)
	if err != nil {
		panic(err) // the grammar above is wrong
	}
	env.settings = &settings{grammar: newGrammar(parser.Model), warn: env.warn}
	if err := kong.Resolvers(env.settings).Apply(parser); err != nil {
		panic(err)
	}
	args = asMeant(args)
	if wantsVersion(args) {
		if _, err := fmt.Fprintln(stdout, "codexlag", buildInfo()); err != nil {
			return env.finish(fmt.Errorf("writing the version: %w", err))
		}
		return exitOK
	}
	if n := flagsIn(args); n > maxFlags {
		return env.finish(usageError("%d flags on the command line, more than %d: put lists of values into a file of settings (--config)", n, maxFlags))
	}
	k, err := parser.Parse(args)
	switch {
	case out.err != nil: // kong takes it for a usage error
		return env.finish(fmt.Errorf("writing the help: %w", out.err))
	case exited: // --help
		return exitOK
	}
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		k = wrong.Context
	}
	if node := k.Selected(); node != nil && node != parser.Model.DefaultCmd {
		env.command = []string{node.Name}
	}
	if err == nil {
		err = k.Run()
	}
	return env.finish(err)
}

// A helpWriter keeps the first error of writing.
type helpWriter struct {
	w   io.Writer
	err error
}

func (h *helpWriter) Write(b []byte) (int, error) {
	n, err := h.w.Write(b)
	if h.err == nil {
		h.err = err
	}
	return n, err
}

// maxFlags bounds the command line: kong copies the values of a flag that is
// repeated each time, which takes gigabytes for some ten thousand.
const maxFlags = 1000

// flagsIn counts the flags among args.
func flagsIn(args []string) int {
	n := 0
	for _, a := range args {
		if a == "--" {
			break
		}
		if len(a) > 1 && a[0] == '-' {
			n++
		}
	}
	return n
}

// asMeant rewrites what people type and kong does not take: a time before now
// behind a blank (--since -3d, which looks like a flag), and the words help and
// version where no file has that name.
func asMeant(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...)
		}
		if i+1 < len(args) && slices.Contains([]string{"--since", "--until", "--at"}, a) && isNegative(args[i+1]) {
			i++
			a += "=" + args[i]
		}
		out = append(out, a)
	}
	if len(out) > 0 && (out[0] == "help" || out[0] == "version") {
		if _, err := os.Stat(out[0]); err != nil {
			if out[0] == "version" {
				return []string{"--version"}
			}
			return append(out[1:], "--help")
		}
	}
	return out
}

func isNegative(s string) bool { return len(s) > 1 && s[0] == '-' && s[1] >= '0' && s[1] <= '9' }

// wantsVersion looks for --version itself: kong would go on and run the command.
func wantsVersion(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--version":
			return true
		}
	}
	return false
}

// commandNames lists the commands.
func commandNames() []string {
	t := reflect.TypeFor[cli]()
	var names []string
	for i := range t.NumField() {
		_, hidden := t.Field(i).Tag.Lookup("hidden")
		if _, ok := t.Field(i).Tag.Lookup("cmd"); ok && !hidden {
			names = append(names, strings.ToLower(t.Field(i).Name))
		}
	}
	return names
}

// help prints the help of a command. That of the program is the help of its
// default command, which kong would leave out, with examples and the others.
func help(o kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() != nil {
		return kong.DefaultHelpPrinter(o, ctx)
	}
	report, err := kong.Trace(ctx.Kong, []string{"report"})
	if err != nil {
		return err
	}
	w := ctx.Stdout
	fmt.Fprintf(w, "codexlag: %s\n\n%s\nCommands:\n", strings.ToLower(description[:1])+description[1:], examples)
	for _, n := range ctx.Model.Children {
		if n.Type == kong.CommandNode && !n.Hidden {
			fmt.Fprintf(w, "  %-12s %s\n", n.Name, n.Help)
		}
	}
	fmt.Fprintln(w, "  A directory that is named like a command: write ./NAME.")
	fmt.Fprintln(w)
	return kong.DefaultHelpPrinter(o, report)
}

// An environment is what commands work with, and where they note what the exit
// code must tell although the report was written.
type environment struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	quiet          bool
	settings       *settings
	command        []string         // its name, where it is not the default one
	names          *pseudonym.Names // nil unless the run is anonymous
	paths          []string         // that messages may hold
	telling        *sync.Mutex      // held while something is told: copies share it
}

// warn tells something on standard error. Calls may come from several goroutines.
func (e *environment) warn(format string, args ...any) {
	e.telling.Lock()
	defer e.telling.Unlock()
	if !e.quiet {
		fmt.Fprintf(e.stderr, "codexlag: %s\n", e.public(fmt.Sprintf(format, args...)))
	}
}

// ending tells that the run is about to end, interrupted or not, and may take
// the time that it needs.
func (e *environment) ending() {
	if ending, ok := e.ctx.Value(endingKey{}).(*atomic.Bool); ok {
		ending.Store(true)
	}
}

// An exitError ends the program with a code of its own. Its message may be empty.
type exitError struct {
	code int
	msg  string
}

func (e *exitError) Error() string { return e.msg }

// usageError says that the command line is wrong.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// finish tells err and returns the exit code that it stands for.
func (e *environment) finish(err error) int {
	if err == nil {
		return exitOK
	}
	code := exitIO
	var exit *exitError
	var parse *kong.ParseError
	var config *configError
	switch {
	case errors.As(err, &config):
		code, err = config.code, config // without the flag that was first to ask for it
	case errors.As(err, &exit):
		code = exit.code
	case errors.As(err, &parse):
		code = exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	if msg := e.public(e.settings.blame(e.helpful(err.Error()))); msg != "" {
		fmt.Fprintf(e.stderr, "codexlag: %s\n", msg)
	}
	if code == exitUsage {
		fmt.Fprintln(e.stderr, "codexlag: see "+strings.Join(append([]string{"codexlag"}, e.command...), " ")+" --help")
	}
	return code
}

var (
	notAChoice  = regexp.MustCompile(`^\S+ must be one of (.*) but got "(.*)"$`)
	noNumber    = regexp.MustCompile(`expected a valid \d+ bit (?:int|uint) but got (".*")$`)
	noDuration  = regexp.MustCompile(`expected duration but got ("[^"]*").*$`)
	noValue     = regexp.MustCompile(`expected \S+ value but got "EOL" \(<EOL>\)$`)
	noArgument  = regexp.MustCompile(`^expected "(<?)([^"<>]*)>?( \.\.\.)?"$`)
	unknownFlag = regexp.MustCompile(`^unknown flag --?([^\s,]+)(, did you mean .*)?$`)
)

// helpful says what kong says in words for people: what is wrong and, where it
// can be guessed, what was meant.
func (e *environment) helpful(msg string) string {
	msg = strings.ReplaceAll(msg, `one of "",`, "one of ") // the empty default that formats have
	msg = noNumber.ReplaceAllString(msg, "$1 is no whole number")
	msg = noDuration.ReplaceAllString(msg, "$1 is no length of time, such as 30s or 5m")
	msg = noValue.ReplaceAllString(msg, "a value must follow")
	if m := notAChoice.FindStringSubmatch(msg); m != nil {
		msg += suggest(m[2], strings.Split(strings.ReplaceAll(m[1], `"`, ""), ","))
	}
	if m := noArgument.FindStringSubmatch(msg); m != nil {
		msg = strings.ToUpper(m[2]) + " is missing"
		if m[1] == "" {
			msg = fmt.Sprintf("%q must follow", m[2])
		}
	}
	if m := unknownFlag.FindStringSubmatch(msg); m != nil {
		msg = "unknown flag " + strings.TrimSuffix(strings.TrimPrefix(msg, "unknown flag "), m[2])
		if owners := e.settings.grammar.owners(m[1]); len(owners) > 0 {
			msg += "; it is one of codexlag " + strings.Join(owners, ", ")
		} else if near := nearest(m[1], e.settings.grammar.flags); near != "" {
			msg += fmt.Sprintf("; did you mean \"--%s\"?", near)
		}
	}
	if strings.Contains(msg, "applies to the default command") {
		msg += "; write it behind the name of the command"
	}
	return msg
}
