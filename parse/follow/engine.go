package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"codexlag/parse"
	"codexlag/parse/record"
	"codexlag/parse/source"
)

// An engine follows the logs of one call of Follow. All but the tails, the
// readers of pipes and the watcher happens in one goroutine.
type engine struct {
	ctx   context.Context
	o     Options
	pace  pace
	live  *parse.Live
	paths []string
	buf   []byte

	files  map[key]*file    // by what they are
	byPath map[string]*file // by what they are called now
	past   []generation     // logs that ended
	order  int              // number of the next file

	hot       map[*file]bool // held open, because they grow
	unsettled map[*file]bool // copies and compressed files that may be incomplete
	failed    map[*file]bool // cannot be read
	leaving   map[*file]bool // have no name any more
	databases map[*file]bool

	pieces chan piece // from the tailers
	chunks chan chunk // from the pipes

	watcher *fsnotify.Watcher // nil while polling
	watched map[string]bool   // directories
	listed  map[string]bool   // directories of which everything is read
	old     map[key]bool      // files beside named ones that were there before

	found        source.Found // the latest list of files
	look         int          // number of that list
	nextList     time.Time
	earliestList time.Time
	nextTick     time.Time
	nextRows     time.Time

	// What is looked at between two lists, where there is no watcher.
	glanceFiles []*file
	glanceDirs  []dirTime
	nextGlance  time.Time

	caughtUp bool // history was read
	cut      bool // not all of it
	ending   bool
	over     bool // nothing can come any more
	summary  *parse.Summary
}

func newEngine(ctx context.Context, paths []string, o Options, sink func(record.Record)) *engine {
	e := &engine{
		ctx: ctx, o: o, pace: usualPace, paths: paths, live: parse.NewLive(o.Options, sink),
		buf:   make([]byte, 256<<10),
		files: make(map[key]*file), byPath: make(map[string]*file),
		hot: make(map[*file]bool), unsettled: make(map[*file]bool), failed: make(map[*file]bool), leaving: make(map[*file]bool), databases: make(map[*file]bool),
		pieces:  make(chan piece, 64),
		chunks:  make(chan chunk),
		watched: make(map[string]bool), listed: make(map[string]bool), old: make(map[key]bool),
		nextList: time.Now(),
		summary:  &parse.Summary{},
	}
	if o.pace != nil {
		e.pace = *o.pace
	}
	return e
}

// watch starts watching, where it can.
func (e *engine) watch() {
	if e.o.Poll {
		return
	}
	w, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		e.pollInstead(err)
		return
	}
	e.watcher = w
}

// pollInstead goes over to looking at the files, and tells it.
func (e *engine) pollInstead(err error) {
	e.unwatch()
	e.o.Poll = true
	e.problem("", fmt.Errorf("watching directories: %w; looking at the files instead, which is slower (--poll does that from the start)", err))
}

func (e *engine) unwatch() {
	if e.watcher != nil {
		e.watcher.Close()
		e.watcher = nil
	}
}

func (e *engine) problem(path string, err error) {
	e.summary.Problems = append(e.summary.Problems, source.Problem{Path: path, Err: err})
}

// expand lists the files that there are. Directories are watched before they
// are listed, so that nothing that is made in between is missed.
func (e *engine) expand() source.Found {
	for range 8 { // deeper trees than that appear over several lists
		e.found = source.Expand(e.paths)
		if e.o.Poll || !e.watchNew() {
			break
		}
	}
	clear(e.listed)
	for _, d := range e.found.Dirs {
		e.listed[filepath.Clean(d)] = true
	}
	return e.found
}

// watchNew watches the directories that are not watched yet, and reports
// whether there were any.
func (e *engine) watchNew() bool {
	dirs := slices.Clone(e.found.Dirs)
	for _, p := range e.paths {
		if p != source.Stdin {
			dirs = append(dirs, nearestDir(p))
		}
	}
	now := make(map[string]bool, len(dirs))
	for _, d := range dirs {
		now[filepath.Clean(d)] = true
	}
	// First those that are gone: one that was renamed has the same watch under
	// both names.
	for d := range e.watched {
		if !now[d] {
			e.watcher.Remove(d) // an error: the watch went with the directory
			delete(e.watched, d)
		}
	}
	added := false
	for d := range now {
		if e.watched[d] {
			continue
		}
		switch err := e.watcher.Add(d); {
		case err == nil:
			e.watched[d], added = true, true
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			// That comes up when it is listed.
		default:
			e.pollInstead(err)
			return true
		}
	}
	return added
}

// nearestDir returns the directory in which path, or what leads to it, would
// be made. Of a glob it is the directory before the first star.
func nearestDir(path string) string {
	if i := strings.IndexAny(path, "*?[{"); i >= 0 {
		if _, err := os.Lstat(path); err != nil {
			path = path[:i] + "x"
		}
	}
	for {
		dir := filepath.Dir(path)
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == path {
			return dir
		}
		path = dir
	}
}

// event takes what the watcher tells.
func (e *engine) event(ev fsnotify.Event) {
	path := filepath.Clean(ev.Name)
	if !e.concerns(path) {
		return
	}
	f := e.byPath[path]
	if f != nil && f.tail != nil && ev.Op == fsnotify.Write {
		return // its tail sees that
	}
	if ev.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
		delete(e.watched, path) // if it was a directory, a new one is watched anew
	}
	if ev.Op&(fsnotify.Write|fsnotify.Create|fsnotify.Chmod) != 0 && (f != nil || e.listed[filepath.Dir(path)]) {
		if now, ok := source.Below(path); ok {
			now.Path = path
			if f != nil {
				now.Path, now.Named = f.File.Path, f.File.Named
			}
			e.see(now)
			if f := e.files[keyOf(now)]; f != nil && f.tail == nil {
				e.catchUp(f) // whatever its size and time say
			}
			if ev.Op&fsnotify.Create == 0 {
				return
			}
		}
	}
	if ev.Op != fsnotify.Chmod {
		e.relistBy(time.Now().Add(5 * time.Millisecond)) // more of the same kind may come
	}
}

// concerns reports whether what happens to path can matter. Watched are also the
// directories around what was named, where much else may happen.
func (e *engine) concerns(path string) bool {
	dir := filepath.Dir(path)
	return e.byPath[path] != nil || e.listed[dir] || e.watched[path] || slices.ContainsFunc(e.paths, func(named string) bool {
		if strings.ContainsAny(named, "*?[{") {
			return true
		}
		named = filepath.Clean(named)
		// Rotation puts copies beside a file, and not beside a directory.
		return path == named || strings.HasPrefix(named, path+string(filepath.Separator)) || filepath.Dir(named) == dir && !e.listed[named]
	})
}

// relist looks at the list of files: which are new, changed, renamed or gone.
func (e *engine) relist() {
	begun := time.Now()
	e.look++
	found := e.expand()
	for _, f := range e.withoutPipes(found.Files) {
		e.see(f)
	}
	for _, f := range e.siblings() {
		e.see(f)
	}
	for _, f := range e.files {
		if f.look != e.look {
			e.missing(f)
		}
	}
	now := time.Now()
	e.earliestList = now.Add(20 * now.Sub(begun)) // at most a twentieth of a core in a storm
	pause := e.pace.safety
	if e.o.Poll || e.lacking() {
		pause = max(e.pace.relist, 200*now.Sub(begun)) // half a percent, idle
	}
	e.nextList = now.Add(pause)
	if e.o.Poll {
		e.plan()
	}
	if len(e.leaving) > 0 {
		// A list made while files are renamed can lack one of them.
		e.relistBy(now.Add(e.pace.gone / 2))
	}
}

// lacking reports whether something that was named is not there, so that
// nothing tells when it comes.
func (e *engine) lacking() bool {
	return slices.ContainsFunc(e.found.Problems, func(p source.Problem) bool { return p.Named })
}

// see takes a file as it is listed now.
func (e *engine) see(now source.File) {
	f := e.files[keyOf(now)]
	if f == nil {
		e.appear(now)
		return
	}
	f.look = e.look
	delete(e.leaving, f)
	if f.File.Path != now.Path {
		e.unbind(f)
		f.was = append(f.was, f.File.Path)
		f.File.Path = now.Path
	}
	e.byPath[filepath.Clean(now.Path)] = f
	if f.tail == nil && (f.racy || now.Size != f.size || !now.ModTime.Equal(f.modTime)) {
		e.catchUp(f)
	}
}

// unbind takes the file's name from it.
func (e *engine) unbind(f *file) {
	if path := filepath.Clean(f.File.Path); e.byPath[path] == f {
		delete(e.byPath, path)
	}
}

// appear takes a file that was not there before.
func (e *engine) appear(now source.File) {
	f := e.track(e.live.Open(now))
	if now.Size > 0 {
		e.catchUp(f)
	}
}

// adopt goes on with a file whose history was read.
func (e *engine) adopt(g *parse.Growing) {
	f := e.track(g)
	f.classified = g.Offset > 0
	f.head = g.Head
	if g.IsDatabase() {
		e.databases[f], f.settled = true, true // what was written since is read at the first look
	}
	f.size, f.modTime = g.File.Size, g.File.ModTime
	if g.Log().Err != nil && !g.Fixed {
		e.failed[f] = true
	}
}

// passOver leaves out what the file holds. It is read only when it grows: what
// comes then may refer to it.
func (e *engine) passOver(now source.File) {
	if now.Pipe() {
		e.readPipe(now)
		return
	}
	f := e.track(e.live.Open(now))
	src, err := os.Open(now.Path)
	if err != nil {
		e.fail(f, err)
		return
	}
	defer src.Close()
	if isDatabase(src) {
		f.unread = true
		e.readDatabase(f)
		return
	}
	f.Offset = now.Size
	f.Sum, err = parse.SumBefore(src, f.Offset)
	e.fail(f, err)
	f.unread = f.Offset > 0
	f.size, f.modTime = now.Size, now.ModTime
}

func (e *engine) track(g *parse.Growing) *file {
	f := &file{Growing: g, key: keyOf(g.File), look: e.look, order: e.order}
	e.order++
	e.files[f.key] = f
	e.byPath[filepath.Clean(g.File.Path)] = f
	return f
}

// missing takes a file that is not listed any more. It may come back under
// another name; until then what its writer still adds is read through the open
// descriptor, if there is one.
func (e *engine) missing(f *file) {
	if f.pipe || e.unlisted(f.File.Path) {
		return
	}
	if !e.leaving[f] {
		e.leaving[f] = true
		f.left, f.leftList = time.Now(), e.look
	}
	e.unbind(f)
}

// unlisted reports whether the file may be there although it is not listed:
// its directory could not be read.
func (e *engine) unlisted(path string) bool {
	return slices.ContainsFunc(e.found.Problems, func(p source.Problem) bool {
		return !errors.Is(p.Err, fs.ErrNotExist) && (p.Path == path || strings.HasPrefix(path, filepath.Clean(p.Path)+string(filepath.Separator)))
	})
}

// ordered returns the files in the order in which they appeared.
func (e *engine) ordered() []*file {
	var all []*file
	for _, f := range e.files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *file) int { return cmp.Compare(a.order, b.order) })
	return all
}

// retire ends a log.
func (e *engine) retire(f *file) {
	e.cool(f)
	e.endGeneration(f)
	delete(e.files, f.key)
	e.unbind(f)
	for _, set := range []map[*file]bool{e.unsettled, e.failed, e.leaving, e.databases} {
		delete(set, f)
	}
}

// maxPast is how many logs that ended are remembered, to know their copies.
const maxPast = 4096

// endGeneration ends what the file holds: something else will be in it.
func (e *engine) endGeneration(f *file) {
	if !f.unread {
		// Where nothing came after what was read silently, what is pending
		// does not count either.
		f.Silence(f.silent > 0 && f.silent == f.Offset)
		f.End()
	}
	e.summary.Logs = append(e.summary.Logs, f.Log())
	if f.Offset > 0 {
		if len(e.past) == maxPast {
			e.past = slices.Delete(e.past, 0, maxPast/2)
		}
		e.past = append(e.past, generation{key: f.key, names: f.names(), offset: f.Offset, sum: f.Sum})
	}
}
