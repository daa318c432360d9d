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

	Jobs       int  `placeholder:"N" group:"Reading" help:"Files read at once (default: one a core)."`
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
	SLO         string   `name:"slo" default:"ttft=5s,tps=20" placeholder:"LIMITS" group:"Figures" help:"Limits that a request must keep (default ${default})."`
	ExactLimit  int      `default:"${exact_limit}" placeholder:"N" group:"Figures" help:"From so many values, a sketch takes over for figures that are not whole milliseconds or tokens (default ${default})."`
}

// run is the whole program: it reads args, does what they say and returns the
// exit code. Reports go to stdout, everything else to stderr.
func run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) int {
	var c cli
	env := &environment{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}
	exited := false
	parser, err := kong.New(&c,
		kong.Name("codexlag"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { exited = true }),
		kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Bind(env),
		kong.Vars{"dimensions": analyze.DimensionNames(), "exact_limit": strconv.Itoa(analyze.DefaultExactLimit)},
	)
	if err != nil {
		panic(err) // the grammar above is wrong
	}
	env.settings = &settings{grammar: newGrammar(parser.Model)}
	if err := kong.Resolvers(env.settings).Apply(parser); err != nil {
		panic(err)
	}
	args = asMeant(args)
	if wantsVersion(args) {
		fmt.Fprintln(stdout, "codexlag", buildInfo())
		return exitOK
	}
	k, err := parser.Parse(args)
	if exited { // --help
		return exitOK
	}
	if err == nil {
		err = k.Run()
	}
	return env.finish(err)
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
	names          *pseudonym.Names // nil unless the run is anonymous
	paths          []string         // that messages may hold
}

// warn tells something on standard error.
func (e *environment) warn(format string, args ...any) {
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
	if msg := e.public(e.settings.blame(helpful(err.Error()))); msg != "" {
		fmt.Fprintf(e.stderr, "codexlag: %s\n", msg)
	}
	if code == exitUsage {
		fmt.Fprintln(e.stderr, "codexlag: see codexlag --help")
	}
	return code
}

var notAChoice = regexp.MustCompile(`^\S+ must be one of (.*) but got "(.*)"$`)

// helpful mends messages of kong. About a value that is none of its choices: it
// offers the empty default that formats have, and suggests nothing. About a flag
// before the command: it does not say what to do.
func helpful(msg string) string {
	msg = strings.ReplaceAll(msg, `one of "",`, "one of ")
	if m := notAChoice.FindStringSubmatch(msg); m != nil {
		msg += suggest(m[2], strings.Split(strings.ReplaceAll(m[1], `"`, ""), ","))
	}
	if strings.Contains(msg, "applies to the default command") {
		msg += "; write it behind the name of the command"
	}
	return msg
}
