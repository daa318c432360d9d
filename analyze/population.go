package analyze

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"
	"time"

	"codexlag/parse/record"
)

// A row is what models, findings and comparisons need of one request. Times
// are in µs, absent figures -1.
type row struct {
	key uint64 // of the request's place in its log: decides about sampling, and ties

	start, end                       int64 // Unix µs; 0 where unknown
	ttft, total                      int64 // ttft: usable ones only
	input, cached, output, reasoning int64
	decodeTokens                     int64

	model, session, turn string
	origin               string
	retries              int32
	httpStatus           int16
	quality              record.Quality
	status               record.Status
	errKind              string
	flags                flagSet
}

// maxRows bounds the memory of a population. Beyond, a sample of the requests
// is kept that depends on the requests alone, not on the order in which they
// came; medians and regressions of so many rows do not change by it.
const maxRows = 1 << 17

// A population is the requests one by one, or a sample of them.
type population struct {
	rows []row
	// shift is how often the population was halved: rows whose key has a one in
	// its shift highest bits are left out.
	shift uint

	file     string // of the last request
	fileHash uint64
}

func (p *population) add(r *record.Request, m *metrics) {
	if r.File != p.file || p.fileHash == 0 {
		p.file, p.fileHash = r.File, hash(r.File)
	}
	key := mix(p.fileHash ^ mix(uint64(r.Line)+1))
	if !p.wants(key) {
		return
	}
	p.rows = append(p.rows, newRow(key, r, m))
	p.bound()
}

func (p *population) wants(key uint64) bool { return p.shift == 0 || key>>(64-p.shift) == 0 }

// bound halves the population until it fits.
func (p *population) bound() {
	for len(p.rows) > maxRows {
		p.shift++
		p.rows = slices.DeleteFunc(p.rows, func(r row) bool { return !p.wants(r.key) })
	}
}

func (p *population) merge(o *population) {
	p.shift = max(p.shift, o.shift)
	p.rows = slices.DeleteFunc(p.rows, func(r row) bool { return !p.wants(r.key) })
	for _, r := range o.rows {
		if p.wants(r.key) {
			p.rows = append(p.rows, r)
		}
	}
	p.bound()
}

// sampled reports whether the population is only a sample, and of which share.
func (p *population) sampled() (share float64, yes bool) {
	return 1 / float64(uint64(1)<<p.shift), p.shift > 0
}

// ordered returns the rows in an order that does not depend on how they came:
// by end, then by place.
func (p *population) ordered() []row {
	slices.SortFunc(p.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.key, b.key))
	})
	return p.rows
}

// mix spreads a number evenly over 64 bits (the finalizer of splitmix64). The
// keys of requests are made with it from their places.
func mix(k uint64) uint64 {
	k += 0x9e3779b97f4a7c15
	k = (k ^ k>>30) * 0xbf58476d1ce4e5b9
	k = (k ^ k>>27) * 0x94d049bb133111eb
	return k ^ k>>31
}

func hash(s string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, s)
	return h.Sum64()
}

func newRow(key uint64, r *record.Request, m *metrics) row {
	w := row{
		key: key, start: unixMicros(r.Start), end: unixMicros(r.End),
		ttft: -1, total: -1,
		input: known(r.Input), cached: known(r.Cached), output: known(r.Output), reasoning: known(r.Reasoning),
		decodeTokens: known(m.decodeTokens),
		model:        r.Model, session: r.Session, turn: r.Turn, origin: r.Origin,
		retries: int32(r.Retries), httpStatus: int16(r.Error.HTTPStatus), errKind: r.Error.Kind,
		quality: r.Quality, status: r.Status, flags: m.flags,
	}
	if m.hasTTFT {
		w.ttft = micros(m.ttft)
	}
	if m.hasTotal {
		w.total = micros(m.total)
	}
	return w
}

// ok reports whether the request counts in metrics.
func (w *row) ok() bool { return w.status == record.OK }

// uncached returns the prompt tokens that had to be read; ok is false where
// the prompt's length is unknown. An unknown cached count is taken for none.
func (w *row) uncached() (n int64, ok bool) {
	if w.input < 0 || w.cached > w.input {
		return 0, false
	}
	return w.input - max(0, w.cached), true
}

func unixMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func known(t record.Tokens) int64 {
	if !t.Known {
		return -1
	}
	return t.N
}
