package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	_ "time/tzdata" // --timezone works where the system has no zones
)

// patience is how long an interrupted run may take to end by itself. One that
// waits for standard input or for the writer of a pipe never would.
const patience = time.Second

// endingKey is the key of what a context holds to be told that an interrupted
// run is about to end in order, with a report that may take longer.
type endingKey struct{}

func main() {
	tuneGC()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ending := new(atomic.Bool)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
		time.Sleep(patience)
		if !ending.Load() {
			os.Exit(exitInterrupted)
		}
	}()
	os.Exit(run(context.WithValue(ctx, endingKey{}, ending), os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
}
