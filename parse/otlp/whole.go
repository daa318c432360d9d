package otlp

import (
	"encoding/json"
	"errors"
	"io"

	"codexlag/parse/record"
)

// Whole reads a capture whose objects are printed over many lines, one after
// the other, and emits its records. It holds one log record or span at a time.
// What stands behind a fault of the JSON is lost; the fault is emitted. The
// error is one of reading r.
func Whole(r io.Reader, file string, emit func(record.Record)) error {
	d := New(file, emit)
	src := &source{r: r}
	w := whole{Decoder: d, json: json.NewDecoder(src)}
	for {
		t, err := w.json.Token()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = w.object(t, levels{"resourceLogs": {"scopeLogs", "logRecords"}, "resourceSpans": {"scopeSpans", "spans"}})
		}
		if err != nil { // io.EOF too: it comes inside an object here
			if src.err == nil {
				d.drop(record.Pos{File: file}, record.BadJSON)
			}
			break
		}
	}
	d.End()
	return src.err
}

// A source remembers the error of the reader, which the JSON decoder mixes up
// with those of the JSON.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

type whole struct {
	*Decoder
	json *json.Decoder
}

// levels names the arrays to go down into: a member, and the path below it.
type levels map[string][]string

var errShape = errors.New("not an OTLP object")

// object reads one object, of which t is the first token, and the arrays in it
// that levels names.
func (w *whole) object(t json.Token, in levels) error {
	if t != json.Delim('{') {
		return errShape
	}
	for w.json.More() {
		key, err := w.json.Token()
		if err != nil {
			return err
		}
		if path, ok := in[key.(string)]; ok {
			err = w.array(key.(string), path)
		} else {
			err = w.json.Decode(&skipped{})
		}
		if err != nil {
			return err
		}
	}
	_, err := w.json.Token()
	return err
}

// array reads the array that is the value of key; path leads on from its
// objects to the records.
func (w *whole) array(key string, path []string) error {
	t, err := w.json.Token()
	if err != nil || t == nil { // null
		return err
	}
	if t != json.Delim('[') {
		return errShape
	}
	for w.json.More() {
		if len(path) > 0 {
			if t, err = w.json.Token(); err == nil {
				err = w.object(t, levels{path[0]: path[1:]})
			}
		} else {
			err = w.record(key)
		}
		if err != nil {
			return err
		}
	}
	_, err = w.json.Token()
	return err
}

func (w *whole) record(key string) error {
	var raw json.RawMessage
	if err := w.json.Decode(&raw); err != nil {
		return err
	}
	pos := record.Pos{File: w.file}
	if key == "spans" {
		w.spanEvents(pos, raw)
	} else {
		w.logRecord(pos, raw)
	}
	w.order(false)
	return nil
}

// skipped is a value that is not looked at.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }
