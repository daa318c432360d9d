package intern

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a model", "gpt-5.4", "gpt-5.4"},
		{"control characters", "a\x1b[31m\n\x00b\u0085c", "a\uFFFD[31m\uFFFD\uFFFDb\uFFFDc"},
		{"line separators", "a\u2028b\u2029", "a\uFFFDb\uFFFD"},
		{"invalid UTF-8", "a\xff\xfeb", "a\uFFFDb"},
		{"too long", strings.Repeat("x", 200), strings.Repeat("x", maxLen)},
		{"too long, in the middle of a character", strings.Repeat("x", maxLen-1) + "é", strings.Repeat("x", maxLen-1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Clean([]byte(c.in)); got != c.want || !utf8.ValidString(got) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	var table Table
	if table.Get(nil) != "" || table.Get([]byte("a\n")) != "a\uFFFD" {
		t.Error("wrong strings")
	}
	if n := testing.AllocsPerRun(100, func() { table.Get([]byte("a\n")) }); n != 0 {
		t.Errorf("%v allocations for a known string", n)
	}
	for i := range 3 * maxStrings {
		table.Get(fmt.Append(nil, i))
	}
	if len(table.known) > maxStrings {
		t.Errorf("%d strings are kept", len(table.known))
	}
}
