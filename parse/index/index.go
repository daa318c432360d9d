// Package index keeps what was read of logs in the user's cache directory, so
// that a second run looks only at what changed.
//
// There is one file for each directory of logs (and day, where session files of
// many days lie in one directory). Whatever is wrong with it, be it damaged, of
// another version of the program or not to be written, is as if it were not
// there. Where two runs write one, the last one wins.
package index

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"codexlag/parse/source"
)

// An Index belongs to one run. All methods may be called on nil, which knows
// nothing and keeps nothing, and by several goroutines.
type Index struct {
	dir, version string
	begun        time.Time
	base         string // what relative paths are relative to

	mu      sync.Mutex
	shards  map[string]*shard
	off     bool // cannot be written
	cleaned bool // old files were looked for
}

// Open returns the index whose files lie in dir, which need not exist. Only
// what a program of the same version wrote is used. The run begins now; files
// must be looked for after that.
func Open(dir, version string, now time.Time) *Index {
	base, err := os.Getwd()
	if err != nil {
		return nil
	}
	return &Index{dir: dir, version: version, begun: now, base: base, shards: make(map[string]*shard)}
}

// An Entry is what is kept of one log.
type Entry struct {
	Stamp source.Stamp
	// Made is when the run that read the log began, in Unix nanoseconds.
	Made int64
	// Session says that the log is a session file.
	Session bool
	// Zone names the time zone that the result depends on; "" for none.
	Zone string
	// End is where reading can go on, in bytes, and Sum is that of the log up
	// to there; see SumOf. End is 0 where it cannot.
	End int64
	Sum uint64
	// Result is what was read.
	Result []byte

	seen bool // in this run
}

// racy is how much older than the run that read it a log must be for its stamp
// to be believed: clocks of file systems go by steps of up to two seconds.
const racy = 2 * time.Second

// fits reports whether e tells of a log in the state s.
func (e *Entry) fits(s source.Stamp) bool {
	return e.Stamp == s && s.Latest().Before(time.Unix(0, e.Made).Add(-racy))
}

// A Match says how an entry goes with the log as it is now.
type Match int

const (
	None  Match = iota // there is no entry, or one of another log
	Grown              // the log may be what it was and more; SumOf tells
	Same
)

// Expect announces a log that the run will read; its end must be told by Done.
func (x *Index) Expect(f source.File) {
	if s, _, _ := x.shardOf(f, true); s != nil {
		s.left.Add(1)
	}
}

// Find returns what is kept of a log. Its Result is valid until Done.
func (x *Index) Find(f source.File) (Entry, Match) {
	s, name, stamp := x.shardOf(f, false)
	if s == nil {
		return Entry{}, None
	}
	s.load(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[name]
	switch {
	case e == nil:
	case e.fits(stamp):
		e.seen = true
		return *e, Same
	case e.End > 0 && e.Stamp.SameFile(stamp) && e.Stamp.Size < stamp.Size:
		return *e, Grown
	default:
		delete(s.entries, name)
	}
	return Entry{}, None
}

// Keeps reports whether it is of any use to call Put.
func (x *Index) Keeps() bool {
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.off
}

// Put keeps e, whose Stamp is the one that the log had before and after it was read.
func (x *Index) Put(f source.File, e Entry) {
	s, name, _ := x.shardOf(f, false)
	if s == nil {
		return
	}
	s.load(x)
	e.Made, e.seen = x.begun.UnixNano(), true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[name] = &e
	s.dirty = true
}

// Done says that the run is done with a log. With the last one of a directory
// what is new is written.
func (x *Index) Done(f source.File) {
	s, _, _ := x.shardOf(f, false)
	if s == nil || s.left.Add(-1) > 0 {
		return
	}
	x.mu.Lock()
	delete(x.shards, s.key)
	off := x.off
	x.mu.Unlock()
	if s.dirty && !off && x.save(s) != nil {
		x.mu.Lock()
		x.off = true
		x.mu.Unlock()
	}
}

// shardOf returns where a log belongs and by what name; nil for what is not
// kept, such as standard input.
func (x *Index) shardOf(f source.File, create bool) (s *shard, name string, stamp source.Stamp) {
	if x == nil {
		return nil, "", stamp
	}
	stamp, ok := f.Stamp()
	if !ok {
		return nil, "", stamp
	}
	dir, name := filepath.Split(f.Path)
	key := f.Path[:len(dir)+day(name)]
	x.mu.Lock()
	defer x.mu.Unlock()
	s = x.shards[key]
	if s == nil && create {
		s = &shard{key: key, dir: x.absolute(dir)}
		s.path = filepath.Join(x.dir, fileName(s.dir, key[len(dir):]))
		x.shards[key] = s
	}
	return s, name, stamp
}

func (x *Index) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(x.base, path)
}

// day returns the length of the part of a session file's name that tells the
// day; 0 for other files. Directories of archived sessions are big, and with one
// file for all of their days each new session would have all be written anew.
func day(name string) int {
	const example = "rollout-2006-01-02"
	if len(name) > len(example) && strings.HasPrefix(name, "rollout-") {
		return len(example)
	}
	return 0
}
