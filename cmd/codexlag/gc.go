package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much garbage may come up before it is collected: collecting costs time for
// every collection, and little while little is alive. As much as is alive, as Go
// has it, may come up only where much is.
const (
	small = 28 << 20 // up to here the heap may always grow
	spare = 8 << 20  // of garbage, always
	saved = 48 << 20 // that a large heap stays below twice what is alive
)

// tuneGC collects garbage less often while little is alive, and more often while
// some is, unless the user has set GOGC.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	afterGC()
}

// afterGC comes again after each collection.
func afterGC() {
	live := max(alive(), 4<<20)
	allowed := max(spare, small-min(live, small), live-min(live, saved))
	debug.SetGCPercent(int(100 * allowed / live))
	runtime.AddCleanup(new(*int), func(int) { afterGC() }, 0)
}

// alive is how much the last collection left.
func alive() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
