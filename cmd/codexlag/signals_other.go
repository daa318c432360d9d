//go:build !unix

package main

import "os"

// resizeSignals: here the size of a terminal is looked at once a second.
var resizeSignals []os.Signal
