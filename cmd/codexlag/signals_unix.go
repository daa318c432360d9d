//go:build unix

package main

import (
	"os"
	"syscall"
)

// resizeSignals tell that a terminal has another size.
var resizeSignals = []os.Signal{syscall.SIGWINCH}
