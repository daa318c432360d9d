//go:build !unix

package main

import "os"

// Here the size of a terminal is looked at once a second, and nothing stops a
// program.
var (
	screenSignals []os.Signal
	continued     os.Signal
)
