package report

import (
	"strings"
	"testing"
	"time"

	"codexlag/analyze"
)

func TestLiveLine(t *testing.T) {
	now := time.Date(2026, 9, 10, 9, 0, 5, 0, time.UTC)
	clean := func() *analyze.Request {
		return &analyze.Request{Model: new("gpt-x"), TTFT: new(1240.0), TTFTQuality: "measured", Total: new(21240.0), OutputTokens: new(int64(906)),
			TPS: new(45.3), TPSError: new(0.001), Phase: new("decode"), Status: "ok"}
	}
	for _, c := range []struct {
		name   string
		change func(*analyze.Request)
		ended  time.Time
		o      TextOptions
		want   string
	}{
		{"clean", func(q *analyze.Request) {}, now, TextOptions{Unicode: true},
			"09:00:05  gpt-x             TTFT   1.24 s     906 tok   45.3 tok/s  decode"},
		{"estimated", func(q *analyze.Request) { q.TTFTQuality = "estimated" }, now, TextOptions{Unicode: true},
			"09:00:05  gpt-x             TTFT  ~1.24 s     906 tok   45.3 tok/s  decode"},
		{"bound, in ASCII", func(q *analyze.Request) {
			q.TTFTQuality, q.TPS, q.Phase = "bound", nil, nil
		}, now, TextOptions{}, "09:00:05  gpt-x             TTFT <= 1.24 s     906 tok            -  -"},
		{"noisy", func(q *analyze.Request) { q.Flags = []analyze.Flag{analyze.FewTokens} }, now, TextOptions{Unicode: true},
			"09:00:05  gpt-x             TTFT   1.24 s     906 tok        noisy  decode"},
		{"in one piece", func(q *analyze.Request) { q.Flags = []analyze.Flag{analyze.Burst} }, now, TextOptions{Unicode: true},
			"09:00:05  gpt-x             TTFT   1.24 s     906 tok        noisy  decode    came in one piece"},
		{"slow", func(q *analyze.Request) { q.Flags = []analyze.Flag{analyze.SlowStart} }, now, TextOptions{Unicode: true, Color: true},
			"09:00:05  gpt-x             TTFT   1.24 s     906 tok   45.3 tok/s  \x1b[34mdecode\x1b[0m    \x1b[33mslow start\x1b[0m"},
		{"failed", func(q *analyze.Request) {
			*q = analyze.Request{Status: "failed", HTTPStatus: new(429)}
		}, now, TextOptions{Unicode: true}, "09:00:05  —                 TTFT        —       — tok            —  failed (HTTP 429)"},
		{"aborted", func(q *analyze.Request) { q.Status = "aborted" }, now, TextOptions{Unicode: true},
			"09:00:05  gpt-x             TTFT   1.24 s     906 tok            —  aborted"},
		{"of another day", func(q *analyze.Request) {}, now.Add(-48 * time.Hour), TextOptions{Unicode: true},
			"2026-09-08 09:00:05  gpt-x             TTFT   1.24 s     906 tok   45.3 tok/s  decode"},
		{"hostile", func(q *analyze.Request) { q.Model = new("a\x1b[2J\nb") }, now, TextOptions{Unicode: true},
			"09:00:05  a␛[2J␊b           TTFT   1.24 s     906 tok   45.3 tok/s  decode"},
		{"a long name", func(q *analyze.Request) { q.Model = new(strings.Repeat("m", 90)) }, now, TextOptions{Unicode: true},
			"09:00:05  mmmmmmmmm…mmmmmmmmmm  TTFT   1.24 s     906 tok   45.3 tok/s  decode"},
		{"narrow", func(q *analyze.Request) {}, now, TextOptions{Unicode: true, Width: 44},
			"TTFT   1.24 s     906 tok   45.3 tok/s  decode"[:13] + "   45.3 tok/s  decode"},
		{"very narrow", func(q *analyze.Request) {}, now, TextOptions{Unicode: true, Width: 9, Color: true}, "TTFT   1."},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := clean()
			c.change(q)
			if got := LiveLine(q, c.ended, now, c.o); got != c.want {
				t.Errorf("\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

func aView() *LiveView {
	some := &analyze.LiveFigures{
		Requests: 1200, Failed: 3, TTFT: []analyze.Quantile{{P: 50, Value: 1240}, {P: 90, Value: 6970, Thin: true}}, TPSClean: new(47.6), TPSPooled: new(46.0),
		Prefill: 1000, Decode: 3000, Unsplit: 4000, SLO: analyze.SLO{Share: new(0.9)}, InFlight: new(1.5), Cut: true,
		Turns: analyze.LiveTurns{Count: 12, Prefill: 1000, Decode: 2000, Model: 3000, Tool: 3500, Other: 500},
	}
	return &LiveView{
		Windows: []LiveWindow{{"last 5 min", &analyze.LiveFigures{}}, {"last hour", some}, {"all", some}},
		Recent:  []float64{0, 100, 500, 1000, 4000, 8000},
		Status:  "3 files followed",
	}
}

func TestFooter(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      TextOptions
		height int
		want   string
	}{
		{"all of it", TextOptions{Width: 120, Unicode: true}, 20, `
───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
                  n  TTFT p50      p90  TPS clean  pooled  prefill  decode  unsplit  in flight  failed  SLO met
last 5 min        0         —        —          —       —        —       —        —          —       0        —
last hour   ≥ 1,200    1.24 s  6.97 s*       47.6    46.0   25.0 %  75.0 %   50.0 %       1.50       3   90.0 %
all         ≥ 1,200    1.24 s  6.97 s*       47.6    46.0   25.0 %  75.0 %   50.0 %       1.50       3   90.0 %
12 turns (last hour): prefill 10.0 %, decode 20.0 %, model 30.0 %, tools 35.0 %, other 5.0 %
TTFT ▁▁▁▂▅█  last 6, 0 ms to 8.00 s
3 files followed`},
		{"ASCII, narrow, low", TextOptions{Width: 50}, 7, `
-------------------------------------------------
                   n  TTFT p50      p90  pooled
last 5 min         0         -        -       -
last hour   >= 1,200    1.24 s  6.97 s*    46.0
all         >= 1,200    1.24 s  6.97 s*    46.0
12 turns (last hour): prefill 10.0 %, decode 20.0
TTFT ___.=#  last 6, 0 ms to 8.00 s`},
		{"no room for windows", TextOptions{Width: 50, Unicode: true}, 4, `
last 5 min        0         —        —       —`},
		{"no room at all", TextOptions{Width: 8, Unicode: true}, 0, `
last 5 `},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := aView().Footer(c.o, c.height)
			if want := strings.TrimPrefix(c.want, "\n"); strings.Join(got, "\n") != want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
			}
		})
	}
}

// Whatever the terminal, no line of the footer reaches its last column, and
// there are never more of them than rows.
func TestFooterFits(t *testing.T) {
	for columns := range 150 {
		for rows := range 12 {
			for _, unicode := range []bool{false, true} {
				lines := aView().Footer(TextOptions{Width: columns + 1, Unicode: unicode}, rows)
				if len(lines) > max(rows, 1) {
					t.Fatalf("%d lines in %d rows", len(lines), rows)
				}
				for _, l := range lines {
					if width(l) > columns {
						t.Fatalf("%d columns: %q is %d wide", columns+1, l, width(l))
					}
				}
			}
		}
	}
}
