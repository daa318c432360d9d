package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"codexlag/analyze/human"
	"codexlag/parse/index"
)

// cacheCmd holds what there is to do with the index.
type cacheCmd struct {
	Clear cacheClearCmd `cmd:"" help:"Remove the index; the next run reads all logs again."`
}

type cacheClearCmd struct{}

// Run removes the index and tells what went.
func (c *cacheClearCmd) Run(env *environment) error {
	dir, err := cacheDir()
	if err != nil {
		return fmt.Errorf("looking for the cache directory: %w; there is no index without one", err)
	}
	files, bytes, err := index.Clear(dir)
	if err != nil {
		return fmt.Errorf("removing the index in %s: %w", dir, err)
	}
	_, err = fmt.Fprintf(env.stdout, "removed %s (%s) from %s\n", human.Plural(files, "file"), human.Bytes(bytes), dir)
	return err
}

// cacheDir returns where the index lies. XDG_CACHE_HOME holds on every system.
func cacheDir() (string, error) {
	dir := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "codexlag"), nil
}

// openIndex returns the index of this very program; nil, which is no index,
// where there is no place for one.
func openIndex() *index.Index {
	dir, err := cacheDir()
	if err != nil {
		return nil
	}
	build, err := thisBuild()
	if err != nil {
		return nil
	}
	return index.Open(dir, build, indexClock())
}

// indexClock is set forward by tests: the index believes the stamp of a log
// only when the log is some seconds old.
var indexClock = time.Now

// thisBuild tells this program from others, those that were built of the same
// commit with changes included.
func thisBuild() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(version(), " ", info.Size(), " ", info.ModTime().UnixNano()), nil
}
