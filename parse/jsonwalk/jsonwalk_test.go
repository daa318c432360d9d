package jsonwalk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func walk(in string) string {
	var b strings.Builder
	o := Members([]byte(in))
	for o.Next() {
		fmt.Fprintf(&b, "%s=%s ", o.Key, o.Value)
	}
	switch {
	case errors.Is(o.Err(), ErrCut):
		fmt.Fprintf(&b, "CUT in %s=%s", o.Key, o.Value)
	case o.Err() != nil:
		b.WriteString("SYNTAX")
	}
	return strings.TrimSpace(b.String())
}

func TestMembers(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", `{}`, ""},
		{"blanks everywhere", " {\t\"a\" : 1 ,\r\n \"b\": [ 1, 2 ] } \n", "a=1 b=[ 1, 2 ]"},
		{"all kinds", `{"s":"x","n":-1.5e3,"t":true,"f":false,"z":null,"o":{"a":{}},"l":[[]]}`, `s="x" n=-1.5e3 t=true f=false z=null o={"a":{}} l=[[]]`},
		{"escaped quotes", `{"a":"x\"y\\","b":"\\\""}`, `a="x\"y\\" b="\\\""`},
		{"braces in strings", `{"a":"}{][","b":{"c":"}"}}`, `a="}{][" b={"c":"}"}`},
		{"escaped key", `{"a\u0062\n":1}`, "ab\n=1"},
		{"not an object", `[1]`, "SYNTAX"},
		{"nothing", ``, "CUT in ="},
		{"two objects glued", `{"a":1}{"b":2}`, "a=1 SYNTAX"},
		{"rubbish behind", `{"a":1}x`, "a=1 SYNTAX"},
		{"key without quotes", `{a:1}`, "SYNTAX"},
		{"bad literal", `{"a":yes}`, "SYNTAX"},
		{"missing colon", `{"a" 1}`, "SYNTAX"},
		{"missing comma", `{"a":1 "b":2}`, "a=1 SYNTAX"},
		{"cut in a key", `{"a":1,"bc`, "a=1 CUT in ="},
		{"cut in a string", `{"a":1,"b":"xy`, `a=1 CUT in b="xy`},
		{"cut behind a backslash", `{"b":"xy\`, `CUT in b="xy\`},
		{"cut in an object", `{"a":1,"b":{"c":[1,`, `a=1 CUT in b={"c":[1,`},
		{"cut in a number", `{"a":1`, "CUT in a=1"},
		{"cut before the end", `{"a":1,`, "a=1 CUT in ="},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := walk(c.in); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The cut value of an object can be walked in turn.
func TestCutWalksOn(t *testing.T) {
	o := Members([]byte(`{"timestamp":"t","payload":{"type":"function_call_output","call_id":"c1","output":"` + strings.Repeat("x", 100)))
	for o.Next() {
	}
	if string(o.Key) != "payload" || o.Err() != ErrCut {
		t.Fatalf("cut in %q: %v", o.Key, o.Err())
	}
	if got := walk(string(o.Value)); !strings.HasPrefix(got, `type="function_call_output" call_id="c1" CUT in output=`) {
		t.Errorf("got %q", got)
	}
}

func TestDeepNesting(t *testing.T) {
	in := `{"a":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `,"b":1}`
	if got := string(Get([]byte(in), "b")); got != "1" {
		t.Errorf("b = %q", got)
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"12": "12 true", "-3": "-3 true", `"150"`: "150 true", "1e3": "1000 true", "12.0": "12 true", "1.5": "0 false", "x": "0 false", `""`: "0 false",
		"": "0 false", "99999999999999999999": "0 false", "1e400": "0 false", "null": "0 false", "-": "0 false", "0x10": "0 false", "9007199254740993": "9007199254740993 true",
	} {
		n, ok := Int([]byte(in))
		if got := fmt.Sprint(n, ok); got != want {
			t.Errorf("Int(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{"1.5": "1.5 true", `"2.5"`: "2.5 true", "NaN": "0 false", "Inf": "0 false", "1e400": "0 false", "": "0 false"} {
		f, ok := Float([]byte(in))
		if got := fmt.Sprint(f, ok); got != want {
			t.Errorf("Float(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestString(t *testing.T) {
	for _, in := range []string{`"plain"`, `"a\"b\\c\/d\n\t\r\b\f"`, `"\u00e9\u20ac"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"é€"`} {
		var want string
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := String([]byte(in)); !ok || string(got) != want {
			t.Errorf("String(%s) = %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"", `"`, "12", "null", `"a`} {
		if s, ok := String([]byte(in)); ok {
			t.Errorf("String(%s) = %q", in, s)
		}
	}
}

// Whatever encoding/json reads as an object, the walk reads alike.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":"x\"y","c":{"d":[1,2,{"e":null}]}}`, `{"a\u0062":"\ud83d\ude00"}`, `{"a":1}{"b"`, `{"a":"` + strings.Repeat(`\`, 7), `{"":[]}`, `{"a":tru`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := map[string]string{}
		o := Members(b)
		for o.Next() {
			s, _ := String(o.Value)
			_, _ = Int(o.Value)
			_, _ = Float(o.Value)
			_ = s
			got[string(o.Key)] = string(o.Value)
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil {
			return
		}
		if o.Err() != nil {
			t.Fatalf("%q: %v", b, o.Err())
		}
		if len(got) != len(want) && !strings.ContainsRune(string(b), '\uFFFD') && json.Valid(b) && !hasOddKeys(want) {
			t.Fatalf("%q: %d members, want %d", b, len(got), len(want))
		}
	})
}

// hasOddKeys reports keys that encoding/json repairs and so may fold together.
func hasOddKeys(m map[string]json.RawMessage) bool {
	for k := range m {
		if strings.ContainsRune(k, '\uFFFD') {
			return true
		}
	}
	return false
}

func BenchmarkMembers(b *testing.B) {
	line := []byte(`{"timestamp":"2026-09-10T09:00:05.052Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":12000,"cached_input_tokens":8000},"last_token_usage":{"input_tokens":12000}}},"x":"` + strings.Repeat("text ", 200) + `"}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		o := Members(line)
		for o.Next() {
		}
	}
}
