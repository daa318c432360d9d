package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"
)

// goodLine is a request that must come out whatever lies beside it.
const goodLine = "[request] first_token_ms=2840 total_tokens=3 total_ms=3120\n"

// enough is more than the program takes, in bytes, whatever it reads.
const enough = 320 << 20

// survives fails unless the program ended as said, in bounded memory, and the
// good request came out, as often as it should.
func (o outcome) survives(t *testing.T, code int, says string, good int) {
	t.Helper()
	if o.code != code || !strings.Contains(o.stderr, says) {
		t.Errorf("exit %d, want %d; stderr %.500q, want %q in it", o.code, code, o.stderr, says)
	}
	if n := strings.Count(o.stdout, `"ttft_ms":2840,`); n != good {
		t.Errorf("%d good requests come out, want %d: %.500s", n, good, o.stdout)
	}
	if o.peak > enough {
		t.Errorf("takes %d MiB", o.peak>>20)
	}
}

var listRequests = []string{"requests", "--format", "ndjson", "--no-cache"}

// zeroes writes n bytes of zero, a megabyte at a time.
func zeroes(w io.Writer, n int) {
	block := make([]byte, 1<<20)
	for ; n > 0; n -= len(block) {
		w.Write(block)
	}
}

// zstdOfZeroes is a zstd file of n bytes of zero, in blocks of one byte that is
// repeated (RFC 8878, section 3.1.1.2).
func zstdOfZeroes(n int) []byte {
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x38} // a window of 128 KiB
	const size = 128 << 10
	for ; n > 0; n -= size {
		head := uint32(size<<3 | 1<<1)
		if n <= size {
			head |= 1 // the last
		}
		b = append(binary.LittleEndian.AppendUint32(b, head)[:len(b)+3], 0)
	}
	return b
}

// A small file that becomes a huge one costs no memory, and one that would take
// days is given up.
func TestDecompressionBombs(t *testing.T) {
	const size = 256 << 20
	var gz, xzs bytes.Buffer
	w, _ := gzip.NewWriterLevel(&gz, gzip.BestSpeed)
	zeroes(w, size)
	w.Close()
	x, err := xz.NewWriter(&xzs)
	if err != nil {
		t.Fatal(err)
	}
	zeroes(x, 16<<20)
	x.Close()
	bz, err := base64.StdEncoding.DecodeString("QlpoOTFBWSZTWQ4J4t8BX45AAMAAAAggADCATUZCoCWpCoCXMUFZJlNZDgni3wFfjkAAwAAACCAAMIBNRkKgJakKgJcxQVkmU1kOCeLfAV+OQADAAAAIIAAwgE1GQqAlqQqAlzFBWSZTWQ4J4t8BX45AAMAAAAggADCATUZCoCWpCoCXMUFZJlNZDgni3wFfjkAAwAAACCAAMIBNRkKgJakKgJcxQVkmU1kezuTbASo/wADABAAIIAAwzAUppqqoSRsAIkjxdyRThQkGsXyvAA==")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		content []byte
		code    int // where the file is named
		says    string
	}{
		{"gzip", gz.Bytes(), exitOK, ""},
		{"xz", xzs.Bytes(), exitOK, ""},
		{"bzip2, 256 MiB of 208 bytes", bz, exitOK, ""},
		{"zstd, 2 GiB of 65 kB", zstdOfZeroes(2 << 30), exitIO, "decompression bomb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			bomb := write(t, dir, "bomb", string(c.content))
			good := write(t, dir, "good.log", goodLine)
			call{args: append(listRequests, bomb, good)}.do(t).survives(t, c.code, c.says, 1)
			if c.code != exitOK { // found, not named
				call{args: append(listRequests, dir)}.do(t).survives(t, exitOK, c.says, 1)
			}
		})
	}
}

// A line may be as long as a disk: it is passed over, or read as far as its kind
// allows, in bounded memory.
func TestHugeLines(t *testing.T) {
	const size = 512 << 20
	for _, c := range []struct{ name, head, fill, tail string }{
		{"plain", "", "x", ""},
		{"NULs", "", "\x00", ""},
		{"request", "[request] first_token_ms=1 total_ms=20 ", "a=1 ", ""},
		{"request as JSON", `{"first_token_ms":1,"total_ms":2,"x":"`, "x", `"}`},
		{"session file", `{"timestamp":"2026-01-01T00:00:00.000Z","type":"event_msg","payload":{"type":"token_count","x":"`, "x", `"}}`},
		{"trace", `2026-09-10T09:00:00.000000Z  INFO codex_otel: event.name="codex.sse_event" `, "a=1 ", ""},
		{"telemetry", `{"resourceLogs":[`, `{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1"}]}]},`, `{}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := io.Pipe()
			go func() {
				b := bufio.NewWriter(w)
				b.WriteString(goodLine + c.head)
				block := []byte(strings.Repeat(c.fill, 1<<20/len(c.fill)))
				for range size >> 20 {
					b.Write(block)
				}
				b.WriteString(c.tail + "\n" + goodLine)
				b.Flush()
				w.Close()
			}()
			o := call{stdin: r, args: append(listRequests, "-")}.do(t)
			o.survives(t, exitOK, "", 2)
		})
	}
}

// Nesting is no reason to recurse.
func TestDeepJSON(t *testing.T) {
	const depth = 1_000_000
	open, shut := strings.Repeat("[", depth), strings.Repeat("]", depth)
	objects := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	text := goodLine
	for _, head := range []string{`{"first_token_ms":1,"total_ms":20,"a":`, `{"resourceLogs":`, `{"type":"thread.started","thread_id":`,
		`{"timestamp":"2026-01-01T00:00:00.000Z","type":"event_msg","payload":`, `{"ts":1,"feedback_log_body":`, `{"session":`, `[{"ts":1,"x":`} {
		text += head + open + shut + "}\n" + head + objects + "}\n" + head + open + "\n"
	}
	text += goodLine
	for _, args := range [][]string{{"-"}, {write(t, t.TempDir(), "deep.jsonl", text)}, {write(t, t.TempDir(), "rollout-2026-01-01T00-00-00-x.jsonl", text)}} {
		call{stdin: strings.NewReader(text), args: append(listRequests, args...)}.do(t).survives(t, exitOK, "", 2)
	}
}

// In a directory there may be anything.
func TestHostileTree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.log", goodLine)
	write(t, dir, "new\nline.log", goodLine)
	write(t, dir, "esc\x1b[31m\u202e.log", goodLine)
	write(t, dir, "\xff\xfe.log", goodLine)
	write(t, dir, "broken.gz", "\x1f\x8b\x08\x00new\nline")
	write(t, dir, strings.Repeat("n", 250), goodLine)
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, make := range map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"self": func(path string) error { return os.Symlink(".", path) },
		"up":   func(path string) error { return os.Symlink("../"+filepath.Base(dir), path) },
		"loop": func(path string) error { return os.Symlink("loop", path) },
		"proc": func(path string) error { return os.Symlink("/proc/self", path) },
		"sys":  func(path string) error { return os.Symlink("/sys", path) },
		"null": func(path string) error { return os.Symlink(os.DevNull, path) },
	} {
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	o := call{args: append(listRequests, dir)}.do(t)
	o.survives(t, exitOK, "broken.gz", 5)
	if strings.Count(o.stdout, "\n") != 5 || strings.Count(o.stderr, "\n") != 1 || strings.ContainsAny(o.stderr, "\x1b\u202e") {
		t.Errorf("names are not made harmless: %q, %q", o.stdout, o.stderr)
	}
	o = call{args: []string{"files", "--no-cache", dir}}.do(t)
	for _, what := range []string{"a named pipe", "a socket", "a device", "made up by the kernel", "a link that leads nowhere"} {
		if !strings.Contains(o.stdout, what) {
			t.Errorf("files does not tell of %s: %s", what, o.stdout)
		}
	}
	for path, says := range map[string]string{
		"/dev/zero": "a device", "/proc/self": "made up by the kernel", filepath.Join(dir, "socket"): "a socket", "/proc/self/mem": "reading",
	} {
		t.Run(path, func(t *testing.T) {
			call{args: append(listRequests, path, filepath.Join(dir, "good.log"))}.do(t).survives(t, exitIO, says, 1)
		})
	}
	// What a shell passes as <(command), and a file of the kernel.
	call{stdin: strings.NewReader(goodLine), args: append(listRequests, "/dev/fd/0", "/proc/self/environ")}.do(t).survives(t, exitOK, "", 1)
}

// Root may read everything, so this is somebody else.
func TestUnreadableFiles(t *testing.T) {
	asRoot(t)
	dir := openDir(t)
	write(t, dir, "good.log", goodLine)
	secret := write(t, dir, "secret.log", goodLine)
	write(t, dir, "closed/a.log", goodLine)
	for _, path := range []string{secret, filepath.Join(dir, "closed")} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"good.log", "secret.log", "closed/a.log"} {
		os.Chmod(filepath.Dir(filepath.Join(dir, path)), 0o755)
	}
	os.Chmod(filepath.Join(dir, "closed"), 0)
	nobody := func(cmd *exec.Cmd) {
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	o := call{change: nobody, args: append(listRequests, dir)}.do(t)
	o.survives(t, exitOK, "secret.log: permission denied; read it as a user who may", 1)
	if !strings.Contains(o.stderr, "closed: permission denied") {
		t.Errorf("says nothing of the directory: %s", o.stderr)
	}
	call{change: nobody, args: append(listRequests, secret, filepath.Join(dir, "good.log"))}.do(t).survives(t, exitIO, "permission denied", 1)
	call{change: nobody, args: append(listRequests, "--strict", dir)}.do(t).survives(t, exitIO, "permission denied", 1)
}

// Files come, go, shrink and grow while they are read. Those that stay are
// reported.
func TestFilesThatChangeWhileRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.log", goodLine)
	noise := strings.Repeat("[request] first_token_ms=1 total_tokens=2 total_ms=3\n", 50_000)
	var names [6]string
	for i := range names {
		names[i] = write(t, dir, fmt.Sprintf("%d.log", i), noise)
	}
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			switch name := names[i%len(names)]; i % 7 {
			case 0, 3:
				os.Truncate(name, int64(i%1000))
			case 1, 5:
				os.Remove(name)
			case 2:
				os.Rename(name, name+".1")
			default:
				os.WriteFile(name, []byte(noise), 0o600)
			}
		}
	})
	for range 6 {
		call{args: append(listRequests, dir)}.do(t).survives(t, exitOK, "", 1)
	}
	close(stop)
	storm.Wait()
}

// More than anybody types. The operating system lets a command line be some
// megabytes long.
func TestVeryManyWords(t *testing.T) {
	good := write(t, t.TempDir(), "good.log", goodLine)
	many := func(n int, words ...string) (l []string) {
		for range n {
			l = append(l, words...)
		}
		return append(l, good)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
		good int
	}{
		{"a path", many(10_000, good), exitOK, "", 1},
		{"flags", many(50_000, "--model=x"), exitUsage, "more than 1000", 0},
		{"flags with values", many(50_000, "--where", "model=x"), exitUsage, "more than 1000", 0},
		{"as many flags as may be", many(990, "--where=model=x"), exitNothing, "passes the filters", 0},
		{"one long flag", []string{"--model", strings.Repeat("x,", 60_000) + "x", good}, exitNothing, "passes the filters", 0},
		{"values in a file", []string{"--config", write(t, t.TempDir(), "c.toml", `model = [`+strings.Repeat(`"x",`, 200_000)+`]`), good}, exitNothing, "passes the filters", 0},
		{"deep settings", []string{"--config", write(t, t.TempDir(), "c.toml", `model = `+strings.Repeat("[", 1_000_000)), good}, exitUsage, "c.toml:1", 0},
		{"a number", []string{"--jobs", "2000000000", good}, exitOK, "", 1},
		{"a number with too many digits", []string{"--jobs", strings.Repeat("9", 100_000), good}, exitUsage, "--jobs", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			call{args: append(listRequests, c.args...)}.do(t).survives(t, c.code, c.says, c.good)
		})
	}
}

// Whatever is written to a disk that is full says so, with exit code 1.
func TestFullDisk(t *testing.T) {
	good := write(t, t.TempDir(), "good.log", goodLine)
	for _, args := range [][]string{{good}, {"--format", "json", good}, {"requests", good}, {"files", good}, {"explain", good + ":1"}, {"compare", good, good},
		{"-o", "/dev/full", "--format", "csv", good}, {"schema", "report"}, {"man"}, {"licenses"}, {"completion", "bash"}, {"--help"}, {"requests", "--help"}, {"--version"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		o := call{stdout: full, args: args}.do(t)
		full.Close()
		if o.code != exitIO || !strings.Contains(o.stderr, "no space left") || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, stderr %q", args, o.code, o.stderr)
		}
	}
}

// smallDisk mounts a file system of so many KiB.
func smallDisk(t *testing.T, kib int) string {
	t.Helper()
	asRoot(t)
	dir := openDir(t)
	if err := syscall.Mount("codexlag-test", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Skipf("no file system of its own: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill leaves no room on a disk. What it returns makes room again.
func fill(t *testing.T, disk string) (free func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4<<10); ; {
		if _, err := f.Write(block); err != nil {
			return func() { os.Remove(f.Name()) }
		}
	}
}

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var l []string
	for _, d := range list {
		l = append(l, d.Name())
	}
	return strings.Join(l, " ")
}

// On a full disk the old report stays as it was and no piece of a new one is
// left; without room for the index there is none.
func TestFullDiskKeepsTheOldReport(t *testing.T) {
	disk := smallDisk(t, 1024)
	out := filepath.Join(disk, "r.html")
	if o := (call{args: []string{"-o", out, "testdata/quickstart"}}).do(t); o.code != exitOK {
		t.Fatalf("%+v", o)
	}
	old, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	free := fill(t, disk)
	cache := []string{"XDG_CACHE_HOME=" + disk}
	for _, args := range [][]string{{"-o", out, "testdata/codexhome"}, {"requests", "-o", out + ".csv", "testdata/codexhome"}} {
		if o := (call{env: cache, args: args}).do(t); o.code != exitIO || !strings.Contains(o.stderr, "no space left on device") {
			t.Errorf("%v: exit %d, stderr %q", args, o.code, o.stderr)
		}
	}
	if now, err := os.ReadFile(out); err != nil || !bytes.Equal(now, old) {
		t.Errorf("the old report is gone: %v", err)
	}
	want := codexlag(t, "", "--no-cache", "--format", "json", "testdata/codexhome")
	if o := (call{env: cache, args: []string{"--format", "json", "testdata/codexhome"}}).do(t); o.code != exitOK || o.stderr != want.stderr || o.stdout != want.stdout {
		t.Errorf("no room for the index: exit %d, %q, %s", o.code, o.stderr, firstDifference(o.stdout, want.stdout))
	}
	if l := names(t, disk); l != "ballast r.html" && l != "ballast codexlag r.html" {
		t.Errorf("left on the disk: %s", l)
	}
	free()
	if o := (call{env: cache, args: []string{"-o", out, "testdata/codexhome"}}).do(t); o.code != exitOK {
		t.Errorf("with room again: %+v", o)
	}
}

// Nobody reads on behind | head: the program ends by the signal that a shell
// expects, or with exit code 1.
func TestClosedPipe(t *testing.T) {
	log := write(t, t.TempDir(), "many.log", strings.Repeat(goodLine, 100_000))
	for _, args := range [][]string{append(listRequests, log), {"--format", "html", log}, {"licenses"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			r.Read(make([]byte, 10))
			r.Close()
		}()
		o := call{stdout: w, args: args}.do(t)
		w.Close()
		if !o.killed && o.code != exitIO || o.stderr != "" && !strings.Contains(o.stderr, "broken pipe") {
			t.Errorf("%v: %+v", args, o)
		}
	}
}

// A few open files are enough for many logs, and little memory for a big one.
func TestLimits(t *testing.T) {
	needs(t, "prlimit")
	dir := t.TempDir()
	for i := range 200 {
		write(t, dir, fmt.Sprintf("%d/%d.log", i%7, i), goodLine)
	}
	call{under: []string{"prlimit", "--nofile=16"}, args: append(listRequests, "--jobs", "50", dir)}.do(t).survives(t, exitOK, "", 200)
	log := write(t, dir, "big.log", strings.Repeat(goodLine, 200_000))
	want := call{args: []string{"--no-cache", "--format", "json", log}}.do(t)
	if got := (call{env: []string{"GOMEMLIMIT=8MiB"}, args: []string{"--no-cache", "--format", "json", log}}).do(t); got.result != want.result {
		t.Errorf("with little memory: exit %d, %q, %s", got.code, got.stderr, firstDifference(got.stdout, want.stdout))
	}
}
