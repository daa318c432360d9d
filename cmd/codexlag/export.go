package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/parse/record"
	"codexlag/report/export"
)

// exportCmd writes requests and turns for engines that ask with SQL.
type exportCmd struct {
	Dir string `arg:"" name:"dir" help:"Folder to write to; made if need be."`
	pathArgs
	inputFlags
	figureFlags

	Format string `placeholder:"FORMAT" enum:"parquet" default:"parquet" group:"Output" help:"${enum} (the only one so far)."`
}

// Help is the long text of codexlag export --help.
func (*exportCmd) Help() string {
	return `One row a request in DIR/requests/date=YYYY-MM-DD/codexlag.parquet and one row
a turn in the same way below DIR/turns, for DuckDB, Spark and Trino. Dates are
UTC; what has no time is in date=__HIVE_DEFAULT_PARTITION__. The columns are
those of codexlag requests --format csv; each file describes them.

A day that is written again is replaced as a whole, so give all logs of a day at
once, or one DIR a machine. Other days and files of others stay.

  codexlag export ~/latency
  codexlag export --format parquet pool/host=build-7 logs/
  codexlag export --since 2026-11-01 --timezone UTC ~/latency
  duckdb -c "FROM '~/latency/requests/*/*.parquet'"`
}

// Run reads the logs and writes what they tell.
func (c *exportCmd) Run(env *environment) error {
	env.quiet = c.Quiet
	env.hide(c.Dir)
	zone, err := location(c.Timezone)
	if err != nil {
		return err
	}
	options, err := c.figureFlags.options(zone)
	if err != nil {
		return err
	}
	filter, err := c.filter(now(), zone)
	if err != nil {
		return err
	}
	paths, err := orHome(c.Paths)
	if err != nil {
		return err
	}
	if err := notAmong(c.Dir, paths); err != nil {
		return err
	}
	read, written, err := c.write(env, zone, &options, paths)
	if err != nil {
		return err
	}
	if written == nil {
		return read.nothing()
	}
	warnOfParts(env, &filter, written.Replaced)
	if _, err := fmt.Fprintf(env.stdout, "%s and %s in %s\n", human.Plural(written.Requests, "request"), human.Plural(written.Turns, "turn"), human.Plural(written.Files, "file")); err != nil {
		return fmt.Errorf("writing what was exported: %w", err)
	}
	return read.verdict()
}

// notAmong refuses to write where logs are read from: then DIR was forgotten.
func notAmong(dir string, paths []string) error {
	to, err := os.Stat(dir)
	if err != nil {
		return nil // it is made, or the error comes when it is written to
	}
	for _, p := range paths {
		if from, err := os.Stat(p); err == nil && os.SameFile(from, to) {
			return usageError("%s is where the logs are; the folder to write to comes first: codexlag export DIR %s", dir, p)
		}
	}
	return nil
}

// write exports the requests and turns as they are read. Where there are none,
// nothing is written and written is nil.
func (c *exportCmd) write(env *environment, zone *time.Location, options *analyze.Options, paths []string) (_ *reading, written *export.Written, err error) {
	wrap := func(err error) error {
		if err == nil || env.ctx.Err() != nil {
			return err
		}
		if env.names != nil {
			err = cause(err) // without the names of files below
		}
		return fmt.Errorf("exporting to %s: %w", c.Dir, err)
	}
	data, err := export.Create(env.ctx, c.Dir, metadata(options))
	if err != nil {
		return nil, nil, wrap(err)
	}
	defer func() {
		if err2 := data.Discard(); err == nil {
			err = wrap(err2)
		}
	}()
	var writeErr error
	read, err := c.read(env, zone, paths, func(r record.Record) {
		if writeErr != nil {
			return
		}
		switch r := r.(type) {
		case *record.Request:
			writeErr = data.Request(analyze.NewRequest(r, options))
		case *record.Turn:
			writeErr = data.Turn(analyze.NewTurn(r, options))
		}
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	if writeErr != nil {
		return nil, nil, wrap(writeErr)
	}
	if requests, turns := data.Rows(); requests == 0 && turns == 0 {
		return read, nil, nil
	}
	written, err = data.Commit()
	return read, written, wrap(err)
}

// metadata says in each file what its flags stand on.
func metadata(o *analyze.Options) map[string]string {
	return map[string]string{
		"codexlag.version":     version(),
		"codexlag.min_tokens":  strconv.FormatInt(o.MinTokens, 10),
		"codexlag.slo_ttft_ms": strconv.FormatFloat(float64(o.SLO.TTFT)/float64(time.Millisecond), 'f', -1, 64),
		"codexlag.slo_tps":     strconv.FormatFloat(o.SLO.TPS, 'f', -1, 64),
	}
}

// warnOfParts tells of days that --since or --until cut and that were there
// before: they hold only a part now.
func warnOfParts(env *environment, f *analyze.Filter, replaced []string) {
	for _, edge := range []struct {
		flag string
		at   time.Time
	}{{"since", f.Since}, {"until", f.Until}} {
		at := edge.at.UTC()
		day := at.Format(time.DateOnly)
		if !edge.at.IsZero() && !at.Equal(at.Truncate(24*time.Hour)) && slices.Contains(replaced, day) {
			env.warn("date=%s was replaced by a part of the day: --%s cuts it at %s UTC; days are UTC", day, edge.flag, at.Format("15:04"))
		}
	}
}
