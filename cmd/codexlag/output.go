package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"codexlag/analyze/lang"
	"codexlag/report"
)

// formats writes one set of figures in each format that it has.
type formats struct {
	document func() *report.Document // markdown, text and html
	json     func(io.Writer) error
	csv      func(io.Writer) error // nil where no output asks for it
}

// An output is one place that figures go to.
type output struct {
	path   string // "" for standard output
	format string
	stdout io.Writer
	text   report.TextOptions
}

var endings = map[string]string{".md": "markdown", ".markdown": "markdown", ".txt": "text", ".html": "html", ".htm": "html", ".json": "json", ".csv": "csv"}

// colorFlags say when output is coloured.
type colorFlags struct {
	Color   string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" group:"Output" help:"Colours: auto (on a terminal), always (text for less -R), never."`
	NoColor bool   `group:"Output" help:"As --color never (also: the variable NO_COLOR)."`
}

// languageFlags choose the language of what people read.
type languageFlags struct {
	Lang lang.Language `enum:"en,zh" default:"en" placeholder:"LANG" group:"Output" help:"Language of headings, verdicts and advice: en or zh (default ${default})."`
}

// color is when to colour: auto, always or never.
func (f *colorFlags) color() string {
	if f.NoColor {
		return "never"
	}
	return f.Color
}

// outputs lists where a report goes: the files of -o, else standard output.
// format is that of --format, "" where it was not given. A file's ending says
// its format (contract.md); a --format on the command line that says another is
// a mistake, unless it is for a "-" beside the file.
func outputs(env *environment, format string, files []string, color string) ([]output, error) {
	if len(files) == 0 {
		o := output{format: format, stdout: env.stdout, text: terminal(env.stdout, color)}
		if o.format == "" {
			o.format = plainFormat(env.stdout, o.text)
		}
		return []output{o}, nil
	}
	env.hide(files...)
	var l []output
	for _, path := range files {
		if path == "-" {
			o, err := outputs(env, format, nil, color)
			if err != nil {
				return nil, err
			}
			l = append(l, o...)
			continue
		}
		f := endings[strings.ToLower(filepath.Ext(path))]
		if f == "" {
			f = format
		}
		if f == "" {
			return nil, usageError("-o %s: the ending names no format (.md .txt .html .json .csv); add --format", path)
		}
		if f != format && env.saidFormat(format) && !slices.Contains(files, "-") {
			return nil, contradiction(path, f, format)
		}
		l = append(l, output{path: path, format: f, text: report.TextOptions{Unicode: true}})
	}
	return l, nil
}

// saidFormat reports whether a format is from the command line: one that is set
// elsewhere is for where nothing else tells it.
func (e *environment) saidFormat(format string) bool {
	return format != "" && e.settings.origin["format"] == ""
}

func contradiction(path, ending, format string) error {
	return usageError("-o %s and --format %s contradict each other: the ending means %s; leave --format out, or give the file another ending", path, format, ending)
}

// write renders the figures and writes them: a file appears whole or not at all.
func (o *output) write(f formats) error {
	if o.path == "" {
		if err := o.render(o.stdout, f); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		return nil
	}
	var b bytes.Buffer
	if err := o.render(&b, f); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := writeFile(o.path, b.Bytes()); err != nil {
		return fmt.Errorf("writing the report to %s: %w", o.path, cause(err))
	}
	return nil
}

func (o *output) render(w io.Writer, f formats) error {
	switch o.format {
	case "json":
		return f.json(w)
	case "csv":
		return f.csv(w)
	case "html":
		return report.HTML(w, f.document())
	case "text":
		return report.Text(w, f.document(), o.text)
	}
	return report.Markdown(w, f.document())
}

// writeFile replaces path atomically.
func writeFile(path string, data []byte) error {
	f, err := createFile(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return f.finish(err)
}

// A newFile gets its name when it is finished. What is no regular file
// (/dev/stdout, a pipe) is written to as it is.
type newFile struct {
	*os.File
	path string // "" where it has its name already
}

func createFile(path string) (*newFile, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &newFile{File: f}, err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // replace what a link points to, not the link
	}
	f, err := createBeside(path)
	return &newFile{f, path}, err
}

// createBeside makes a file for what path will hold, as readable to others as
// any new file is, or as path was.
func createBeside(path string) (f *os.File, err error) {
	for range 100 {
		name := fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), rand.Uint32())
		f, err = os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if info, e := os.Stat(path); e == nil && err == nil {
		f.Chmod(info.Mode().Perm()) // not everybody's file can be changed so
	}
	return f, err
}

// finish closes the file and gives it its name, or, where err tells that it is
// not whole, removes it.
func (f *newFile) finish(err error) error {
	if f.path != "" {
		defer os.Remove(f.Name()) // gone after the rename
		if err == nil {
			err = f.Sync() // or a power failure could leave the name without the bytes
		}
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil || f.path == "" {
		return err
	}
	return os.Rename(f.Name(), f.path)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// plainFormat is the readable format for where no other is asked for.
func plainFormat(w io.Writer, o report.TextOptions) string {
	if isTerminal(w) || o.Color {
		return "text"
	}
	return "markdown"
}

// terminal tells what the standard output can show. With colours always, it is
// taken for a pager on the terminal that standard error is on.
func terminal(w io.Writer, color string) report.TextOptions {
	o := report.TextOptions{Unicode: true, Color: color == "always"}
	if !isTerminal(w) {
		if o.Color {
			o.Width, o.Unicode = columns(os.Stderr), hasUnicode()
		}
		return o
	}
	o.Width = columns(w.(*os.File))
	if color == "auto" {
		o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	o.Unicode = hasUnicode()
	return o
}

// columns is the width of a terminal, or less where COLUMNS says so; 0 where f
// is none.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		width = min(width, n)
	}
	return width
}

// hasUnicode looks whether the locale has UTF-8; without any hint it is assumed.
func hasUnicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			return strings.Contains(strings.ToUpper(strings.ReplaceAll(v, "-", "")), "UTF8")
		}
	}
	return true
}
