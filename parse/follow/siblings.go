package follow

import (
	"os"
	"path/filepath"
	"strings"

	"codexlag/parse/source"
)

// siblingsAtStart notes which files lie beside a named one: older generations
// of its log, maybe, and not asked for.
func (e *engine) siblingsAtStart() {
	e.eachSibling(func(f source.File) { e.old[keyOf(f)] = true })
}

// siblings returns the files that named ones were renamed to since the start.
func (e *engine) siblings() (all []source.File) {
	e.eachSibling(func(f source.File) {
		if e.files[keyOf(f)] != nil || !e.old[keyOf(f)] {
			all = append(all, f)
		}
	})
	return all
}

// eachSibling finds the files beside named ones whose names say that they are
// what the log was rotated to. Where the whole directory is read they are in
// the list of files anyway.
func (e *engine) eachSibling(found func(source.File)) {
	for _, path := range e.paths {
		dir := filepath.Dir(path)
		if path == source.Stdin || e.listed[filepath.Clean(path)] || e.listed[dir] {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // told where the file itself is looked for
		}
		for _, entry := range entries {
			name := filepath.Join(dir, entry.Name())
			if !strings.HasPrefix(entry.Name(), filepath.Base(path)) && !related([]string{filepath.Clean(path)}, name) || filepath.Clean(path) == name {
				continue
			}
			if f, ok := source.Below(name); ok {
				found(f)
			}
		}
	}
}
