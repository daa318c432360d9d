package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codexlag/report/export"
)

const sqlPage = "report/export/sql.md"

// A rows is the result of a statement.
type rows struct {
	Columns []string
	Types   []string
	Rows    [][]any
}

// duckdb runs statements in a real DuckDB, one after the other, and returns the
// result of each. Where there is none the test is skipped.
func duckdb(t *testing.T, statements ...string) []rows {
	t.Helper()
	if os.Getenv("DUCKDB_NODE") == "" {
		t.Skip("no DuckDB: DUCKDB_NODE must name the folder that npm installed @duckdb/node-api into, as .ci/run does")
	}
	in, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/duckdb.cjs")
	cmd.Stdin = bytes.NewReader(in)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("DuckDB: %v: %s", err, stderr.String())
	}
	var out []rows
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v in %.200s", err, stdout.String())
	}
	return out
}

// cell is the value of a column; nil for null.
func (r *rows) cell(t *testing.T, row int, column string) any {
	t.Helper()
	i := slices.Index(r.Columns, column)
	if i < 0 || row >= len(r.Rows) {
		t.Fatalf("no column %s in row %d of %v", column, row, r.Columns)
	}
	return r.Rows[row][i]
}

// number is a value as a number: DuckDB's 64 bit integers come as strings.
func number(t *testing.T, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case float64:
		return v
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return f
		}
	}
	t.Fatalf("%v is no number", v)
	return 0
}

// same fails the test unless a value of DuckDB is that of the report, which is
// nil, a number or a text. Sums may differ in the last bits.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if w, ok := want.(float64); ok && got != nil {
		if g := number(t, got); math.Abs(g-w) <= 1e-9*math.Max(math.Abs(g), math.Abs(w)) {
			return
		}
	} else if got == want {
		return
	}
	t.Errorf("%s: DuckDB says %v, the report %v", what, got, want)
}

// at walks down JSON: at(report, "overall", "ttft_ms", "p50"). Nil where there
// is nothing.
func at(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// zero is a figure that the report leaves out where it counts none.
func zero(v any) any {
	if v == nil {
		return 0.0
	}
	return v
}

func reportJSON(t *testing.T, args ...string) map[string]any {
	t.Helper()
	got := codexlag(t, "", append([]string{"--format", "json"}, args...)...)
	var r map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return r
}

// groups are the groups of a dimension by their keys.
func groups(report map[string]any, by string) map[string]any {
	m := map[string]any{}
	for _, g := range report["groups"].([]any) {
		if at(g, "by") == by {
			m[at(g, "key").(string)] = at(g, "group")
		}
	}
	return m
}

// text is a value as a key of the report: "" for null.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// A query is a block of SQL on the page.
type query struct{ heading, sql string }

func pageQueries(t *testing.T) []query {
	t.Helper()
	page, err := os.ReadFile(sqlPage)
	if err != nil {
		t.Fatal(err)
	}
	var l []query
	heading := ""
	var sql *strings.Builder
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "## "):
			heading = strings.TrimSpace(line[3:])
		case strings.HasPrefix(line, "```sql"):
			sql = new(strings.Builder)
		case strings.HasPrefix(line, "```") && sql != nil:
			l = append(l, query{heading, sql.String()})
			sql = nil
		case sql != nil:
			sql.WriteString(line)
		}
	}
	return l
}

// sqlLiteral is a path for use in a text of SQL.
func sqlLiteral(path string) string {
	return strings.ReplaceAll(filepath.ToSlash(path), "'", "''")
}

// oddRequests is a log of what the definitions treat in their own ways.
const oddRequests = `2026-09-14T12:00:00Z [request] first_token_ms=100 completion_tokens=5000 total_ms=1100 model=odd note=a-burst-of-many-tokens
2026-09-14T12:01:00Z [request] first_token_ms=500 completion_tokens=600 total_ms=60500 model=odd note=a-slow-stream
2026-09-14T12:02:00Z [request] first_token_ms=900 completion_tokens=600 total_ms=500 model=odd note=the-first-token-after-the-last
2026-09-14T12:03:00Z [request] first_token_ms=100 total_ms=95000 model=odd note=no-tokens
2026-09-14T12:04:00Z [request] first_token_ms=700 completion_tokens=1 total_ms=700 model=odd note=no-decode
2026-09-14T12:05:00Z [request] first_token_ms=700 completion_tokens=2 total_ms=700 model=odd note=came-in-one-piece
2026-09-14T12:06:00Z [request] completion_tokens=700 total_ms=9000 tokens_per_sec=100 model=odd note=derived
2026-09-14T12:07:00Z [request] completion_tokens=700 total_ms=8000 model=odd note=no-ttft
2026-09-14T12:08:00Z [request] first_token_ms=6000 model=odd note=a-slow-start-without-a-total
2026-09-14T12:09:00Z [request] status=failed error=timeout first_token_ms=300 total_ms=99000 completion_tokens=900 model=odd
[request] first_token_ms=320 completion_tokens=2180 total_ms=48200 note=no-time-and-no-model
`

// Each query of the page gives what the report of the same logs says.
func TestSQLPage(t *testing.T) {
	dir := t.TempDir()
	many, odd := write(t, dir, "many.log", manyFigures()), write(t, dir, "odd.log", oddRequests)
	queries := pageQueries(t)
	for name, logs := range map[string][]string{
		"quickstart": {"testdata/quickstart"}, "codexhome": {"testdata/codexhome"}, "many figures": {many}, "many and odd": {many, odd},
		"all": {"testdata/quickstart", "testdata/codexhome", "testdata/compare", many, odd},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			latency, pool := filepath.Join(dir, "latency"), filepath.Join(dir, "pool")
			for _, to := range []string{latency, filepath.Join(pool, "host=a"), filepath.Join(pool, "host=b")} {
				if got := codexlag(t, "", append([]string{"export", "--format", "parquet", to}, logs...)...); got.code != exitOK || got.stderr != "" {
					t.Fatalf("%+v", got)
				}
			}
			if _, err := os.Stat(filepath.Join(latency, "turns")); err != nil { // logs without turns: an empty table, so that the view can be made
				emptyTurns(t, latency)
			}
			var statements []string
			for _, q := range queries {
				statements = append(statements, strings.NewReplacer("'latency/", "'"+sqlLiteral(latency)+"/", "'pool/", "'"+sqlLiteral(pool)+"/").Replace(q.sql))
			}
			results := duckdb(t, statements...)
			r := reportJSON(t, append([]string{"--by", "model", "--by", "day", "--by", "hour", "--timezone", "UTC"}, logs...)...)
			for i, q := range queries {
				check := sqlChecks[q.heading]
				if check == nil {
					t.Errorf("%q is not tested", q.heading)
					continue
				}
				t.Run(q.heading, func(t *testing.T) { check(t, &results[i], r, logs) })
			}
		})
	}
}

// emptyTurns makes a table of turns that has no rows.
func emptyTurns(t *testing.T, dir string) {
	t.Helper()
	other := t.TempDir()
	if got := codexlag(t, "", "export", other, "testdata/codexhome"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	to := filepath.Join(dir, "turns", "date=2000-01-01")
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	duckdb(t, fmt.Sprintf("COPY (SELECT * EXCLUDE (date) FROM '%s/turns/*/*.parquet' WHERE false) TO '%s/none.parquet'", sqlLiteral(other), sqlLiteral(to)))
}

var sqlChecks = map[string]func(t *testing.T, got *rows, report map[string]any, logs []string){
	"Tables for the session": func(*testing.T, *rows, map[string]any, []string) {}, // the others ask them
	"TTFT by model": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		want := withFigure(groups(report, "model"), "ttft_ms")
		eachGroup(t, got, "model", want, func(i int, group any) {
			for column, stat := range map[string]string{"n": "n", "min": "min", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "max": "max", "mean": "mean"} {
				same(t, column, got.cell(t, i, column), at(group, "ttft_ms", stat))
			}
		})
	},
	"TPS by model: clean, all and pooled": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		want := groups(report, "model")
		maps.DeleteFunc(want, func(_ string, g any) bool { return at(g, "tps", "all") == nil })
		eachGroup(t, got, "model", want, func(i int, group any) {
			same(t, "n_clean", got.cell(t, i, "n_clean"), zero(at(group, "tps", "clean", "n")))
			same(t, "clean_p50", got.cell(t, i, "clean_p50"), at(group, "tps", "clean", "p50"))
			same(t, "clean_p90", got.cell(t, i, "clean_p90"), at(group, "tps", "clean", "p90"))
			same(t, "tpot_p50", got.cell(t, i, "tpot_p50"), at(group, "tpot_ms", "p50"))
			same(t, "n_all", got.cell(t, i, "n_all"), at(group, "tps", "all", "n"))
			same(t, "all_p50", got.cell(t, i, "all_p50"), at(group, "tps", "all", "p50"))
			same(t, "pooled", got.cell(t, i, "pooled"), at(group, "tps", "pooled"))
		})
	},
	"By day": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		eachGroup(t, got, "day", groups(report, "day"), func(i int, group any) {
			sameTimes(t, got, i, group)
			same(t, "failed", got.cell(t, i, "failed"), at(group, "failed"))
			same(t, "n_clean", got.cell(t, i, "n_clean"), zero(at(group, "tps", "clean", "n")))
			same(t, "tps_clean_p50", got.cell(t, i, "tps_clean_p50"), at(group, "tps", "clean", "p50"))
		})
	},
	"By hour of the day": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		eachGroup(t, got, "hour", groups(report, "hour"), func(i int, group any) { sameTimes(t, got, i, group) })
	},
	"Where the time went": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		for column, key := range map[string]string{"n": "requests", "prefill_ms": "prefill_ms", "decode_ms": "decode_ms", "total_ms": "total_ms", "prefill_share": "prefill_share", "unsplit_ms": "unsplit_ms"} {
			same(t, column, got.cell(t, 0, column), at(report, "overall", "time", key))
		}
	},
	"Why the slow ones are slow": func(t *testing.T, got *rows, report map[string]any, logs []string) {
		tail := at(report, "overall", "verdict", "tail")
		if tail == nil {
			t.Fatal("the report has no tail: the logs are too few")
		}
		for column, key := range map[string]string{"n": "requests", "delta_total_ms": "delta_total_ms", "ttft_part_ms": "ttft_ms", "length_part_ms": "length_ms", "speed_part_ms": "speed_ms"} {
			same(t, column, got.cell(t, 0, column), at(tail, key))
		}
		same(t, "share_of_time", got.cell(t, 0, "share_of_time"), tailShare(t, logs, int(at(tail, "requests").(float64))))
	},
	"What the prompt cache does": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		bands, _ := at(report, "overall", "ttft_by_cache").([]any)
		if len(got.Rows) != len(bands) {
			t.Fatalf("%d bands, want %d", len(got.Rows), len(bands))
		}
		for i, b := range bands {
			same(t, "cached", got.cell(t, i, "cached"), at(b, "key"))
			same(t, "n", got.cell(t, i, "n"), at(b, "requests"))
			same(t, "ttft_p50", got.cell(t, i, "ttft_p50"), at(b, "ttft_p50_ms"))
		}
	},
	"How good the samples are": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		key, want := "flag", at(report, "quality", "flags").(map[string]any)
		if slices.Contains(got.Columns, "ttft_quality") {
			key, want = "ttft_quality", at(report, "quality", "ttft").(map[string]any)
		}
		seen := 0
		for i := range got.Rows {
			name := text(got.cell(t, i, key))
			same(t, name, got.cell(t, i, "n"), want[name])
			seen++
		}
		for name, n := range want {
			if n == 0.0 {
				seen++
			} else if !slices.ContainsFunc(got.Rows, func(r []any) bool { return r[0] == name }) {
				t.Errorf("%s is missing", name)
			}
		}
		if seen < len(want) {
			t.Errorf("%d names, want %d", seen, len(want))
		}
	},
	"The slowest requests": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		slowest := report["slowest"].([]any)
		if len(got.Rows) < len(slowest) {
			t.Fatalf("%d requests, want %d", len(got.Rows), len(slowest))
		}
		for i, q := range slowest {
			same(t, "source", got.cell(t, i, "source"), at(q, "source"))
			for _, column := range []string{"total_ms", "ttft_ms", "output_tokens", "tps", "model", "phase"} {
				same(t, column, got.cell(t, i, column), at(q, column))
			}
			if flags := got.cell(t, i, "flags"); fmt.Sprint(flags) != fmt.Sprint(at(q, "flags")) {
				t.Errorf("flags %v, want %v", flags, at(q, "flags"))
			}
		}
	},
	"How many keep the limits": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		for _, column := range []string{"met", "missed", "share"} {
			same(t, column, got.cell(t, 0, column), at(report, "overall", "slo", column))
		}
	},
	"What failed": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		n := map[string]float64{}
		for i := range got.Rows {
			n[text(got.cell(t, i, "status"))] += number(t, got.cell(t, i, "n"))
			if text(got.cell(t, i, "status")) == "failed" && got.cell(t, i, "http_status") == nil && got.cell(t, i, "error") == nil {
				t.Error("a failed request without a reason")
			}
		}
		same(t, "failed", n["failed"], at(report, "overall", "failed"))
		same(t, "aborted", n["aborted"], at(report, "overall", "aborted"))
	},
	"Where the time of agent turns went": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		turns := at(report, "overall", "turns")
		same(t, "turns", got.cell(t, 0, "turns"), at(turns, "count"))
		same(t, "aborted", got.cell(t, 0, "aborted"), at(turns, "aborted"))
		same(t, "n", got.cell(t, 0, "n"), zero(at(turns, "duration_ms", "n")))
		same(t, "p50", got.cell(t, 0, "p50"), at(turns, "duration_ms", "p50"))
		same(t, "p90", got.cell(t, 0, "p90"), at(turns, "duration_ms", "p90"))
		for _, part := range []string{"prefill_ms", "decode_ms", "model_ms", "tool_ms", "other_ms"} {
			v := got.cell(t, 0, part)
			if v == nil && at(turns, "count") == 0.0 {
				v = 0.0 // SQL's sum of nothing
			}
			same(t, part, v, at(turns, part))
		}
	},
	"Many machines": func(t *testing.T, got *rows, report map[string]any, _ []string) {
		if len(got.Rows) != 2 {
			t.Fatalf("%d hosts, want 2", len(got.Rows))
		}
		for i, host := range []string{"a", "b"} {
			same(t, "host", got.cell(t, i, "host"), host)
			same(t, "n", got.cell(t, i, "n"), at(report, "overall", "ttft_ms", "n"))
			same(t, "ttft_p50", got.cell(t, i, "ttft_p50"), at(report, "overall", "ttft_ms", "p50"))
		}
	},
}

// withFigure drops the groups that do not have that figure.
func withFigure(groups map[string]any, figure string) map[string]any {
	maps.DeleteFunc(groups, func(_ string, g any) bool { return at(g, figure) == nil })
	return groups
}

// eachGroup calls check for each row with the group of the report that has its key.
func eachGroup(t *testing.T, got *rows, column string, want map[string]any, check func(row int, group any)) {
	t.Helper()
	if len(got.Rows) != len(want) {
		t.Errorf("%d groups, want %d", len(got.Rows), len(want))
	}
	for i := range got.Rows {
		key := text(got.cell(t, i, column))
		if want[key] == nil {
			t.Errorf("the report has no %s %q", column, key)
			continue
		}
		check(i, want[key])
	}
}

// sameTimes compares what a row and a group say of TTFT and pooled TPS.
func sameTimes(t *testing.T, got *rows, row int, group any) {
	t.Helper()
	same(t, "requests", got.cell(t, row, "requests"), at(group, "requests"))
	same(t, "n_ttft", got.cell(t, row, "n_ttft"), zero(at(group, "ttft_ms", "n")))
	same(t, "ttft_p50", got.cell(t, row, "ttft_p50"), at(group, "ttft_ms", "p50"))
	same(t, "ttft_p90", got.cell(t, row, "ttft_p90"), at(group, "ttft_ms", "p90"))
	same(t, "tps_pooled", got.cell(t, row, "tps_pooled"), at(group, "tps", "pooled"))
}

// tailShare is the share that the n slowest requests with a known split have in
// the time of all, from the lines of the program.
func tailShare(t *testing.T, logs []string, n int) float64 {
	t.Helper()
	var totals []float64
	for line := range strings.Lines(codexlag(t, "", append([]string{"requests", "--format", "ndjson"}, logs...)...).stdout) {
		var q struct {
			Status string
			Share  *float64 `json:"prefill_share"`
			Total  float64  `json:"total_ms"`
			Tokens *float64 `json:"decode_tokens"`
			Flags  []string
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		if q.Status == "ok" && q.Share != nil && q.Tokens != nil && !slices.Contains(q.Flags, "burst") {
			totals = append(totals, q.Total)
		}
	}
	slices.Sort(totals)
	slow, all := 0.0, 0.0
	for i, v := range totals {
		all += v
		if i >= len(totals)-n {
			slow += v
		}
	}
	return slow / all
}

// The page describes the columns that the files have.
func TestSQLPageColumns(t *testing.T) {
	const begin = "<!-- columns, kept true by a test -->\n"
	page, err := os.ReadFile(sqlPage)
	if err != nil {
		t.Fatal(err)
	}
	before, got, ok := strings.Cut(string(page), begin)
	if !ok {
		t.Fatalf("%s has no columns", sqlPage)
	}
	var b strings.Builder
	for _, table := range []string{"requests", "turns"} {
		fmt.Fprintf(&b, "\n### %s\n\n| column | type | meaning |\n|:--|:--|:--|\n", table)
		for _, c := range export.Columns(table) {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, c.Type, c.Doc)
		}
	}
	if *update {
		if err := os.WriteFile(sqlPage, []byte(before+begin+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != b.String() {
		t.Errorf("the columns in %s are not those of the files (go test ./cmd/codexlag -update): %s", sqlPage, firstDifference(got, b.String()))
	}
}

// What requests writes as CSV and NDJSON opens in DuckDB without options: the
// columns have the types of the figures, and the values of the files that export
// writes. A column that is empty throughout has no type that could be seen.
func TestRequestsOpenInDuckDB(t *testing.T) {
	for _, logs := range []string{"testdata/quickstart", "testdata/codexhome"} {
		dir := t.TempDir()
		for _, name := range []string{"r.csv", "r.ndjson"} {
			if got := codexlag(t, "", "requests", "-o", filepath.Join(dir, name), logs); got.code != exitOK {
				t.Fatalf("%+v", got)
			}
		}
		if got := codexlag(t, "", "export", filepath.Join(dir, "data"), logs); got.code != exitOK {
			t.Fatalf("%+v", got)
		}
		parquet := sqlLiteral(dir) + "/data/requests/*/*.parquet"
		for _, name := range []string{"r.csv", "r.ndjson"} {
			file := sqlLiteral(filepath.Join(dir, name))
			got := duckdb(t, fmt.Sprintf("SELECT * FROM '%s' LIMIT 0", file), fmt.Sprintf("SELECT * EXCLUDE (date) FROM '%s' LIMIT 0", parquet), fmt.Sprintf("SELECT count(COLUMNS(*)) FROM '%s'", file))
			plain, want, filled := got[0], got[1], got[2]
			if !slices.Equal(plain.Columns, want.Columns) {
				t.Fatalf("%s: columns %v, want %v", name, plain.Columns, want.Columns)
			}
			var compared []string
			for i, column := range plain.Columns {
				if number(t, filled.Rows[0][i]) == 0 {
					continue
				}
				if !fits(plain.Types[i], want.Types[i], name) {
					t.Errorf("%s of %s: %s is taken for %s, want %s", name, logs, column, plain.Types[i], want.Types[i])
				}
				if column == "flags" && name == "r.csv" {
					column = "string_split(flags, ';')"
					compared = append(compared, "CASE WHEN flags IS NULL OR flags = '' THEN [] ELSE "+column+" END AS flags")
				} else {
					compared = append(compared, column+"::"+want.Types[i]+" AS "+column)
				}
			}
			var names []string
			for _, c := range compared {
				names = append(names, c[strings.LastIndex(c, " ")+1:])
			}
			sets := duckdb(t,
				fmt.Sprintf("SELECT count(*) FROM (SELECT %s FROM '%s' EXCEPT ALL SELECT %s FROM '%s')", strings.Join(compared, ", "), file, strings.Join(names, ", "), parquet),
				fmt.Sprintf("SELECT count(*) FROM (SELECT %s FROM '%s' EXCEPT ALL SELECT %s FROM '%s')", strings.Join(names, ", "), parquet, strings.Join(compared, ", "), file))
			for _, s := range sets {
				if n := number(t, s.Rows[0][0]); n > 0 {
					t.Errorf("%s of %s: %v rows differ from those of export", name, logs, n)
				}
			}
		}
	}
}

// fits reports whether DuckDB's guess can stand for the type of the figure: whole
// numbers where none has a fraction, UUIDs where all ids are such.
func fits(guess, want, file string) bool {
	switch want {
	case "DOUBLE":
		return guess == "DOUBLE" || guess == "BIGINT"
	case "INTEGER":
		return guess == "BIGINT"
	case "VARCHAR":
		return guess == "VARCHAR" || guess == "UUID"
	case "VARCHAR[]":
		return guess == want || file == "r.csv" && guess == "VARCHAR"
	case "TIMESTAMP WITH TIME ZONE":
		// JSON has no times. DuckDB sees a TIMESTAMP (in UTC) where all have a
		// fraction of a second or none has, else text that it casts.
		return guess == want || file == "r.ndjson" && (guess == "TIMESTAMP" || guess == "VARCHAR")
	}
	return guess == want
}
