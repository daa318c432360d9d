package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Stdin is the PATH that stands for standard input.
const Stdin = "-"

// Expand finds the files that paths stand for: files, directories with all
// that is below them, globs where no file has that very name, Stdin.
//
// A file comes out once, however many names and links lead to it. Where a
// session lies there in several copies, the copy that should count comes
// first; see inOrder.
func Expand(paths []string) Found {
	var w walker
	// What the user named comes first, so that it keeps the name that the user
	// gave it. Links come last: the real name of a file says more.
	dirs, globs := w.named(paths)
	for _, d := range dirs {
		w.namedDirs.add(d.info)
	}
	for _, d := range dirs {
		w.dir(d.path, d.info)
	}
	for _, pattern := range globs {
		w.glob(pattern)
	}
	for len(w.links) > 0 {
		link := w.links[0]
		w.links = w.links[1:]
		w.follow(link)
	}
	return w.result()
}

type place struct {
	path string
	info fs.FileInfo
}

// named lists the files among paths and returns the directories and the globs.
func (w *walker) named(paths []string) (dirs []place, globs []string) {
	stdin := false
	for _, path := range paths {
		if path == Stdin {
			if !stdin {
				w.found.Files = append(w.found.Files, File{Path: Stdin, Named: true, Stdin: true})
			}
			stdin = true
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil && strings.ContainsAny(path, "*?[{") && !errors.Is(err, fs.ErrPermission):
			globs = append(globs, path)
		case err != nil:
			w.problem(path, true, failed("looking for", path, err))
		case info.IsDir():
			dirs = append(dirs, place{path, info})
		case isSecret(path):
			w.problem(path, true, errSecret(path))
		case info.Mode().IsRegular(), info.Mode()&fs.ModeNamedPipe != 0:
			w.file(path, info, true)
		default:
			w.problem(path, true, fmt.Errorf("reading %s: it is %s; name a file, a directory, or %s for standard input", show(path), special(info.Mode()), Stdin))
		}
	}
	return dirs, globs
}

// glob lists what a pattern matches, as found and not as named: a pattern may
// well match more than its author thought of.
func (w *walker) glob(pattern string) {
	var options []doublestar.GlobOption
	if strings.Contains(pattern, "**") {
		// It would follow links in a circle. Those that it matches are followed
		// later, safely.
		options = append(options, doublestar.WithNoFollow())
	}
	matches, err := doublestar.FilepathGlob(pattern, options...)
	switch {
	case err != nil:
		w.problem(pattern, true, fmt.Errorf("looking for %s: no file has that name, and as a glob it is malformed (%w); check its brackets", show(pattern), err))
	case len(matches) == 0:
		w.problem(pattern, true, fmt.Errorf("looking for %s: no file has that name, and as a glob it matches nothing: %w; check the spelling", show(pattern), fs.ErrNotExist))
	}
	for _, path := range matches {
		info, err := os.Lstat(path)
		if err != nil {
			w.unfound(path, err)
			continue
		}
		w.entry(filepath.Clean(path), info)
	}
}
