package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// Collecting garbage costs time for every collection and for all that is
	// alive. While little is alive, fewer collections cost little memory.
	rareGC    = 400 // percent, as GOGC
	usualGC   = 100
	smallHeap = 12 << 20 // bytes that are alive
)

// tuneGC collects garbage less often while little is alive, unless the user has
// set GOGC.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(rareGC)
	afterGC()
}

// afterGC comes again after each collection.
func afterGC() {
	percent := usualGC
	if alive() < smallHeap {
		percent = rareGC
	}
	debug.SetGCPercent(percent)
	runtime.AddCleanup(new(*int), func(int) { afterGC() }, 0)
}

// alive is how much the last collection left.
func alive() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
