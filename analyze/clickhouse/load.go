package clickhouse

import (
	"bytes"
	"context"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"codexlag/parse/record"
)

// LoadOptions shape loading.
type LoadOptions struct {
	Host, User string // labels of where the logs come from
	BatchRows  int    // rows of an insert; 0: DefaultBatchRows
	// Parts returns where the time of a turn went: prefill, decode, model, tools, other.
	Parts func(*record.Turn) [5]time.Duration
}

// DefaultBatchRows is how many rows go into one insert: the server makes a part
// of each, and few big ones are cheaper for it than many small ones.
const DefaultBatchRows = 100_000

// A Loader brings records into a database. Where a batch fails for good, all
// that follow are dropped, and Err tells why.
type Loader struct {
	db  *DB
	o   LoadOptions
	ctx context.Context
	end context.CancelCauseFunc

	mu      sync.Mutex
	sinks   []*sink
	batches chan *batch
	senders sync.WaitGroup

	requests, turns, sent atomic.Int64
}

// senders is how many batches are packed and sent at once.
const senders = 2

// NewLoader returns a loader into the tables of db, which Prepare must have
// made. Its context ends when ctx does, or when a batch cannot be inserted.
func NewLoader(ctx context.Context, db *DB, o LoadOptions) *Loader {
	if o.BatchRows <= 0 {
		o.BatchRows = DefaultBatchRows
	}
	l := &Loader{db: db, o: o, batches: make(chan *batch)}
	l.ctx, l.end = context.WithCancelCause(ctx)
	for range senders {
		l.senders.Go(l.send)
	}
	return l
}

// Context ends with the loader.
func (l *Loader) Context() context.Context { return l.ctx }

// Requests and Turns count what was handed over, Sent the rows that the server has.
func (l *Loader) Requests() int64 { return l.requests.Load() }

// Turns counts the turns that were handed over.
func (l *Loader) Turns() int64 { return l.turns.Load() }

// Sent counts the rows that the server has, of all tables.
func (l *Loader) Sent() int64 { return l.sent.Load() }

// A batch is rows of one table.
type batch struct {
	table *table
	rows  int
	data  rowBuffer
}

// send packs and sends batches until there are no more.
func (l *Loader) send() {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	for b := range l.batches {
		if l.ctx.Err() != nil {
			continue
		}
		packed.Reset()
		z.Reset(&packed)
		z.Write(b.data)
		z.Close()
		if err := l.db.insert(l.ctx, b.table, packed.Bytes()); err != nil {
			l.end(err)
			continue
		}
		l.sent.Add(int64(b.rows))
	}
}

// Sink returns a function that takes records, one at a time. Several sinks may
// be used at once.
func (l *Loader) Sink() func(record.Record) {
	s := &sink{l: l, requests: batch{table: requestsTable}, turns: batch{table: turnsTable}, leftOut: map[string]map[record.Reason]int{}}
	l.mu.Lock()
	l.sinks = append(l.sinks, s)
	l.mu.Unlock()
	return s.add
}

// Flush hands over to the senders what the sinks hold. It may be called while
// records come.
func (l *Loader) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sinks {
		s.mu.Lock()
		s.flush(&s.requests)
		s.flush(&s.turns)
		s.mu.Unlock()
	}
}

// A Log is what reading one log came to.
type Log struct {
	Path, Format, Version         string
	Bytes, Lines, Requests, Turns int64
}

// Close sends what is left and notes the logs that were read. It returns why
// something could not be inserted.
func (l *Loader) Close(logs []Log) error {
	l.Flush()
	if l.ctx.Err() == nil && len(logs) > 0 {
		l.batches <- l.logs(logs)
	}
	close(l.batches)
	l.senders.Wait()
	defer l.end(nil)
	return context.Cause(l.ctx)
}

func (l *Loader) logs(logs []Log) *batch {
	leftOut := map[string]map[record.Reason]int{}
	for _, s := range l.sinks {
		for file, reasons := range s.leftOut {
			if leftOut[file] == nil {
				leftOut[file] = map[record.Reason]int{}
			}
			for why, n := range reasons {
				leftOut[file][why] += n
			}
		}
	}
	b := &batch{table: logsTable, rows: len(logs)}
	var n namer
	now := uint64(time.Now().UnixNano())
	d := &b.data
	for _, log := range logs {
		k := n.log(log.Path)
		*d = append(*d, k[:]...)
		d.uint64(now)
		for _, s := range []string{l.o.Host, l.o.User, log.Path, log.Format, log.Version} {
			d.string(s)
		}
		for _, v := range []int64{log.Bytes, log.Lines, log.Requests, log.Turns} {
			d.int64(v)
		}
		reasons := leftOut[log.Path]
		names := slices.Sorted(maps.Keys(reasons))
		d.length(len(names))
		for _, why := range names {
			d.string(string(why))
		}
		d.length(len(names))
		for _, why := range names {
			d.uint64(uint64(reasons[why]))
		}
	}
	return b
}

// A sink turns the records of one reader into rows.
type sink struct {
	l *Loader

	mu              sync.Mutex
	requests, turns batch
	n               namer
	leftOut         map[string]map[record.Reason]int // by file
	file, dir       string
	fileHash        uint64
	now             uint64 // when the batch was begun
}

func (s *sink) add(r record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r := r.(type) {
	case *record.Request:
		s.request(r)
	case *record.Rows:
		var q record.Request
		for i := range r.List {
			r.Request(i, &q)
			s.request(&q)
		}
	case *record.Turn:
		s.turn(r)
	case *record.Dropped:
		s.leave(r.File, r.Reason)
	}
}

func (s *sink) leave(file string, why record.Reason) {
	reasons := s.leftOut[file]
	if reasons == nil {
		reasons = map[record.Reason]int{}
		s.leftOut[file] = reasons
	}
	reasons[why]++
}

// flush hands a batch over. The sink waits while the senders are busy, and its
// reader with it: what is in memory stays bounded.
func (s *sink) flush(b *batch) {
	if b.rows == 0 {
		return
	}
	full := &batch{table: b.table, rows: b.rows, data: b.data}
	b.rows, b.data = 0, nil
	if s.l.ctx.Err() == nil {
		s.l.batches <- full
	}
}

// maxBatch bounds the bytes of a batch: turns may hold many tool calls.
const maxBatch = 64 << 20

func (s *sink) count(b *batch, counter *atomic.Int64) {
	counter.Add(1)
	if b.rows++; b.rows >= s.l.o.BatchRows || len(b.data) >= maxBatch {
		s.flush(b)
	}
}

// source appends the columns that tell where a row comes from.
func (s *sink) source(b *batch, day time.Time, k key, at record.Pos, format record.Format) {
	if b.rows == 0 {
		s.now = uint64(time.Now().UnixNano())
	}
	if s.file != at.File || s.fileHash == 0 {
		s.file, s.dir, s.fileHash = at.File, filepath.Dir(at.File), record.HashFile(at.File)
	}
	d := &b.data
	d.uint16(dayOf(day))
	*d = append(*d, k[:]...)
	d.uint64(s.now)
	d.string(s.l.o.Host)
	d.string(s.l.o.User)
	d.string(at.File)
	d.int64(at.Line)
	d.string(string(format))
}

// dayOf returns the day as ClickHouse counts them; 0 where there is none such.
func dayOf(t time.Time) uint16 {
	if t.IsZero() || t.Unix() < 0 || t.Unix()/86400 > math.MaxUint16 {
		return 0
	}
	return uint16(t.Unix() / 86400)
}

// when appends a time: µs, and the ns after that.
func (b *rowBuffer) when(t time.Time) {
	b.int64(Micros(t))
	b.uint16(uint16(t.Nanosecond() % 1000))
}

// UnknownTime stands for no time.
const UnknownTime = math.MinInt64

// Micros returns a time as the tables have it.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return UnknownTime
	}
	return t.UnixMicro()
}

func (s *sink) request(r *record.Request) {
	b := &s.requests
	d := &b.data
	s.source(b, r.End, s.n.request(r), r.Pos, r.Format)
	d.uint64(r.HashIn(s.fileHash))
	d.string(s.dir)
	d.when(r.Start)
	d.when(r.End)
	for _, v := range [...]string{r.ID, r.Session, r.Turn, r.Model, r.Provider, r.Effort, r.Label, r.Version, r.Origin} {
		d.string(v)
	}
	d.int64(int64(r.TTFT))
	d.uint8(uint8(r.Quality))
	d.bool(r.FirstVisible)
	d.int64(int64(r.Total))
	d.int64(known(r.Input))
	d.int64(known(r.Cached))
	d.int64(known(r.Output))
	d.int64(known(r.Reasoning))
	if r.HasReportedTPS {
		d.float64(r.ReportedTPS)
	} else {
		d.float64(math.NaN())
	}
	d.uint8(uint8(r.Status))
	d.int32(int32(r.Error.HTTPStatus))
	d.string(r.Error.Kind)
	d.int32(int32(r.Retries))
	d.bool(r.Merged)
	s.count(b, &s.l.requests)
}

func (s *sink) turn(t *record.Turn) {
	b := &s.turns
	d := &b.data
	day := t.Start // stays the same while the turn grows
	if day.IsZero() {
		day = t.End
	}
	s.source(b, day, s.n.turn(t), t.Pos, t.Format)
	d.when(t.Start)
	d.when(t.End)
	d.string(s.dir)
	for _, v := range [...]string{t.Session, t.ID, t.Model, t.Provider, t.Effort, t.Version, t.Origin} {
		d.string(v)
	}
	d.int64(int64(t.Duration))
	if t.HasTTFT {
		d.int64(int64(t.TTFT))
	} else {
		d.int64(-1)
	}
	d.uint8(uint8(t.Status))
	s.requestsOf(t)
	s.toolsOf(t)
	for _, part := range s.l.o.Parts(t) {
		d.int64(int64(part))
	}
	s.count(b, &s.l.turns)
}

// requestsOf appends the columns about the requests of a turn.
func (s *sink) requestsOf(t *record.Turn) {
	d := &s.turns.data
	each := func(f func(*record.Request)) {
		d.length(len(t.Requests))
		for _, r := range t.Requests {
			f(r)
		}
	}
	each(func(r *record.Request) { d.int64(Micros(r.Start)) })
	each(func(r *record.Request) { d.uint16(uint16(r.Start.Nanosecond() % 1000)) })
	each(func(r *record.Request) { d.int64(int64(r.TTFT)) })
	each(func(r *record.Request) { d.uint8(uint8(r.Quality)) })
	each(func(r *record.Request) { d.bool(r.FirstVisible) })
	each(func(r *record.Request) { d.int64(int64(r.Total)) })
	each(func(r *record.Request) { d.int64(known(r.Input)) })
	each(func(r *record.Request) { d.int64(known(r.Cached)) })
	each(func(r *record.Request) { d.int64(known(r.Output)) })
	each(func(r *record.Request) { d.int64(known(r.Reasoning)) })
	each(func(r *record.Request) { d.uint8(uint8(r.Status)) })
	each(func(r *record.Request) { d.string(r.Label) })
}

// toolsOf appends the columns about the tool calls of a turn.
func (s *sink) toolsOf(t *record.Turn) {
	d := &s.turns.data
	each := func(f func(*record.Interval)) {
		d.length(len(t.Tools))
		for i := range t.Tools {
			f(&t.Tools[i])
		}
	}
	each(func(v *record.Interval) { d.string(v.Tool) })
	each(func(v *record.Interval) { d.int64(Micros(v.Start)) })
	each(func(v *record.Interval) { d.uint16(uint16(v.Start.Nanosecond() % 1000)) })
	each(func(v *record.Interval) { d.int64(Micros(v.End)) })
	each(func(v *record.Interval) { d.uint16(uint16(v.End.Nanosecond() % 1000)) })
}
