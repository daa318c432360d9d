package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"codexlag/analyze"
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
  ssh host cat trace.log | codexlag -      standard input
  codexlag requests --format csv logs/     one line a request, for a spreadsheet
  codexlag compare before/ after/          what changed, and whether it can be chance
`

// cli is the command line. kong reads it from the tags.
type cli struct {
	Report   reportCmd   `cmd:"" default:"withargs" help:"Read logs and write the report (the default command)."`
	Requests requestsCmd `cmd:"" help:"One line a request: a table, CSV or NDJSON."`
	Explain  explainCmd  `cmd:"" help:"One request or turn: its arithmetic step by step, and its timeline."`
	Files    filesCmd    `cmd:"" help:"What was found: format, version, timing, what was left out and why, and how to get better logs."`
	Compare  compareCmd  `cmd:"" help:"Two sets of logs side by side: what changed, and whether it can be chance."`
	Cache    cacheCmd    `cmd:"" help:"The index of logs that were read: cache clear removes it."`
	Version  versionFlag `help:"Print the version and exit." group:"Other"`
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
}

// figureFlags shape the figures.
type figureFlags struct {
	MinTokens   int64    `default:"500" placeholder:"N" group:"Figures" help:"Below so many tokens a TPS is noisy (default ${default})."`
	Percentiles []string `default:"50,90,95,99" placeholder:"P" group:"Figures" help:"Percentiles to report (default ${default})."`
	SLO         string   `name:"slo" default:"ttft=5s,tps=20" placeholder:"LIMITS" group:"Figures" help:"Limits that a request must keep (default ${default})."`
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
		kong.Vars{"dimensions": analyze.DimensionNames()},
	)
	if err != nil {
		panic(err) // the grammar above is wrong
	}
	args = asMeant(args)
	if wantsVersion(args) {
		fmt.Fprintln(stdout, "codexlag", version())
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
		if _, ok := t.Field(i).Tag.Lookup("cmd"); ok {
			names = append(names, strings.ToLower(t.Field(i).Name))
		}
	}
	return names
}

// version names the build: the module's version or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && !strings.Contains(v, s.Value[:12]) {
			v += " " + s.Value[:12]
		}
	}
	return v
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
}

// warn tells something on standard error.
func (e *environment) warn(format string, args ...any) {
	if !e.quiet {
		fmt.Fprintf(e.stderr, "codexlag: "+format+"\n", args...)
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
	switch {
	case errors.As(err, &exit):
		code = exit.code
	case errors.As(err, &parse):
		code = exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	// Formats have an empty default, which kong offers as a choice.
	if msg := strings.ReplaceAll(err.Error(), `one of "",`, "one of "); msg != "" {
		fmt.Fprintf(e.stderr, "codexlag: %s\n", msg)
	}
	if code == exitUsage {
		fmt.Fprintln(e.stderr, "codexlag: see codexlag --help")
	}
	return code
}
