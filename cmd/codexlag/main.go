package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // --timezone works where the system has no zones
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}
