package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// temporary is the pattern of a file that is being written.
const temporary = "writing-*" + ending

// mark is a file whose time says when old files were looked for.
const mark = "cleaned"

// Clear removes the index whose files lie in dir, and dir itself if nothing
// else is there. It returns how many files went and how many bytes they had.
func Clear(dir string) (files int, bytes int64, err error) {
	files, bytes, err = remove(dir, func(fs.FileInfo) bool { return true })
	if err == nil {
		os.Remove(filepath.Join(dir, mark))
		os.Remove(dir) // fails where other files are in it
	}
	return files, bytes, err
}

// clean removes files that no run has used for long, at most once a day.
func (x *Index) clean() {
	x.mu.Lock()
	done := x.cleaned
	x.cleaned = true
	x.mu.Unlock()
	if done {
		return
	}
	path := filepath.Join(x.dir, mark)
	if info, err := os.Stat(path); err == nil && x.begun.Sub(info.ModTime()) < noted {
		return
	}
	if os.WriteFile(path, nil, 0o600) != nil || os.Chtimes(path, x.begun, x.begun) != nil {
		return
	}
	remove(x.dir, func(info fs.FileInfo) bool { return time.Since(info.ModTime()) > unused })
}

// remove removes the files of the index in dir that are old.
func remove(dir string, old func(fs.FileInfo) bool) (files int, bytes int64, err error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	for _, d := range list {
		if !d.Type().IsRegular() || !ours(d.Name()) {
			continue
		}
		info, e := d.Info()
		if e != nil || !old(info) {
			continue
		}
		if e := os.Remove(filepath.Join(dir, d.Name())); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
			continue
		}
		files++
		bytes += info.Size()
	}
	return files, bytes, err
}

// ours reports whether a file of that name is one of the index.
func ours(name string) bool {
	name, ok := strings.CutSuffix(name, ending)
	if rest, writing := strings.CutPrefix(name, "writing-"); writing {
		return ok && strings.Trim(rest, "0123456789") == ""
	}
	return ok && len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}
