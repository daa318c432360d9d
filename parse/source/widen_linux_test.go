package source

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Whoever writes into standard input can be a good part of a second ahead.
func TestPipesAreWidened(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("a line\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s, err := Open(File{Path: Stdin, Stdin: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const getPipeSize = 1032
	size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), getPipeSize, 0)
	if errno != 0 || size < pipeSize {
		if limit, err := os.ReadFile("/proc/sys/fs/pipe-max-size"); err != nil || len(strings.TrimSpace(string(limit))) < len("1048576") {
			t.Skipf("the system allows %s bytes", limit)
		}
		t.Errorf("a pipe of %d bytes (%v)", size, errno)
	}
	widen(strings.NewReader("no file"))
}
