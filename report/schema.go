package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// schemas describes all JSON that the program writes. Programs that read it may
// meet keys that it does not have: keys are only ever added.
//
//go:embed schema.json
var schemas []byte

// SchemaNames are the kinds of output that have a schema.
var SchemaNames = []string{"report", "compare", "request", "files"}

// Schema returns the JSON Schema (draft 2020-12) of that kind of output.
func Schema(name string) ([]byte, error) {
	if !slices.Contains(SchemaNames, name) {
		return nil, fmt.Errorf("there is no schema %q", name)
	}
	var all struct {
		Defs json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(schemas, &all); err != nil {
		return nil, fmt.Errorf("reading the schemas: %w", err)
	}
	return marshal(struct {
		Schema string          `json:"$schema"`
		ID     string          `json:"$id"`
		Ref    string          `json:"$ref"`
		Defs   json.RawMessage `json:"$defs"`
	}{"https://json-schema.org/draft/2020-12/schema", "urn:codexlag:" + name + ":1", "#/$defs/" + name, all.Defs}, "  ")
}
