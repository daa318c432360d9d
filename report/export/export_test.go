package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"codexlag/analyze"
)

// commit writes the requests and turns into dir.
func commit(t *testing.T, dir string, requests []*analyze.Request, turns ...*analyze.Turn) *Written {
	t.Helper()
	d, err := Create(t.Context(), dir, map[string]string{"codexlag.min_tokens": "500"})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range requests {
		if err := d.Request(q); err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range turns {
		if err := d.Turn(u); err != nil {
			t.Fatal(err)
		}
	}
	w, err := d.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Discard(); err != nil {
		t.Fatal(err)
	}
	return w
}

// files lists what is below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var l []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			path, err = filepath.Rel(dir, path)
			l = append(l, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ptr[T any](v T) *T { return &v }

func request(i int, at time.Time) *analyze.Request {
	return &analyze.Request{Source: fmt.Sprintf("a.log:%d", i), Format: "request", Time: &at, Status: "ok", TTFTQuality: "measured", TTFT: ptr(float64(i)), Flags: []analyze.Flag{}}
}

// More rows than memory may hold, in no order and of many days, come out whole
// and sorted, in files of few row groups, with few files open.
func TestManyRowsInNoOrder(t *testing.T) {
	for name, n := range map[string]int{"runs": 2500, "just runs": 2000, "long runs": 11_234, "just long runs": 8000} {
		t.Run(name, func(t *testing.T) { manyRows(t, n) })
	}
	manyRows(t, runRows+5000)
}

func manyRows(t *testing.T, n int) {
	dir := t.TempDir()
	d, err := Create(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n < runRows {
		d.requests.runRows, d.requests.maxRuns = 500, 8
	}
	r := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	model := []string{"a", "b", "c"}
	for i := range n {
		q := request(i, start.Add(time.Duration(r.Int64N(int64(60*24*time.Hour)))))
		if i%1000 == 0 {
			q.Time = nil
		}
		if i%3 > 0 {
			q.Model = &model[i%3]
		}
		if i%5 == 0 {
			q.Flags = []analyze.Flag{analyze.FewTokens, analyze.Burst}[:1+i%2]
		}
		if err := d.Request(q); err != nil {
			t.Fatal(err)
		}
	}
	w, err := d.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Discard(); err != nil {
		t.Fatal(err)
	}
	if w.Requests != n || w.Files != 61 || len(w.Replaced) > 0 {
		t.Errorf("%+v", w)
	}
	seen := make([]bool, n)
	for _, name := range files(t, dir) {
		rows, err := parquet.ReadFile[requestRow](filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		last := int64(-1)
		for _, row := range rows {
			i := int(*row.TTFT)
			if seen[i] || row.Source != fmt.Sprintf("a.log:%d", i) || (row.Model == nil) != (i%3 == 0) || row.Model != nil && *row.Model != model[i%3] {
				t.Fatalf("%s: row %+v", name, row)
			}
			if want := map[bool]int{true: 1 + i%2}[i%5 == 0]; len(row.Flags) != want {
				t.Fatalf("%s: flags %v of row %d, want %d", name, row.Flags, i, want)
			}
			seen[i] = true
			day := noDay
			if row.Time != nil {
				day = time.UnixMicro(*row.Time).UTC().Format(time.DateOnly)
				if *row.Time < last {
					t.Fatalf("%s is not sorted", name)
				}
				last = *row.Time
			}
			if name != "requests/date="+day+"/"+FileName {
				t.Fatalf("a row of %s in %s", day, name)
			}
		}
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Errorf("row %d is lost", i)
	}
}

// What is absent is null, what is there keeps its value, and the file says what
// it is: types, order, compression, descriptions.
func TestFileDescribesItself(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 23, 59, 59, 123456789, time.UTC)
	full := &analyze.Request{Source: "b.log:2", Format: "rollout", Time: &at, Session: ptr("s"), Turn: ptr("t"), Model: ptr("m"), Provider: ptr("p"), Effort: ptr("high"),
		Label: ptr("l"), TTFT: ptr(0.0), TTFTQuality: "measured", Total: ptr(1.5), Decode: ptr(1.5), OutputTokens: ptr(int64(0)), DecodeTokens: ptr(int64(1)), InputTokens: ptr(int64(2)),
		CachedTokens: ptr(int64(3)), Reasoning: ptr(int64(4)), TPS: ptr(5.5), ReportedTPS: ptr(6.5), TPOT: ptr(7.5), PrefillShare: ptr(0.25), Phase: ptr("decode"), Status: "failed",
		Flags: []analyze.Flag{analyze.FewTokens, analyze.FlagFailed}, TPSError: ptr(8.5), HTTPStatus: ptr(429), Error: ptr("other")}
	bare := &analyze.Request{Source: "a.log:1\xff", Format: "request", Time: &at, TTFTQuality: "none", Status: "ok"}
	commit(t, dir, []*analyze.Request{full, bare})
	path := filepath.Join(dir, "requests", "date=2026-03-01", FileName)
	rows, err := parquet.ReadFile[requestRow](path)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := []requestRow{newRequestRow(bare), newRequestRow(full)}
	if a, b := fmt.Sprint(deref(rows)), fmt.Sprint(deref(want)); a != b {
		t.Errorf("\n got %s\nwant %s", a, b)
	}
	if rows[0].Source != "a.log:1\uFFFD" || *rows[1].Time != at.UnixMicro() || rows[0].TTFT != nil || *rows[1].TTFT != 0 {
		t.Errorf("%+v", deref(rows))
	}

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Columns("requests") {
		if doc, ok := p.Lookup("column." + c.Name); !ok || doc != c.Doc || doc == "" {
			t.Errorf("%s is described as %q, want %q", c.Name, doc, c.Doc)
		}
	}
	if v, _ := p.Lookup("codexlag.min_tokens"); v != "500" {
		t.Errorf("metadata %q", v)
	}
	stamp := p.Root().Column("time").Type().LogicalType()
	if stamp == nil || stamp.String() != "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)" {
		t.Errorf("time is %v", stamp)
	}
	for _, g := range p.Metadata().RowGroups {
		var order []string
		for _, s := range g.SortingColumns {
			order = append(order, strings.Join(g.Columns[s.ColumnIdx].MetaData.PathInSchema, "."))
			if s.Descending || s.ColumnIdx == 2 && !s.NullsFirst {
				t.Errorf("sorted by %+v", s)
			}
		}
		if !slices.Equal(order, []string{"time", "source"}) {
			t.Errorf("sorted by %v", order)
		}
		for _, c := range g.Columns {
			m := c.MetaData
			if m.Codec != format.Zstd {
				t.Errorf("%v: %v", m.PathInSchema, m.Codec)
			}
			if m.Type == format.ByteArray && m.PathInSchema[0] != "source" && !slices.Contains(m.Encoding, format.RLEDictionary) {
				t.Errorf("%v has no dictionary: %v", m.PathInSchema, m.Encoding)
			}
		}
	}
}

// deref lists the rows without addresses.
func deref(rows []requestRow) []string {
	var l []string
	for _, r := range rows {
		l = append(l, string(parquetText(r)))
	}
	return l
}

func parquetText(r requestRow) []byte {
	var b bytes.Buffer
	for _, v := range parquet.SchemaOf(r).Deconstruct(nil, r) {
		fmt.Fprintf(&b, "%d=%+v ", v.Column(), v)
	}
	return b.Bytes()
}

// The same rows in another order give the same bytes.
func TestSameRowsSameFiles(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var l []*analyze.Request
	for i := range 300 {
		l = append(l, request(i, at.Add(time.Duration(i/10)*time.Second)))
	}
	dir := t.TempDir()
	commit(t, dir, l)
	path := filepath.Join(dir, "requests", "date=2026-03-01", FileName)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	if w := commit(t, dir, l); !slices.Equal(w.Replaced, []string{"2026-03-01"}) {
		t.Errorf("%+v", w)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the bytes differ")
	}
}

// A day that is written again is replaced; other days and files of others stay;
// nothing is left behind.
func TestOtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	second := first.AddDate(0, 0, 1)
	turn, turn2 := &analyze.Turn{Source: "s.jsonl:9", Format: "rollout", Time: &first, Status: "ok"}, &analyze.Turn{Source: "s.jsonl:10", Format: "rollout", Time: &second, Status: "ok"}
	commit(t, dir, []*analyze.Request{request(1, first), request(2, first), request(3, second)}, turn, turn2)
	for _, name := range []string{"notes.txt", "requests/mine.txt", "requests/date=2026-03-01/other.parquet"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, dir, []*analyze.Request{request(7, first)}) // without its turn
	want := []string{"notes.txt", "requests/date=2026-03-01/" + FileName, "requests/date=2026-03-01/other.parquet", "requests/date=2026-03-02/" + FileName, "requests/mine.txt", "turns/date=2026-03-02/" + FileName}
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	for day, want := range map[string]int{"2026-03-01": 1, "2026-03-02": 1} {
		rows, err := parquet.ReadFile[requestRow](filepath.Join(dir, "requests", "date="+day, FileName))
		if err != nil || len(rows) != want {
			t.Errorf("%s: %d rows, want %d; %v", day, len(rows), want, err)
		}
	}
	if rows, err := parquet.ReadFile[turnRow](filepath.Join(dir, "turns", "date=2026-03-02", FileName)); err != nil || len(rows) != 1 {
		t.Errorf("%d turns, %v", len(rows), err)
	}
}

// Until Commit ends well, what was there is what a reader sees.
func TestWhatFailsLeavesNothing(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	commit(t, dir, []*analyze.Request{request(1, at)})
	path := filepath.Join(dir, "requests", "date=2026-03-01", FileName)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(dir string, ctx context.Context) error {
		d, err := Create(ctx, dir, nil)
		if err != nil {
			return err
		}
		defer d.Discard()
		if err := d.Request(request(2, at)); err != nil {
			return err
		}
		_, err = d.Commit()
		return err
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if err := try(dir, interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) || len(files(t, dir)) != 1 {
		t.Errorf("interrupted: %v", files(t, dir))
	}
	made := filepath.Join(t.TempDir(), "new")
	if err := try(made, interrupted); err == nil {
		t.Error("interrupted: no error")
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the folder that was made for nothing is still there")
	}
	if err := try(path, t.Context()); err == nil || !strings.Contains(err.Error(), FileName) {
		t.Errorf("a file for a folder: %v", err)
	}
	blocked := t.TempDir()
	if err := os.MkdirAll(filepath.Join(blocked, "requests", "date=2026-03-01", FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := try(blocked, t.Context()); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a folder for a file: %v", err)
	}
	if l := files(t, blocked); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
}

// No engine knows the year 12026, and a file holds no NaN.
func TestWhatSQLDoesNotKnow(t *testing.T) {
	q := request(1, time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC))
	nan := 0.0
	nan /= nan
	q.TPS = &nan
	dir := t.TempDir()
	commit(t, dir, []*analyze.Request{q})
	rows, err := parquet.ReadFile[requestRow](filepath.Join(dir, "requests", "date="+noDay, FileName))
	if err != nil || len(rows) != 1 || rows[0].Time != nil || rows[0].TPS != nil {
		t.Errorf("%+v, %v", rows, err)
	}
}
