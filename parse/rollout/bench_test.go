package rollout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"codexlag/parse/record"
)

// session makes a file of n bytes at least, with the mix of real ones: nearly
// all bytes are outputs of tools of 1 to 200 KB.
func session(n int) (text string, turns, requests int) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"func ", "return ", `import \"fmt\" `, "{ } [ ] ", `\n`, `\u001b[0m `, `\"type\":\"event_msg\" `, "src/main.rs:42: "}
	var b, fill strings.Builder
	for fill.Len() < 1<<20 {
		fill.WriteString(words[r.IntN(len(words))])
	}
	b.WriteString(meta0(0, "") + "\n")
	now, sum := 0, 0
	for b.Len() < n {
		id := v7(now, turns)
		fmt.Fprintln(&b, join(context0(now, id, "m"), started(now, id), user(now)))
		begin, calls := now, 1+r.IntN(12)
		for q := range calls {
			now += 800 + r.IntN(9000)
			size := int(math.Exp(math.Log(1000) + r.Float64()*math.Log(200)))
			text := fill.String()[:size]
			text = text[:strings.LastIndexByte(text, ' ')]
			if q == calls-1 {
				fmt.Fprintln(&b, item(now, "message", `"role":"assistant","content":[{"type":"output_text","text":"`+text+`"}]`))
			} else {
				call := fmt.Sprintf("call_%d_%d", turns, q)
				fmt.Fprintln(&b, tool(now, call))
				fmt.Fprintln(&b, item(now, "function_call_output", fmt.Sprintf(`"call_id":%q,"output":"%s"`, call, text)))
			}
			out := 20 + r.IntN(1500)
			sum += out
			fmt.Fprintln(&b, count(now, sum, out))
			requests++
		}
		fmt.Fprintln(&b, complete(now, id, fmt.Sprintf(`"duration_ms":%d,"time_to_first_token_ms":700`, now-begin)))
		turns++
		now += r.IntN(60_000)
	}
	return b.String(), turns, requests
}

func TestGeneratedSession(t *testing.T) {
	text, turns, requests := session(2 << 20)
	all, d := decode(text)
	for _, r := range all {
		if dropped, ok := r.(*record.Dropped); ok {
			t.Errorf("%+v", dropped)
		}
	}
	if i := d.Info(); i.Turns != turns || i.Requests != requests {
		t.Errorf("%d turns and %d requests, want %d and %d", i.Turns, i.Requests, turns, requests)
	}
}

func BenchmarkDecoder(b *testing.B) {
	text, _, requests := session(16 << 20)
	in := []byte(text)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		read(New("f", func(record.Record) {}), in)
	}
	b.ReportMetric(float64(requests), "requests/op")
}
