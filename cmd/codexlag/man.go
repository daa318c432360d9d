package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// manCmd prints the manual page.
type manCmd struct{}

// Help is the long text of codexlag man --help.
func (*manCmd) Help() string {
	return `Examples:

  codexlag man | man -l -
  codexlag man > ~/.local/share/man/man1/codexlag.1`
}

// Run prints the page.
func (c *manCmd) Run(env *environment, k *kong.Kong) error {
	if _, err := env.stdout.Write([]byte(manual(k.Model))); err != nil {
		return fmt.Errorf("writing the manual page: %w", err)
	}
	return nil
}

// manual is the manual page, made of what --help is made of.
func manual(m *kong.Application) string {
	p := &manPage{}
	p.line(`.TH CODEXLAG 1 "` + buildInfo().date + `" codexlag`)
	p.section("NAME")
	p.line(`codexlag \- where the waiting of Codex went`)
	p.section("SYNOPSIS")
	for i, n := range visible(m.Node) {
		if i > 0 {
			p.line(".br")
		}
		p.line(`.B codexlag`)
		name := commandPath(n) + " "
		if n == m.DefaultCmd {
			name = "[" + n.Name + "] "
		}
		p.text(name + "[flags]" + argumentsOf(n))
	}
	p.section("DESCRIPTION")
	p.text(m.Help)
	p.text("Without a command, a report is written. The report goes to standard output, all else to standard error.")
	p.section("OPTIONS")
	p.text("Of the report, in groups; those under Other are of every command.")
	p.groups(slices.Concat(m.Flags, m.DefaultCmd.Flags))
	p.section("COMMANDS")
	for _, n := range visible(m.Node) {
		p.command(n, m.DefaultCmd)
	}
	p.section("ENVIRONMENT")
	p.item("CODEX_HOME", "Where Codex keeps its logs: read where no path is given. Several are parted by commas.")
	p.item("CODEXLAG_MIN_TOKENS, CODEXLAG_BY, ...", "A variable for each flag: its name in capitals, with _ for -. Empty ones do not count.")
	p.item("CODEXLAG_CONFIG", "As --config.")
	p.item("NO_COLOR", "Where it is not empty: no colours, unless --color always is given.")
	p.item("COLUMNS", "On a terminal, how wide tables and text may be, if that is less than its width.")
	p.section("FILES")
	p.item("$XDG_CONFIG_HOME/codexlag/config.toml", "Flags as keys, for every command, or in a table for one: min-tokens = 200, by = [\"model\"], [requests] format = \"csv\". Flags of the command line come first, then variables, then the file of --config, then this one.")
	p.section("EXIT STATUS")
	for _, c := range exitCodes {
		p.item(fmt.Sprint(c.code), c.meaning)
	}
	p.section("EXAMPLES")
	p.example(strings.TrimPrefix(examples, "Examples:\n"))
	return p.b.String()
}

// exitCodes tells what the exit codes mean.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "Fine."},
	{exitIO, "Could not read or write: a path that was named is missing, or with --strict any line is unreadable."},
	{exitUsage, "Wrong usage."},
	{exitGate, "A gate is not met (--slo-min, compare --fail-on)."},
	{exitNothing, "Nothing usable found."},
	{exitInterrupted, "Interrupted."},
}

// visible lists the commands that can be called.
func visible(parent *kong.Node) []*kong.Node {
	var l []*kong.Node
	for _, n := range parent.Children {
		switch {
		case n.Hidden:
		case len(n.Children) > 0:
			l = append(l, visible(n)...)
		default:
			l = append(l, n)
		}
	}
	return l
}

// commandPath is how a command is called: with those that it belongs to.
func commandPath(n *kong.Node) string {
	if n.Parent == nil || n.Parent.Type != kong.CommandNode {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}

func argumentsOf(n *kong.Node) string {
	s := ""
	for _, a := range n.Positional {
		s += " " + a.Summary()
	}
	return s
}

// A manPage is roff in the making.
type manPage struct{ b strings.Builder }

func (p *manPage) line(s string) { p.b.WriteString(s + "\n") }

func (p *manPage) section(title string) { p.line(".SH " + title) }

// text writes a paragraph, in lines that are fit to be read and compared.
func (p *manPage) text(s string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(roff(line+" "+word)) > 78 {
			p.line(roff(line))
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	p.line(roff(line))
}

func (p *manPage) item(term, text string) {
	p.line(".TP")
	p.line(`.B ` + roff(term))
	p.text(text)
}

// example writes lines as they are.
func (p *manPage) example(s string) {
	p.line(".nf")
	for l := range strings.Lines(strings.TrimRight(s, "\n") + "\n") {
		p.line(roff(strings.TrimSuffix(l, "\n")))
	}
	p.line(".fi")
}

// groups writes flags under the titles of their groups.
func (p *manPage) groups(flags []*kong.Flag) {
	var titles []string
	of := map[string][]*kong.Flag{}
	for _, f := range flags {
		title := "Other"
		if f.Group != nil {
			title = f.Group.Title
		}
		if len(of[title]) == 0 {
			titles = append(titles, title)
		}
		of[title] = append(of[title], f)
	}
	slices.SortStableFunc(titles, func(a, b string) int { return last(a) - last(b) })
	for _, t := range titles {
		p.line(`.SS "` + roff(t) + `"`)
		for _, f := range of[t] {
			p.flag(f)
		}
	}
}

func last(title string) int {
	if title == "Other" {
		return 1
	}
	return 0
}

func (p *manPage) flag(f *kong.Flag) {
	name := "--" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", " + name
	}
	if !f.IsBool() {
		name += "=" + f.FormatPlaceHolder()
	}
	p.item(name, f.Help)
}

// command writes what a command has of its own, and names the flags that it
// shares with the report.
func (p *manPage) command(n, report *kong.Node) {
	p.line(`.SS "` + roff("codexlag "+commandPath(n)+argumentsOf(n)) + `"`)
	p.text(n.Help)
	if n == report {
		return
	}
	var shared []string
	for _, f := range n.Flags {
		same := slices.ContainsFunc(report.Flags, func(r *kong.Flag) bool { return r.Name == f.Name && r.Help == f.Help })
		if same {
			shared = append(shared, "--"+f.Name)
		} else {
			p.flag(f)
		}
	}
	if len(shared) > 0 {
		p.line(".PP")
		p.text("As above: " + strings.Join(shared, ", ") + ".")
	}
	if n.Detail != "" {
		p.line(".PP")
		p.example(n.Detail)
	}
}

// roff makes text harmless for troff, which obeys backslashes and a dot or an
// apostrophe at the beginning of a line, and turns - into a hyphen.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "'", `\(aq`, "`", `\(ga`, "~", `\(ti`, "^", `\(ha`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
