package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
	"codexlag/analyze/lang/langtest"
	"codexlag/parse/record"
)

var midnight = time.Date(2026, 9, 3, 0, 0, 0, 0, time.UTC)

// requests makes n requests of one log, a minute apart: TTFT 1 s, then 500
// tokens at 50 tokens/s. change makes them what the test needs.
func requests(file string, n int, change func(i int, r *record.Request)) []record.Record {
	var l []record.Record
	for i := range n {
		r := &record.Request{
			Pos: record.Pos{File: file, Line: int64(i + 1)}, Format: record.FormatRequest, Model: "gpt-x",
			End:  midnight.Add(time.Duration(i) * time.Minute),
			TTFT: time.Second, Quality: record.Measured, Total: 11 * time.Second, Output: record.Count(500),
		}
		if change != nil {
			change(i, r)
		}
		if r.Start.IsZero() && !r.End.IsZero() && r.Total > 0 {
			r.Start = r.End.Add(-r.Total)
		}
		l = append(l, r)
	}
	return l
}

// seconds is a duration for a person who reads the tables.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// start sets the TTFT and keeps the decode time.
func start(r *record.Request, s float64) {
	r.Total += seconds(s) - r.TTFT
	r.TTFT = seconds(s)
}

// rate sets the TPS by way of the decode time.
func rateOf(r *record.Request, tps float64) {
	r.Total = r.TTFT + seconds(float64(r.Output.N)/tps)
}

func failed(r *record.Request, code int, kind string) {
	r.Status, r.Quality, r.TTFT = record.Failed, record.None, 0
	r.Error = record.Error{HTTPStatus: code, Kind: kind}
}

// A findingCase is what a rule must make of some records.
type findingCase struct {
	name    string
	records []record.Record
	by      []Dimension
	inputs  Inputs
	model   *PrefillModel // stands in for the fitted one
	want    string        // the severity, "inconclusive", or "" for no finding
	says    []string      // in title, evidence and advice
	silent  []string      // not in them

	language lang.Language
}

const undecided = "inconclusive"

// checkFindings runs the cases of one rule, each in several orders of the
// records and split in two: the findings must not depend on that.
func checkFindings(t *testing.T, id string, cases []findingCase) {
	for _, c := range cases {
		t.Run(id+"/"+c.name, func(t *testing.T) {
			first := c.findings(c.records)
			for seed := range uint64(3) {
				l := slices.Clone(c.records)
				rand.New(rand.NewPCG(seed, 1)).Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
				if got := c.findings(l); !slices.Equal(got, first) {
					t.Fatalf("another order gives\n%v\nnot\n%v", got, first)
				}
			}
			c.check(t, id, first)
			c.checkChinese(t)
		})
	}
}

// checkChinese looks for words that nobody translated.
func (c *findingCase) checkChinese(t *testing.T) {
	t.Helper()
	c.language = lang.Chinese
	for _, f := range c.findings(c.records) {
		if l := langtest.English(f.Title+" "+f.Evidence+" "+f.Advice, "gpt", "fast", "slow", "mini", "slug"); len(l) > 0 {
			t.Errorf("%s: English words %q in %s %s %s", f.ID, l, f.Title, f.Evidence, f.Advice)
		}
	}
}

func (c *findingCase) findings(records []record.Record) []Finding {
	o := DefaultOptions()
	o.By, o.Language = c.by, c.language
	a, b := NewCollector(o), NewCollector(o)
	for i, r := range records {
		if i < len(records)/3 {
			a.Add(r)
		} else {
			b.Add(r)
		}
	}
	a.Merge(b)
	r := a.Report(Tool{}, c.inputs)
	if c.model == nil {
		return r.Findings
	}
	r.Overall.PrefillModel = c.model
	return a.findings(r)
}

func (c *findingCase) check(t *testing.T, id string, l []Finding) {
	t.Helper()
	var text []string
	got := ""
	for _, f := range l {
		if f.Title == "" || f.Evidence == "" || f.Advice == "" || severityRank(f.Severity) < 0 {
			t.Errorf("half a finding: %+v", f)
		}
		if f.ID != id {
			continue
		}
		got = f.Severity
		if strings.HasPrefix(f.Title, "Inconclusive: ") {
			got = undecided
		}
		text = append(text, f.Title, f.Evidence, f.Advice)
	}
	all := strings.Join(text, "\n")
	if got != c.want {
		t.Fatalf("%q, want %q: %s\nall: %+v", got, c.want, all, l)
	}
	for _, s := range c.says {
		if !strings.Contains(all, s) {
			t.Errorf("does not say %q:\n%s", s, all)
		}
	}
	for _, s := range c.silent {
		if strings.Contains(all, s) {
			t.Errorf("says %q:\n%s", s, all)
		}
	}
}

// ids lists the findings of a report in order.
func ids(l []Finding) string {
	var s []string
	for _, f := range l {
		s = append(s, f.Severity+" "+f.ID)
	}
	return strings.Join(s, ", ")
}

func TestFindingsOrder(t *testing.T) {
	healthy := requests("ok.log", 40, nil)
	for _, c := range []struct {
		name    string
		records []record.Record
		want    string
	}{
		{"nothing read", nil, ""},
		{"nothing wrong", healthy, ""},
		{"only failures", requests("bad.log", 3, func(_ int, r *record.Request) { failed(r, 401, "") }), "bad http_401"},
		{"only warm-ups", requests("warm.log", 30, func(_ int, r *record.Request) { r.Status, r.Output = record.Warmup, record.Count(0) }), ""},
		{"only aborted", requests("warm.log", 30, func(_ int, r *record.Request) { r.Status = record.Aborted }), ""},
		{"the worst first, then what took longest", slices.Concat(healthy,
			requests("a.log", 1, func(_ int, r *record.Request) { failed(r, 404, "") }),
			requests("b.log", 1, func(_ int, r *record.Request) { failed(r, 429, ""); r.Total = time.Second }),
			requests("c.log", 1, func(_ int, r *record.Request) { failed(r, 503, ""); r.Total = time.Minute }),
			requests("d.log", 6, func(i int, r *record.Request) { r.Retries = 1 })),
			"bad http_404, warn http_5xx, warn http_429, info dropped_streams"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := findingCase{}
			if got := ids(f.findings(c.records)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A report can be made again and again while records come in.
func TestFindingsWhileCollecting(t *testing.T) {
	c := NewCollector(DefaultOptions())
	l := requests("a.log", 40, func(_ int, r *record.Request) { start(r, 9) })
	for _, r := range l[:20] {
		c.Add(r)
	}
	c.Report(Tool{}, Inputs{})
	for _, r := range l[20:] {
		c.Add(r)
	}
	f := findingCase{}
	if got, want := c.Report(Tool{}, Inputs{}).Findings, f.findings(l); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Beyond the limit of rows that are kept, counts are scaled and said to be so.
func TestFindingsOfASample(t *testing.T) {
	if testing.Short() {
		t.Skip("many requests")
	}
	n := 2 * maxRows
	l := requests("a.log", n, func(i int, r *record.Request) {
		r.End = midnight.Add(time.Duration(i) * time.Second)
		if i%4 == 0 {
			failed(r, 429, "")
		}
	})
	f := findingCase{}
	got := f.findings(l)
	if len(got) != 1 || !strings.Contains(got[0].Evidence, "about 6") || !strings.Contains(got[0].Evidence, fmt.Sprintf("of %s requests (2", human.Count(n))) {
		t.Errorf("%v", got)
	}
}

// noise is the same sequence of numbers in 0..1 for every run.
func noise(seed uint64) func() float64 { return rand.New(rand.NewPCG(seed, 7)).Float64 }

// Figures that only vary by chance, with whatever the logs can tell, are no finding.
func TestNoFindingsInNoise(t *testing.T) {
	for seed := range uint64(20) {
		random := noise(seed)
		l := requests("a.log", 300, func(i int, r *record.Request) {
			r.End = midnight.Add(time.Duration(i) * 20 * time.Minute)
			start(r, 0.5+2*random()*random())
			r.Output = record.Count(200 + int64(1000*random()))
			rateOf(r, 40+20*random())
			r.Input, r.Cached = record.Count(20_000+int64(30_000*random())), record.Count(int64(20_000*random()))
			r.Session = "s"
		})
		f := findingCase{}
		for _, x := range f.findings(l) {
			switch x.ID {
			case "long_output", "cache_misses", "overhead_bound_ttft": // true of these
			default:
				t.Errorf("seed %d: %+v", seed, x)
			}
		}
	}
}

// A figure that a request does not have is in no finding.
func TestRowFigures(t *testing.T) {
	good := figures{ttft: 1_000_000, total: 11_000_000, decodeTokens: 500}
	with := func(change func(*figures)) *row {
		f := good
		change(&f)
		return &row{stored: &stored{figures: f}}
	}
	for _, c := range []struct {
		name                  string
		row                   *row
		start, stream, steady bool
	}{
		{"all", with(func(*figures) {}), true, true, true},
		{"failed", with(func(f *figures) { f.status = record.Failed }), false, false, false},
		{"no TTFT", with(func(f *figures) { f.ttft = -1 }), false, false, false},
		{"no total", with(func(f *figures) { f.total = -1 }), true, false, false},
		{"no decode", with(func(f *figures) { f.total = f.ttft }), true, false, false},
		{"no tokens", with(func(f *figures) { f.decodeTokens = 0 }), true, false, false},
		{"a burst", with(func(f *figures) { f.flags = burstBit }), false, false, false},
		{"a short decode", with(func(f *figures) { f.flags = shortDecodeBit }), true, true, false},
		{"few tokens", with(func(f *figures) { f.decodeTokens = minSteady - 1 }), true, true, false},
		{"just enough tokens", with(func(f *figures) { f.decodeTokens = minSteady }), true, true, true},
	} {
		ms, start := c.row.firstToken()
		tps, clean, stream := c.row.streamRate()
		rate, steady := c.row.steadyRate()
		if start != c.start || stream != c.stream || steady != c.steady {
			t.Errorf("%s: start %v, stream %v, steady %v", c.name, start, stream, steady)
		}
		if start && ms != 1000 || !start && ms != 0 || !stream && (tps != 0 || clean || rate != 0) {
			t.Errorf("%s: %v ms, %v tok/s, clean %v", c.name, ms, tps, clean)
		}
	}
}

// Of findings that are as serious the one comes first that more of the waiting
// is about: the stakes are all in µs.
func TestStakes(t *testing.T) {
	long := func(_ int, r *record.Request) { r.Output = record.Count(5000); rateOf(r, 50) }
	for _, c := range []struct {
		rule    func(*facts) []found
		records []record.Record
		model   *PrefillModel
		want    int64
	}{
		{longOutput, slices.Concat(requests("a", 36, nil), requests("b", 4, long)), nil, 4 * 90_000_000},
		{overheadBound, requests("a", 40, func(i int, r *record.Request) { r.Input = record.Count(int64(1000 + 200*i)); start(r, 4) }), &PrefillModel{Requests: 40, Overhead: 4000, Explained: 0.9}, 40 * 4_000_000},
		{toolsDominate, turns(12, 70), nil, 12 * 70_000_000},
		{contention, slices.Concat(crowd(5, 25), requests("alone", 16, func(i int, r *record.Request) { r.End = midnight.Add(seconds(float64(i)*3600 + 1800)) })), nil, 20 * 10_000_000},
		{slowStream, slices.Concat(requests("a", 9, func(_ int, r *record.Request) { rateOf(r, 10) }), requests("b", 7, func(_ int, r *record.Request) { r.Model = "b"; rateOf(r, 5) }), requests("c", 30, func(_ int, r *record.Request) { r.Model = "c" })),
			nil, 9*50_000_000 + 7*100_000_000},
		{droppedStreams, slices.Concat(requests("ok", 20, nil), requests("r", 6, func(_ int, r *record.Request) { r.Retries = 1; start(r, 4) })), nil, 6 * 4_000_000},
		{cacheMisses, session("s", 12, nil, 3, 6, 9), nil, 3 * 1_000_000},
		{cacheMisses, slices.Concat(cachedAs("hit", 20, 9_500, 1), cachedAs("miss", 12, 0, 3)), nil, 12 * 2_000_000},
	} {
		collector := NewCollector(DefaultOptions())
		for _, r := range c.records {
			collector.Add(r)
		}
		r := collector.Report(Tool{}, Inputs{})
		if c.model != nil {
			r.Overall.PrefillModel = c.model
		}
		got := c.rule(collector.facts(r))
		if len(got) != 1 || got[0].stake != c.want {
			t.Errorf("%v: want a stake of %d", got, c.want)
		}
	}
}

// crowd are groups of four requests that start together.
func crowd(groups int, tps float64) []record.Record {
	return requests("crowd", 4*groups, func(i int, r *record.Request) {
		rateOf(r, tps)
		r.Start = midnight.Add(seconds(float64(i/4) * 3600))
		r.End = r.Start.Add(r.Total)
	})
}

// cachedAs are requests of 10,000 prompt tokens.
func cachedAs(file string, n int, cached int64, ttft float64) []record.Record {
	return requests(file, n, func(_ int, r *record.Request) {
		r.Input, r.Cached = record.Count(10_000), record.Count(cached)
		start(r, ttft)
	})
}

func BenchmarkFindings(b *testing.B) {
	c := NewCollector(DefaultOptions())
	random := noise(1)
	for _, r := range requests("a.log", maxRows, func(i int, r *record.Request) {
		r.End = midnight.Add(time.Duration(i) * 20 * time.Second)
		start(r, 0.5+2*random())
		rateOf(r, 40+20*random())
		r.Input, r.Cached = record.Count(20_000+int64(30_000*random())), record.Count(int64(20_000*random()))
		r.Session = "s" + string(rune('a'+i%20))
	}) {
		c.Add(r)
	}
	r := c.Report(Tool{}, Inputs{})
	f := c.facts(r)
	names := []string{"http401", "http404", "http429", "http5xx", "timeouts", "droppedStreams", "commonCeiling",
		"slowStart", "slowStream", "bufferedStream", "noFirstToken", "toolsDominate", "waitsDominate",
		"promptBound", "overheadBound", "cacheMisses", "contention", "longOutput", "changePoint", "slowHours",
		"longInput", "fewClean", "tokenMismatch", "unreadable"}
	for i, rule := range rules {
		b.Run(names[i], func(b *testing.B) {
			for b.Loop() {
				rule(f)
			}
		})
	}
}
