package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"codexlag/parse/source"
)

// later is when runs begin in these tests: long after the logs were written.
var later = time.Now().Add(time.Hour)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, path string) source.File {
	t.Helper()
	files := source.Expand([]string{path}).Files
	if len(files) != 1 {
		t.Fatalf("%s: %d files", path, len(files))
	}
	return files[0]
}

// keep has a run read a log and find the result.
func keep(t *testing.T, x *Index, path, result string) {
	t.Helper()
	f := find(t, path)
	x.Expect(f)
	stamp, _ := f.Stamp()
	x.Put(f, Entry{Stamp: stamp, End: stamp.Size, Result: []byte(result)})
	x.Done(f)
}

// known returns what another run knows of a log.
func known(t *testing.T, x *Index, path string) (string, Match) {
	t.Helper()
	f := find(t, path)
	x.Expect(f)
	defer x.Done(f)
	e, m := x.Find(f)
	return string(e.Result), m
}

func TestEntriesOutliveTheRun(t *testing.T) {
	cache, log := filepath.Join(t.TempDir(), "a", "b"), filepath.Join(t.TempDir(), "x.log")
	write(t, log, "one\n")
	keep(t, Open(cache, "1", later), log, "result")
	if got, m := known(t, Open(cache, "1", later), log); m != Same || got != "result" {
		t.Fatalf("%q %v", got, m)
	}
	if got, m := known(t, Open(cache, "2", later), log); m != None {
		t.Errorf("another version: %q %v", got, m)
	}
	if got, m := known(t, nil, log); m != None {
		t.Errorf("no index: %q %v", got, m)
	}
	for path, want := range map[string]os.FileMode{cache: 0o700 | os.ModeDir, filepath.Dir(cache): 0o700 | os.ModeDir, theFile(t, cache): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, want %v", path, info.Mode(), want)
		}
	}
}

// theFile returns the one file of the index.
func theFile(t *testing.T, cache string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(cache, "*"+ending))
	if len(files) != 1 {
		t.Fatalf("files of the index: %v", files)
	}
	return files[0]
}

func TestChangedLogs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
		want   Match
	}{
		{"nothing", func(*testing.T, string) {}, Same},
		{"appended", func(t *testing.T, path string) { appendTo(t, path, "more\n") }, Grown},
		{"truncated", func(t *testing.T, path string) { os.Truncate(path, 2) }, None},
		{"written anew", func(t *testing.T, path string) { write(t, path, "two\n") }, None},
		{"written anew with the old time", func(t *testing.T, path string) {
			info, _ := os.Stat(path)
			write(t, path, "two\n")
			os.Chtimes(path, info.ModTime(), info.ModTime())
		}, None},
		{"replaced", func(t *testing.T, path string) {
			write(t, path+".new", "longer\n")
			os.Rename(path+".new", path)
		}, None},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache, log := t.TempDir(), filepath.Join(t.TempDir(), "x.log")
			write(t, log, "one\n")
			keep(t, Open(cache, "1", later), log, "result")
			time.Sleep(20 * time.Millisecond) // the clock of the file system goes on
			c.change(t, log)
			if _, m := known(t, Open(cache, "1", later), log); m != c.want {
				t.Errorf("match %v, want %v", m, c.want)
			}
		})
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// A log that was written just before it was read may have been written again
// within the same step of the clock.
func TestFreshLogsAreNotBelieved(t *testing.T) {
	cache, log := t.TempDir(), filepath.Join(t.TempDir(), "x.log")
	write(t, log, "one\n")
	keep(t, Open(cache, "1", time.Now()), log, "result")
	if _, m := known(t, Open(cache, "1", later), log); m != None {
		t.Errorf("match %v", m)
	}
}

func TestDamagedFiles(t *testing.T) {
	cache, log := t.TempDir(), filepath.Join(t.TempDir(), "x.log")
	write(t, log, "one\n")
	keep(t, Open(cache, "1", later), log, "result")
	path := theFile(t, cache)
	good, _ := os.ReadFile(path)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		write(t, path, string(bad))
		if got, m := known(t, Open(cache, "1", later), log); m != None {
			t.Fatalf("byte %d: %q %v", i, got, m)
		}
		write(t, path, string(good[:i]))
		if got, m := known(t, Open(cache, "1", later), log); m != None {
			t.Fatalf("cut at %d: %q %v", i, got, m)
		}
	}
	keep(t, Open(cache, "1", later), log, "again")
	if got, m := known(t, Open(cache, "1", later), log); m != Same || got != "again" {
		t.Errorf("a damaged file is not replaced: %q %v", got, m)
	}
}

func TestEntriesOfVanishedLogsGo(t *testing.T) {
	cache, logs := t.TempDir(), t.TempDir()
	a, b, c := filepath.Join(logs, "a.log"), filepath.Join(logs, "b.log"), filepath.Join(logs, "c.log")
	for _, path := range []string{a, b, c} {
		write(t, path, "one\n")
		keep(t, Open(cache, "1", later), path, path)
	}
	os.Remove(a)
	time.Sleep(20 * time.Millisecond)
	write(t, b, "more\n")
	keep(t, Open(cache, "1", later), b, "new")
	text, _ := os.ReadFile(theFile(t, cache))
	if bytes.Contains(text, []byte("a.log")) {
		t.Error("the entry of a log that is gone is still there")
	}
	if got, m := known(t, Open(cache, "1", later), c); m != Same || got != c {
		t.Errorf("a log that this run did not read: %q %v", got, m)
	}
}

// Session files of different days lie in different files of the index.
func TestDays(t *testing.T) {
	cache, logs := t.TempDir(), t.TempDir()
	for _, name := range []string{"rollout-2026-09-10T09-00-00-x.jsonl", "rollout-2026-09-10T10-00-00-x.jsonl", "rollout-2026-09-11T09-00-00-x.jsonl", "rollout-.jsonl", "x"} {
		write(t, filepath.Join(logs, name), "one\n")
	}
	x := Open(cache, "1", later)
	files := source.Expand([]string{logs}).Files
	for _, f := range files {
		x.Expect(f)
	}
	for _, f := range files {
		stamp, _ := f.Stamp()
		x.Put(f, Entry{Stamp: stamp})
		x.Done(f)
	}
	if got, _ := filepath.Glob(filepath.Join(cache, "*"+ending)); len(files) != 5 || len(got) != 3 {
		t.Errorf("%d logs, %v", len(files), got)
	}
}

func TestNoPlaceForTheIndex(t *testing.T) {
	log := filepath.Join(t.TempDir(), "x.log")
	write(t, log, "one\n")
	x := Open(filepath.Join(log, "below", "a", "file"), "1", later)
	keep(t, x, log, "result")
	if x.Keeps() {
		t.Error("goes on writing")
	}
	if _, m := known(t, x, log); m != None {
		t.Error("found in no place")
	}
}

// Whoever wins, the file is whole.
func TestRunsAtOnce(t *testing.T) {
	cache, logs := t.TempDir(), t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(logs, fmt.Sprint(i)), "one\n")
	}
	files := source.Expand([]string{logs}).Files
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			x := Open(cache, "1", later)
			for _, f := range files {
				x.Expect(f)
			}
			for _, f := range files {
				if e, m := x.Find(f); m == Same && string(e.Result) != f.Path {
					t.Errorf("%s: %q", f.Path, e.Result)
				}
				stamp, _ := f.Stamp()
				x.Put(f, Entry{Stamp: stamp, Result: []byte(f.Path)})
			}
			for _, f := range files {
				x.Done(f)
			}
		})
	}
	runs.Wait()
	for _, f := range files {
		if got, m := known(t, Open(cache, "1", later), f.Path); m != Same || got != f.Path {
			t.Errorf("%s: %q %v", f.Path, got, m)
		}
	}
}

func TestClear(t *testing.T) {
	cache, log := filepath.Join(t.TempDir(), "codexlag"), filepath.Join(t.TempDir(), "x.log")
	if files, size, err := Clear(cache); files != 0 || size != 0 || err != nil {
		t.Errorf("nothing there: %d files, %d bytes, %v", files, size, err)
	}
	write(t, log, "one\n")
	keep(t, Open(cache, "1", later), log, "result")
	write(t, filepath.Join(cache, "writing-123"+ending), "12345")
	for _, name := range []string{"notes.txt", "mine" + ending, "writing-x" + ending} {
		write(t, filepath.Join(cache, name), "mine")
	}
	info, _ := os.Stat(filepath.Join(cache, "writing-123"+ending))
	files, size, err := Clear(cache)
	if files != 2 || size <= info.Size() || err != nil {
		t.Errorf("%d files, %d bytes, %v", files, size, err)
	}
	left, _ := os.ReadDir(cache)
	if len(left) != 3 {
		t.Errorf("left: %v", left)
	}
}

func TestOldFilesGo(t *testing.T) {
	cache, logs := t.TempDir(), t.TempDir()
	a, b := filepath.Join(logs, "a", "x.log"), filepath.Join(logs, "b", "x.log")
	write(t, a, "one\n")
	write(t, b, "one\n")
	keep(t, Open(cache, "1", later), a, "result")
	old := time.Now().Add(-unused - time.Hour)
	os.Chtimes(theFile(t, cache), old, old)
	keep(t, Open(cache, "1", later.Add(2*noted)), b, "result")
	if _, m := known(t, Open(cache, "1", later), a); m != None {
		t.Error("a file that nobody used is still there")
	}
	if _, m := known(t, Open(cache, "1", later), b); m != Same {
		t.Error("a new file is gone")
	}
}

func TestSumOf(t *testing.T) {
	const whole = summed * blocks
	for _, size := range []int{0, 1, summed, whole - 1, whole, whole + 1, 100 * whole} {
		b := make([]byte, size+10)
		before, err := SumOf(bytes.NewReader(b), int64(size))
		if err != nil {
			t.Fatal(err)
		}
		changed := func(i int) bool {
			b[i]++
			defer func() { b[i]-- }()
			after, _ := SumOf(bytes.NewReader(b), int64(size))
			return before != after
		}
		if changed(size) {
			t.Errorf("size %d: what lies behind it counts", size)
		}
		for i := range blocks {
			for _, at := range []int{0, min(size, summed) - 1} {
				at += max(0, size-summed) * i / (blocks - 1)
				if at < size && at >= 0 && !changed(at) {
					t.Errorf("size %d: byte %d does not count", size, at)
				}
			}
		}
	}
}

func body(entries map[string]*Entry) []byte { return encode(entries, "1")[len(magic)+4:] }

func FuzzDecode(f *testing.F) {
	f.Add(body(nil))
	f.Add(body(map[string]*Entry{"a": {Stamp: source.Stamp{Size: 5, Number: 3}, Result: []byte("abc"), Zone: "UTC"}, "b": {Session: true}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := binary.LittleEndian.AppendUint32([]byte(magic), crc32.Checksum(b, castagnoli))
		entries, err := decode(append(file, b...), "1")
		if err != nil {
			return
		}
		again, err := decode(encode(entries, "1"), "1")
		if err != nil || !reflect.DeepEqual(again, entries) {
			t.Fatalf("%v\n%v\n%v", err, again, entries)
		}
	})
}
