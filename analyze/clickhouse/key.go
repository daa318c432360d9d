package clickhouse

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"codexlag/parse/record"
)

// A key names a request, a turn or a log, whoever loads it and how often.
//
// Where the log gives an identity (a response id, a turn and a place in it),
// that is the key, by the same rules by which package parse recognises copies.
// Else it is the place, the log's own identity and all numbers: a log that is
// loaded again gives the same keys, two logs never.
type key [16]byte

// A hasher makes a key of what is written into it.
type hasher struct{ b []byte }

func (h *hasher) begin(what string) { h.b = append(h.b[:0], what...); h.b = append(h.b, 0) }
func (h *hasher) text(s string) {
	h.b = binary.AppendUvarint(h.b, uint64(len(s)))
	h.b = append(h.b, s...)
}
func (h *hasher) number(n int64) { h.b = binary.LittleEndian.AppendUint64(h.b, uint64(n)) }
func (h *hasher) key() (k key) {
	sum := sha256.Sum256(h.b)
	copy(k[:], sum[:])
	return k
}

// A namer makes the keys of the records of one sink.
type namer struct {
	hasher
	logs map[string]key // by name of the file

	// Of one place only, how often each key was given: a line may tell of
	// several requests alike.
	at    record.Pos
	given map[key]int
}

func (n *namer) request(r *record.Request) key {
	switch {
	case r.Format == record.FormatRequest && r.ID != "":
		n.begin("line")
		n.text(r.Session)
		n.text(r.ID)
	case r.Format == record.FormatRollout && r.ID != "":
		n.begin("response")
		n.text(r.ID)
	case r.Format == record.FormatRollout && r.Turn != "" && r.Nth > 0:
		n.begin("request in")
		n.text(r.Turn)
		n.number(int64(r.Nth))
		n.tokens(r)
	case r.Format == record.FormatRollout && r.Turn == "" && !r.End.IsZero():
		n.begin("request at")
		n.text(r.Session)
		n.number(r.End.UnixMicro())
		n.tokens(r)
	default:
		return n.placed(r)
	}
	return n.key()
}

func (n *namer) tokens(r *record.Request) {
	n.number(known(r.Output))
	n.number(known(r.Input))
}

// placed names a request by where it stands and what it says. A request of
// telemetry names its session, which is as good as the log.
func (n *namer) placed(r *record.Request) key {
	n.begin("place")
	if r.Format != record.FormatRequest && r.Session != "" {
		n.text(r.Session)
	} else {
		k := n.log(r.File)
		n.text(string(k[:]))
	}
	n.number(r.Line)
	for _, s := range []string{string(r.Format), r.ID, r.Session, r.Turn, r.Model, r.Provider, r.Effort, r.Label, r.Version, r.Origin, r.Error.Kind} {
		n.text(s)
	}
	for _, t := range []time.Time{r.Start, r.End} {
		if t.IsZero() {
			n.number(math.MinInt64)
		} else {
			n.number(t.UnixMicro())
			n.number(int64(t.Nanosecond() % 1000))
		}
	}
	n.tokens(r)
	for _, v := range []int64{int64(r.TTFT), int64(r.Quality), int64(r.Total), known(r.Cached), known(r.Reasoning), int64(r.Status), int64(r.Error.HTTPStatus)} {
		n.number(v)
	}
	k := n.key()
	if n.at != r.Pos || n.given == nil {
		n.at = r.Pos
		clear(n.given)
	}
	again := n.given[k]
	if n.given == nil {
		n.given = map[key]int{}
	}
	n.given[k]++
	if again > 0 {
		n.number(int64(again))
		k = n.key()
	}
	return k
}

func (n *namer) turn(t *record.Turn) key {
	if t.ID != "" {
		n.begin("turn")
		n.text(t.ID)
		return n.key()
	}
	n.begin("turn at")
	if t.Session != "" {
		n.text(t.Session)
	} else {
		k := n.log(t.File)
		n.text(string(k[:]))
	}
	if t.Start.IsZero() {
		n.number(t.Line)
	} else {
		n.number(t.Start.UnixMicro())
	}
	return n.key()
}

// log names a log by its absolute path and its first line: two machines that
// read it from a folder that they share name it alike, and two logs that have
// one path on different machines, or one after the other, do not.
func (n *namer) log(file string) key {
	k, ok := n.logs[file]
	if !ok {
		h := hasher{}
		h.begin("log")
		path := file
		if abs, err := filepath.Abs(file); err == nil && file != stdin {
			path = abs
		}
		h.text(path)
		h.text(firstLine(path))
		k = h.key()
		if n.logs == nil {
			n.logs = map[string]key{}
		}
		n.logs[file] = k
	}
	return k
}

// stdin is how standard input is called.
const stdin = "-"

// headSize bounds how much of a first line is looked at.
const headSize = 4 << 10

// firstLine returns the first line of a file, packed as it may be; "" where it
// cannot be read, is not yet complete, or the file is a database, whose first
// bytes change.
func firstLine(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, headSize)
	read, err := io.ReadFull(f, b)
	if b = b[:read]; bytes.HasPrefix(b, []byte("SQLite format 3\x00")) {
		return ""
	}
	if end := bytes.IndexByte(b, '\n'); end >= 0 {
		return string(b[:end])
	}
	if err != nil {
		return "" // the file ends before its first line does
	}
	return string(b)
}

func known(t record.Tokens) int64 {
	if !t.Known {
		return -1
	}
	return t.N
}
