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
	// runPage bounds the memory of merging: a page of each column of each run is
	// open then.
	runPage = 16 << 10
	// groupRows is how many rows a reader of a file can skip at once, by their
	// times. A group is in memory, encoded, while it is written.
	groupRows = 1 << 17
	// batch is how many rows are copied at a time.
	batch = 512
)

// order is that of the rows in a file. The source decides where times are the
// same, so that the same logs give the same files.
var order = parquet.SortingColumns(parquet.NullsFirst(parquet.Ascending("time")), parquet.Ascending("source"))

// A table sorts rows by time and cuts them into files, one a day. Memory does
// not grow with the rows, nor do open files with the days: rows go to disk in
// sorted runs, and all runs are merged when the last row is known.
type table[T any] struct {
	name    string
	staging string
	time    int // the column's number
	buffer  *parquet.RowBuffer[T]
	runs    *os.File
	run     *parquet.GenericWriter[T]
	day     *parquet.GenericWriter[T]
	one     [1]T
	rows    int
}

func newTable[T any](name, staging string, metadata map[string]string) (*table[T], error) {
	f, err := os.Create(filepath.Join(staging, name+".runs"))
	if err != nil {
		return nil, err
	}
	schema := parquet.SchemaOf(new(T))
	column, ok := schema.Lookup("time")
	if !ok {
		panic("export: the table " + name + " has no time")
	}
	options := []parquet.WriterOption{schema, parquet.SortingWriterConfig(order), parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(groupRows)}
	for k, v := range metadata {
		options = append(options, parquet.KeyValueMetadata(k, v))
	}
	for _, c := range columnsOf(reflect.TypeFor[T]()) {
		options = append(options, parquet.KeyValueMetadata("column."+c.Name, c.Doc))
	}
	return &table[T]{
		name:    name,
		staging: staging,
		time:    column.ColumnIndex,
		buffer:  parquet.NewRowBuffer[T](schema, parquet.SortingRowGroupConfig(order)),
		runs:    f,
		run: parquet.NewGenericWriter[T](f, schema, parquet.SortingWriterConfig(order), parquet.PageBufferSize(runPage),
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest})),
		day: parquet.NewGenericWriter[T](io.Discard, options...),
	}, nil
}

func (t *table[T]) write(r T) error {
	t.one[0] = r
	if _, err := t.buffer.Write(t.one[:]); err != nil {
		return fmt.Errorf("sorting the %s: %w", t.name, err)
	}
	if t.rows++; t.buffer.Len() < runRows {
		return nil
	}
	return t.spill()
}

// spill writes the rows in memory as a sorted run.
func (t *table[T]) spill() error {
	sort.Sort(t.buffer)
	rows := t.buffer.Rows()
	_, err := parquet.CopyRows(t.run, rows)
	if err == nil {
		err = t.run.Flush()
	}
	rows.Close()
	t.buffer.Reset()
	if err != nil {
		return fmt.Errorf("sorting the %s: %w", t.name, err)
	}
	return nil
}

// sorted returns all rows in order.
func (t *table[T]) sorted() (parquet.Rows, error) {
	if t.buffer.Len() == t.rows { // they are all in memory
		sort.Sort(t.buffer)
		return t.buffer.Rows(), nil
	}
	if err := t.spill(); err != nil {
		return nil, err
	}
	t.buffer = nil // merging needs the memory
	if err := t.run.Close(); err != nil {
		return nil, err
	}
	size, err := t.runs.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(t.runs, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(runPage))
	if err != nil {
		return nil, err
	}
	// Without the schema, the columns would come in the order of their names.
	merged, err := parquet.MergeRowGroups(f.RowGroups(), t.run.Schema(), parquet.SortingRowGroupConfig(order))
	if err != nil {
		return nil, err
	}
	return merged.Rows(), nil
}

// A staged file is whole and waits for its name.
type staged struct{ table, day, path string }

// cut writes a file for each day into the staging folder.
func (t *table[T]) cut(ctx context.Context) ([]staged, error) {
	if t.rows == 0 {
		return nil, nil
	}
	rows, err := t.sorted()
	if err != nil {
		return nil, fmt.Errorf("sorting the %s: %w", t.name, err)
	}
	defer rows.Close()
	out := days[T]{table: t}
	defer out.discard()
	buf := make([]parquet.Row, batch)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := rows.ReadRows(buf)
		if err := out.write(buf[:n]); err != nil {
			return nil, fmt.Errorf("writing the %s of %s: %w", t.name, out.day, err)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("merging the %s: %w", t.name, err)
		}
	}
	if err := out.finish(); err != nil {
		return nil, fmt.Errorf("writing the %s of %s: %w", t.name, out.day, err)
	}
	return out.files, nil
}

// discard closes what is open. The files go with the staging folder.
func (t *table[T]) discard() { t.runs.Close() }

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
