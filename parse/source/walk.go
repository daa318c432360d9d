package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// A walker collects what lies below directories. It visits a directory once,
// so links in a circle come to an end.
type walker struct {
	found     Found
	seen      fileSet // files that are listed and directories that were visited
	namedDirs fileSet
	links     []string // still to follow
}

func (w *walker) problem(path string, named bool, err error) {
	w.found.Problems = append(w.found.Problems, Problem{Path: path, Named: named, Err: err})
}

func (w *walker) skip(path, why string) {
	w.found.Skipped = append(w.found.Skipped, Skipped{Path: path, Why: why})
}

// file lists a file unless it is listed under another name.
func (w *walker) file(path string, info fs.FileInfo, named bool) {
	if !w.seen.add(info) {
		return
	}
	f := File{Path: path, Named: named}
	if info.Mode().IsRegular() {
		f.stamp = stampOf(info)
	}
	if f.pipe = info.Mode()&fs.ModeNamedPipe != 0; !f.pipe {
		f.Size, f.ModTime, f.ID = info.Size(), info.ModTime(), IDOf(info)
	}
	w.found.Files = append(w.found.Files, f)
}

// dir visits a directory unless it was visited under another name.
func (w *walker) dir(path string, info fs.FileInfo) {
	if !w.seen.add(info) {
		return
	}
	if ofKernel(path) {
		if w.namedDirs.has(info) {
			w.problem(path, true, fmt.Errorf("listing %s: its files are made up by the kernel, no log is among them; name a file", show(path)))
		} else {
			w.skip(path, "made up by the kernel")
		}
		return
	}
	w.found.Dirs = append(w.found.Dirs, path)
	entries, err := os.ReadDir(path) // where it fails half-way, with what was read before
	if err != nil {
		w.problem(path, w.namedDirs.has(info), failed("listing", path, err))
	}
	prefix := strings.TrimSuffix(filepath.Join(path, "x"), "x") // once, not for each of many files
	for i, l := range lookAt(entries) {
		below := prefix + entries[i].Name()
		if l.err != nil {
			w.unfound(below, l.err)
			continue
		}
		w.entry(below, l.info)
	}
}

// A look is what a look at a file found.
type look struct {
	info fs.FileInfo
	err  error
}

// few is how many files are looked at by one goroutine, at least.
const few = 128

// lookAt looks at the files of a directory, at many of them in parallel.
func lookAt(entries []fs.DirEntry) []look {
	found := make([]look, len(entries))
	share := max(few, len(entries)/runtime.GOMAXPROCS(0)+1)
	var workers sync.WaitGroup
	for from := 0; from < len(entries); from += share {
		workers.Go(func() {
			for i := from; i < min(from+share, len(entries)); i++ {
				found[i].info, found[i].err = entries[i].Info()
			}
		})
	}
	workers.Wait()
	return found
}

// entry lists what was found in a directory or by a glob, links last.
func (w *walker) entry(path string, info fs.FileInfo) {
	// Junctions and other reparse points of Windows are irregular.
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		w.links = append(w.links, path)
		return
	}
	w.real(path, info)
}

// follow lists what a link leads to.
func (w *walker) follow(link string) {
	info, err := os.Stat(link)
	switch {
	case errors.Is(err, fs.ErrPermission):
		w.unfound(link, err)
	case err != nil:
		w.skip(link, "a link that leads nowhere")
	case isSecret(link):
		w.skip(link, "a link to credentials")
	default:
		w.real(link, info)
	}
}

// real lists what is no link.
func (w *walker) real(path string, info fs.FileInfo) {
	why := ""
	switch mode := info.Mode(); {
	case mode.IsDir():
		if why = neverEntered(info.Name()); why == "" {
			w.dir(path, info)
			return
		}
	case mode.IsRegular():
		if why = neverLog(info.Name()); why == "" {
			w.file(path, info, false)
			return
		}
	default:
		why = special(mode)
	}
	if !w.seen.has(info) && !w.namedDirs.has(info) { // else it is read under another name
		w.skip(path, why)
	}
}

// unfound notes that a path which was just listed cannot be looked at.
func (w *walker) unfound(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		w.skip(path, "removed while the directory was being listed")
		return
	}
	w.problem(path, false, failed("looking at", path, err))
}

// special names what is neither a file nor a directory.
func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// Below looks at a path in a directory that Expand lists: is it a file to read?
// Links are left to Expand.
func Below(path string) (f File, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || neverLog(info.Name()) != "" {
		return File{}, false
	}
	return File{Path: path, Size: info.Size(), ModTime: info.ModTime(), ID: IDOf(info)}, true
}

// Uncompressed returns path without the ending of a compressed file, and
// whether it has one.
func Uncompressed(path string) (string, bool) { return uncompressed(path) }
