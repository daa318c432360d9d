package rollout

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"codexlag/parse/lines"
	"codexlag/parse/packed"
	"codexlag/parse/record"
)

// A decoder that takes over between any two lines comes to the same state and
// the same records as one that reads on.
func TestPackedStateGoesOn(t *testing.T) {
	for name, text := range samples(t) {
		t.Run(name, func(t *testing.T) {
			all := strings.SplitAfter(text, "\n")
			for cut := range all {
				var want []record.Record
				var got []record.Record
				one := New("f", func(r record.Record) { want = append(want, r) })
				feed(one, all[:cut], 0)
				w := packed.NewWriter("f", nil)
				if one.Pack(w); w.Err() != nil {
					t.Fatalf("line %d: %v", cut, w.Err())
				}
				before := len(want)
				two := New("f", func(r record.Record) { got = append(got, r) })
				r := packed.NewReader(w.Bytes(), "f", nil)
				if two.Pack(r); r.Err() != nil {
					t.Fatalf("line %d: %v", cut, r.Err())
				}
				if a, b := comparable(one), comparable(two); !reflect.DeepEqual(a, b) {
					t.Fatalf("line %d:\n%+v\nwant\n%+v", cut, b, a)
				}
				feed(one, all[cut:], cut)
				feed(two, all[cut:], cut)
				one.End()
				two.End()
				if !slices.EqualFunc(got, want[before:], func(a, b record.Record) bool { return reflect.DeepEqual(a, b) }) || one.Info() != two.Info() {
					t.Fatalf("line %d: the records that follow differ", cut)
				}
			}
		})
	}
}

// comparable returns what is to be equal: not what decoders keep for speed, nor
// lists that are empty in two ways.
func comparable(d *Decoder) Decoder {
	c := *d
	c.emit, c.words = nil, words{}
	if len(c.usage.records) == 0 {
		c.usage.records = nil
	}
	if c.turn == nil || len(c.turn.requests) == 0 || c.usage.count.request != c.turn.requests[len(c.turn.requests)-1] {
		c.usage.count.request = nil
	}
	if c.turn != nil {
		t := *c.turn
		c.turn = &t
		if len(t.response.calls) == 0 {
			c.turn.response.calls = nil
		}
		if len(t.response.triggers) == 0 {
			c.turn.response.triggers = nil
		}
		if len(t.calls) == 0 {
			c.turn.calls = nil
		}
	}
	return c
}

func feed(d *Decoder, text []string, before int) {
	for i, s := range text {
		if s == "" {
			continue
		}
		line, closed := strings.CutSuffix(s, "\n")
		d.Line(lines.Line{N: int64(before + i + 1), Text: []byte(line), Size: int64(len(line)), Open: !closed})
	}
}

// Damaged state is refused or harmless: no decoder panics with it.
func FuzzPackedState(f *testing.F) {
	for _, text := range samples(f) {
		all := strings.SplitAfter(text, "\n")
		for cut := range all {
			d := New("f", func(record.Record) {})
			feed(d, all[:cut], 0)
			w := packed.NewWriter("f", nil)
			d.Pack(w)
			f.Add(w.Bytes(), strings.Join(all[cut:], ""))
		}
	}
	f.Fuzz(func(t *testing.T, state []byte, text string) {
		d := New("f", func(record.Record) {})
		r := packed.NewReader(state, "f", nil)
		if d.Pack(r); r.Err() == nil {
			feed(d, strings.SplitAfter(text, "\n"), 0)
			d.End()
		}
	})
}
