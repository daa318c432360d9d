//go:build unix

package source

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestSpecialFilesFoundAreSkipped(t *testing.T) {
	lay(t, "x/a")
	mkfifo(t, "x/fifo")
	l, err := net.Listen("unix", "x/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, arg := range []string{"x", "x/*"} {
		got := Expand([]string{arg})
		if p := paths(got.Files); !slices.Equal(p, []string{"x/a"}) {
			t.Errorf("%s: got %q", arg, p)
		}
		want := []Skipped{{"x/fifo", "a named pipe"}, {"x/s", "a socket"}}
		if !slices.Equal(got.Skipped, want) || len(got.Problems) != 0 {
			t.Errorf("%s: skipped %v, want %v; problems %v", arg, got.Skipped, want, got.Problems)
		}
	}
}

func TestSpecialFilesNamed(t *testing.T) {
	lay(t)
	l, err := net.Listen("unix", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for arg, want := range map[string]string{"s": "a socket", os.DevNull: "a device"} {
		got := Expand([]string{arg})
		if len(got.Files) != 0 || len(got.Problems) != 1 || !got.Problems[0].Named || !strings.Contains(got.Problems[0].Err.Error(), want) {
			t.Errorf("%s: got %+v", arg, got)
		}
	}
}

func TestNamedPipeIsRead(t *testing.T) {
	lay(t)
	mkfifo(t, "fifo")
	got := Expand([]string{"fifo", "./fifo"})
	if len(got.Files) != 1 || len(got.Problems) != 0 || !got.Files[0].ModTime.IsZero() {
		t.Fatalf("got %+v", got)
	}
	hold := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		w, err := os.OpenFile("fifo", os.O_WRONLY, 0)
		if err == nil {
			_, err = w.WriteString("first\n")
			<-hold // a slow writer
			w.WriteString("second\n")
			w.Close()
		}
		done <- err
	}()
	s, err := Open(got.Files[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if head := s.Head(MaxHead); string(head) != "first\n" {
		t.Errorf("head %q", head)
	}
	close(hold)
	b, err := io.ReadAll(s)
	if string(b) != "first\nsecond\n" || err != nil {
		t.Errorf("read %q, error %v", b, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOpenDoesNotWaitForAPipeInPlaceOfAFile(t *testing.T) {
	lay(t, "a")
	f := Expand([]string{"a"}).Files[0]
	if err := os.Remove("a"); err != nil {
		t.Fatal(err)
	}
	mkfifo(t, "a")
	failure := make(chan error)
	go func() {
		_, err := Open(f, nil)
		failure <- err
	}()
	select {
	case err := <-failure:
		if err == nil || !strings.Contains(err.Error(), "a named pipe") {
			t.Errorf("got error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still waiting")
	}
}

func TestWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("everything is permitted to root")
	}
	lay(t, "x/a", "x/private/b", "x/private/c", "x/z")
	for path, mode := range map[string]fs.FileMode{"x/private": 0, "x/z": 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(path, 0o777)
	}
	got := Expand([]string{"x"})
	if p := paths(got.Files); !slices.Equal(p, []string{"x/a", "x/z"}) {
		t.Errorf("got %q", p)
	}
	if len(got.Problems) != 1 || got.Problems[0].Named || !errors.Is(got.Problems[0].Err, fs.ErrPermission) {
		t.Errorf("got problems %v", got.Problems)
	}
	for _, arg := range []string{"x/private", "x/private/b", "x/private/*"} {
		got := Expand([]string{"x", arg})
		if n := len(got.Problems); n == 0 || !got.Problems[0].Named || !errors.Is(got.Problems[0].Err, fs.ErrPermission) {
			t.Errorf("%s: got problems %v", arg, got.Problems)
		}
	}
	if _, err := Open(File{Path: "x/z"}, nil); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "opening x/z: permission denied; ") {
		t.Errorf("opening: %v", err)
	}
}
