// Package follow reads logs and then what is added to them.
package follow

import (
	"context"
	"time"

	"codexlag/parse"
	"codexlag/parse/record"
	"codexlag/parse/source"
)

// Options shape following.
type Options struct {
	parse.Options        // Location, Jobs, Meter …
	NewOnly       bool   // leave out what the files hold already
	Poll          bool   // look at the files instead of being notified
	CaughtUp      func() // called once, when what existed before has been passed to sink
}

const every = 100 * time.Millisecond

// Follow reads the logs at paths, then what is added to them, until ctx is
// done; then it passes on what was pending and returns. sink is called by one
// goroutine at a time.
func Follow(ctx context.Context, paths []string, o Options, sink func(record.Record)) (*parse.Summary, error) {
	passed := map[string]int{}
	read := func(ctx context.Context, o parse.Options, quiet bool) *parse.Summary {
		seen := map[string]int{}
		return parse.Read(ctx, paths, o, func(r record.Record) {
			file := r.Where().File
			if seen[file]++; seen[file] > passed[file] {
				passed[file]++
				if !quiet {
					sink(r)
				}
			}
		})
	}
	s := read(ctx, o.Options, o.NewOnly)
	if o.CaughtUp != nil {
		o.CaughtUp()
	}
	if len(paths) == 1 && paths[0] == source.Stdin {
		return s, nil
	}
	o.Meter = nil
	sizes := sizesOf(paths)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return read(context.Background(), o.Options, false), nil
		case <-tick.C:
		}
		if now := sizesOf(paths); changed(sizes, now) {
			sizes = now
			read(context.Background(), o.Options, false)
		}
	}
}

func sizesOf(paths []string) map[string]int64 {
	m := map[string]int64{}
	for _, f := range source.Expand(paths).Files {
		m[f.Path] = f.Size
	}
	return m
}

func changed(a, b map[string]int64) bool {
	for p, n := range b {
		if a[p] != n {
			return true
		}
	}
	return false
}
