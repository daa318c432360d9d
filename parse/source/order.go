package source

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// result puts what was found in order and drops compressed copies.
func (w *walker) result() Found {
	f := w.found
	plain := make(map[string]bool, len(f.Files))
	for _, file := range f.Files {
		plain[filepath.Clean(file.Path)] = true
	}
	f.Files = slices.DeleteFunc(f.Files, func(file File) bool {
		// Codex compresses its sessions into a file beside the plain one, and
		// writes on in the plain one. Other logs of like names may well differ.
		if name, compressed := uncompressed(file.Path); file.Named || !compressed || !strings.HasSuffix(name, ".jsonl") || !plain[filepath.Clean(name)] {
			return false
		}
		f.Skipped = append(f.Skipped, Skipped{file.Path, "the same file lies beside it uncompressed"})
		return true
	})
	f.Files = inOrder(f.Files)
	slices.SortStableFunc(f.Skipped, func(a, b Skipped) int { return strings.Compare(a.Path, b.Path) })
	return f
}

// inOrder returns files in the order in which they are to be read. The first copy
// of a request counts, so sessions in use come before archived ones, and plain
// files before compressed ones of the same name; all others by path, which for
// sessions is by time.
func inOrder(files []File) []File {
	type place struct {
		age  int
		name string // without the ending of a compressed file
		*File
	}
	order := make([]place, len(files))
	for i := range files {
		f := &files[i]
		name, _ := uncompressed(f.Path)
		order[i] = place{age(f.Path), name, f}
	}
	slices.SortStableFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.age, b.age), strings.Compare(a.name, b.name),
			cmp.Compare(len(a.Path), len(b.Path)), strings.Compare(a.Path, b.Path))
	})
	sorted := make([]File, len(files))
	for i, p := range order {
		sorted[i] = *p.File
	}
	return sorted
}

// age ranks a path by the innermost directory of Codex that it lies in.
func age(path string) int {
	const active, other, archived = 0, 1, 2
	elements := strings.Split(filepath.ToSlash(path), "/")
	for _, e := range slices.Backward(elements) {
		switch e {
		case "sessions":
			return active
		case "archived_sessions":
			return archived
		}
	}
	return other
}

// uncompressed returns path without the ending of a compressed file, and
// whether it has one.
func uncompressed(path string) (string, bool) {
	for _, ending := range []string{".zst", ".gz", ".bz2", ".xz"} {
		if name, ok := strings.CutSuffix(path, ending); ok {
			return name, true
		}
	}
	return path, false
}
