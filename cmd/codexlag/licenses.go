package main

import (
	_ "embed"
	"fmt"
)

// licensesCmd prints the notices of what others wrote and the program contains.
type licensesCmd struct{}

// notices is generated: go test ./cmd/codexlag -update.
//
//go:embed licenses.txt
var notices []byte

// Run prints them.
func (c *licensesCmd) Run(env *environment) error {
	if _, err := env.stdout.Write(notices); err != nil {
		return fmt.Errorf("writing the licences: %w", err)
	}
	return nil
}
