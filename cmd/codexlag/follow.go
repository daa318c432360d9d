package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/lang"
	"codexlag/parse"
	"codexlag/parse/follow"
	"codexlag/parse/record"
	"codexlag/parse/source"
	"codexlag/report"
	"codexlag/report/metrics"
)

// defaultEvery is --every where it is not given.
const defaultEvery = 30 * time.Second

// followFlags shape following.
type followFlags struct {
	Follow    bool          `short:"f" group:"Following" help:"Go on reading what is added: a line for each request as it completes, the report at Ctrl-C."`
	NewOnly   bool          `group:"Following" help:"Leave out what the files hold already."`
	Poll      bool          `group:"Following" help:"Look at the files again and again instead of being notified, as network and bind mounts need."`
	Every     time.Duration `default:"${every}" placeholder:"TIME" group:"Following" help:"How often the files of -o are written while following (default ${default})."`
	Listen    string        `placeholder:"ADDR" group:"Following" help:"Serve metrics for Prometheus and, as a page, the report; ADDR such as 127.0.0.1:9464."`
	ListenAny bool          `group:"Following" help:"Let --listen take an address that other machines reach."`
}

// check looks at the flags of following. Where they are of no use a word is
// said: they may come from a configuration for all calls.
func (f *followFlags) check(env *environment) error {
	if f.Every < time.Second {
		return usageError("--every: %v is shorter than a second", f.Every)
	}
	if f.Follow {
		return nil
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"--new-only", f.NewOnly},
		{"--every", f.Every != defaultEvery},
		{"--poll", f.Poll},
		{"--listen", f.Listen != ""},
		{"--listen-any", f.ListenAny},
	} {
		if flag.set {
			env.warn("%s does nothing without --follow", flag.name)
		}
	}
	return nil
}

const (
	// The footer of a screen is drawn at most ten times a second.
	drawEvery = 100 * time.Millisecond
	lookEvery = time.Second

	shortWindow = 5 * time.Minute
	longWindow  = time.Hour

	// sparkMax is how many TTFTs a spark line shows on a wide terminal.
	sparkMax = 120
	// Lines that wait for a slow terminal. Then reading waits as well.
	maxWaiting = 1024
)

// A live is a report in the making, while its logs are followed.
type live struct {
	options *analyze.Options
	zone    *time.Location
	metrics *metrics.Metrics // nil without --listen
	status  string

	lines chan shown    // to the screen
	ready chan struct{} // closed when all was read that was there at first
	deaf  chan struct{} // closed when nothing can be shown any more

	mu        sync.Mutex
	collector *analyze.Collector
	windows   *analyze.Windows
	sources   map[string]origin
	meter     *parse.Meter
	changes   int // grows with each record
	caughtUp  bool

	// what the footer shows
	all, lately glance
	recent      []float64
}

// A glance is figures that are computed as often as there is news, but only so
// often that it takes a small part of the time.
type glance struct {
	figures          []*analyze.LiveFigures
	of               int // changes then
	again, idleAgain time.Time
}

func (g *glance) due(changes int, now time.Time) bool {
	return g.of != changes && now.After(g.again)
}

// done notes that the figures were computed, beginning at the time begun.
func (g *glance) done(changes int, begun time.Time) {
	took := time.Since(begun)
	g.of, g.again, g.idleAgain = changes, begun.Add(20*took), begun.Add(200*took)
}

// An origin is what the records tell of the log they came from.
type origin struct {
	format record.Format
	line   int64
}

// follow reads the logs, and then what is added to them, until it is interrupted,
// and writes the report. Being interrupted is how it ends, so that is no error.
func (c *reportCmd) follow(env *environment, zone *time.Location, options analyze.Options, outputs []output, gate float64) error {
	filter, err := c.filter(now(), zone)
	if err != nil {
		return err
	}
	env.hide(c.Paths...)
	paths, err := orHome(c.Paths)
	if err != nil {
		return err
	}
	l := &live{
		options: &options, zone: zone, collector: analyze.NewCollector(options), windows: analyze.NewWindows(&options, longWindow),
		sources: make(map[string]origin), meter: new(parse.Meter),
		lines: make(chan shown, maxWaiting), ready: make(chan struct{}), deaf: make(chan struct{}),
		status: c.Lang.Text("Ctrl-C ends it with the report"),
	}
	if c.Listen != "" {
		l.metrics = metrics.New(l.options, version())
		server, err := listen(c.Listen, c.ListenAny, c.Every, l)
		if err != nil {
			return err
		}
		defer server.stop()
		l.status = server.url + "  " + l.status
		env.warn("metrics on %smetrics, the report on %s", server.url, server.url)
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil && p != source.Stdin && !strings.ContainsAny(p, "*?[{") {
			env.warn("%s: %v; waiting for it", p, cause(err))
		}
	}
	ctx, giveUp := context.WithCancelCause(env.ctx)
	defer giveUp(nil)
	bar := *env // has the bare standard error
	stopProgress := sync.OnceFunc(bar.showProgress(l.meter, c.NoProgress))
	s := newScreen(c.lineWriter(env, outputs), c.color(), c.Lang)
	if s.tty != nil && isTerminal(env.stderr) {
		env.stderr = aside{s, env.stderr}
	}

	var background sync.WaitGroup
	background.Go(func() {
		if err := l.show(s); err != nil && c.Listen == "" && !anyFile(outputs) {
			giveUp(fmt.Errorf("writing the requests: %w", err)) // nobody sees what is going on
		}
	})
	stopWriting := make(chan struct{})
	background.Go(func() { l.rewrite(env, outputs, c.Every, stopWriting) })

	rd := &reading{strict: c.Strict}
	o := follow.Options{
		Options: parse.Options{Jobs: c.Jobs, Location: zone, Stdin: env.stdin, Meter: l.meter},
		NewOnly: c.NewOnly,
		Poll:    c.Poll,
		CaughtUp: func() {
			stopProgress()
			if env.ctx.Err() == nil { // else reading was cut short
				l.setCaughtUp()
			}
		},
	}
	summary, err := follow.Follow(ctx, paths, o, rd.tally.filtered(&filter, env.anonymous(l.take)))
	env.ending()
	stopProgress()
	close(l.lines)
	close(stopWriting)
	background.Wait()

	switch {
	case !l.caughtUp && env.ctx.Err() != nil:
		return env.ctx.Err() // before all was read that was there: no report
	case context.Cause(ctx) != nil && env.ctx.Err() == nil:
		return context.Cause(ctx)
	case summary == nil:
		return err
	}
	rd.Summary = summary
	if env.names != nil {
		env.names.Summary(rd.Summary)
	}
	rd.rename(env)
	rd.tell(env)
	if s.lines > 0 && s.w == env.stdout && !anyFile(outputs) {
		fmt.Fprintln(env.stdout) // the report stands apart from the lines
	}
	return errors.Join(c.conclude(l.collector, rd, outputs, gate), err)
}

// lineWriter says where the lines of the requests go: with the report, unless
// that has a form which a line more would break.
func (c *reportCmd) lineWriter(env *environment, outputs []output) io.Writer {
	for _, o := range outputs {
		if o.path == "" && o.format != "markdown" && o.format != "text" {
			if c.Quiet {
				return io.Discard
			}
			return env.stderr
		}
	}
	return env.stdout
}

func anyFile(outputs []output) bool {
	for _, o := range outputs {
		if o.path != "" {
			return true
		}
	}
	return false
}

// anyPage reports whether an output draws charts.
func anyPage(outputs []output) bool {
	return slices.ContainsFunc(outputs, func(o output) bool { return o.format == "html" })
}

// take adds what the filters keep.
func (l *live) take(r record.Record) {
	rows, ok := r.(*record.Rows)
	if !ok {
		l.add(r)
		return
	}
	var q record.Request
	for i := range rows.List {
		rows.Request(i, &q)
		l.add(&q)
	}
}

// add adds one record.
func (l *live) add(r record.Record) {
	now := time.Now()
	l.mu.Lock()
	l.collector.Add(r)
	l.windows.Add(r, now, l.caughtUp)
	l.trace(r)
	l.changes++
	arrived := l.caughtUp
	l.mu.Unlock()
	if !arrived {
		return
	}
	switch r := r.(type) {
	case *record.Request:
		q := analyze.NewRequest(r, l.options)
		if l.metrics != nil {
			l.metrics.Observe(q)
		}
		ended := r.End
		if ended.IsZero() {
			ended = now
		}
		select {
		case l.lines <- shown{request: q, ended: ended.In(l.zone), now: now}:
		case <-l.deaf:
		}
	case *record.Turn:
		if l.metrics != nil {
			l.metrics.ObserveTurn(analyze.TurnParts(r, l.options))
		}
	}
}

// trace notes which log a record came from.
func (l *live) trace(r record.Record) {
	at := r.Where()
	s := l.sources[at.File]
	s.line = max(s.line, at.Line)
	switch r := r.(type) {
	case *record.Request:
		s.format = r.Format
	case *record.Turn:
		s.format = r.Format
	}
	l.sources[at.File] = s
}

// setCaughtUp tells that what comes from now on is new.
func (l *live) setCaughtUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.caughtUp = true
	l.changes++
	close(l.ready)
}

// report is the report of what was read so far, and a number that differs when
// there is more. It is nil before all was read that was there at first.
func (l *live) report(charts bool) (*analyze.Report, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.caughtUp {
		return nil, 0
	}
	in := analyze.Inputs{Files: len(l.sources), Bytes: l.meter.Done(), Formats: map[string]int{"request": 0, "rollout": 0, "trace": 0}}
	for _, s := range l.sources {
		in.Lines += s.line
		if s.format != "" {
			in.Formats[string(s.format)]++
		}
	}
	r := l.collector.Report(analyze.Tool{Name: "codexlag", Version: version()}, in)
	if charts {
		r.Charts = l.collector.Charts(r)
	}
	return r, l.changes
}

// rewrite keeps the files of -o up to date until stop is closed. A hang-up, which
// says to other programs that they should read their settings again, says here:
// write now.
func (l *live) rewrite(env *environment, outputs []output, every time.Duration, stop <-chan struct{}) {
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	tick := time.NewTicker(every)
	defer tick.Stop()
	ready := l.ready
	written, failing := 0, false
	for {
		select {
		case <-stop:
			return
		case <-ready:
			ready = nil
		case <-tick.C:
		case <-hangUp:
			written = 0
		}
		if !anyFile(outputs) || !l.hasNews(written) {
			continue
		}
		r, changes := l.report(anyPage(outputs))
		if r == nil || r.Overall.Requests == 0 && r.Overall.Turns.Count == 0 {
			continue
		}
		err := writeFiles(outputs, r)
		if err != nil && !failing {
			env.warn("%v; trying again every %v", err, every)
		}
		if failing = err != nil; !failing {
			written = changes
		}
	}
}

func (l *live) hasNews(since int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes != since
}

// writeFiles writes the report to those outputs that are files; what is none
// (a pipe) gets it once, at the end.
func writeFiles(outputs []output, r *analyze.Report) error {
	var errs []error
	for _, o := range outputs {
		if o.path == "" {
			continue
		}
		if info, err := os.Stat(o.path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		errs = append(errs, o.write(rendering(r)))
	}
	return errors.Join(errs...)
}

// show writes the lines as they come, on a terminal with the footer, until there
// are no more. It returns the error that made it stop showing anything.
func (l *live) show(s *screen) error {
	defer s.close()
	changed := make(chan os.Signal, 1)
	var tick <-chan time.Time
	if s.tty != nil {
		if len(screenSignals) > 0 {
			signal.Notify(changed, screenSignals...)
			defer signal.Stop(changed)
		}
		t := time.NewTicker(lookEvery)
		defer t.Stop()
		tick = t.C
	}
	ready := l.ready
	for open := true; open; {
		var lines []shown
		select {
		case line, ok := <-l.lines:
			if open = ok; ok {
				lines = l.waiting(line)
			}
		case <-ready:
			ready = nil
		case <-tick:
		case sig := <-changed:
			if sig == continued {
				s.resume()
			}
		}
		var view *report.LiveView
		if s.tty != nil && open {
			view = l.view()
		}
		if err := s.update(lines, view); err != nil {
			close(l.deaf) // nobody is to wait for a screen that is gone
			return err
		}
		if s.tty != nil && open {
			time.Sleep(drawEvery)
		}
	}
	return nil
}

// waiting returns the first line and those that wait behind it.
func (l *live) waiting(first shown) []shown {
	lines := []shown{first}
	for len(lines) < maxWaiting {
		select {
		case line, ok := <-l.lines:
			if !ok {
				return lines
			}
			lines = append(lines, line)
		default:
			return lines
		}
	}
	return lines
}

// view is what the footer shows; nil before all was read that was there at first.
func (l *live) view() *report.LiveView {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.caughtUp {
		return nil
	}
	now := time.Now()
	if l.all.due(l.changes, now) {
		l.all.figures = []*analyze.LiveFigures{l.collector.Live()}
		l.all.done(l.changes, now)
	}
	if l.lately.due(l.changes, now) || !l.windows.Empty() && now.After(l.lately.idleAgain) {
		l.lately.figures = []*analyze.LiveFigures{l.windows.Figures(now, shortWindow), l.windows.Figures(now, longWindow)}
		l.recent = l.windows.Recent(sparkMax)
		l.lately.done(l.changes, now)
	}
	return &report.LiveView{
		Windows: []report.LiveWindow{
			{Name: lang.Mark("last 5 min"), LiveFigures: l.lately.figures[0]},
			{Name: lang.Mark("last hour"), LiveFigures: l.lately.figures[1]},
			{Name: lang.Mark("all"), LiveFigures: l.all.figures[0]},
		},
		Recent: l.recent,
		Status: l.options.Language.Sprintf("%s followed  %s", lang.Plural(l.options.Language, len(l.sources), "file"), l.status),
	}
}
