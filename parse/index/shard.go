package index

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// A shard is what one file of the index holds.
type shard struct {
	key  string       // the directory of the logs as they are named, and the day where there is one
	dir  string       // the same directory, absolute
	path string       // of the file
	left atomic.Int64 // logs that this run is not done with

	once sync.Once

	mu      sync.Mutex
	entries map[string]*Entry // by name of the log
	dirty   bool
}

const (
	ending = ".index"
	// maxFile is more than the entries of any directory take, in bytes. What is
	// bigger is not read, and not written either.
	maxFile = 512 << 20
	// unused is after how long a file of the index that no run used is removed.
	unused = 90 * 24 * time.Hour
	// noted is how exactly the time of its last use is kept.
	noted = 24 * time.Hour
)

// fileName names the file for a directory of logs and a day, which may be "".
func fileName(dir, day string) string {
	sum := sha256.Sum256([]byte(dir + "\x00" + day))
	return hex.EncodeToString(sum[:16]) + ending
}

// load reads the file, once.
func (s *shard) load(x *Index) {
	s.once.Do(func() {
		s.entries = make(map[string]*Entry)
		info, err := os.Stat(s.path)
		if err != nil || info.Size() > maxFile || !info.Mode().IsRegular() {
			return
		}
		b, err := os.ReadFile(s.path)
		if err != nil {
			return
		}
		if entries, err := decode(b, x.version); err == nil {
			s.entries = entries
		}
		if time.Since(info.ModTime()) > noted {
			now := time.Now()
			os.Chtimes(s.path, now, now) // or it goes as unused; that does no harm
		}
	})
}

var errTooBig = errors.New("too much for one file of the index")

// save writes the file anew. Entries of logs that no longer exist are left out.
func (x *Index) save(s *shard) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, e := range s.entries {
		if e.seen {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.dir, name)); errors.Is(err, os.ErrNotExist) {
			delete(s.entries, name)
		}
	}
	b := encode(s.entries, x.version)
	if len(b) > maxFile {
		return errTooBig
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return err
	}
	x.clean()
	return replace(s.path, b)
}

// replace writes a file so that others see either the old one or all of the new.
func replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
