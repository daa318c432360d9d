package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A truth is what a request takes, known beforehand.
type truth struct{ overhead, rate, tpot float64 } // ms, tokens/s, ms

// answers makes requests of a known model: tokens skewed like those of agents,
// totals with ±20 % noise, and of some five to fifty times as much, as an
// approval or a sleep makes it.
func (w truth) answers(n int, seed uint64, gross float64) []point {
	r := rand.New(rand.NewPCG(seed, 7))
	points := make([]point, n)
	for i := range points {
		uncached := math.Round(math.Exp(8 + 1.3*r.NormFloat64()))
		output := math.Round(math.Exp(5.3 + 1.1*r.NormFloat64()))
		y := (w.overhead + 1000*uncached/w.rate + output*w.tpot) * (0.8 + 0.4*r.Float64())
		if r.Float64() < gross {
			y *= 5 + 45*r.Float64()
		}
		points[i] = point{[maxTerms]float64{1, uncached, output}, y}
	}
	return points
}

func within(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if !(math.Abs(got-want) <= part*math.Abs(want)) {
		t.Errorf("%s = %v, want %v ± %v %%", what, got, want, 100*part)
	}
}

func TestRegressFindsTheTruth(t *testing.T) {
	for _, c := range []struct {
		name  string
		truth truth
		gross float64
		part  float64 // that a coefficient may be off
	}{
		{"small overhead, quick", truth{1600, 9000, 15}, 0.1, 0.1},
		{"middle", truth{2000, 5000, 18}, 0.1, 0.1},
		{"large overhead, slow", truth{2600, 3000, 19}, 0.1, 0.1},
		{"slow stream", truth{3000, 4000, 60}, 0.1, 0.1},
		{"no waits", truth{2000, 5000, 18}, 0, 0.1},
		{"one wait in five", truth{2000, 5000, 18}, 0.2, 0.15},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := uint64(1); seed <= 20; seed++ {
				f, ok := regress(c.truth.answers(1000, seed, c.gross), 3)
				if !ok || f.told != [maxTerms]bool{true, true, true} {
					t.Fatalf("seed %d: %+v, %v", seed, f, ok)
				}
				within(t, "overhead", f.beta[0], c.truth.overhead, c.part)
				within(t, "rate", 1000/f.beta[1], c.truth.rate, c.part)
				within(t, "tpot", f.beta[2], c.truth.tpot, c.part)
				if f.explained < 0.9 || f.explained >= 1 {
					t.Errorf("seed %d: explained %v", seed, f.explained)
				}
			}
		})
	}
}

func TestRegressIsExactWithoutNoise(t *testing.T) {
	var points []point
	for i := range 60 {
		u, out := float64(i%7*1000), float64(i*i%53*10)
		y := 1500 + 0.2*u + 20*out
		if i%9 == 0 {
			y *= 40
		}
		points = append(points, point{[maxTerms]float64{1, u, out}, y})
	}
	f, ok := regress(points, 3)
	if !ok || f.explained < 0.999999 {
		t.Fatalf("%+v, %v", f, ok)
	}
	for j, want := range []float64{1500, 0.2, 20} {
		within(t, "coefficient", f.beta[j], want, 1e-5)
	}
}

// What cannot be told is absent, and nothing is ever negative or undefined.
func TestRegressDegenerate(t *testing.T) {
	noise := func(r *rand.Rand) float64 { return 0.8 + 0.4*r.Float64() }
	for _, c := range []struct {
		name string
		x    func(*rand.Rand) (uncached, output float64)
		y    func(r *rand.Rand, uncached, output float64) float64
		ok   bool
		told [maxTerms]bool
	}{
		{"prompts of one size", func(r *rand.Rand) (float64, float64) { return 9000, 1000 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return (1000 + u/9 + 20*o) * noise(r) }, true, [maxTerms]bool{true, false, true}},
		{"prompts of nearly one size", func(r *rand.Rand) (float64, float64) { return 9000 + 100*r.Float64(), 1000 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return (1000 + u/9 + 20*o) * noise(r) }, true, [maxTerms]bool{true, false, true}},
		{"everything cached", func(r *rand.Rand) (float64, float64) { return 0, 1000 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return (1000 + 20*o) * noise(r) }, true, [maxTerms]bool{true, false, true}},
		{"outputs of one length", func(r *rand.Rand) (float64, float64) { return 1e5 * r.Float64(), 400 },
			func(r *rand.Rand, u, o float64) float64 { return (1000 + u/9 + 20*o) * noise(r) }, true, [maxTerms]bool{true, true, false}},
		{"neither varies, both alike", func(r *rand.Rand) (float64, float64) { o := 400 + 4*r.Float64(); return 10 * o, o },
			func(r *rand.Rand, u, o float64) float64 { return 9000 * noise(r) }, true, [maxTerms]bool{true, false, false}},
		{"no tokens at all", func(r *rand.Rand) (float64, float64) { return 0, 0 },
			func(r *rand.Rand, u, o float64) float64 { return 1000 * noise(r) }, true, [maxTerms]bool{true, false, false}},
		{"longer prompts are quicker", func(r *rand.Rand) (float64, float64) { return 1e5 * r.Float64(), 1000 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return (20_000 - u/9 + 20*o) * noise(r) }, true, [maxTerms]bool{true, false, true}},
		{"longer outputs are quicker", func(r *rand.Rand) (float64, float64) { return 1e5 * r.Float64(), 1000 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return (30_000 + u/9 - 20*o) * noise(r) }, true, [maxTerms]bool{true, true, false}},
		{"a negative constant", func(r *rand.Rand) (float64, float64) { return 1e5 * r.Float64(), 100 + 1000*r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return max(1, u/9+20*o-1500) }, true, [maxTerms]bool{false, true, true}},
		{"prompt and output grow together", func(r *rand.Rand) (float64, float64) { o := math.Round(1000 * r.Float64()); return 3 * o, o },
			func(r *rand.Rand, u, o float64) float64 { return (1000 + u/9 + 20*o) * noise(r) }, false, [maxTerms]bool{}},
		{"one total everywhere", func(r *rand.Rand) (float64, float64) { return 1e5 * r.Float64(), 1000 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return 1000 }, false, [maxTerms]bool{}},
		{"nothing is longer than 0", func(r *rand.Rand) (float64, float64) { return 1e5 * r.Float64(), 1000 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return 0 }, false, [maxTerms]bool{}},
		{"beyond all measure", func(r *rand.Rand) (float64, float64) { return 1e18 * r.Float64(), 1e18 * r.Float64() },
			func(r *rand.Rand, u, o float64) float64 { return 1e15 * noise(r) }, true, [maxTerms]bool{true, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(10) {
				r := rand.New(rand.NewPCG(seed, 1))
				points := make([]point, 200)
				for i := range points {
					u, o := c.x(r)
					points[i] = point{[maxTerms]float64{1, u, o}, c.y(r, u, o)}
				}
				f, ok := regress(points, 3)
				if ok != c.ok {
					t.Fatalf("seed %d: %+v, %v", seed, f, ok)
				}
				for j, b := range f.beta {
					if !(b >= 0) || math.IsInf(b, 0) || !f.told[j] && j > 0 && b != 0 {
						t.Errorf("seed %d: coefficient %d is %v", seed, j, b)
					}
				}
				if c.name == "beyond all measure" {
					continue // by chance a slope of nearly nothing
				}
				if f.told != c.told {
					t.Errorf("seed %d: told %v (%v), want %v", seed, f.told, f.beta, c.told)
				}
			}
		})
	}
}

func TestRegressIgnoresOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for seed := range uint64(10) {
		points := truth{2000, 5000, 18}.answers(300, seed, 0.1)
		want, _ := regress(slices.Clone(points), 3)
		for range 5 {
			r.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
			if got, _ := regress(slices.Clone(points), 3); got != want {
				t.Fatalf("seed %d: %+v, in another order %+v", seed, want, got)
			}
		}
	}
}

// What is far beyond the spread and several times what was expected is a wait.
func TestGrossIsBoth(t *testing.T) {
	for _, c := range []struct {
		what           string
		expected, wait float64
		spread         float64 // median of the residuals
		kept           bool
	}{
		{"within six sigmas", 10, 10 + 88.9, 10, true}, // 6·1.4826·10 = 88.956
		{"beyond six sigmas", 10, 10 + 89.1, 10, false},
		{"three times as long", 1000, 3000, 10, true},
		{"more than that", 1000, 3001, 10, false},
	} {
		points := []point{{[maxTerms]float64{1}, c.wait}}
		for i := range 10 {
			points = append(points, point{[maxTerms]float64{1}, c.expected + c.spread*float64(1-i%2*2)})
		}
		if got := len(withoutGross(points, &fit{beta: [maxTerms]float64{c.expected}})); (got == 11) != c.kept || got < 10 {
			t.Errorf("%s: %d of 11 points are kept", c.what, got)
		}
	}
}

// Of more requests than a fit looks at, those with the smallest keys are taken,
// whatever their order.
func TestFewer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{0, 1, maxPoints, maxPoints + 1, 10_000} {
		keys := make([]uint64, n)
		rows := make([]*row, n)
		for i := range rows {
			keys[i] = r.Uint64()
			rows[i] = &row{stored: &stored{figures: figures{key: keys[i]}}}
		}
		slices.Sort(keys)
		var got []uint64
		for _, w := range fewer(rows) {
			got = append(got, w.key)
		}
		slices.Sort(got)
		if !slices.Equal(got, keys[:min(n, maxPoints)]) {
			t.Errorf("of %d: %d rows, not those with the smallest keys", n, len(got))
		}
	}
}

func TestFitOfMany(t *testing.T) {
	var rows []*row
	for i, p := range (truth{2000, 5000, 18}).answers(3*maxPoints, 1, 0.1) {
		rows = append(rows, &row{stored: &stored{figures: figures{key: uint64(i) * 0x9e3779b97f4a7c15,
			total: int64(1000 * p.y), input: tokenCount(p.x[1]), cached: -1, output: tokenCount(p.x[2])}}})
	}
	m := fitModel(rows)
	if m == nil {
		t.Fatal("no fit of many requests")
	}
	if m.Requests != len(rows) {
		t.Errorf("the fit is of %d requests, want %d", m.Requests, len(rows))
	}
	within(t, "overhead", m.Overhead, 2000, 0.05)
	within(t, "tpot", m.TPOT, 18, 0.05)
}

// A column varies where its 5th and 95th percentile are a tenth apart.
func TestVaries(t *testing.T) {
	for _, c := range []struct {
		low, high int // of 101 values, how many are 89 and 112, the others 100
		want      bool
	}{{5, 0, false}, {6, 0, true}, {0, 5, false}, {0, 6, true}, {0, 0, false}} {
		points := make([]point, 101)
		for i := range points {
			switch {
			case i < c.low:
				points[i].x[1] = 89
			case i >= 101-c.high:
				points[i].x[1] = 112
			default:
				points[i].x[1] = 100
			}
		}
		if got := varies(points, 1); got != c.want {
			t.Errorf("%d low and %d high: varies %v", c.low, c.high, got)
		}
	}
}

func TestMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(r.IntN(1 + n/2))
		}
		s := sample{values: slices.Clone(x)}
		want := 0.0
		if n > 0 {
			want = s.quantile(50)
		}
		if got := median(x); got != want {
			t.Fatalf("median of %v = %v, want %v", x, got, want)
		}
	}
}

func BenchmarkRegress(b *testing.B) {
	points := truth{2000, 5000, 18}.answers(maxRows, 1, 0.1)
	for b.Loop() {
		regress(slices.Clone(points), 3)
	}
}
