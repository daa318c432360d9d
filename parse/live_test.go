package parse

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/parse/record"
	"codexlag/parse/source"
)

// A log that comes in pieces, wherever they end, gives the records of the whole.
func TestGrowingEqualsReading(t *testing.T) {
	n := 0
	for _, root := range []string{"testdata", "../testdata", "rollout/testdata"} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			s, err := source.Open(source.File{Path: path}, nil)
			if err != nil {
				return nil
			}
			growing := CanGrow(s)
			s.Close()
			text, err := os.ReadFile(path)
			if err != nil || !growing || len(text) > 1<<20 {
				return nil
			}
			n++
			checkGrowing(t, path, text, int64(n))
			return nil
		})
	}
	if n < 10 {
		t.Errorf("only %d logs", n)
	}
	open := meta + requestLine + strings.TrimSuffix(requestLine, "\n")
	path := filepath.Join(t.TempDir(), "open.jsonl")
	if err := os.WriteFile(path, []byte(open), 0o644); err != nil {
		t.Fatal(err)
	}
	checkGrowing(t, path, []byte(open), 0)
}

func checkGrowing(t *testing.T, path string, text []byte, seed int64) {
	t.Helper()
	var want, got []string
	read := Read(t.Context(), []string{path}, Options{}, func(r record.Record) { want = append(want, describeRecord(r)) })
	live := NewLive(Options{}, func(r record.Record) { got = append(got, describeRecord(r)) })
	g := live.Open(source.File{Path: path})
	rng := rand.New(rand.NewPCG(uint64(seed), 3))
	for rest := text; len(rest) > 0; {
		n := 1 + rng.IntN(min(len(rest), 1+rng.IntN(2000)))
		g.Write(rest[:n])
		rest = rest[n:]
	}
	g.End()
	live.Close()
	if !slices.Equal(got, want) {
		t.Errorf("%s: in pieces %q, whole %q", path, got, want)
	}
	if a, b := g.Log().Info, read.Logs[0].Info; a.Lines != b.Lines || a.Bytes != b.Bytes || a.Format != b.Format || a.Requests != b.Requests || a.Session != b.Session {
		t.Errorf("%s: in pieces %+v, whole %+v", path, a, b)
	}
}

// History stops before a last line without its end, in split files too.
func TestHistoryWaitsForTheRestOfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.log")
	lines := strings.Repeat(requestLine, 3*unitSize/len(requestLine))
	if err := os.WriteFile(path, []byte(lines+requestLine[:20]), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	live := NewLive(Options{}, func(record.Record) { n++ })
	g := live.History(t.Context(), source.Expand([]string{path}).Files)[0]
	live.CaughtUp()
	if want := strings.Count(lines, "\n"); n != want || g.Offset != int64(len(lines)+20) {
		t.Errorf("%d requests of %d, offset %d", n, want, g.Offset)
	}
	g.Write([]byte(requestLine[20:] + requestLine))
	g.End()
	if want := strings.Count(lines, "\n") + 2; n != want || g.Log().Lines != int64(want) {
		t.Errorf("in the end %d requests of %d, %d lines", n, want, g.Log().Lines)
	}
}

// What a trace tells of a session without a session file is passed on soon;
// what is told of a running turn waits for its end.
func TestSettle(t *testing.T) {
	var got []string
	now := time.Now()
	j := newLiveJoiner(func(r record.Record) { got = append(got, describeRecord(r)) }, func() time.Time { return now })
	j.live.sessions["known"] = sessionState{running: true}
	j.catchUp()
	told := func(session string) {
		j.add(&record.Request{Format: record.FormatTrace, Session: session, End: now, Output: record.Count(7), Quality: record.Measured, TTFT: time.Second, Total: 2 * time.Second})
	}
	told("stranger")
	told("known")
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {strangerLag, 1}, {time.Minute, 1}, {turnLag, 2}} {
		now = now.Add(step.after)
		if j.settle(); len(got) != step.want {
			t.Errorf("after %v: %q", step.after, got)
		}
	}
	// The session file tells of it much too late: not again.
	end := now.Add(-turnLag - strangerLag - time.Minute)
	j.add(&record.Request{Format: record.FormatRollout, Session: "known", End: end, Output: record.Count(7), Turn: "t"})
	j.flushLive()
	if len(got) != 3 || got[2] != "dropped:0 merged" {
		t.Errorf("in the end %q", got)
	}
}
