package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // --timezone works where the system has no zones
)

// patience is how long an interrupted run may take to end by itself. One that
// waits for standard input or for the writer of a pipe never would.
const patience = time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
		time.Sleep(patience)
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
}
