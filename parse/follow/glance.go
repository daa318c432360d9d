package follow

import (
	"os"
	"slices"
	"time"

	"codexlag/parse/source"
)

// Without notification a big tree is listed only every few seconds. Between
// two lists a glance is cast at what most likely changes: the files that were
// written last, and the directories in which something was made last.
const (
	glancedFiles = 128
	glancedDirs  = 128
)

// plan chooses at what to glance until the next list.
func (e *engine) plan() {
	e.glanceFiles, e.glanceDirs = e.glanceFiles[:0], e.glanceDirs[:0]
	for _, f := range e.files {
		if !f.pipe && !f.Fixed {
			e.glanceFiles = append(e.glanceFiles, f)
		}
	}
	e.glanceFiles = latest(e.glanceFiles, glancedFiles, func(f *file) time.Time { return f.modTime })
	for d := range e.listed {
		if info, err := os.Stat(d); err == nil {
			at := info.ModTime()
			if time.Since(at).Abs() < time.Second {
				at = time.Time{} // it may have changed since it was listed
			}
			e.glanceDirs = append(e.glanceDirs, dirTime{d, at})
		}
	}
	e.glanceDirs = latest(e.glanceDirs, glancedDirs, func(d dirTime) time.Time { return d.modTime })
}

type dirTime struct {
	path    string
	modTime time.Time
}

// latest returns the n of all with the latest times.
func latest[T any](all []T, n int, when func(T) time.Time) []T {
	if len(all) > n {
		slices.SortFunc(all, func(a, b T) int { return when(b).Compare(when(a)) })
		clear(all[n:])
		all = all[:n]
	}
	return all
}

func (e *engine) glance(now time.Time) {
	for _, f := range e.glanceFiles {
		if f.fd != nil || e.leaving[f] || e.files[f.key] != f {
			continue
		}
		if info, err := os.Stat(f.File.Path); err == nil && info.Mode().IsRegular() {
			seen := f.File
			seen.Size, seen.ModTime, seen.ID = info.Size(), info.ModTime(), source.IDOf(info)
			e.see(seen)
		}
	}
	for i := range e.glanceDirs {
		d := &e.glanceDirs[i]
		if info, err := os.Stat(d.path); err != nil || !info.ModTime().Equal(d.modTime) {
			if err == nil {
				d.modTime = info.ModTime()
			}
			e.relistBy(now)
		}
	}
}
