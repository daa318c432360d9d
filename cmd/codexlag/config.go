package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable" // alone tells the line of a key
)

// settings gives flags that are not on the command line their values. In this
// order: CODEXLAG_… variables, the file of --config, the user's own file.
type settings struct {
	grammar *grammar
	warn    func(format string, args ...any)
	files   []*configFile
	loaded  error
	done    bool
	origin  map[string]string // flag: the place that its value is from
}

// Validate has nothing to do: files are read once the command line is known.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve returns the value of a flag, nil where nothing sets it.
func (s *settings) Resolve(context *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if !settable(flag) {
		return nil, nil
	}
	if !s.done {
		s.done = true
		s.loaded = s.load(context)
	}
	if s.loaded != nil {
		return nil, s.loaded
	}
	command := ""
	if parent.Command != nil {
		command = parent.Command.Name
	}
	f, ok := s.lookup(command, flag)
	if !ok || flag.Name == "no-color" && s.outranked(context, command, f) {
		return nil, nil
	}
	s.origin[flag.Name] = f.origin
	if _, list := f.value.([]any); list && !flag.IsSlice() {
		return nil, errors.New("takes one value, not a list")
	}
	return f.value, nil
}

// A setting is what was found for a flag. The lower its rank, the more it counts.
type setting struct {
	value  any
	origin string
	rank   int
}

// lookup finds the value of a command's flag.
func (s *settings) lookup(command string, flag *kong.Flag) (setting, bool) {
	if name := variable(flag.Name); os.Getenv(name) != "" && !s.grammar.forOthers(flag, os.Getenv(name)) {
		return setting{os.Getenv(name), name, 0}, true
	}
	for i, f := range s.files {
		if v, ok := f.values[command][flag.Name]; ok {
			return setting{v.value, f.at(v.line), i + 1}, true
		}
		if v, ok := f.values[""][flag.Name]; ok && !s.grammar.forOthers(flag, v.value) {
			return setting{v.value, f.at(v.line), i + 1}, true
		}
	}
	return setting{}, false
}

// outranked reports whether --color is said where it counts more than this
// --no-color, which would have the last word otherwise.
func (s *settings) outranked(context *kong.Context, command string, noColor setting) bool {
	for _, p := range context.Path {
		if p.Flag != nil && p.Flag.Name == "color" && !p.Resolved {
			return true
		}
	}
	flags := context.Flags()
	i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == "color" })
	if i < 0 {
		return false
	}
	color, ok := s.lookup(command, flags[i])
	return ok && color.rank < noColor.rank
}

// load reads the files and looks for variables that are misspelled.
func (s *settings) load(context *kong.Context) error {
	s.origin = map[string]string{}
	if err := s.strayVariable(os.Environ()); err != nil {
		return err
	}
	named := os.Getenv(variable("config"))
	for _, p := range context.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			named, _ = context.FlagValue(p.Flag).(string)
		}
	}
	if named != "" {
		if err := s.add(named); err != nil {
			return err
		}
	}
	for _, path := range userConfigs() {
		err := s.add(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// configMax is how long a file of settings may be, in bytes.
const configMax = 1 << 20

// readConfig returns the text of a regular file of bearable size.
func readConfig(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > configMax:
		return nil, errors.New("longer than 1 MiB")
	}
	return os.ReadFile(path)
}

func (s *settings) add(path string) error {
	text, err := readConfig(path)
	if err != nil {
		return &configError{exitIO, fmt.Errorf("reading the configuration %s: %w; check --config and %s", path, cause(err), variable("config"))}
	}
	f, err := parseConfig(path, text, s.grammar)
	if err != nil {
		return &configError{exitUsage, err}
	}
	s.files = append(s.files, f)
	return nil
}

// strayVariable tells of a variable that is none of ours although it begins
// like them. One that is nearly ours is an error.
func (s *settings) strayVariable(environ []string) error {
	var ours []string
	for _, name := range s.grammar.flags {
		ours = append(ours, variable(name))
	}
	ours = append(ours, variable("config"))
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		rest, ok := strings.CutPrefix(name, variablePrefix)
		if !ok || slices.Contains(ours, name) {
			continue
		}
		for _, o := range ours {
			if far := editDistance(name, o); far == 1 || far == 2 && len(rest) > 3 {
				return &configError{exitUsage, fmt.Errorf("unknown variable %s; did you mean %q?", name, o)}
			}
		}
		s.warn("unknown variable %s does nothing", name)
	}
	return nil
}

// blame puts the place that a flag's value is from before a message about it.
func (s *settings) blame(msg string) string {
	if m := aboutFlag.FindStringSubmatch(msg); m != nil && s.origin[m[1]] != "" {
		return s.origin[m[1]] + ": " + msg
	}
	return msg
}

var aboutFlag = regexp.MustCompile(`^--([a-z][a-z-]*)`)

const variablePrefix = "CODEXLAG_"

// variable is the name of the environment variable of a flag.
func variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settable reports whether a flag can be set in a file.
func settable(f *kong.Flag) bool {
	return !slices.Contains([]string{"help", "version", "config"}, f.Name)
}

// userConfigs are the places of the user's own file; the first that exists counts.
func userConfigs() []string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return nil // no home, no configuration
		}
	}
	return []string{filepath.Join(dir, "codexlag", "config.toml"), filepath.Join(dir, "codexlag.toml")}
}

// A configError is a fault of a file or a variable. It says where.
type configError struct {
	code int
	error
}

func (e *configError) Unwrap() error { return e.error }

// A grammar is what flags there are.
type grammar struct {
	flags    []string            // of any command
	choices  map[string][]string // values of a flag that takes no others, in any command
	commands map[string][]string // the flags of each
}

func newGrammar(m *kong.Application) *grammar {
	g := &grammar{choices: map[string][]string{}, commands: map[string][]string{}}
	for _, n := range m.Children {
		for _, f := range n.Flags {
			if !settable(f) {
				continue
			}
			g.commands[n.Name] = append(g.commands[n.Name], f.Name)
			g.choices[f.Name] = append(g.choices[f.Name], f.EnumSlice()...)
			if !slices.Contains(g.flags, f.Name) {
				g.flags = append(g.flags, f.Name)
			}
		}
	}
	return g
}

// owners lists the commands that have a flag.
func (g *grammar) owners(flag string) []string {
	var l []string
	for _, name := range g.commandNames() {
		if slices.Contains(g.commands[name], flag) {
			l = append(l, name)
		}
	}
	return l
}

// forOthers reports whether a value that is said for all commands is one of
// another command's choices and none of this one's, as format = "html" is for a
// command that has no pages.
func (g *grammar) forOthers(flag *kong.Flag, value any) bool {
	v, ok := value.(string)
	return ok && flag.Enum != "" && !slices.Contains(flag.EnumSlice(), v) && slices.Contains(g.choices[flag.Name], v)
}

// A configFile holds what a file says: a value for each flag of a command, or
// of every command that has the flag (table "").
type configFile struct {
	path   string
	values map[string]map[string]configValue
}

type configValue struct {
	value any // a string, or a list of them
	line  int
}

func (f *configFile) at(line int) string { return fmt.Sprintf("%s:%d", f.path, line) }

// parseConfig reads the text of a file. Errors name file and line.
func parseConfig(path string, text []byte, g *grammar) (*configFile, error) {
	f := &configFile{path: path, values: map[string]map[string]configValue{}}
	var whole map[string]any // the parser below does not see what the format as a whole forbids
	if err := toml.Unmarshal(text, &whole); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return nil, fmt.Errorf("%s: %s", f.at(line), strings.TrimPrefix(at.Error(), "toml: "))
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var p unstable.Parser
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		key, line := keyOf(&p, e)
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = key
			if err := f.checkTable(key, e.Kind, line, g); err != nil {
				return nil, err
			}
		case unstable.KeyValue:
			if err := f.set(append(slices.Clone(table), key...), line, e.Value(), g); err != nil {
				return nil, err
			}
		}
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func keyOf(p *unstable.Parser, e *unstable.Node) (key []string, line int) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if line == 0 {
			line = p.Shape(n.Raw).Start.Line
		}
		key = append(key, string(n.Data))
	}
	return key, line
}

func (f *configFile) checkTable(key []string, kind unstable.Kind, line int, g *grammar) error {
	name := strings.Join(key, ".")
	if kind == unstable.ArrayTable || len(g.commands[name]) == 0 {
		return fmt.Errorf("%s: unknown table [%s]: it must be a command with flags%s", f.at(line), name, suggest(name, g.commandNames()))
	}
	return nil
}

func (g *grammar) commandNames() []string {
	var names []string
	for n := range g.commands {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// set notes the value of one key.
func (f *configFile) set(key []string, line int, value *unstable.Node, g *grammar) error {
	command, known := "", g.flags
	if len(key) == 2 {
		command, known = key[0], g.commands[key[0]]
	}
	flag := strings.ReplaceAll(key[len(key)-1], "_", "-")
	if len(key) > 2 || !slices.Contains(known, flag) {
		return fmt.Errorf("%s: unknown key %q%s", f.at(line), strings.Join(key, "."), suggest(flag, known))
	}
	if _, twice := f.values[command][flag]; twice {
		return fmt.Errorf("%s: %s is set twice", f.at(line), flag)
	}
	v, ok := valueOf(value)
	if !ok {
		return fmt.Errorf("%s: %s: the value must be a text, a number, a time, true or false, or a list of them", f.at(line), flag)
	}
	if f.values[command] == nil {
		f.values[command] = map[string]configValue{}
	}
	f.values[command][flag] = configValue{v, line}
	return nil
}

// valueOf is a value as it would be written on the command line.
func valueOf(n *unstable.Node) (any, bool) {
	switch n.Kind {
	case unstable.Array:
		l := []any{}
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			s, ok := scalar(it.Node())
			if !ok {
				return nil, false
			}
			l = append(l, s)
		}
		return l, true
	default:
		return scalar(n)
	}
}

func scalar(n *unstable.Node) (string, bool) {
	switch n.Kind {
	case unstable.Integer, unstable.Float:
		return strings.ReplaceAll(string(n.Data), "_", ""), true
	case unstable.String, unstable.Bool, unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		return string(n.Data), true
	}
	return "", false
}
