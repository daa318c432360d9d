package follow

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codexlag/parse"
	"codexlag/parse/source"
)

// A generation is what a file held until it was deleted or held something new.
type generation struct {
	key    key
	names  []string
	offset int64 // how much of it was read
	sum    uint64
}

// minCopy is how much two files must have in common, in bytes, for one to be a
// copy: about a line.
const minCopy = 32

// classify looks at the first bytes of a file that appeared and reports whether
// it is to be read from its offset on. Rotation can copy a log, and compress
// the copy: what was read already must not count again.
func (e *engine) classify(f *file) bool {
	if !e.caughtUp {
		return e.growable(f)
	}
	old := e.originals(f)
	if len(old) == 0 {
		return e.growable(f)
	}
	s := e.stream(f)
	if s == nil {
		return false
	}
	defer s.Close()
	compressed := s.Coding() != ""
	sums, size := sumsAt(s, old)
	for i, g := range old { // the longest first
		if sums[i] != g.sum || g.offset > size || g.offset < minCopy {
			continue
		}
		if compressed {
			e.readRest(f, g.offset)
			return false
		}
		f.Offset, f.Sum, f.unread = g.offset, g.sum, true
		return true
	}
	if old[0].offset > size && isBeside(f, old[0]) && !e.isSteady(f) {
		f.classified = false // the copy may not be complete yet
		return false
	}
	return e.growable(f)
}

// stream opens the file to see what it holds; nil where that must wait.
func (e *engine) stream(f *file) *source.Stream {
	s, err := source.Open(f.File, nil)
	if err != nil {
		f.classified = false
		e.fail(f, err)
		return nil
	}
	if id := s.ID(); id != f.key.id {
		s.Close()
		f.classified = false
		f.racy = true          // look again, though it did not change
		e.relistBy(time.Now()) // its name was given to another a moment ago
		return nil
	}
	return s
}

// growable reports whether the file can be read as it grows; else it is read
// as a whole when it has not changed for a while.
func (e *engine) growable(f *file) bool {
	s := e.stream(f)
	if s == nil {
		return false
	}
	defer s.Close()
	switch {
	case s.IsSQLite():
		e.readDatabase(f)
		return false
	case parse.CanGrow(s):
		f.Coded(s)
		return true
	}
	f.Fixed = true
	if !f.unread {
		e.unsettle(f)
	}
	return false
}

func (e *engine) unsettle(f *file) {
	e.unsettled[f] = true
	f.steady = time.Now()
}

// isSteady reports whether the file has not changed for a while, and else sees
// to it that it is looked at again.
func (e *engine) isSteady(f *file) bool {
	if e.ending {
		return true
	}
	if !e.unsettled[f] {
		e.unsettle(f)
	}
	if time.Since(f.steady) < e.pace.steady {
		return false
	}
	delete(e.unsettled, f)
	return true
}

// settle looks again at a file that may have been incomplete.
func (e *engine) settle(f *file, now time.Time) {
	info, err := os.Stat(f.File.Path)
	if err != nil {
		return // it is gone, or comes back
	}
	if info.Size() != f.size || !info.ModTime().Equal(f.modTime) {
		f.size, f.modTime, f.steady = info.Size(), info.ModTime(), now
	}
	switch {
	case !f.Fixed:
		if e.catchUp(f); f.classified {
			delete(e.unsettled, f)
		}
	case e.isSteady(f):
		delete(e.unsettled, f)
		f.File.Size, f.File.ModTime = f.size, f.modTime
		f.Growing = e.live.Once(e.ctx, f.File)
		f.settled = true
	}
}

// changed takes that a file has changed which can only be read as a whole.
func (e *engine) changed(f *file) {
	if e.unsettled[f] || f.told {
		return
	}
	info, err := os.Stat(f.File.Path)
	if err != nil || info.Size() == f.size && info.ModTime().Equal(f.modTime) {
		return
	}
	f.told = true
	e.problem(f.File.Path, errFixed(f.File.Path))
}

// originals returns the logs of which f may be a copy, or the rest, the longest
// first. What can be read of them is read.
func (e *engine) originals(f *file) []generation {
	for _, g := range e.ordered() {
		if g != f && g.Offset > 0 && !g.Fixed && related(g.names(), f.File.Path) && !e.leaving[g] {
			e.catchUp(g)
		}
	}
	var all []generation
	for _, g := range e.files {
		if g != f && g.Offset > 0 && !g.Fixed && related(g.names(), f.File.Path) {
			all = append(all, generation{g.key, g.names(), g.Offset, g.Sum})
		}
	}
	for _, g := range e.past {
		if g.key == f.key || slices.Contains(g.names, f.File.Path) || related(g.names, f.File.Path) {
			all = append(all, g)
		}
	}
	slices.SortStableFunc(all, func(a, b generation) int { return int(min(1, max(-1, b.offset-a.offset))) })
	return all
}

// isBeside reports whether f lies where rotation would put a copy of g.
func isBeside(f *file, g generation) bool {
	return related(g.names, f.File.Path) && slices.ContainsFunc(g.names, func(name string) bool { return filepath.Dir(name) == filepath.Dir(f.File.Path) })
}

// related reports whether path is what rotation calls the log that had one of
// these names: app.log.1, app.log-20260910, app-1.log, all of them compressed.
// The directory is not looked at: it may have been renamed meanwhile.
func related(names []string, path string) bool {
	path, compressed := source.Uncompressed(path)
	base := filepath.Base(path)
	for _, n := range names {
		old := filepath.Base(n)
		if old == base && compressed {
			return true
		}
		ext := filepath.Ext(old)
		rest, isLonger := strings.CutPrefix(base, strings.TrimSuffix(old, ext))
		if isLonger && rest != "" && rest != ext && strings.ContainsRune(".-_", rune(rest[0])) &&
			(strings.HasPrefix(base, old) || strings.HasSuffix(base, ext)) {
			return true
		}
	}
	return false
}

// sumsAt reads src and returns its sums at the offsets of the generations, the
// longest first, and its length.
func sumsAt(src io.Reader, at []generation) ([]uint64, int64) {
	sums := make([]uint64, len(at))
	buf := make([]byte, parse.Summed+64<<10)
	held, size := 0, int64(0) // bytes in buf; length so far
	for {
		n, err := src.Read(buf[held:])
		for i, g := range at {
			if size < g.offset && g.offset <= size+int64(n) {
				sums[i] = parse.Sum(buf[:held+int(g.offset-size)])
			}
		}
		held, size = held+n, size+int64(n)
		if held > parse.Summed {
			held = copy(buf, buf[held-parse.Summed:held])
		}
		if err != nil {
			return sums, size
		}
	}
}

// readRest reads what a compressed copy holds beyond what was read of the log.
func (e *engine) readRest(f *file, offset int64) {
	s := e.stream(f)
	if s == nil {
		return
	}
	defer s.Close()
	f.Fixed, f.settled = true, true
	delete(e.unsettled, f)
	g := e.live.Open(f.File)
	g.Silence(true)
	if !write(g, io.LimitReader(s, offset), e.buf) {
		return
	}
	rest := &first{src: s}
	g.Silence(false)
	write(g, rest, e.buf)
	g.Silence(!rest.any) // what is pending then is told by the log itself
	g.End()
}

// first notes whether anything came from src.
type first struct {
	src io.Reader
	any bool
}

func (f *first) Read(b []byte) (int, error) {
	n, err := f.src.Read(b)
	f.any = f.any || n > 0
	return n, err
}

// write puts what src holds into g.
func write(g *parse.Growing, src io.Reader, buf []byte) bool {
	for {
		n, err := src.Read(buf)
		g.Write(buf[:n])
		if err != nil {
			return err == io.EOF
		}
	}
}
