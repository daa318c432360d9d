package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/clickhouse"
	"codexlag/analyze/human"
	"codexlag/parse"
	"codexlag/parse/follow"
)

// loadCmd brings the records of logs into a ClickHouse database.
type loadCmd struct {
	pathArgs

	To           string        `placeholder:"URL" required:"" group:"Database" help:"clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DB, over HTTP; clickhouses:// over TLS. Database and tables are made where they are missing."`
	PasswordFile string        `placeholder:"FILE" group:"Database" help:"Take the password from this file; or from CODEXLAG_CLICKHOUSE_PASSWORD."`
	RetryFor     time.Duration `default:"5m" placeholder:"TIME" group:"Database" help:"Go on trying for so long while the database is away, busy or full (default ${default})."`
	Batch        int           `default:"100000" placeholder:"N" group:"Database" help:"Rows of one insert (default ${default})."`
	Host         string        `placeholder:"NAME" group:"Labels" help:"Where the logs come from (default: the name of this machine)."`
	User         string        `placeholder:"NAME" group:"Labels" help:"Whose they are (default: nobody's)."`

	Follow bool          `short:"f" group:"Following" help:"Go on loading what is added, until Ctrl-C."`
	Every  time.Duration `default:"5s" placeholder:"TIME" group:"Following" help:"How often what came is sent while following (default ${default})."`
	Poll   bool          `group:"Following" help:"Look at the files again and again instead of being notified, as network and bind mounts need."`

	Timezone   string `placeholder:"NAME" group:"Reading" help:"IANA name of the time zone of times without a zone (default: local)."`
	Jobs       int    `placeholder:"N" group:"Reading" help:"Files read at once (default: one a core)."`
	Quiet      bool   `short:"q" group:"Reading" help:"No warnings and no progress on standard error."`
	NoProgress bool   `group:"Reading" help:"No progress on standard error; it is shown only on a terminal."`
	Strict     bool   `group:"Reading" help:"Any unreadable line is an error (exit code 1)."`
	NoCache    bool   `group:"Reading" help:"Read all logs anew: do not use or write the index in the cache directory."`
}

// Help is the long text of codexlag load --help.
func (*loadCmd) Help() string {
	return `Loading the same logs again, from several machines at once, or after a break, leaves every request once.
Load a session file and the trace of the same session in one call: then they become one request.

  codexlag load --to clickhouse://logs.example:8123/codex ~/.codex
  codexlag load --follow --user team-a --to clickhouse://logs.example/codex /var/log/gateway
  codexlag --from clickhouse://logs.example/codex --by model`
}

// Run reads the logs and brings them there.
func (c *loadCmd) Run(env *environment) error {
	env.quiet = c.Quiet
	switch {
	case c.Batch < 1:
		return usageError("--batch: %d is below 1", c.Batch)
	case c.RetryFor < 0:
		return usageError("--retry-for: %v is negative", c.RetryFor)
	case c.Every < 100*time.Millisecond:
		return usageError("--every: %v is shorter than 100ms", c.Every)
	}
	zone, err := location(c.Timezone)
	if err != nil {
		return err
	}
	db, err := database(env, "to", c.To, c.PasswordFile)
	if err != nil {
		return err
	}
	db.RetryFor = c.RetryFor
	if c.Host == "" {
		if c.Host, err = os.Hostname(); err != nil {
			return fmt.Errorf("asking for the name of this machine: %w; give --host", err)
		}
	}
	if err := db.Prepare(env.ctx); err != nil {
		return err
	}
	loader := clickhouse.NewLoader(env.ctx, db, clickhouse.LoadOptions{Host: c.Host, User: c.User, BatchRows: c.Batch, Parts: analyze.SplitTurn})
	inner := *env
	inner.ctx = loader.Context() // reading ends when nothing can be sent any more
	read, err := c.read(&inner, zone, loader)
	var logs []clickhouse.Log
	if read != nil {
		logs = logsOf(read)
	}
	if failed := loader.Close(logs); failed != nil && env.ctx.Err() == nil {
		return fmt.Errorf("%w\n%s went in before; load the same logs again to add only what is missing", failed, human.Plural(int(loader.Sent()), "row"))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "%s and %s of %s are in %s, as host %s\n", human.Plural(int(loader.Requests()), "request"), human.Plural(int(loader.Turns()), "turn"),
		human.Plural(len(logs), "file"), db, c.Host)
	if loader.Requests()+loader.Turns() == 0 {
		return read.nothing()
	}
	return read.verdict()
}

// read reads the logs, and what is added to them if that was asked for. What
// was read comes even with an error.
func (c *loadCmd) read(env *environment, zone *time.Location, loader *clickhouse.Loader) (*reading, error) {
	in := inputFlags{Jobs: c.Jobs, Quiet: c.Quiet, NoProgress: c.NoProgress, Strict: c.Strict, NoCache: c.NoCache}
	if !c.Follow {
		return in.read(env, zone, c.Paths, loader.Sink(), loader.Sink)
	}
	paths, err := orHome(c.Paths)
	if err != nil {
		return nil, err
	}
	meter := new(parse.Meter)
	stopProgress := env.showProgress(meter, c.NoProgress)
	caughtUp := false
	rd := &reading{strict: c.Strict}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(c.Every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				loader.Flush()
			}
		}
	}()
	rd.Summary, err = follow.Follow(env.ctx, paths, follow.Options{
		Options:  parse.Options{Jobs: c.Jobs, Location: zone, Stdin: env.stdin, Meter: meter},
		Poll:     c.Poll,
		CaughtUp: func() { stopProgress(); caughtUp = env.ctx.Err() == nil },
	}, rd.tally.filtered(&analyze.Filter{}, loader.Sink()))
	env.ending()
	close(done)
	<-stopped
	switch {
	case !caughtUp:
		stopProgress()
		return nil, errors.Join(err, context.Cause(env.ctx))
	case err != nil:
		return nil, err
	}
	rd.tell(env)
	return rd, nil
}

// database is the one that a flag names.
func database(env *environment, flag, address, passwordFile string) (*clickhouse.DB, error) {
	a, err := clickhouse.ParseAddress(address, passwordFile)
	if err != nil {
		return nil, usageError("--%s: %v", flag, err)
	}
	db := clickhouse.New(a)
	db.Warn = func(err error, again time.Duration) {
		env.warn("%v; trying again in %v", err, again.Round(100*time.Millisecond))
	}
	return db, nil
}

func logsOf(rd *reading) []clickhouse.Log {
	var l []clickhouse.Log
	for i := range rd.Logs {
		log := &rd.Logs[i]
		l = append(l, clickhouse.Log{Path: log.Path, Format: string(log.Format), Version: log.Version,
			Bytes: log.Bytes, Lines: log.Lines, Requests: int64(log.Requests), Turns: int64(log.Turns)})
	}
	return l
}
