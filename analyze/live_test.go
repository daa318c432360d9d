package analyze

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"codexlag/parse/record"
)

// anyRequest makes requests of all kinds.
func anyRequest(rnd *rand.Rand, end time.Time) *record.Request {
	r := &record.Request{Pos: record.Pos{File: "a.log", Line: rnd.Int64N(1 << 30)}, End: end, Status: record.Status(rnd.IntN(4)), Quality: record.Quality(rnd.IntN(5))}
	if rnd.IntN(3) > 0 {
		r.Status = record.OK
	}
	if r.Quality > record.None {
		r.TTFT = time.Duration(rnd.IntN(9000)) * time.Millisecond
	}
	if rnd.IntN(8) > 0 {
		r.Total = time.Duration(1+rnd.IntN(60_000)) * time.Millisecond
	}
	if rnd.IntN(8) > 0 {
		r.Output = record.Count(rnd.Int64N(2000))
	}
	return r
}

func anyTurn(rnd *rand.Rand, end time.Time) *record.Turn {
	t := &record.Turn{End: end, Duration: time.Duration(rnd.IntN(2)*(1+rnd.IntN(90_000))) * time.Millisecond}
	for range rnd.IntN(4) {
		t.Requests = append(t.Requests, anyRequest(rnd, end))
	}
	t.Tools = []record.Interval{{Start: end.Add(-10 * time.Second), End: end.Add(-time.Duration(rnd.IntN(9)) * time.Second)}}
	return t
}

// A window says of the requests in it what a collector says that has these alone.
func TestWindowsAgreeWithTheCollector(t *testing.T) {
	o := DefaultOptions()
	rnd := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)
	w, c := NewWindows(&o, time.Hour), NewCollector(o)
	for range 2000 {
		end := now.Add(-time.Duration(rnd.Int64N(int64(90 * time.Minute))))
		recs := []record.Record{anyRequest(rnd, end)}
		if rnd.IntN(3) == 0 {
			recs = append(recs, anyTurn(rnd, end))
		}
		for _, r := range recs {
			w.Add(r, now, true)
			if end.After(now.Add(-5 * time.Minute)) {
				c.Add(r)
			}
		}
	}
	got, want := w.Figures(now, 5*time.Minute), c.Live()
	if got.Requests < 50 || got.Turns.Count < 10 {
		t.Fatalf("only %d requests and %d turns in the window", got.Requests, got.Turns.Count)
	}
	got.InFlight = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("window\n%+v\ncollector\n%+v", got, want)
	}
}

// What every figure of a report is, its live form is too.
func TestLiveAgreesWithTheReport(t *testing.T) {
	o := DefaultOptions()
	rnd := rand.New(rand.NewPCG(3, 4))
	c := NewCollector(o)
	end := time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)
	met, judged, inTTFT, clean := 0, 0, 0, 0
	for range 500 {
		r := anyRequest(rnd, end)
		c.Add(r)
		q := NewRequest(r, &o)
		if m, ok := q.MeetsSLO(&o); ok {
			judged++
			if m {
				met++
			}
		}
		if q.CountsInTTFT() {
			inTTFT++
		}
		if q.Clean() {
			clean++
		}
	}
	live, g := c.Live(), c.Report(Tool{}, Inputs{}).Overall
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"requests", live.Requests, g.Requests},
		{"failed", live.Failed, g.Failed},
		{"ttft p50", live.TTFT[0].Value, g.TTFT.Quantiles[0].Value},
		{"ttft p90", live.TTFT[1].Value, g.TTFT.Quantiles[1].Value},
		{"clean", *live.TPSClean, g.TPS.Clean.Quantiles[0].Value},
		{"clean n", live.CleanN, g.TPS.Clean.N},
		{"pooled", *live.TPSPooled, *g.TPS.Pooled},
		{"prefill", live.Prefill, g.Time.Prefill},
		{"decode", live.Decode, g.Time.Decode},
		{"unsplit", live.Unsplit, g.Time.Unsplit},
		{"limits", live.SLO, g.SLO},
		{"limits met, one by one", met, g.SLO.Met},
		{"limits judged, one by one", judged, g.SLO.Met + g.SLO.Missed},
		{"ttft, one by one", inTTFT, g.TTFT.N},
		{"clean, one by one", clean, g.TPS.Clean.N},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%s: live %v, report %v", x.name, x.got, x.want)
		}
	}
}

func TestWindowsForget(t *testing.T) {
	o := DefaultOptions()
	start := time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)
	request := func(end time.Time, ttft time.Duration) *record.Request {
		return &record.Request{End: end, TTFT: ttft, Quality: record.Measured, Total: 2 * ttft, Output: record.Count(900)}
	}
	w := NewWindows(&o, time.Hour)
	w.Add(request(start.Add(-2*time.Hour), time.Second), start, true)
	w.Add(request(time.Time{}, time.Second), start, false) // somewhere in an old log
	if !w.Empty() {
		t.Fatal("keeps what ended before")
	}
	w.Add(request(time.Time{}, 3*time.Second), start, true)
	w.Add(request(start.Add(time.Hour), 4*time.Second), start, true) // the log's clock is ahead
	w.Add(request(start.Add(-time.Minute), 1*time.Second), start, true)
	if got := w.Recent(2); !reflect.DeepEqual(got, []float64{3000, 4000}) {
		t.Errorf("recent %v", got)
	}
	for _, x := range []struct {
		after           time.Duration
		minutes, inHour int
	}{{0, 3, 3}, {4*time.Minute + time.Second, 2, 3}, {5 * time.Minute, 0, 3}, {time.Hour - time.Second, 0, 2}, {time.Hour, 0, 0}} {
		now := start.Add(x.after)
		if a, b := w.Figures(now, 5*time.Minute).Requests, w.Figures(now, time.Hour).Requests; a != x.minutes || b != x.inHour {
			t.Errorf("after %v: %d and %d requests, want %d and %d", x.after, a, b, x.minutes, x.inHour)
		}
	}
	if f := w.Figures(start, time.Hour); !w.Empty() || f.TTFT != nil || f.InFlight != nil {
		t.Error("not empty at last")
	}
}

// Requests of 30 s in a window of 5 min are a tenth of one at any time each.
func TestWindowsTellWhatWasInFlight(t *testing.T) {
	o := DefaultOptions()
	now := time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)
	w := NewWindows(&o, time.Hour)
	for i := range 20 {
		w.Add(&record.Request{End: now.Add(-time.Duration(i) * time.Second), Total: 30 * time.Second}, now, true)
	}
	// of one that began before the window, only the part inside counts
	w.Add(&record.Request{End: now.Add(-4 * time.Minute), Total: time.Hour}, now, true)
	if got := *w.Figures(now, 5*time.Minute).InFlight; got < 2.199 || got > 2.201 {
		t.Errorf("in flight %v, want 2.2", got)
	}
}

// The TTFT of a request that failed is in no figure.
func TestRecentAreCompleted(t *testing.T) {
	o := DefaultOptions()
	now := time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)
	w := NewWindows(&o, time.Hour)
	for i, status := range []record.Status{record.OK, record.Failed, record.Aborted, record.Warmup} {
		w.Add(&record.Request{End: now.Add(-time.Minute), Status: status, TTFT: time.Duration(i+1) * time.Second, Quality: record.Measured, Total: time.Minute}, now, true)
	}
	if got := w.Recent(9); !reflect.DeepEqual(got, []float64{1000}) {
		t.Errorf("recent %v", got)
	}
}

func TestWindowsAreBounded(t *testing.T) {
	o := DefaultOptions()
	now := time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)
	w := NewWindows(&o, time.Hour)
	for i := range 3 * maxLive {
		end := now.Add(-time.Duration(3*maxLive-i) * time.Millisecond * 70)
		w.Add(&record.Request{End: end, Total: time.Second}, now, true)
		w.Add(&record.Turn{End: end, Duration: time.Second}, now, true)
	}
	if len(w.requests) > maxLive || len(w.turns) > maxLive {
		t.Errorf("keeps %d requests and %d turns", len(w.requests), len(w.turns))
	}
	if first := w.requests[0].end; !first.After(w.cut) {
		t.Errorf("keeps one that ended at %v, the cut is at %v", first, w.cut)
	}
	if f := w.Figures(now, time.Hour); !f.Cut || f.Requests == 0 {
		t.Errorf("does not say that it is cut: %+v", f)
	}
	if f := w.Figures(now, 5*time.Minute); f.Cut || f.Requests != 5*60*1000/70 {
		t.Errorf("5 minutes: %d requests, cut %v", f.Requests, f.Cut)
	}
}
