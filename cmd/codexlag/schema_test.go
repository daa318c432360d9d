package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"codexlag/report"
)

// strict forbids every key that the schema does not name, so that one that the
// program writes and the schema has forgotten shows.
func strict(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, open := v["additionalProperties"]
		if _, ok := v["properties"].(map[string]any); ok && !open {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			strict(x)
		}
	case []any:
		for _, x := range v {
			strict(x)
		}
	}
}

// validators compiles the schemas as the program prints them.
func validators(t *testing.T, tighten bool) map[string]*jsonschema.Schema {
	t.Helper()
	m := map[string]*jsonschema.Schema{}
	for _, name := range report.SchemaNames {
		got := codexlag(t, "", "schema", name)
		if got.code != exitOK {
			t.Fatalf("%+v", got)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(got.stdout))
		if err != nil {
			t.Fatal(err)
		}
		if tighten {
			strict(doc)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("urn:codexlag:"+name+":1", doc); err != nil {
			t.Fatal(err)
		}
		if m[name], err = c.Compile("urn:codexlag:" + name + ":1"); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func validate(t *testing.T, s *jsonschema.Schema, what, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s: %.2000s", what, fmt.Sprintf("%#v", err))
	}
}

// manyFigures is a log that has every figure a report can hold: models, bands,
// concurrency, a slow tail, failures.
func manyFigures() string {
	var b strings.Builder
	for i := range 120 {
		input := 1000 + 700*(i%37)
		ttft := 400 + input/8 + 13*(i%7)
		tokens := 500 + 11*(i%90)
		fmt.Fprintf(&b, "2026-09-14T10:%02d:%02dZ [request] first_token_ms=%d completion_tokens=%d total_ms=%d prompt_tokens=%d cached_tokens=%d reasoning_tokens=%d model=gpt-%d tokens_per_sec=50 label=l session=s%d\n",
			i/4, 15*(i%4), ttft, tokens, ttft+20*tokens, input, input*(i%10)/10, tokens/3, i%3, i%5)
	}
	b.WriteString("2026-09-14T11:00:00Z [request] status=429\n2026-09-14T11:00:01Z [request] status=aborted first_token_ms=3\n2026-09-14T11:00:02Z [request] first_token_ms=3 total_tokens=0\n")
	return b.String()
}

// All JSON of all inputs that the tests have is as the schema says.
func TestJSONIsAsTheSchemaSays(t *testing.T) {
	schemas := validators(t, true)
	inputs := []string{"testdata/quickstart", "testdata/codexhome", "testdata/compare", write(t, t.TempDir(), "many.log", manyFigures()),
		write(t, t.TempDir(), "one.log", "[request] first_token_ms=2840 total_tokens=3 total_ms=3120\n")}
	if cases, _ := filepath.Glob("../shared/cases/*/*"); len(cases) > 0 {
		for _, c := range cases {
			if filepath.Ext(c) != ".json" {
				inputs = append(inputs, c)
			}
		}
	}
	for _, in := range inputs {
		for _, more := range [][]string{nil, {"--by", "model,session,cache,hour", "--percentiles", "50,75,99.9", "--anonymize"}} {
			if got := codexlag(t, "", append([]string{"--format", "json", in}, more...)...); got.code != exitNothing {
				validate(t, schemas["report"], in, got.stdout)
			}
			if got := codexlag(t, "", append([]string{"compare", "--format", "json", in, "testdata/quickstart"}, more...)...); got.code != exitNothing {
				validate(t, schemas["compare"], in, got.stdout)
			}
		}
		for line := range strings.Lines(codexlag(t, "", "requests", "--format", "ndjson", in).stdout) {
			validate(t, schemas["request"], in, line)
		}
		if got := codexlag(t, "", "files", "--format", "json", in); got.code == exitOK {
			validate(t, schemas["files"], in, got.stdout)
		}
	}
}

// A key that the schema does not name fails the test above, and no user of the schema.
func TestSchemaIsStrictOnlyInTests(t *testing.T) {
	text := `{"name":"codexlag","version":"1","more":1}`
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(codexlag(t, "", "--format", "json", "testdata/quickstart").stdout, `"name": "codexlag",`, `"name": "codexlag", "more": 1,`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := validators(t, true)["report"].Validate(doc); err == nil {
		t.Errorf("%s passes the strict schema", text)
	}
	if err := validators(t, false)["report"].Validate(doc); err != nil {
		t.Errorf("%s fails the schema: %v", text, err)
	}
}

func TestSchemaCommand(t *testing.T) {
	if got, again := codexlag(t, "", "schema"), codexlag(t, "", "schema", "report"); got != again || got.code != exitOK {
		t.Errorf("%+v", got.code)
	}
	if got := codexlag(t, "", "schema", "reports"); got.code != exitUsage || !strings.Contains(got.stderr, "did you mean") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat("report/schema.json"); err != nil {
		t.Error(err)
	}
}
