package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	// runRows are sorted in memory at a time; some 30 MB of requests.
	runRows = 1 << 15
	// maxRuns are merged at a time, and runPage is of their pages, of which one a
	// column and run is in memory then: some 80 MB in all.
	maxRuns = 64
	runPage = 16 << 10
	// groupRows is how many rows a reader of a file can skip at once, by their
	// times. A group is in memory, encoded, while it is written.
	groupRows = 1 << 17
	// batch is how many rows are copied at a time.
	batch = 512
)

// order is that of the rows in a file. The source decides where times are the
// same, so that the same logs give the same files.
var order = []parquet.SortingColumn{parquet.NullsFirst(parquet.Ascending("time")), parquet.Ascending("source")}

// A table sorts rows by time and cuts them into files, one a day. Memory does
// not grow with the rows, nor do open files with the days: sorted runs go to one
// file until there are maxRuns of them, which are merged into one long run in a
// file of its own. All is merged when the last row is known.
type table[T any] struct {
	ctx              context.Context
	name             string
	staging          string
	schema           *parquet.Schema
	time             int // the column's number
	runRows, maxRuns int

	buffer  *parquet.RowBuffer[T]
	runs    *os.File // a row group is a run
	run     *parquet.GenericWriter[T]
	written int // runs in the file
	long    []*os.File
	day     *parquet.GenericWriter[T]
	one     [1]T
	rows    int
}

func newTable[T any](ctx context.Context, name, staging string, metadata map[string]string) (*table[T], error) {
	schema := parquet.SchemaOf(new(T))
	column, ok := schema.Lookup("time")
	if !ok {
		panic("export: the table " + name + " has no time")
	}
	t := &table[T]{ctx: ctx, name: name, staging: staging, schema: schema, time: column.ColumnIndex, runRows: runRows, maxRuns: maxRuns}
	var err error
	if t.runs, err = os.Create(filepath.Join(staging, name+".runs")); err != nil {
		return nil, err
	}
	t.run = t.runWriter(t.runs)
	t.buffer = parquet.NewRowBuffer[T](schema, parquet.SortingRowGroupConfig(parquet.SortingColumns(order...)))
	options := []parquet.WriterOption{schema, sorted, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(groupRows)}
	for k, v := range metadata {
		options = append(options, parquet.KeyValueMetadata(k, v))
	}
	for _, c := range columnsOf(reflect.TypeFor[T]()) {
		options = append(options, parquet.KeyValueMetadata("column."+c.Name, c.Doc))
	}
	t.day = parquet.NewGenericWriter[T](io.Discard, options...)
	return t, nil
}

var sorted = parquet.SortingWriterConfig(parquet.SortingColumns(order...))

func (t *table[T]) runWriter(f *os.File) *parquet.GenericWriter[T] {
	return parquet.NewGenericWriter[T](f, t.schema, sorted, parquet.PageBufferSize(runPage), parquet.MaxRowsPerRowGroup(runRows),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}))
}

func (t *table[T]) write(r T) error {
	t.one[0] = r
	_, err := t.buffer.Write(t.one[:])
	if t.rows++; err == nil && t.buffer.Len() == t.runRows {
		if err = t.spill(); err == nil && t.written == t.maxRuns {
			err = t.fold()
		}
	}
	return t.sorting(err)
}

func (t *table[T]) sorting(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sorting the %s: %w", t.name, err)
}

// spill writes the rows in memory as a sorted run.
func (t *table[T]) spill() error {
	if t.buffer.Len() == 0 {
		return nil
	}
	sort.Sort(t.buffer)
	rows := t.buffer.Rows()
	defer rows.Close()
	defer t.buffer.Reset()
	if _, err := parquet.CopyRows(t.run, rows); err != nil {
		return err
	}
	t.written++
	return t.run.Flush()
}

// fold merges the runs into a long one, and makes room for others.
func (t *table[T]) fold() error {
	rows, err := t.merged()
	if err != nil {
		return err
	}
	defer rows.Close()
	f, err := os.Create(filepath.Join(t.staging, fmt.Sprintf("%s.%d.run", t.name, len(t.long))))
	if err != nil {
		return err
	}
	t.long = append(t.long, f)
	w := t.runWriter(f)
	err = t.each(rows, func(rows []parquet.Row) error {
		_, err := w.WriteRows(rows)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := t.runs.Truncate(0); err != nil {
		return err
	}
	if _, err := t.runs.Seek(0, io.SeekStart); err != nil {
		return err
	}
	t.run.Reset(t.runs)
	t.written = 0
	return nil
}

// merged returns the rows of all runs in order.
func (t *table[T]) merged() (parquet.Rows, error) {
	if err := t.run.Close(); err != nil {
		return nil, err
	}
	f, err := open(t.runs)
	if err != nil {
		return nil, err
	}
	// Without the schema, the columns would come in the order of their names.
	merged, err := parquet.MergeRowGroups(f.RowGroups(), t.schema, parquet.SortingRowGroupConfig(parquet.SortingColumns(order...)))
	if err != nil {
		return nil, err
	}
	return merged.Rows(), nil
}

func open(f *os.File) (*parquet.File, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	return parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(runPage))
}

// all calls do with all rows in order, some at a time.
func (t *table[T]) all(do func([]parquet.Row) error) error {
	if t.buffer.Len() == t.rows { // they are all in memory
		sort.Sort(t.buffer)
		rows := t.buffer.Rows()
		defer rows.Close()
		return t.each(rows, do)
	}
	if err := t.spill(); err != nil {
		return err
	}
	t.buffer = nil // merging needs the memory
	var readers []parquet.RowReader
	if t.written > 0 {
		rows, err := t.merged()
		if err != nil {
			return err
		}
		defer rows.Close()
		readers = append(readers, rows)
	}
	for _, f := range t.long {
		file, err := open(f)
		if err != nil {
			return err
		}
		rows := parquet.NewReader(file, t.schema)
		defer rows.Close()
		readers = append(readers, rows)
	}
	return t.each(parquet.MergeRowReaders(readers, t.schema.Comparator(order...)), do)
}

// each calls do with the rows of a reader, some at a time, until the context is done.
func (t *table[T]) each(rows parquet.RowReader, do func([]parquet.Row) error) error {
	buf := make([]parquet.Row, batch)
	for {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		n, err := rows.ReadRows(buf)
		if n > 0 {
			if err := do(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("merging: %w", err)
		}
	}
}

// A staged file is whole and waits for its name.
type staged struct{ table, day, path string }

// cut writes a file for each day into the staging folder.
func (t *table[T]) cut() ([]staged, error) {
	if t.rows == 0 {
		return nil, nil
	}
	out := days[T]{table: t}
	defer out.discard()
	err := t.all(func(rows []parquet.Row) error {
		if err := out.write(rows); err != nil {
			return fmt.Errorf("writing those of %s: %w", out.day, err)
		}
		return nil
	})
	if err == nil {
		err = out.finish()
	}
	return out.files, t.sorting(err)
}

// discard closes what is open. The files go with the staging folder.
func (t *table[T]) discard() {
	t.runs.Close()
	for _, f := range t.long {
		f.Close()
	}
}

// days writes rows in their order into a file for each day, one after the other.
type days[T any] struct {
	table *table[T]
	file  *os.File // nil where none is open
	day   string
	files []staged // that are whole
}

func (d *days[T]) write(rows []parquet.Row) error {
	for len(rows) > 0 {
		day, same := d.table.dayOf(rows[0]), 1
		for same < len(rows) && d.table.dayOf(rows[same]) == day {
			same++
		}
		if d.file == nil || d.day != day {
			if err := d.finish(); err != nil {
				return err
			}
			if err := d.begin(day); err != nil {
				return err
			}
		}
		if _, err := d.table.day.WriteRows(rows[:same]); err != nil {
			return err
		}
		rows = rows[same:]
	}
	return nil
}

func (d *days[T]) begin(day string) (err error) {
	d.day = day
	d.file, err = os.Create(filepath.Join(d.table.staging, d.table.name+"."+day))
	if err == nil {
		d.table.day.Reset(d.file)
	}
	return err
}

func (d *days[T]) finish() error {
	if d.file == nil {
		return nil
	}
	if err := d.table.day.Close(); err != nil {
		return err
	}
	d.files = append(d.files, staged{d.table.name, d.day, d.file.Name()})
	err := d.file.Close()
	d.file = nil
	return err
}

func (d *days[T]) discard() {
	if d.file != nil {
		d.file.Close()
	}
}

// noDay is what Hive calls the partition of the rows without a value.
const noDay = "__HIVE_DEFAULT_PARTITION__"

// dayOf is the partition of a row: the date of its time in UTC.
func (t *table[T]) dayOf(r parquet.Row) string {
	for _, v := range r {
		if v.Column() == t.time && !v.IsNull() {
			return time.UnixMicro(v.Int64()).UTC().Format(time.DateOnly)
		}
	}
	return noDay
}
