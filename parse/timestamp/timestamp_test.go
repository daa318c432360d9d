package timestamp

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in, want string // want in RFC 3339 UTC; "" for none
	}{
		{"as Codex writes it", "2026-09-10T09:00:00.118Z", "2026-09-10T09:00:00.118Z"},
		{"whole seconds", "2026-09-10T09:00:00Z", "2026-09-10T09:00:00Z"},
		{"one digit", "2026-09-10T09:00:00.5Z", "2026-09-10T09:00:00.5Z"},
		{"microseconds", "2026-09-10T09:00:00.500123Z", "2026-09-10T09:00:00.500123Z"},
		{"nanoseconds", "2026-09-10T09:00:00.123456789Z", "2026-09-10T09:00:00.123456789Z"},
		{"digits beyond nanoseconds", "2026-09-10T09:00:00.1234567899Z", "2026-09-10T09:00:00.123456789Z"},
		{"blank for T", "2026-09-10 09:00:00Z", "2026-09-10T09:00:00Z"},
		{"small letters", "2026-09-10t09:00:00z", "2026-09-10T09:00:00Z"},
		{"east", "2026-09-10T09:00:00+02:00", "2026-09-10T07:00:00Z"},
		{"west over midnight", "2026-12-31T23:30:00.25-05:30", "2027-01-01T05:00:00.25Z"},
		{"offset without colon", "2026-09-10T09:00:00+0200", "2026-09-10T07:00:00Z"},
		{"unknown local offset", "2026-09-10T09:00:00-00:00", "2026-09-10T09:00:00Z"},
		{"leap day", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
		{"leap day of 2000", "2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"},
		{"no leap day in 2100", "2100-02-29T00:00:00Z", ""},
		{"epoch", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"before the epoch", "1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59.9Z"},
		{"year 0", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
		{"year 9999", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
		{"no zone", "2026-09-10T09:00:00.118", ""},
		{"empty", "", ""},
		{"date", "2026-09-10", ""},
		{"dot without digits", "2026-09-10T09:00:00.Z", ""},
		{"month 13", "2026-13-10T09:00:00Z", ""},
		{"day 0", "2026-09-00T09:00:00Z", ""},
		{"day 31 of April", "2026-04-31T09:00:00Z", ""},
		{"hour 24", "2026-09-10T24:00:00Z", ""},
		{"minute 60", "2026-09-10T09:60:00Z", ""},
		{"second 60", "2026-09-10T09:00:60Z", ""},
		{"offset of 24 hours", "2026-09-10T09:00:00+24:00", ""},
		{"offset of 60 minutes", "2026-09-10T09:00:00+01:60", ""},
		{"half an offset", "2026-09-10T09:00:00+01", ""},
		{"something after", "2026-09-10T09:00:00Z!", ""},
		{"letters", "2026-O9-10T09:00:00Z", ""},
		{"signs for digits", "2026-+9-10T09:00:00Z", ""},
		{"other separators", "2026/09/10T09:00:00Z", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := Parse([]byte(c.in))
			if ok != (c.want != "") {
				t.Fatalf("Parse(%q) = %v, %v", c.in, got, ok)
			}
			if ok && got.Format(time.RFC3339Nano) != c.want {
				t.Errorf("Parse(%q) = %s, want %s", c.in, got.Format(time.RFC3339Nano), c.want)
			}
		})
	}
}

func TestEveryDayOfFourCenturies(t *testing.T) {
	for d := time.Date(1899, 12, 31, 12, 34, 56, 789, time.UTC); d.Year() < 2301; d = d.AddDate(0, 0, 1) {
		if got, ok := Parse([]byte(d.Format(time.RFC3339Nano))); !ok || !got.Equal(d) {
			t.Fatalf("%v: got %v, %v", d, got, ok)
		}
	}
}

func TestParseMakesNoGarbage(t *testing.T) {
	for _, in := range []string{"2026-09-10T09:00:00.118Z", "2026-09-10T09:00:00.118+02:00"} {
		b := []byte(in)
		if n := testing.AllocsPerRun(100, func() { Parse(b) }); n != 0 {
			t.Errorf("%s: %v allocations", in, n)
		}
	}
}

// Whatever time.Parse reads as RFC 3339 is read alike, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"2026-09-10T09:00:00.118Z", "2026-09-10 09:00:00+0200", "2024-02-29T23:59:59.999999999-11:59", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := Parse([]byte(s))
		want, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return // more is read than time.Parse reads
		}
		if s[13] != ':' || s[19] == ',' || strings.Contains(s, "+24:") || strings.Contains(s, "-24:") {
			return // no RFC 3339: an hour of one digit, a decimal comma, a day's offset
		}
		if !ok || !got.Equal(want) {
			t.Errorf("Parse(%q) = %v, %v, time.Parse has %v", s, got, ok, want)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	in := []byte("2026-09-10T09:00:00.118Z")
	b.ReportAllocs()
	for b.Loop() {
		Parse(in)
	}
}
