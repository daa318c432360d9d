package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// spare is how many bytes of garbage may come up before it is collected, at
// least: collecting costs time for every collection, and little while little is
// alive. As much as is alive, as Go has it, may come up only where much is: the
// heap stays by saved below that.
const (
	spare = 8 << 20
	saved = 48 << 20
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
	debug.SetGCPercent(int(100 * max(spare, live-min(live, saved)) / live))
	runtime.AddCleanup(new(*int), func(int) { afterGC() }, 0)
}

// alive is how much the last collection left.
func alive() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
