package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// everyCommand lists calls that read logs, by what they write.
func everyCommand(dir string) [][]string {
	return [][]string{{"--format", "json", dir}, {"--format", "html", dir}, {"requests", "--format", "csv", dir}, {"files", "--format", "json", dir},
		{"compare", "--format", "json", dir, dir}, {"explain", filepath.Join(dir, "wrapper.log") + ":1"}}
}

// tree lists all below dir, with what changes when it is touched.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			st := info.Sys().(*syscall.Stat_t)
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano(), st.Ctim.Nano(), st.Ino)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Logs are only read: they are the same afterwards, and it makes no difference
// that nobody can write to them.
func TestLogsAreOnlyRead(t *testing.T) {
	dir := openDir(t)
	everyFormat(t, dir, "prose", "name")
	before := tree(t, dir)
	want := map[string]result{}
	for _, args := range everyCommand(dir) {
		want[args[0]+args[1]] = call{args: args}.do(t).result
	}
	if after := tree(t, dir); after != before {
		t.Errorf("the logs changed: %s", firstDifference(after, before))
	}
	asRoot(t)
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("no mount of its own: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) == nil {
		t.Fatal("the mount can be written to")
	}
	for _, args := range everyCommand(dir) {
		if got := (call{args: args}).do(t).result; got != want[args[0]+args[1]] || got.code != exitOK {
			t.Errorf("%v: exit %d, stderr %q", args, got.code, got.stderr)
		}
	}
}

// openCall is what strace prints of a call that opens a file.
var openCall = regexp.MustCompile(`open(?:at)?\(.*?"([^"]*)", ([A-Z_|]+)`)

// The system calls of all commands: files are opened for reading only, what is
// made or renamed is the index, and there is no network.
func TestSystemCalls(t *testing.T) {
	needs(t, "strace")
	dir, cache := t.TempDir(), t.TempDir()
	everyFormat(t, dir, "prose", "name")
	log := filepath.Join(t.TempDir(), "calls")
	opened := 0
	for _, args := range everyCommand(dir) {
		o := call{
			under: []string{"strace", "-f", "-qq", "-s", "300", "-o", log, "-e", "trace=%network,open,openat,openat2,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,chmod,fchmodat,chown,fchownat,truncate,utimensat,rmdir,mknod,mknodat,setxattr"},
			env:   []string{"XDG_CACHE_HOME=" + cache}, args: args,
		}.do(t)
		if o.code != exitOK {
			if strings.Contains(o.stderr, "ptrace") || strings.Contains(o.stderr, "PTRACE") {
				t.Skip(o.stderr)
			}
			t.Fatalf("%v: exit %d, stderr %q", args, o.code, o.stderr)
		}
		calls, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(calls)) {
			if strings.Contains(line, "+++") || strings.Contains(line, "resumed>") || strings.Contains(line, "---") {
				continue
			}
			if m := openCall.FindStringSubmatch(line); m != nil {
				flags := strings.Split(m[2], "|")
				switch reads := slices.Contains(flags, "O_RDONLY") && !slices.Contains(flags, "O_CREAT") && !slices.Contains(flags, "O_TRUNC"); {
				case strings.HasPrefix(m[1], dir):
					opened++
					if !reads {
						t.Errorf("%v: a log is opened to write: %s", args, line)
					}
				case !reads && !strings.HasPrefix(m[1], cache):
					t.Errorf("%v: writes elsewhere: %s", args, line)
				}
				continue
			}
			if !strings.Contains(line, `"`+cache) || strings.Contains(line, `"`+dir) {
				t.Errorf("%v: %s", args, line)
			}
		}
	}
	if opened < 50 {
		t.Errorf("only %d logs were opened", opened)
	}
}

// The same comes out where there is no network at all.
func TestNoNetwork(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	everyFormat(t, dir, "prose", "name")
	alone := func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET} }
	for _, args := range everyCommand(dir) {
		want := call{args: args}.do(t)
		if got := (call{change: alone, args: args}).do(t); got.result != want.result || got.code != exitOK {
			t.Errorf("%v: exit %d, stderr %q", args, got.code, got.stderr)
		}
	}
}

// The index is for its user alone; a report is as readable as any new file, and
// stays as it was when it is written again.
func TestWhoMayReadWhatIsWritten(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	for _, c := range []struct {
		umask string
		mode  fs.FileMode
	}{{"0000", 0o666}, {"0022", 0o644}, {"0077", 0o600}} {
		out := filepath.Join(dir, c.umask+".json")
		sh := []string{"sh", "-c", "umask " + c.umask + `; exec "$0" "$@"`}
		for range 2 {
			o := call{under: sh, env: []string{"XDG_CACHE_HOME=" + filepath.Join(cache, c.umask)}, args: []string{"-o", out, "testdata/codexhome"}}.do(t)
			info, err := os.Stat(out)
			if o.code != exitOK || err != nil || info.Mode() != c.mode {
				t.Fatalf("umask %s: exit %d, %v, %v", c.umask, o.code, err, info)
			}
			c.mode = 0o640
			os.Chmod(out, c.mode)
		}
	}
	n := 0
	filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
		info, e := d.Info()
		if err != nil || e != nil {
			t.Error(err, e)
			return nil
		}
		if !strings.Contains(path, "codexlag/") && filepath.Base(path) != "codexlag" {
			return nil
		}
		n++
		if mode := info.Mode().Perm(); d.IsDir() && mode != 0o700 || !d.IsDir() && mode != 0o600 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return nil
	})
	if n < 6 {
		t.Errorf("only %d files and directories", n)
	}
}
