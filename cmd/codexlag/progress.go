package main

import (
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
		select {
		case <-done:
			return
		case <-time.After(progressAfter):
		}
		total := m.Total()
		if total == 0 {
			return // only standard input: there is no saying how far it is
		}
		bar := progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(e.stderr),
			progressbar.OptionSetDescription("reading logs"),
			progressbar.OptionShowBytes(true),
			progressbar.OptionShowTotalBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionFullWidth(),
		)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
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
