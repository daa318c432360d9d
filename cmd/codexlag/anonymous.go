package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codexlag/parse/pseudonym"
	"codexlag/parse/record"
)

// anonymousFlags ask for pseudonyms.
type anonymousFlags struct {
	Anonymize    bool   `group:"Privacy" help:"Pseudonyms for ids, files, directories, labels and names that are not public, so that the output can be shown to others."`
	AnonymizeKey string `placeholder:"TEXT" group:"Privacy" help:"Make the pseudonyms of this secret: the same in every run. Whoever knows it can check guesses (default: a random one)."`
}

// AfterApply makes the run anonymous if the flags ask for it: kong calls it when
// it has read the command line, before the command runs and says anything.
func (f *anonymousFlags) AfterApply(env *environment) error {
	switch {
	case !f.Anonymize && f.AnonymizeKey != "" && env.settings.origin["anonymize-key"] == "":
		return usageError("--anonymize-key goes with --anonymize")
	case f.Anonymize && env.names == nil:
		env.names = pseudonym.New(f.AnonymizeKey)
	}
	return nil
}

// anonymous returns a sink that passes records on to next, with pseudonyms if
// the run is anonymous.
func (e *environment) anonymous(next func(record.Record)) func(record.Record) {
	if e.names == nil {
		return next
	}
	return func(r record.Record) { next(e.names.Record(r)) }
}

// shown is how a path of the command line is called in output.
func (e *environment) shown(path string) string {
	if e.names == nil {
		return path
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return e.names.Dir(path)
	}
	return e.names.Path(path)
}

// hide notes paths that messages may hold.
func (e *environment) hide(paths ...string) { e.paths = append(e.paths, paths...) }

// public is a message as it may be told: where the run is anonymous, without
// the paths that the user named.
func (e *environment) public(msg string) string {
	if e.names == nil {
		return msg
	}
	paths := append(slices.Clone(e.paths), codexHomes()...)
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".codex"))
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, p := range paths {
		if p != "" && p != "-" {
			msg = replaceWord(msg, p, e.shown(p))
		}
	}
	return msg
}

// replaceWord replaces old where it stands alone: "a" not in "a.log", "~" or "cat".
func replaceWord(s, old, with string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, old)
		if i < 0 {
			return b.String() + s
		}
		end := i + len(old)
		inside := i > 0 && inName(s[i-1]) || end < len(s) && inName(s[end])
		b.WriteString(s[:i])
		if inside {
			b.WriteString(old)
		} else {
			b.WriteString(with)
		}
		s = s[end:]
	}
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte(`_-./\`, c) >= 0
}
