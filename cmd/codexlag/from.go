package main

import (
	"time"

	"codexlag/analyze"
	"codexlag/analyze/clickhouse"
	"codexlag/analyze/human"
	"codexlag/parse"
)

// fromFlags say that the records are in a database.
type fromFlags struct {
	From         string `placeholder:"URL" group:"Database" help:"Take what codexlag load brought there, not logs: clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DB. Counting and sorting happen there."`
	PasswordFile string `placeholder:"FILE" group:"Database" help:"Take the password of --from from this file; or from CODEXLAG_CLICKHOUSE_PASSWORD."`
}

// wanted reports whether the database is what the call is about: paths on the
// command line come before an address in the settings.
func (f *fromFlags) wanted(env *environment, paths []string) bool {
	return f.From != "" && (len(paths) == 0 || env.settings.origin["from"] == "")
}

// open checks that the flags go together, and returns the database and what
// of it counts.
func (f *fromFlags) open(env *environment, in *inputFlags, zone *time.Location, paths []string, follow bool, outputs []output) (*clickhouse.DB, *analyze.Filter, error) {
	switch {
	case len(paths) > 0:
		return nil, nil, usageError("--from takes what is in the database; leave out %s, or bring it there with codexlag load", paths[0])
	case follow:
		return nil, nil, usageError("--from and --follow do not go together; codexlag load --follow brings there what is added")
	case env.names != nil:
		return nil, nil, usageError("--from and --anonymize do not go together: the pseudonyms are made while logs are read")
	case anyPage(outputs):
		return nil, nil, usageError("--from has no HTML: its charts are drawn from the requests themselves; take text, markdown or json")
	}
	filter, err := in.filter(now(), zone)
	if err != nil {
		return nil, nil, err
	}
	db, err := database(env, "from", f.From, f.PasswordFile)
	return db, &filter, err
}

// fetch asks the database for the figures of what the filters keep.
func (c *reportCmd) fetch(env *environment, zone *time.Location, outputs []output, options analyze.Options) (*analyze.Collector, *reading, error) {
	db, filter, err := c.open(env, &c.inputFlags, zone, c.Paths, c.Follow, outputs)
	if err != nil {
		return nil, nil, err
	}
	collector, inputs, err := analyze.Fetch(env.ctx, db, options, filter)
	if err != nil {
		return nil, nil, err
	}
	rd := &reading{Summary: new(parse.Summary), stored: inputs}
	if collector.Requests() == 0 && collector.Turns() == 0 {
		return nil, nil, rd.nothingStored(db.String(), filter)
	}
	return collector, rd, nil
}

// nothingStored says why there is no report.
func (rd *reading) nothingStored(db string, filter *analyze.Filter) error {
	msg := "nothing usable found: " + db + " holds no request or turn"
	if !filter.KeepsAll() {
		msg += " that passes the filters"
	}
	if rd.stored.Files > 0 {
		msg += "; it is from " + human.Plural(rd.stored.Files, "log")
	}
	return &exitError{exitNothing, msg}
}
