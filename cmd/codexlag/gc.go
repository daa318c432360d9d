package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// spare is how many bytes of garbage may come up before it is collected, at
// least. Collecting costs time for every collection: while little is alive, this
// makes them rare and costs little memory.
const spare = 16 << 20

// tuneGC collects garbage less often while little is alive, unless the user has
// set GOGC.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	afterGC()
}

// afterGC comes again after each collection.
func afterGC() {
	percent := 100 * spare / max(alive(), 4<<20)
	debug.SetGCPercent(int(max(percent, 100)))
	runtime.AddCleanup(new(*int), func(int) { afterGC() }, 0)
}

// alive is how much the last collection left.
func alive() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
