// Package pseudonym replaces what could tell whose logs these are: ids, the
// names of files and directories, labels, names that somebody made up. It works
// on records, before any figure is made of them, so that no format can forget it.
//
// Times, counts, line numbers and names that everybody knows (the models and
// providers of the public, Codex's own tools and versions) stay.
package pseudonym

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"codexlag/parse"
	"codexlag/parse/record"
)

// maxKnown bounds the pseudonyms that are kept to be used again; any can be made anew.
const maxKnown = 100_000

// Names gives out pseudonyms. A name's pseudonym is a keyed hash of it, so it
// is the same wherever the name occurs, and without the key nobody can check a
// guess: paths and ids are easy to guess, which makes a plain hash of them none.
// It is safe for use by several goroutines.
type Names struct {
	key []byte

	mu    sync.Mutex
	known map[name]string
}

type name struct{ kind, text string }

// New returns Names with a key made of secret: runs with the same secret give
// the same pseudonyms. Without one the key is random, and no other run, and
// nobody else, can relate anything to the pseudonyms.
func New(secret string) *Names {
	key := sha256.Sum256([]byte(secret))
	if secret == "" {
		rand.Read(key[:]) // never fails
	}
	return &Names{key: key[:], known: map[name]string{}}
}

// letters are those of base32 without a padding; 10 of them are 50 bits, too
// many for two names of one report to meet.
var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const length = 10

// of returns the pseudonym of a text, KIND-xxxxxxxxxx; "" for "".
func (n *Names) of(kind, text string) string {
	if text == "" {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.known[name{kind, text}]; ok {
		return s
	}
	h := hmac.New(sha256.New, n.key)
	h.Write([]byte(kind + "\x00" + text))
	s := kind + "-" + letters.EncodeToString(h.Sum(nil))[:length]
	if len(n.known) >= maxKnown {
		clear(n.known)
	}
	n.known[name{strings.Clone(kind), strings.Clone(text)}] = s
	return s
}

// Path returns the pseudonym of a file: dir-x/file-y. Standard input keeps its sign.
func (n *Names) Path(path string) string {
	if path == "" || path == "-" {
		return path
	}
	dir, base := filepath.Split(filepath.Clean(path))
	if dir == "" {
		return n.of("file", base)
	}
	return n.Dir(dir) + "/" + n.of("file", base)
}

// Dir returns the pseudonym of a directory, the one that Path has for its files.
func (n *Names) Dir(path string) string {
	if path = filepath.Clean(path); path == "." {
		return path
	}
	return n.of("dir", path)
}

// Model returns the name of a model itself if it is made of words that all the
// world uses for models, else its pseudonym.
func (n *Names) Model(s string) string { return n.unless(modelName(s), "model", s) }

func (n *Names) unless(public bool, kind, s string) string {
	if public {
		return s
	}
	return n.of(kind, s)
}

// Record returns a copy of a record with pseudonyms.
func (n *Names) Record(r record.Record) record.Record {
	switch r := r.(type) {
	case *record.Request:
		return n.request(r)
	case *record.Turn:
		return n.turn(r)
	case *record.Dropped:
		c := *r
		c.File = n.Path(c.File)
		c.Session = n.of("session", c.Session)
		return &c
	case *record.Rows:
		c := *r
		c.File = n.Path(c.File)
		c.Models = make([]string, len(r.Models))
		for i, m := range r.Models {
			c.Models[i] = n.Model(m)
		}
		return &c
	}
	panic(fmt.Sprintf("pseudonym: a %T has no pseudonyms yet", r))
}

func (n *Names) request(r *record.Request) *record.Request {
	c := *r
	c.File = n.Path(c.File)
	c.ID = n.of("request", c.ID)
	c.Session = n.of("session", c.Session)
	c.Turn = n.of("turn", c.Turn)
	c.Model = n.Model(c.Model)
	c.Provider = n.unless(providers[c.Provider], "provider", c.Provider)
	c.Effort = n.unless(efforts[c.Effort], "effort", c.Effort)
	c.Label = n.of("label", c.Label)
	c.Version = n.unless(release.MatchString(c.Version), "version", c.Version)
	c.Origin = n.unless(origins[c.Origin], "source", c.Origin)
	switch c.Error.Kind {
	case "", record.ErrTimeout, record.ErrDisconnected:
	default:
		c.Error.Kind = record.ErrOther
	}
	return &c
}

func (n *Names) turn(t *record.Turn) *record.Turn {
	c := *t
	c.File = n.Path(c.File)
	c.ID = n.of("turn", c.ID)
	c.Session = n.of("session", c.Session)
	c.Model = n.Model(c.Model)
	c.Provider = n.unless(providers[c.Provider], "provider", c.Provider)
	c.Effort = n.unless(efforts[c.Effort], "effort", c.Effort)
	c.Version = n.unless(release.MatchString(c.Version), "version", c.Version)
	c.Origin = n.unless(origins[c.Origin], "source", c.Origin)
	c.Requests = make([]*record.Request, len(t.Requests))
	for i, r := range t.Requests {
		c.Requests[i] = n.request(r)
	}
	c.Tools = make([]record.Interval, len(t.Tools))
	for i, tool := range t.Tools {
		tool.Tool = n.unless(tools[tool.Tool], "tool", tool.Tool)
		c.Tools[i] = tool
	}
	return &c
}

// Summary puts pseudonyms into what reading came to. Of errors only the kind is
// left: their texts hold names of files, and of much else.
func (n *Names) Summary(s *parse.Summary) {
	for i := range s.Logs {
		l := &s.Logs[i]
		l.Err = n.problem(l.Path, l.Err)
		l.Path = n.Path(l.Path)
		l.Session = n.of("session", l.Session)
		l.Version = n.unless(release.MatchString(l.Version), "version", l.Version)
		for k, thread := range l.Threads {
			l.Threads[k] = n.of("session", thread)
		}
	}
	for i := range s.Skipped {
		s.Skipped[i].Path = n.Path(s.Skipped[i].Path)
	}
	for i := range s.Problems {
		p := &s.Problems[i]
		p.Err = n.problem(p.Path, p.Err)
		p.Path = n.Path(p.Path)
	}
}
