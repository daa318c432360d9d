//go:build unix

package main

import (
	"os"
	"syscall"
)

// screenSignals tell that a terminal has another size, and that the program goes
// on after it was stopped: the shell has written to the terminal since.
var (
	screenSignals           = []os.Signal{syscall.SIGWINCH, continued}
	continued     os.Signal = syscall.SIGCONT
)
