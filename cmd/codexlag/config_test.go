package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a file below dir and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Flags come before variables, those before the file of --config, that before
// the user's own, that before the default.
func TestPrecedenceOfSettings(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	named := write(t, home, "named.toml", "min-tokens = 3\n")
	minTokens := func(args ...string) float64 {
		t.Helper()
		got := codexlag(t, "", append(args, "--format", "json", "testdata/quickstart")...)
		var r struct {
			Options struct {
				MinTokens float64 `json:"min_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatalf("%v: %s", err, got.stderr)
		}
		return r.Options.MinTokens
	}
	expect := func(what string, want float64, args ...string) {
		t.Helper()
		if got := minTokens(args...); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("default", 500)
	write(t, home, "codexlag.toml", "min-tokens = 5\n")
	expect("codexlag.toml of the user", 5)
	write(t, home, "codexlag/config.toml", "min_tokens = 4\n")
	expect("codexlag/config.toml of the user", 4)
	expect("--config", 3, "--config", named)
	t.Setenv("CODEXLAG_CONFIG", named)
	expect("CODEXLAG_CONFIG", 3)
	t.Setenv("CODEXLAG_MIN_TOKENS", "")
	expect("an empty variable", 3)
	t.Setenv("CODEXLAG_MIN_TOKENS", "2")
	expect("a variable", 2)
	expect("a flag", 1, "--min-tokens", "1")
}

func TestSettingsInAFile(t *testing.T) {
	dir := t.TempDir()
	with := func(text string, args ...string) result {
		t.Helper()
		return codexlag(t, "", append([]string{"--config", write(t, dir, "c.toml", text)}, args...)...)
	}
	const logs = "testdata/quickstart"
	for _, c := range []struct {
		name, config string
		same         []string // flags that mean the same
		args         []string
	}{
		{"lists", "by = [\"label\", 'model'] # two\npercentiles = [\n 50, # the median\n 99.9,\n]\n", []string{"--by", "label,model", "--percentiles", "50,99.9"}, []string{logs}},
		{"a text with commas", `slo = "ttft=3s,tps=30"`, []string{"--slo", "ttft=3s,tps=30"}, []string{logs}},
		{"conditions", `where = ["label=long-input,x", "status=ok"]`, []string{"--where", "label=long-input,x", "--where", "status=ok"}, []string{logs}},
		{"a date", "until = 2026-11-24T12:00:00Z", []string{"--until", "2026-11-24T12:00:00Z"}, []string{logs}},
		{"truth", "quiet = true\nno-color = false", []string{"--quiet"}, []string{logs}},
		{"a table beats the top", "format = \"text\"\n[report]\nformat = \"json\"", []string{"--format", "json"}, []string{logs}},
		{"a dotted key", "report.top = 3", []string{"--top", "3"}, []string{logs}},
		{"the table of another command", "[requests]\nformat = \"csv\"", nil, []string{logs}},
		{"a flag that the command has not", "by = 'model'\nmin_tokens = 1_000", []string{"--min-tokens", "1000"}, []string{"requests", logs}},
		{"a command's own table", "[requests]\nformat = \"csv\"", []string{"--format", "csv"}, []string{"requests", logs}},
		{"a choice of other commands", "format = \"html\"", nil, []string{"requests", logs}},
		{"a choice of this command", "format = \"csv\"", []string{"--format", "csv"}, []string{"requests", logs}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := with(c.config, c.args...), codexlag(t, "", append(append([]string{}, c.args...), c.same...)...)
			if got != want || got.code != exitOK {
				t.Errorf("exit %d, %s; differs from %v: %v", got.code, got.stderr, c.same, got.stdout != want.stdout)
			}
		})
	}
	for _, c := range []struct{ name, config, stderr string }{
		{"an unknown key", "quiet = true\nmin_tokes = 5", `c.toml:2: unknown key "min_tokes"; did you mean "min-tokens"?`},
		{"an unknown key of a table", "[report]\nformats = 5", `c.toml:2: unknown key "report.formats"; did you mean "format"?`},
		{"the key of another command", "[requests]\nby = 'model'", `c.toml:2: unknown key "requests.by"`},
		{"an unknown table", "[request]\n", `c.toml:1: unknown table [request]: it must be a command with flags; did you mean "requests"?`},
		{"a table of a table", "[report.x]\n", "c.toml:1: unknown table [report.x]"},
		{"a list of tables", "[[report]]\n", "c.toml:1: unknown table [report]"},
		{"a flag that is no setting", "version = true", `c.toml:1: unknown key "version"`},
		{"one key twice", "min-tokens = 1\nmin_tokens = 1", "c.toml:2: min-tokens is set twice"},
		{"TOML's own rules", "top = 1\ntop = 2", "c.toml:2: "},
		{"no TOML", "quiet = true\ntop: 5", "c.toml:2: "},
		{"a value of a wrong kind", "\ntop = 'many'", "c.toml:2: --top: "},
		{"a value that is wrong", "slo = 'ttft=fast'", "c.toml:1: --slo: ttft=fast"},
		{"a value that is no choice", "color = 'auto'\nformat = 'htm'", `c.toml:2: --format must be one of "markdown","text","html","json","csv" but got "htm"; did you mean "html"?`},
		{"a list for one value", "top = [1, 2]", "c.toml:1: --top: takes one value"},
		{"a table for a value", "top = {a = 1}", "c.toml:1: top: the value must be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := with(c.config, logs); got.code != exitUsage || !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("exit %d, %q, want %q in it", got.code, got.stderr, c.stderr)
			}
		})
	}
	t.Run("no such file", func(t *testing.T) {
		if got := codexlag(t, "", "--config", filepath.Join(dir, "none.toml"), logs); got.code != exitIO || !strings.Contains(got.stderr, "none.toml") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no file that ends", func(t *testing.T) {
		for _, path := range []string{"/dev/zero", dir, write(t, dir, "long.toml", strings.Repeat("#\n", configMax))} {
			if got := codexlag(t, "", "--config", path, logs); got.code != exitIO || !strings.Contains(got.stderr, path) {
				t.Errorf("%+v", got)
			}
		}
	})
	t.Run("what needs no settings", func(t *testing.T) {
		if got := with("nonsense", "--help"); got.code != exitOK {
			t.Errorf("%+v", got)
		}
	})
}

func TestVariables(t *testing.T) {
	t.Setenv("CODEXLAG_BY", "label,model")
	if got, want := codexlag(t, "", "testdata/quickstart"), codexlag(t, "", "--by", "label", "--by", "model", "testdata/quickstart"); got != want {
		t.Error("CODEXLAG_BY is not --by")
	}
	t.Setenv("CODEXLAG_TOP", "some")
	if got := codexlag(t, "", "testdata/quickstart"); got.code != exitUsage || !strings.Contains(got.stderr, "CODEXLAG_TOP: --top: ") {
		t.Errorf("%+v", got)
	}
	t.Setenv("CODEXLAG_TOP", "")
	t.Setenv("CODEXLAG_MIN_TOKEN", "5")
	if got := codexlag(t, "", "testdata/quickstart"); got.code != exitUsage || !strings.Contains(got.stderr, `did you mean "CODEXLAG_MIN_TOKENS"?`) {
		t.Errorf("%+v", got)
	}
}

func TestVariableOfNobody(t *testing.T) {
	t.Setenv("CODEXLAG_FOOBAR", "1")
	if got := codexlag(t, "", "testdata/quickstart"); got.code != exitOK || !strings.Contains(got.stderr, "unknown variable CODEXLAG_FOOBAR does nothing") {
		t.Errorf("%+v", got)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("top = 1\n[report]\nby = ['a', \"b\"]\n")
	f.Add("a.b.c = {d = [1, 2020-01-01]}\n[[x]]\n")
	g := &grammar{flags: []string{"top", "by"}, commands: map[string][]string{"report": {"top", "by"}}}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig("c.toml", []byte(text), g)
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "c.toml") {
			t.Errorf("the error does not say where: %v", err)
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"markdown", "text", "html", "json", "csv"}
	for word, want := range map[string]string{"htm": "html", "jsn": "json", "mark": "markdown", "TEXTS": "text", "TEXT": "", "pdf": "", "xml": "", "csv": "", "tsv": "csv", "": "", "x": ""} {
		if got := nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
