package packed

import (
	"math"
	"reflect"
	"testing"
	"time"

	"codexlag/parse/record"
)

// fill gives every field of a struct a value of its own, so that none can be
// forgotten without this test noticing.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_790_000_000+*n, 123_456_789).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Requests" {
				fill(v.Field(i), n)
			}
		}
	case reflect.String:
		v.SetString("s" + time.Duration(*n).String())
	case reflect.Int, reflect.Int64:
		v.SetInt(*n * 1001)
	case reflect.Uint8:
		v.SetUint(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	default:
		panic("no value for " + v.Type().String())
	}
}

func sample() []record.Record {
	var n int64
	var a, b record.Request
	var t record.Turn
	var d record.Dropped
	for _, p := range []any{&a, &b, &t, &d} {
		fill(reflect.ValueOf(p).Elem(), &n)
	}
	for _, p := range []*string{&a.File, &b.File, &t.File, &d.File} {
		*p = "log"
	}
	t.Requests = []*record.Request{&a, &b}
	u := t
	u.Requests = []*record.Request{&b}
	return []record.Record{&a, &d, &b, &t, &u, &record.Request{Pos: record.Pos{File: "log"}}, &record.Turn{Pos: record.Pos{File: "log"}}}
}

func pack(t testing.TB, records []record.Record) []byte {
	t.Helper()
	c := NewWriter("log", nil)
	for _, r := range records {
		c.Put(r)
	}
	c.PutEnd()
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	return c.Bytes()
}

func unpack(b []byte, file string) (records []record.Record, err error) {
	c := NewReader(b, file, nil)
	for r := c.Next(); r != nil; r = c.Next() {
		records = append(records, r)
	}
	return records, c.Err()
}

func TestRecordsComeBack(t *testing.T) {
	want := sample()
	got, err := unpack(pack(t, want), "log")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if got[3].(*record.Turn).Requests[1] != got[2] || got[4].(*record.Turn).Requests[0] != got[2] {
		t.Error("a turn has copies of its requests")
	}
}

func TestRecordsTakeTheNewName(t *testing.T) {
	got, err := unpack(pack(t, sample()), "other")
	if err != nil || got[0].Where().File != "other" {
		t.Errorf("%v, %v", err, got[0].Where())
	}
}

func TestTimesInAZone(t *testing.T) {
	zone := time.FixedZone("here", 3600)
	at := time.Date(2026, 9, 10, 9, 0, 0, 5, zone)
	w := NewWriter("log", zone)
	w.Time(&at)
	var got time.Time
	if NewReader(w.Bytes(), "log", zone).Time(&got); got != at {
		t.Errorf("%v, want %v", got, at)
	}
}

// What would not come back as it was is not written.
func TestForeignIsRefused(t *testing.T) {
	other := &record.Request{Pos: record.Pos{File: "log"}, Format: record.FormatTrace}
	for name, r := range map[string]record.Record{
		"a record of another log":         &record.Dropped{Pos: record.Pos{File: "x"}},
		"a turn with an unknown request":  &record.Turn{Pos: record.Pos{File: "log"}, Requests: []*record.Request{other}},
		"a time in another zone":          &record.Request{Pos: record.Pos{File: "log"}, End: time.Now().In(time.FixedZone("x", 60))},
		"a time beyond 64 bits":           &record.Request{Pos: record.Pos{File: "log"}, End: time.Date(5000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a negative count of tokens":      &record.Request{Pos: record.Pos{File: "log"}, Input: record.Tokens{N: -1, Known: true}},
		"an unknown count with a number":  &record.Request{Pos: record.Pos{File: "log"}, Input: record.Tokens{N: 1}},
		"a rate that is no number":        &record.Request{Pos: record.Pos{File: "log"}, ReportedTPS: math.NaN()},
		"a quality that there is not yet": &record.Request{Pos: record.Pos{File: "log"}, Quality: 99},
	} {
		c := NewWriter("log", nil)
		if c.Put(r); c.Err() != ErrForeign {
			t.Errorf("%s: error %v", name, c.Err())
		}
	}
}

func TestManyRequestsBeforeATurn(t *testing.T) {
	var all []record.Record
	for range 5 * maxRecent {
		all = append(all, &record.Request{Pos: record.Pos{File: "log"}, Format: record.FormatTrace})
	}
	n := len(all)
	near := &record.Turn{Pos: record.Pos{File: "log"}, Requests: []*record.Request{all[n-maxRecent].(*record.Request), all[n-1].(*record.Request), all[n-5].(*record.Request)}}
	got, err := unpack(pack(t, append(all, near)), "log")
	if err != nil {
		t.Fatal(err)
	}
	back := got[n].(*record.Turn).Requests
	if back[0] != got[n-maxRecent] || back[1] != got[n-1] || back[2] != got[n-5] {
		t.Error("the turn has other requests")
	}
}

func FuzzNext(f *testing.F) {
	f.Add(pack(f, sample()))
	f.Add([]byte{0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("2000000000000000000000000000000000000000000000000")) // lengths that run out
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := unpack(b, "log")
		skimmed := NewReader(b, "log", nil).Skim()
		if (err == nil) != (skimmed == nil) {
			t.Fatalf("reading: %v, skimming: %v", err, skimmed)
		}
		if err == nil {
			again, err := unpack(pack(t, records), "log")
			if err != nil || len(again) != len(records) {
				t.Fatalf("%v, %d records of %d", err, len(again), len(records))
			}
		}
	})
}
