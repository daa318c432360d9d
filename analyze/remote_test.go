package analyze

import (
	"math"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"testing"
	"time"
)

// The regular expressions that go to the database keep what patterns keep.
func TestPatternsInSQL(t *testing.T) {
	values := []string{"", "a", "b", "-", "^", "gpt-5.4", "gpt-5.4-mini", "gpt-54", "o5", "a/b", "logs/a.log", "a\nb", "ä", "50–90 %", `a\b`, "a*b", "a]b", "[x]", "A"}
	for _, pattern := range []string{"*", "?", "a*", "gpt-5.?", "gpt-5.4*", "[a-c]", "[^a-c]", "[^^]", `[\-x]`, `[\]a]`, `a\*b`, "logs/*", "*/*", "(a|b)", "a+", ".", "$", "{x}", `\[x\]`, "50*%", "[A-Z]"} {
		re, err := regexp.Compile(patternSQL(pattern))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for _, v := range values {
			if want, err := path.Match(pattern, v); err != nil || re.MatchString(v) != want {
				t.Errorf("%s of %q: %v, want %v (%v)", patternSQL(pattern), v, re.MatchString(v), want, err)
			}
		}
	}
}

// Sums of halves of mantissas, as the database adds them up, are exact sums.
func TestExactSumOfParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var want, got exactSum
	parts := map[uint64][2]uint64{}
	for range 10_000 {
		v := random.ExpFloat64() * math.Pow(10, float64(random.IntN(30)-15))
		want.add(v)
		bits := math.Float64bits(v)
		exponent, digits := bits>>52, bits&(1<<52-1)
		if exponent > 0 {
			digits |= 1 << 52
		}
		p := parts[exponent]
		parts[exponent] = [2]uint64{p[0] + digits>>26, p[1] + digits&(1<<26-1)}
	}
	for e, p := range parts {
		got.addExact(e, p[0], p[1])
	}
	if got != want {
		t.Error("the sums differ")
	}
	var big exactSum // of 10¹¹ of the largest mantissas
	big.addExact(1000, (1<<27-1)*100_000_000_000, (1<<26-1)*100_000_000_000)
	if w := math.Ldexp((1<<53-1)*1e11, 1000-1075); math.Abs(big.float()/w-1) > 1e-15 {
		t.Errorf("%v, want %v", big.float(), w)
	}
}

// The normal approximation from counts is that of the library from values.
func TestMannWhitneyFromCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, spread := range []int{1, 3, 50, 1 << 40} {
		a, b := make([]float64, 300), make([]float64, 170)
		for i := range a {
			a[i] = float64(random.IntN(spread))
		}
		for i := range b {
			b[i] = float64(random.IntN(spread) + random.IntN(1+spread/10))
		}
		slices.Sort(a)
		slices.Sort(b)
		c := rankCounts{na: len(a), nb: len(b)}
		times := map[float64]int64{}
		for _, x := range a {
			times[x]++
			for _, y := range b {
				if x > y {
					c.twiceU += 2
				} else if x == y {
					c.twiceU++
				}
			}
		}
		for _, y := range b {
			times[y]++
		}
		for _, n := range times {
			c.ties.add(n)
		}
		p, after := c.mannWhitney()
		wantP, wantAfter := mannWhitney(a, b)
		if *p != *wantP || after != wantAfter {
			t.Errorf("spread %d: p %v, after %v, want %v, %v", spread, *p, after, *wantP, wantAfter)
		}
	}
}

// Offsets of the zone hold from one change of the clock to the next.
func TestOffsetsInSQL(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	q := &dialect{o: &Options{Location: berlin}, first: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), last: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	const want = "multiIf(end < 1774746000000000, 3600, end < 1792890000000000, 7200, 3600)"
	if got := q.offsetSQL(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	q.last = q.first.AddDate(0, 1, 0)
	if got := q.offsetSQL(); got != "3600" {
		t.Errorf("%s, want 3600", got)
	}
}
