package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"codexlag/parse"
)

const (
	// Work that is done sooner needs no progress bar.
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// showProgress draws a bar on standard error while m is read, and returns a
// function that takes it away. It is silent in pipes and in CI.
func (e *environment) showProgress(m *parse.Meter, off bool) (stop func()) {
	if off || e.quiet || !isTerminal(e.stderr) || os.Getenv("CI") != "" {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		// The bar must be there from the beginning to tell the rate, and shows later.
		shown := time.Now().Add(progressAfter)
		for m.Total() == 0 {
			select {
			case <-done:
				return // only standard input: there is no saying how far it is
			case <-time.After(progressEvery / 10):
			}
		}
		total := m.Total()
		bar := progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(&delayed{e.stderr, shown}),
			progressbar.OptionSetDescription("reading logs"),
			progressbar.OptionShowBytes(true),
			progressbar.OptionShowTotalBytes(true),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionFullWidth(),
		)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			if t := m.Total(); t != total { // more files were found
				total = t
				bar.ChangeMax64(total)
			}
			bar.Set64(min(m.Done(), total-1)) // the last byte would end the bar
			select {
			case <-done:
				bar.Clear()
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// A delayed writer passes on what comes at its time or later.
type delayed struct {
	w    io.Writer
	from time.Time
}

func (d *delayed) Write(b []byte) (int, error) {
	if time.Now().Before(d.from) {
		return len(b), nil
	}
	return d.w.Write(b)
}
