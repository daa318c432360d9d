package follow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"codexlag/parse"
	"codexlag/parse/record"
)

// Following 2,000 files for long takes no more memory, descriptors and
// goroutines than following them for a moment. CODEXLAG_SOAK says how long,
// such as 10m; without it the test is skipped.
func TestSoak(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("CODEXLAG_SOAK"))
	if err != nil {
		t.Skip("CODEXLAG_SOAK is not set")
	}
	const files = 2000
	dir := t.TempDir()
	path := func(i int) string {
		return filepath.Join(dir, fmt.Sprintf("%02d", i%23), fmt.Sprintf("a%d.log", i))
	}
	for i := range files {
		os.MkdirAll(filepath.Dir(path(i)), 0o755)
		put(t, path(i), request(i))
	}
	n := 0
	counted := new(count)
	r := startSoak(t, dir, counted, &n)
	defer r()

	var first, last usage
	rng := rand.New(rand.NewPCG(1, 2))
	var written int64
	for begun := time.Now(); time.Since(begun) < d; {
		for range 50 {
			i := rng.IntN(files)
			if rng.IntN(100) == 0 {
				os.Rename(path(i), path(i)+".1") // the older one goes; it was read long ago
			}
			line := request(rng.IntN(1e6))
			put(t, path(i), line)
			written += int64(len(line))
		}
		time.Sleep(50 * time.Millisecond)
		last = measure(t)
		if first.memory == 0 && time.Since(begun) > d/5 {
			first = last
			t.Logf("after a fifth: %+v", first)
		}
	}
	for end := time.Now().Add(10 * time.Second); counted.read.Load() < written && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("in the end: %+v; %d bytes written", last, written)
	if got := counted.read.Load(); got != written {
		t.Errorf("read %d bytes of %d", got, written)
	}
	if last.memory > first.memory*5/4+4<<20 || last.descriptors > first.descriptors+40 || last.goroutines > first.goroutines+80 {
		t.Errorf("from %+v to %+v", first, last)
	}
}

// startSoak follows dir at the usual pace and counts the records.
func startSoak(t *testing.T, dir string, c *count, n *int) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	caughtUp, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		o := Options{CaughtUp: func() { close(caughtUp) }, count: c, Options: parse.Options{}}
		if _, err := Follow(ctx, []string{dir}, o, func(record.Record) { *n++ }); err != nil {
			t.Error(err)
		}
	}()
	<-caughtUp
	return func() { cancel(); <-done }
}

type usage struct {
	memory                  uint64 // bytes of live objects
	descriptors, goroutines int
}

func measure(t *testing.T) usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{m.HeapAlloc, openFiles(t), runtime.NumGoroutine()}
}
