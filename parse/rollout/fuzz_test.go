package rollout

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"codexlag/parse/record"
)

// samples are small files of all eras.
func samples(t testing.TB) map[string]string {
	t.Helper()
	const v4 = "5f3c2c60-1111-4222-8333-444455556666"
	old := line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q}`, v4, stamp(0)))
	head := join(meta0(118, ""), started(120, a), context0(130, a, "m"), user(140))
	mine := v7(10, 5)
	return map[string]string{
		"paginated":     testdata(t, "paginated.jsonl"),
		"bare":          testdata(t, "bare.jsonl"),
		"typescript":    testdata(t, "typescript.json"),
		"count before":  join(head, reasoning(4000), tool(5000, "c"), count(5005, 10, 10), output(7000, "c"), count(7500, 10, 10), answer(9000), count(9010, 30, 20), complete(9020, a, `"duration_ms":8900,"time_to_first_token_ms":3900`)),
		"count after":   join(head, reasoning(4000), tool(5000, "c"), output(7000, "c"), count(7000, 10, 10), answer(9000), count(9010, 30, 20), complete(9020, a, `"duration_ms":8900`)),
		"late batches":  join(old, user(300), context0(301, "", "m"), count(5000, 10, 10), reasoning(5001), tool(5001, "c"), output(5001, "c"), said(8000), count(8500, 20, 10), answer(8501), user(60_000), answer(70_000), count(70_001, 30, 10)),
		"fork":          join(meta0(0, `,"forked_from_id":"p"`), started(2, v7(-60_000, 3)), count(3, 100, 100), complete(4, v7(-60_000, 3), ""), own(10, mine, 100)),
		"fork, no v7":   join(strings.Replace(old, `"timestamp":"`+stamp(0)+`"}`, `"timestamp":"`+stamp(0)+`","forked_from_id":"p"}`, 1), started(2, "t1"), count(3, 100, 100), complete(4, "t1", ""), own(10, "t2", 100)),
		"silent resume": join(old, user(1), count(2, 100, 100), user(3), count(4, 150, 50), user(60_000), answer(62_000), count(62_001, 170, 10)),
		"aborted":       join(head, tool(5000, "c"), count(5005, 10, 10), event(6000, "turn_aborted", `"reason":"interrupted"`), item(6001, "message", `"role":"user","content":[]`), started(7000, "u")),
		"broken":        join(head[:300], "", "\x00\x00", "\xe6\x87", "[]", `{"type":7}`, "{", head, user(0)+user(1), answer(5000), count(5001, 10, 10), complete(6000, a, "")[:100]),
	}
}

func requests(text []byte) (n int) {
	read(New("f", func(r record.Record) {
		if _, ok := r.(*record.Request); ok {
			n++
		}
	}), text)
	return n
}

// A file that is still being written never holds more requests than the whole.
func TestPrefixHasNoMoreRequests(t *testing.T) {
	for name, text := range samples(t) {
		t.Run(name, func(t *testing.T) {
			before := 0
			for n := 0; n <= len(text); n += 3 {
				now := requests([]byte(text[:n]))
				if now < before {
					t.Fatalf("%d requests in %d bytes, %d in fewer", now, n, before)
				}
				before = now
			}
		})
	}
}

func TestSamplesHaveRequests(t *testing.T) {
	want := map[string]int{"paginated": 2, "bare": 0, "typescript": 0, "count before": 2, "count after": 2, "late batches": 3,
		"fork": 1, "fork, no v7": 1, "silent resume": 1, "aborted": 1, "broken": 1}
	for name, text := range samples(t) {
		if got := requests([]byte(text)); got != want[name] {
			t.Errorf("%s: %d requests, want %d", name, got, want[name])
		}
	}
}

// FuzzDecoder checks that no input makes the decoder panic or break the rules
// for records.
func FuzzDecoder(f *testing.F) {
	for _, text := range samples(f) {
		f.Add([]byte(text))
		f.Add([]byte(text[:len(text)*2/3]))
		f.Add([]byte(strings.ReplaceAll(text, "}\n", "}")))
		l := strings.Split(text, "\n")
		for i, j := 0, len(l)-1; i < j; i, j = i+1, j-1 {
			l[i], l[j] = l[j], l[i]
		}
		f.Add([]byte(strings.Join(l, "\n")))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		counted := bytes.Count(text, []byte("token_")) // token_count, token_usage_record
		if bytes.Contains(text, []byte(`\u`)) {
			counted = len(text) // they may be written in escapes
		}
		var n, turns int
		d := New("f", func(r record.Record) {
			switch r := r.(type) {
			case *record.Request:
				n++
				checkRequest(t, r)
			case *record.Turn:
				turns++
				checkTurn(t, r)
			}
		})
		read(d, text)
		if n > counted {
			t.Errorf("%d requests of %d counts", n, counted)
		}
		if i := d.Info(); i.Requests != n || i.Turns != turns {
			t.Errorf("info %+v, emitted %d and %d", i, n, turns)
		}
	})
}

func checkRequest(t *testing.T, q *record.Request) {
	t.Helper()
	switch {
	case q.Total < 0, q.Total >= implausible, q.TTFT < 0,
		q.Quality > record.None && q.TTFT > q.Total && q.Total > 0,
		q.Quality.Usable() && q.Total == 0,
		q.Total > 0 && q.End.Sub(q.Start) != q.Total,
		q.Line < 1, q.Format != record.FormatRollout:
		t.Errorf("%+v", q)
	}
	for _, n := range []record.Tokens{q.Input, q.Cached, q.Output, q.Reasoning} {
		if n.N < 0 || n.N > maxTokens || !n.Known && n.N != 0 {
			t.Errorf("%+v", q)
		}
	}
	for _, s := range []string{q.ID, q.Session, q.Turn, q.Model, q.Provider, q.Effort, q.Version, q.Origin} {
		checkWord(t, s)
	}
}

func checkTurn(t *testing.T, turn *record.Turn) {
	t.Helper()
	if turn.Duration < 0 || turn.Duration >= implausible || turn.TTFT < 0 || turn.TTFT >= implausible || !turn.HasTTFT && turn.TTFT != 0 {
		t.Errorf("%+v", turn)
	}
	for _, i := range turn.Tools {
		if i.Start.IsZero() || i.End.Before(i.Start) || i.End.Sub(i.Start) >= implausible {
			t.Errorf("%+v", i)
		}
		checkWord(t, i.Tool)
	}
	for _, s := range []string{turn.ID, turn.Model} {
		checkWord(t, s)
	}
}

func checkWord(t *testing.T, s string) {
	t.Helper()
	if len(s) > maxWord || !utf8.ValidString(s) || clean([]byte(s)) != s {
		t.Errorf("%q", s)
	}
}
