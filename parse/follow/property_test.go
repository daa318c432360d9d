package follow

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codexlag/parse"
	"codexlag/parse/record"
)

// inAHurry waits for nothing longer than it must.
var inAHurry = pace{
	tick: 5 * time.Millisecond, relist: 10 * time.Millisecond, stall: 40 * time.Millisecond, cool: 60 * time.Millisecond,
	gone: 150 * time.Millisecond, steady: 60 * time.Millisecond, safety: 5 * time.Second, retry: 20 * time.Millisecond, rows: 10 * time.Millisecond, maxTails: 4,
}

// collected are the records that came out, in words without their place.
type collected struct {
	mu   sync.Mutex
	list []string
}

func (c *collected) add(r record.Record) {
	s := describe(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

func (c *collected) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.list)
	return c.list
}

func (c *collected) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list)
}

func describe(r record.Record) string {
	switch r := r.(type) {
	case *record.Request:
		return fmt.Sprintf("request %v %v %v of %v by %s at %v, ttft %v %v, total %v, %v", r.Format, r.Session, r.Turn, r.Output, r.Model, r.End, r.TTFT, r.Quality, r.Total, r.Status)
	case *record.Turn:
		s := fmt.Sprintf("turn %s %s %s %v %v %v", r.Session, r.ID, r.Model, r.Status, r.Duration, r.Tools)
		for _, q := range r.Requests {
			s += fmt.Sprintf(" [%v %v %v]", q.Output, q.TTFT, q.Total)
		}
		return s
	case *record.Dropped:
		return fmt.Sprintf("dropped %s %s", r.Reason, r.Session)
	}
	return fmt.Sprintf("%T", r)
}

// A scribe writes logs as a storm of programs would, and keeps a copy of all
// that it ever wrote: a file for each generation of each log.
type scribe struct {
	t    *testing.T
	rng  *rand.Rand
	root string // what is followed
	all  string // the copies
	logs []*log

	written int64
	count   *count
	n       int // numbers lines, so that no two are alike
	copies  int
	ops     []string
}

// A log is one log that is written.
type log struct {
	path    string
	out     *os.File
	copy    *os.File
	rest    string // of a line that was begun
	lines   []int  // ends of the lines of this generation
	size    int
	session string // it is a session file
	older   int    // rotated generations
}

func (s *scribe) note(format string, args ...any) {
	s.ops = append(s.ops, fmt.Sprintf(format, args...))
}

func (s *scribe) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, strings.Join(s.ops, "\n"))
	}
}

// create makes a new log, or a new generation of one.
func (s *scribe) create(l *log) {
	s.must(os.MkdirAll(filepath.Dir(l.path), 0o755))
	if l.out != nil {
		l.out.Close()
	}
	var err error
	l.out, err = os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	s.must(err)
	s.generation(l)
}

// generation begins a new copy: what is written now belongs to another log.
func (s *scribe) generation(l *log) {
	if l.copy != nil {
		l.copy.Close()
	}
	s.copies++
	kind := "plain"
	if l.session != "" {
		kind = "rollout"
	}
	var err error
	l.copy, err = os.Create(filepath.Join(s.all, fmt.Sprintf("%s-%04d.jsonl", kind, s.copies)))
	s.must(err)
	l.rest, l.lines, l.size = "", nil, 0
	if l.session != "" {
		s.n++
		l.session = s.id()
		l.rest = fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":%q,"timestamp":%[1]q,"cli_version":"0.157.1","source":"cli","model_provider":"openai"}}`+"\n", s.stamp(), l.session)
	}
}

// now is the time in the logs.
func (s *scribe) now() time.Time {
	return time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC).Add(time.Duration(s.n) * 10 * time.Millisecond)
}

func (s *scribe) stamp() string { return s.now().Format("2006-01-02T15:04:05.000Z") }

// id returns an id of version 7.
func (s *scribe) id() string {
	h := fmt.Sprintf("%012x", s.now().UnixMilli())
	return fmt.Sprintf("%s-%s-7000-8000-%012x", h[:8], h[8:], s.n)
}

// text returns the next lines of a log.
func (s *scribe) text(l *log) string {
	s.n++
	switch {
	case l.session == "" && s.rng.IntN(10) == 0:
		return fmt.Sprintf("id%06d some noise\r\n\n", s.n)
	case l.session == "":
		return fmt.Sprintf("id%06d [request] first_token_ms=%d total_tokens=%d total_ms=%d\n", s.n, s.n, s.n, 2*s.n)
	}
	turn := s.id()
	line := func(typ, payload string) string {
		s.n++
		return fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":{%s}}`+"\n", s.stamp(), typ, payload)
	}
	out := line("event_msg", fmt.Sprintf(`"type":"task_started","turn_id":%q`, turn))
	for range 1 + s.rng.IntN(2) {
		out += line("event_msg", `"type":"user_message","message":"x"`)
		out += line("response_item", `"type":"message","role":"assistant","content":[]`)
		out += line("event_msg", fmt.Sprintf(`"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"output_tokens":%[1]d,"total_tokens":%[2]d},"last_token_usage":{"input_tokens":9,"output_tokens":%[3]d,"total_tokens":%[4]d}}`, s.n*20, s.n*40, s.n, s.n+9))
	}
	if s.rng.IntN(5) > 0 {
		out += line("event_msg", fmt.Sprintf(`"type":"task_complete","turn_id":%q,"duration_ms":50,"time_to_first_token_ms":10`, turn))
	}
	return out
}

func (s *scribe) write(l *log, text string) {
	_, err := l.out.WriteString(text)
	s.must(err)
	_, err = l.copy.WriteString(text)
	s.must(err)
	for i := range text {
		if text[i] == '\n' {
			l.lines = append(l.lines, l.size+i+1)
		}
	}
	l.size += len(text)
	s.written += int64(len(text))
}

// append writes some lines; the last may remain unfinished for now.
func (s *scribe) append(l *log) {
	text := l.rest
	for range 1 + s.rng.IntN(4) {
		text += s.text(l)
	}
	l.rest = ""
	if s.rng.IntN(3) == 0 {
		i := s.rng.IntN(len(text))
		text, l.rest = text[:i], text[i:]
	}
	for len(text) > 0 { // in several writes
		n := len(text)
		if s.rng.IntN(2) == 0 {
			n = 1 + s.rng.IntN(n)
		}
		s.write(l, text[:n])
		text = text[n:]
	}
}

// seen waits until all that was written has been read: what comes next takes it
// from the disk, and no follower could see it any more.
func (s *scribe) seen() {
	s.t.Helper()
	s.until(func() bool { return s.count.read.Load() >= s.written })
}

func (s *scribe) until(done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("read %d bytes of %d:\n%s", s.count.read.Load(), s.written, strings.Join(s.ops, "\n"))
		}
	}
}

// rotate renames a log and its older generations, and begins a new one.
func (s *scribe) rotate(l *log, late bool) {
	for i := l.older; i > 0; i-- {
		s.must(os.Rename(fmt.Sprintf("%s.%d", l.path, i), fmt.Sprintf("%s.%d", l.path, i+1)))
	}
	l.older++
	s.must(os.Rename(l.path, l.path+".1"))
	if late { // the writer notices later
		s.append(l)
		l.rest = ""
	}
	s.create(l)
}

func (s *scribe) step() {
	l := s.logs[s.rng.IntN(len(s.logs))]
	name, _ := filepath.Rel(s.root, l.path)
	op := s.rng.IntN(24)
	if op >= 15 && op <= 20 && l.size < minCopy {
		op = 0 // what was there could not be told from what comes
	}
	switch {
	case op < 10:
		s.note("append to %s", name)
		s.append(l)
	case op < 12:
		d := time.Duration(s.rng.IntN(60)) * time.Millisecond
		s.note("wait %v", d)
		time.Sleep(d)
	case op < 14:
		s.note("rotate %s", name)
		s.rotate(l, s.rng.IntN(2) == 0)
		s.append(l)
	case op == 14:
		s.note("rotate %s twice", name)
		s.rotate(l, false)
		s.append(l)
		s.rotate(l, false)
	case op == 15:
		s.note("truncate %s", name)
		s.seen()
		s.must(os.Truncate(l.path, 0))
		s.generation(l)
		if s.rng.IntN(2) == 0 {
			s.append(l)
		}
	case op == 16 && l.session == "" && l.size > 0:
		s.note("rewrite %s in the same size", name)
		s.seen()
		size := l.size
		s.must(os.Truncate(l.path, 0))
		s.generation(l)
		text := ""
		for len(text) < size {
			text += s.text(l)
		}
		s.write(l, text[:size])
		l.rest = text[size:]
	case op == 17 && len(l.lines) > 1 && l.session == "":
		s.note("cut %s short", name)
		s.seen()
		to := l.lines[s.rng.IntN(len(l.lines)-1)]
		if to < headSize {
			return
		}
		cuts := s.count.cuts.Load()
		s.must(os.Truncate(l.path, int64(to)))
		s.until(func() bool { return s.count.cuts.Load() > cuts }) // else nobody knows what is new
		lines := l.lines[:slices.Index(l.lines, to)+1]
		s.generation(l)
		l.lines, l.size = slices.Clone(lines), to
	case op == 18:
		s.note("delete %s and make it anew", name)
		s.seen()
		s.must(os.Remove(l.path))
		time.Sleep(time.Duration(s.rng.IntN(2)*s.rng.IntN(100)) * time.Millisecond)
		s.create(l)
		s.append(l)
	case op == 19 && len(s.logs) < 12:
		s.newLog(fmt.Sprintf("d%d/e%d", s.rng.IntN(3), s.rng.IntN(1000)))
	case op == 20:
		s.note("copy %s and truncate it", name)
		s.seen()
		text, err := os.ReadFile(l.path)
		s.must(err)
		s.must(os.WriteFile(fmt.Sprintf("%s.copy%d", l.path, s.copies), text, 0o644))
		time.Sleep(time.Duration(s.rng.IntN(2)*s.rng.IntN(50)) * time.Millisecond)
		s.must(os.Truncate(l.path, 0))
		s.generation(l)
		s.append(l)
	case op == 21 && l.older > 0:
		s.note("compress the oldest generation of %s", name)
		s.seen()
		old := fmt.Sprintf("%s.%d", l.path, l.older)
		text, err := os.ReadFile(old)
		s.must(err)
		if len(text) < minCopy {
			return
		}
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(text)
		w.Close()
		s.must(os.WriteFile(fmt.Sprintf("%s.%d-%d.gz", l.path, l.older, s.copies), z.Bytes(), 0o644))
		s.must(os.Remove(old))
		l.older--
	case op == 22 && filepath.Dir(l.path) != s.root:
		dir := filepath.Dir(l.path)
		s.note("rename the directory of %s", name)
		s.must(os.Rename(dir, dir+"x"))
		for _, o := range s.logs {
			if filepath.Dir(o.path) == dir {
				o.path = filepath.Join(dir+"x", filepath.Base(o.path))
			}
		}
	case op == 23:
		s.note("forbid %s for a while", name)
		s.must(os.Chmod(l.path, 0))
		s.append(l)
		time.Sleep(time.Duration(s.rng.IntN(30)) * time.Millisecond)
		s.must(os.Chmod(l.path, 0o644))
	}
}

func (s *scribe) newLog(dir string) {
	l := &log{path: filepath.Join(s.root, dir, fmt.Sprintf("a%d.log", len(s.logs)))}
	if s.rng.IntN(3) == 0 {
		l.session = "?"
		l.path = filepath.Join(s.root, dir, fmt.Sprintf("rollout-%d.jsonl", len(s.logs)))
	}
	name, _ := filepath.Rel(s.root, l.path)
	s.note("make %s", name)
	s.create(l)
	s.append(l)
	s.logs = append(s.logs, l)
}

// Whatever writers do, following finds the records that reading finds in all
// bytes that were ever written. Steps that take bytes from the disk wait until
// they were read: nothing can follow what comes and goes between two looks.
func TestFollowingEqualsReading(t *testing.T) {
	scripts := 24
	if n, err := strconv.Atoi(os.Getenv("CODEXLAG_SCRIPTS")); err == nil {
		scripts = n
	} else if testing.Short() {
		scripts = 6
	}
	first, _ := strconv.Atoi(os.Getenv("CODEXLAG_SEED"))
	for seed := first; seed < first+scripts; seed++ {
		for _, poll := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d poll %v", seed, poll), func(t *testing.T) {
				t.Parallel()
				play(t, uint64(seed), poll)
			})
		}
	}
}

func play(t *testing.T, seed uint64, poll bool) {
	c := new(count)
	s := &scribe{t: t, rng: rand.New(rand.NewPCG(seed, 7)), root: t.TempDir(), all: t.TempDir(), count: c}
	s.must(os.Symlink(s.root, filepath.Join(s.root, "loop")))
	for range 1 + s.rng.IntN(2) {
		s.newLog("")
	}
	history := s.written

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	caughtUp, done := make(chan bool), make(chan bool)
	got := new(collected)
	go func() {
		defer close(done)
		o := Options{Poll: poll, CaughtUp: func() { close(caughtUp) }, pace: &inAHurry, count: c}
		if _, err := Follow(ctx, []string{s.root}, o, got.add); err != nil {
			t.Error(err)
		}
	}()
	<-caughtUp
	c.read.Add(history)
	s.note("caught up")
	for range 10 + s.rng.IntN(30) {
		s.step()
	}
	for _, l := range s.logs {
		l.out.Close()
		l.copy.Close()
	}
	if s.rng.IntN(2) == 0 {
		s.seen()
	}
	cancel()
	<-done

	want := new(collected)
	parse.Read(t.Context(), []string{s.all}, parse.Options{}, want.add)
	compare(t, got.sorted(), want.sorted())
	if t.Failed() {
		t.Logf("%s", strings.Join(s.ops, "\n"))
	}
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for len(got) > 0 || len(want) > 0 {
		switch {
		case len(want) == 0 || len(got) > 0 && got[0] < want[0]:
			t.Errorf("too much: %s", got[0])
			got = got[1:]
		case len(got) == 0 || want[0] < got[0]:
			t.Errorf("missing: %s", want[0])
			want = want[1:]
		default:
			got, want = got[1:], want[1:]
		}
	}
}
