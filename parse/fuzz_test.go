package parse

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/parse/index"
	"codexlag/parse/record"
)

// Whatever a log holds and wherever it was when it was read first: what the index
// makes of it, once it has grown, is what reading all of it gives.
func FuzzIndexedLog(f *testing.F) {
	turn := `{"timestamp":"2026-09-10T09:00:01.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}` + "\n" +
		`{"timestamp":"2026-09-10T09:00:03.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"output_tokens":9,"total_tokens":9},"last_token_usage":{"output_tokens":9,"total_tokens":9}}}}` + "\n" +
		`{"timestamp":"2026-09-10T09:00:04.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"t","duration_ms":3000,"time_to_first_token_ms":10}}` + "\n"
	for i, s := range []string{meta + turn + turn, meta + "[]\n{\"type\":7}\n" + turn, requestLine + completed + meta, completed + completed, "noise\n" + requestLine} {
		f.Add([]byte(s), uint16(40*i), uint16(250*i))
	}
	f.Fuzz(func(t *testing.T, b []byte, first, second uint16) {
		dir := t.TempDir()
		log := filepath.Join(dir, "rollout-2026-09-10T09-00-00-x.jsonl")
		cuts := []int{min(int(first), len(b)), min(int(second), len(b)), len(b), len(b)}
		slices.Sort(cuts)
		for _, n := range cuts {
			if err := os.WriteFile(log, b[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			run := func(x *index.Index) string {
				var out strings.Builder
				s := Read(t.Context(), []string{log}, Options{Jobs: 1, Index: x}, func(r record.Record) { fmt.Fprintf(&out, "%s %+v\n", describeRecord(r), r) })
				for _, l := range s.Logs {
					fmt.Fprintf(&out, "%+v\n", l)
				}
				return out.String()
			}
			want := run(nil)
			// The clock is set forward: a stamp is believed once it is old.
			if got := run(index.Open(filepath.Join(dir, "cache"), "v", time.Now().Add(time.Hour))); got != want {
				t.Fatalf("after %d of %d bytes, with the index\n%s\nwithout\n%s", n, len(b), got, want)
			}
		}
	})
}
