package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// exported are the rows below a folder of an export as the maps of their
// columns, by the file that they are in.
func exported(t *testing.T, dir, table string) map[string][]map[string]any {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, table, "date=*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]map[string]any{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		rows := parquet.NewReader(f)
		for range rows.NumRows() {
			row := map[string]any{}
			if err := rows.Read(&row); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			files[filepath.Base(filepath.Dir(path))] = append(files[filepath.Base(filepath.Dir(path))], row)
		}
		f.Close()
	}
	return files
}

// asJSON is a row as requests --format ndjson writes it.
func asJSON(t *testing.T, row map[string]any) string {
	t.Helper()
	for key, v := range row {
		switch v := v.(type) {
		case []byte:
			row[key] = string(v)
		case time.Time:
			row[key] = v.UTC()
		case int64:
			if key == "time" {
				row[key] = time.UnixMicro(v).UTC()
			}
		case []any:
			flags := []string{}
			for _, f := range v {
				if b, ok := f.([]byte); ok {
					f = string(b)
				}
				flags = append(flags, fmt.Sprint(f))
			}
			row[key] = flags
		case nil:
			if key == "flags" {
				row[key] = []string{}
			}
		}
	}
	return normal(t, row)
}

// normal is JSON with its keys sorted, and times in whole microseconds.
func normal(t *testing.T, v map[string]any) string {
	t.Helper()
	if s, ok := v["time"].(string); ok {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		v["time"] = at.Truncate(time.Microsecond)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is exported is what requests lists, row by row and figure by figure, each
// in the folder of its day, under every filter.
func TestExportIsWhatRequestsLists(t *testing.T) {
	dir := t.TempDir()
	many := write(t, dir, "many.log", manyFigures()+"[request] first_token_ms=2840 total_tokens=3 total_ms=3120 model==formula label=\"a, b\"\n")
	inputs := [][]string{{"testdata/quickstart"}, {"testdata/codexhome"}, {many}, {"testdata/codexhome", many},
		{"--model", "gpt-5.4-mini", "testdata/quickstart"}, {"--since", "2026-11-24T12:00:00Z", "testdata/quickstart"}, {"--where", "status=failed", many},
		{"--min-tokens", "3", "--slo", "ttft=1s", "testdata/quickstart"}, {"--anonymize", "--anonymize-key", "k", "testdata/codexhome"}}
	if cases, _ := filepath.Glob("../shared/cases/*/*"); len(cases) > 0 {
		for _, c := range cases {
			if filepath.Ext(c) != ".json" {
				inputs = append(inputs, []string{c})
			}
		}
	}
	for i, in := range inputs {
		to := filepath.Join(dir, fmt.Sprint(i))
		got := codexlag(t, "", append([]string{"export", to}, in...)...)
		lines := codexlag(t, "", append([]string{"requests", "--format", "ndjson"}, in...)...)
		if got.code != lines.code {
			t.Errorf("%v: exit %d, that of requests is %d: %s", in, got.code, lines.code, got.stderr)
		}
		var want, have []string
		for line := range strings.Lines(lines.stdout) {
			var q map[string]any
			if err := json.Unmarshal([]byte(line), &q); err != nil {
				t.Fatal(err)
			}
			want = append(want, normal(t, q))
		}
		for folder, rows := range exported(t, to, "requests") {
			for _, row := range rows {
				have = append(have, asJSON(t, row))
				day := "date=__HIVE_DEFAULT_PARTITION__"
				if at, ok := row["time"].(time.Time); ok {
					day = "date=" + at.Format(time.DateOnly)
				}
				if day != folder {
					t.Errorf("%v: a row of %s in %s", in, day, folder)
				}
			}
		}
		if got.code == exitOK && len(want) == 0 {
			t.Errorf("%v: nothing to compare", in)
		}
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(have, want) {
			t.Errorf("%v: %d rows, want %d: %s", in, len(have), len(want), firstDifference(strings.Join(have, "\n"), strings.Join(want, "\n")))
		}
	}
}

// Turns come along: as many as the report counts, with parts that add up to the
// same sums.
func TestExportTurns(t *testing.T) {
	to := filepath.Join(t.TempDir(), "x")
	got := codexlag(t, "", "export", "--format", "parquet", to, "testdata/codexhome")
	turns := at(reportJSON(t, "testdata/codexhome"), "overall", "turns")
	if want := fmt.Sprintf("78 requests and %v turns in 6 files\n", at(turns, "count")); got != (result{exitOK, want, ""}) {
		t.Errorf("%+v, want %q", got, want)
	}
	sums := map[string]float64{}
	for _, rows := range exported(t, to, "turns") {
		for _, row := range rows {
			sums["count"]++
			for _, part := range []string{"prefill_ms", "decode_ms", "model_ms", "tool_ms", "other_ms"} {
				if v, ok := row[part].(float64); ok {
					sums[part] += v
				}
			}
		}
	}
	for key, sum := range sums {
		same(t, key, sum, at(turns, key))
	}
}

// Exporting again replaces; a day that --since cuts is told.
func TestExportAgain(t *testing.T) {
	to := filepath.Join(t.TempDir(), "x")
	count := func() (n int) {
		for _, rows := range exported(t, to, "requests") {
			n += len(rows)
		}
		return n
	}
	for range 2 {
		if got := codexlag(t, "", "export", to, "testdata/quickstart"); got.code != exitOK || got.stderr != "" || count() != 160 {
			t.Errorf("%+v, %d rows", got, count())
		}
	}
	got := codexlag(t, "", "export", to, "testdata/quickstart", "--since", "2026-11-24T12:00:00Z")
	if got.code != exitOK || !strings.Contains(got.stderr, "date=2026-11-24 was replaced by a part of the day: --since cuts it at 12:00 UTC") || count() >= 160 || count() == 0 {
		t.Errorf("%+v, %d rows", got, count())
	}
	if got := codexlag(t, "", "export", to, "testdata/quickstart", "--since", "2026-11-24T00:00:00Z"); got.code != exitOK || got.stderr != "" || count() != 160 {
		t.Errorf("%+v, %d rows", got, count())
	}
}

func TestExportExitCodes(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "logs/good.log", "[request] first_token_ms=320 total_tokens=2180 total_ms=48200\n")
	text := write(t, dir, "notes.txt", "nothing here\n")
	write(t, dir, "half/requests", "a file where a folder must be\n")
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stderr string
		made   bool
	}{
		{"a good log", []string{"a", good}, exitOK, "", true},
		{"no folder", nil, exitUsage, "DIR is missing", false},
		{"no such format", []string{"b", good, "--format", "arrow"}, exitUsage, "parquet", false},
		{"into the logs", []string{"logs", filepath.Join(dir, "logs")}, exitUsage, "comes first", true},
		{"into a file", []string{"notes.txt", good}, exitIO, "exporting to", true},
		{"a file in the way", []string{"half", good}, exitIO, "half", true},
		{"nothing usable", []string{"c", text}, exitNothing, "1 file of no known format", false},
		{"nothing passes the filter", []string{"d", good, "--model", "x"}, exitNothing, "none of 1 request passes", false},
		{"a missing path beside a good log", []string{"e", good, filepath.Join(dir, "missing")}, exitIO, "missing", true},
		{"strictly", []string{"f", write(t, dir, "bad.jsonl", `{"first_token_ms":1,"total_ms":2}`+"\n{\"first_token_ms\":\n"), "--strict"}, exitIO, "bad.jsonl:2", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"export"}, c.args...)
			if len(c.args) > 0 {
				args[1] = filepath.Join(dir, c.args[0])
			}
			got := codexlag(t, "", args...)
			if got.code != c.code || !strings.Contains(got.stderr, c.stderr) || c.stderr == "" && got.stderr != "" {
				t.Errorf("exit %d, want %d; stderr %q, want %q in it", got.code, c.code, got.stderr, c.stderr)
			}
			if len(c.args) > 0 {
				if _, err := os.Stat(args[1]); (err == nil) != c.made {
					t.Errorf("the folder is there: %v, want %v", err == nil, c.made)
				}
				if left, _ := filepath.Glob(filepath.Join(args[1], ".*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
}

// Without a PATH, the home of Codex is read, and never written to by mistake.
func TestExportOfTheHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(home, os.DirFS("testdata/codexhome")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CODEX_HOME", home)
	to := filepath.Join(t.TempDir(), "x")
	if got := codexlag(t, "", "export", to); got.code != exitOK || !strings.HasPrefix(got.stdout, "78 requests") {
		t.Errorf("%+v", got)
	}
	if got := codexlag(t, "", "export", home); got.code != exitUsage || !strings.Contains(got.stderr, "codexlag export DIR") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(filepath.Join(home, "requests")); err == nil {
		t.Error("the home of Codex was written to")
	}
}

func TestExportInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := filepath.Join(t.TempDir(), "x")
	var out, err bytes.Buffer
	if code := run(ctx, strings.NewReader(""), &out, &err, []string{"export", to, "testdata/quickstart"}); code != exitInterrupted || out.Len() > 0 || err.Len() > 0 {
		t.Errorf("exit %d, output %q, %q", code, out.String(), err.String())
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("something is left behind")
	}
}

// Nothing of the originals is in an anonymous export, and nothing private in any.
func TestExportIsPrivate(t *testing.T) {
	logs := plantedLogs(t)
	to := filepath.Join(t.TempDir(), "out-"+planted)
	forbidden := append(originals(t, logs), logs)
	for _, args := range [][]string{{to, logs}, {filepath.Join(logs, "wrapper-"+planted+".log", "no"), logs}} {
		got := codexlag(t, "", append([]string{"export", "--anonymize"}, args...)...)
		for _, name := range forbidden {
			if strings.Contains(got.stdout+got.stderr, name) {
				t.Errorf("%q comes out: %+v", name, got)
			}
		}
	}
	rows := 0
	for _, table := range []string{"requests", "turns"} {
		for _, l := range exported(t, to, table) {
			for _, row := range l {
				rows++
				text := asJSON(t, row)
				for _, name := range forbidden {
					if strings.Contains(text, name) {
						t.Errorf("%s: %q is left in %s", table, name, text)
					}
				}
			}
		}
	}
	if rows < 60 {
		t.Errorf("only %d rows", rows)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if got := codexlag(t, "", "export", plain, "testdata/codexhome"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	for _, table := range []string{"requests", "turns"} {
		for _, l := range exported(t, plain, table) {
			for _, row := range l {
				if text := asJSON(t, row); strings.Contains(text, "SECRET") {
					t.Errorf("a secret comes out: %s", text)
				}
			}
		}
	}
}
