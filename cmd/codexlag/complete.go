package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints the script that makes a shell complete codexlag.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the long text of codexlag completion --help.
func (*completionCmd) Help() string {
	return `Put the script where the shell looks for it:

  bash: codexlag completion bash > ~/.local/share/bash-completion/completions/codexlag
  zsh:  codexlag completion zsh > "${fpath[1]}/_codexlag"
  fish: codexlag completion fish > ~/.config/fish/completions/codexlag.fish

Or for the shell that runs: source <(codexlag completion bash).`
}

// The scripts only ask codexlag __complete what fits, so that they stay right
// when flags are added.
//
//go:embed completion
var completionScripts embed.FS

// Run prints the script.
func (c *completionCmd) Run(env *environment) error {
	script, err := completionScripts.ReadFile("completion/codexlag." + c.Shell)
	if err != nil {
		return err
	}
	if _, err := env.stdout.Write(script); err != nil {
		return fmt.Errorf("writing the script: %w", err)
	}
	return nil
}

// completeCmd answers the scripts: a line for each word that fits, with its
// meaning behind a tab; the line :files where files fit as well.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words so far, without the program; the last is to be completed."`
}

// Run prints what fits.
func (c *completeCmd) Run(env *environment, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	for _, f := range completions(k.Model, words) {
		fmt.Fprintln(env.stdout, strings.TrimSuffix(f.word+"\t"+f.help, "\t"))
	}
	return nil
}

// A fitting is a word that fits, or filesFit.
type fitting struct{ word, help string }

var filesFit = fitting{word: ":files"}

// completions lists what the last of words can become.
func completions(m *kong.Application, words []string) []fitting {
	before, word := words[:len(words)-1], words[len(words)-1]
	at := place(m, before)
	switch name, value, assigned := strings.Cut(word, "="); {
	case at.pending != nil:
		return beginning(values(at.pending, word), "", word)
	case at.onlyPaths:
		return []fitting{filesFit}
	case strings.HasPrefix(word, "--") && assigned:
		f := flagNamed(at.flags, name)
		if f == nil {
			return nil
		}
		return beginning(values(f, value), name+"=", word)
	case strings.HasPrefix(word, "-"):
		return flags(at.flags, word)
	}
	var l []fitting
	if at.arguments == 0 { // a command, or one of a command, can still come
		for _, n := range at.node.Children {
			if !n.Hidden {
				l = append(l, fitting{n.Name, n.Help})
			}
		}
	}
	node := at.node
	if node == m.Node {
		node = m.DefaultCmd
	}
	for i, p := range node.Positional {
		switch {
		case p.Enum != "" && i == at.arguments:
			l = append(l, choicesOf(p.Enum)...)
		case p.Enum == "" && (i == at.arguments || p.IsSlice()):
			l = append(l, filesFit)
		}
	}
	return beginning(l, "", word)
}

// A position is where on the command line a word stands.
type position struct {
	node      *kong.Node // the command; the program itself for none yet
	flags     []*kong.Flag
	arguments int        // that came already
	pending   *kong.Flag // whose value the word is
	onlyPaths bool       // behind --
}

func place(m *kong.Application, before []string) position {
	p := position{node: m.Node, flags: append(slices.Clone(m.Flags), m.DefaultCmd.Flags...)}
	for _, w := range before {
		switch {
		case p.pending != nil:
			p.pending = nil
		case p.onlyPaths || !strings.HasPrefix(w, "-") || w == "-":
			n := childNamed(p.node, w)
			if n == nil || p.arguments > 0 || p.onlyPaths {
				p.arguments++
				continue
			}
			p.node, p.flags = n, append(slices.Clone(m.Flags), n.Flags...)
		case w == "--":
			p.onlyPaths = true
		case !strings.Contains(w, "="):
			if f := flagNamed(p.flags, w); f != nil && !f.IsBool() {
				p.pending = f
			}
		}
	}
	return p
}

func childNamed(parent *kong.Node, name string) *kong.Node {
	for _, n := range parent.Children {
		if n.Name == name && !n.Hidden {
			return n
		}
	}
	return nil
}

func flagNamed(l []*kong.Flag, word string) *kong.Flag {
	for _, f := range l {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

func flags(all []*kong.Flag, word string) []fitting {
	var l []fitting
	for _, f := range all {
		if !f.Hidden {
			l = append(l, fitting{"--" + f.Name, f.Help})
			if f.Short != 0 && word == "-" {
				l = append(l, fitting{"-" + string(f.Short), f.Help})
			}
		}
	}
	return beginning(l, "", word)
}

// beginning keeps those of l that word begins, each behind a prefix that word has.
func beginning(l []fitting, prefix, word string) []fitting {
	var kept []fitting
	for _, f := range l {
		if f != filesFit {
			f.word = prefix + f.word
		}
		if f == filesFit || strings.HasPrefix(f.word, word) {
			kept = append(kept, f)
		}
	}
	return kept
}

// values lists what the value of a flag can be, given what is written of it.
func values(f *kong.Flag, written string) []fitting {
	switch f.Name {
	case "output", "config":
		return []fitting{filesFit}
	case "by":
		done, _ := cutLast(written, ",")
		return prefixed(done, words(dimensionNames()))
	case "where":
		l := words(dimensionNames())
		for i := range l {
			l[i].word += "="
		}
		return l
	case "fail-on":
		return words(gateMetricNames())
	case "slo":
		done, _ := cutLast(written, ",")
		return prefixed(done, words([]string{"ttft=", "tps="}))
	case "since", "until", "at":
		return []fitting{{"today", ""}, {"yesterday", ""}, {"-24h", "a day before now"}, {"-3d", "three days before now"}, {"-7d", "a week before now"}}
	}
	return choicesOf(f.Enum)
}

// cutLast parts s behind the last sep.
func cutLast(s, sep string) (before, after string) {
	i := strings.LastIndex(s, sep) + len(sep)
	if i < len(sep) {
		return "", s
	}
	return s[:i], s[i:]
}

func words(l []string) []fitting {
	var f []fitting
	for _, w := range l {
		f = append(f, fitting{word: w})
	}
	return f
}

func prefixed(prefix string, l []fitting) []fitting {
	for i := range l {
		l[i].word = prefix + l[i].word
	}
	return l
}

func choicesOf(enum string) []fitting {
	var l []fitting
	for _, c := range strings.Split(enum, ",") {
		if c != "" {
			l = append(l, fitting{word: c})
		}
	}
	return l
}
