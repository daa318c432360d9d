package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"codexlag/parse/record"
)

// A row is what models, findings and comparisons need of one request.
type row struct {
	*stored
	names *names
}

func (w row) model() string   { return w.names.name(w.modelName) }
func (w row) session() string { return w.names.name(w.sessionName) }
func (w row) origin() string  { return w.names.name(w.originName) }
func (w row) errKind() string { return w.names.name(w.errKindName) }

// figures are the numbers of a row. Times are in µs, absent figures -1.
type figures struct {
	key uint64 // of the request's place in its log: decides about sampling, and ties

	start, end  int64 // Unix µs; 0 where unknown
	ttft, total int64 // ttft: usable ones only

	input, cached, output, reasoning, decodeTokens tokenCount

	retries    int32
	httpStatus int16
	flags      flagSet
	quality    record.Quality
	status     record.Status
}

// A tokenCount is a number of tokens as it is kept; more than fit into it count as so many.
type tokenCount int32

// A stored is a row as it is kept: with numbers for its names, so that the
// garbage collector has nothing to follow in hundreds of thousands of them.
type stored struct {
	figures
	modelName, sessionName, originName, errKindName uint32
}

// maxRows bounds the memory of a population. Beyond, a sample of the requests
// is kept that depends on the requests alone, not on the order in which they
// came; medians and regressions of so many rows do not change by it.
const maxRows = 1 << 17

// A population is the requests one by one, or a sample of them.
type population struct {
	chunks [][]stored // all but the last full, so that growing copies nothing
	spare  [][]stored // empty
	n      int
	names  names
	// shift is how often the population was halved: rows whose key has a one in
	// its shift highest bits are left out.
	shift uint

	file     string // of the last request
	fileHash uint64

	sorted []row // what ordered returned, until the next request; nil for not yet
}

// names numbers strings; 0 is "".
type names struct {
	numbers map[string]uint32
	list    []string
}

func (n *names) number(s string) uint32 {
	if s == "" {
		return 0
	}
	k, ok := n.numbers[s]
	if !ok {
		if n.numbers == nil {
			n.numbers = make(map[string]uint32)
		}
		n.list = append(n.list, s)
		k = uint32(len(n.list))
		n.numbers[s] = k
	}
	return k
}

func (n *names) name(k uint32) string {
	if k == 0 {
		return ""
	}
	return n.list[k-1]
}

func (p *population) add(r *record.Request, m *metrics) {
	if r.File != p.file || p.fileHash == 0 {
		p.file, p.fileHash = r.File, record.HashFile(r.File)
	}
	key := r.HashIn(p.fileHash)
	if !p.wants(key) {
		return
	}
	n := &p.names
	p.sorted = nil
	p.push(stored{newFigures(key, r, m), n.number(r.Model), n.number(r.Session), n.number(r.Origin), n.number(r.Error.Kind)})
	p.bound()
}

const chunkSize = 1 << 12

func (p *population) push(r stored) {
	last := len(p.chunks) - 1
	if last < 0 || len(p.chunks[last]) == chunkSize {
		var c []stored
		switch n := len(p.spare); {
		case n > 0:
			c, p.spare = p.spare[n-1], p.spare[:n-1]
		case last >= 0:
			c = make([]stored, 0, chunkSize)
		}
		p.chunks = append(p.chunks, c)
		last++
	}
	p.chunks[last] = append(p.chunks[last], r)
	p.n++
}

// filter drops the rows that the population does not want any more. The others
// move up; chunks that this empties wait to be filled again.
func (p *population) filter() {
	chunk, i := 0, 0
	for _, c := range p.chunks {
		for k := range c {
			if !p.wants(c[k].key) {
				continue
			}
			if i == chunkSize {
				chunk, i = chunk+1, 0
			}
			p.chunks[chunk][i] = c[k]
			i++
		}
	}
	if len(p.chunks) == 0 {
		return
	}
	p.n = chunk*chunkSize + i
	p.chunks[chunk] = p.chunks[chunk][:i]
	for _, c := range p.chunks[chunk+1:] {
		p.spare = append(p.spare, c[:0])
	}
	p.chunks = p.chunks[:chunk+1]
}

func (p *population) wants(key uint64) bool { return p.shift == 0 || key>>(64-p.shift) == 0 }

// bound halves the population until it fits.
func (p *population) bound() {
	for p.n > maxRows {
		p.shift++
		p.filter()
	}
}

func (p *population) merge(o *population) {
	p.sorted = nil
	if o.shift > p.shift {
		p.shift = o.shift
		p.filter()
	}
	move := func(k uint32) uint32 { return p.names.number(o.names.name(k)) }
	for _, c := range o.chunks {
		for _, r := range c {
			if p.wants(r.key) {
				r.modelName, r.sessionName, r.originName, r.errKindName = move(r.modelName), move(r.sessionName), move(r.originName), move(r.errKindName)
				p.push(r)
			}
		}
	}
	p.bound()
}

// sampled reports whether the population is only a sample, and of which share.
func (p *population) sampled() (share float64, yes bool) {
	return 1 / float64(uint64(1)<<p.shift), p.shift > 0
}

// ordered returns the rows in an order that does not depend on how they came:
// by end, then by place. They are to be read only, and until the next request.
func (p *population) ordered() []row {
	if p.sorted != nil {
		return p.sorted
	}
	p.sorted = p.all()
	slices.SortFunc(p.sorted, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.key, b.key))
	})
	return p.sorted
}

// all returns the rows as they came.
func (p *population) all() []row {
	l := make([]row, 0, p.n)
	for _, c := range p.chunks {
		for i := range c {
			l = append(l, row{&c[i], &p.names})
		}
	}
	return l
}

func newFigures(key uint64, r *record.Request, m *metrics) figures {
	w := figures{
		key: key, start: unixMicros(r.Start), end: unixMicros(r.End),
		ttft: -1, total: -1,
		input: known(r.Input), cached: known(r.Cached), output: known(r.Output), reasoning: known(r.Reasoning),
		decodeTokens: known(m.decodeTokens),
		retries:      int32(r.Retries), httpStatus: int16(r.Error.HTTPStatus),
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
func (w *row) uncached() (n tokenCount, ok bool) {
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

func known(t record.Tokens) tokenCount {
	if !t.Known {
		return -1
	}
	return tokenCount(min(t.N, math.MaxInt32))
}
