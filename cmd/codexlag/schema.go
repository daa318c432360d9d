package main

import (
	"fmt"

	"codexlag/report"
)

// schemaCmd prints what the JSON looks like.
type schemaCmd struct {
	Kind string `arg:"" optional:"" default:"report" enum:"report,compare,request,files" help:"Of what: report, compare, request (a line of requests --format ndjson) or files."`
}

// Help is the long text of codexlag schema --help.
func (*schemaCmd) Help() string {
	return `Keys are only ever added, so readers should pass over those that they do not know.

  codexlag schema > report.schema.json
  codexlag schema request`
}

// Run prints the schema.
func (c *schemaCmd) Run(env *environment) error {
	text, err := report.Schema(c.Kind)
	if err != nil {
		return err
	}
	if _, err := env.stdout.Write(text); err != nil {
		return fmt.Errorf("writing the schema: %w", err)
	}
	return nil
}
