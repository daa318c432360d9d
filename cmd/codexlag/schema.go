package main

import (
	"fmt"
	"strings"

	"codexlag/analyze/clickhouse"
	"codexlag/report"
)

// schemaCmd prints what the JSON looks like.
type schemaCmd struct {
	Kind string `arg:"" optional:"" default:"report" enum:"report,compare,request,files,clickhouse" help:"Of what: report, compare, request (a line of requests --format ndjson), files; or clickhouse, the SQL that makes the tables of load."`
}

// Help is the long text of codexlag schema --help.
func (*schemaCmd) Help() string {
	return `Keys are only ever added, so readers should pass over those that they do not know.

  codexlag schema > report.schema.json
  codexlag schema request
  codexlag schema clickhouse | clickhouse-client --multiquery --database codex`
}

// Run prints the schema.
func (c *schemaCmd) Run(env *environment) error {
	var text []byte
	var err error
	if c.Kind == "clickhouse" {
		text = []byte(strings.Join(clickhouse.Statements(), ";\n") + ";\n")
	} else if text, err = report.Schema(c.Kind); err != nil {
		return err
	}
	if _, err := env.stdout.Write(text); err != nil {
		return fmt.Errorf("writing the schema: %w", err)
	}
	return nil
}
