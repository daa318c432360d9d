package analyze

import (
	"cmp"
	"slices"

	"github.com/montanaflynn/stats"

	"codexlag/parse/record"
)

// concurrencyBands are the numbers in flight that are told apart. A mean is
// rounded to a whole number first.
var concurrencyBands = []struct {
	name  string
	below float64
}{{"1", 1.5}, {"2", 2.5}, {"3–4", 4.5}, {"5+", 1e300}}

// minCorrelation: the rank correlation of fewer pairs says nothing.
const minCorrelation = 10

// concurrency shows TTFT and TPS by the number of requests in flight. rows must
// be all there are; nil where none tells both its start and its end.
func concurrency(rows []row) *Concurrency {
	var means []float64
	ttft, tps := make([]sample, len(concurrencyBands)), make([]sample, len(concurrencyBands))
	requests := make([]int, len(concurrencyBands))
	var pairs [][2]float64 // in flight, TPS
	for i, n := range inFlight(rows) {
		if n == 0 {
			continue
		}
		means = append(means, n)
		band := 0
		for n >= concurrencyBands[band].below {
			band++
		}
		requests[band]++
		if v, ok := rows[i].firstToken(); ok {
			ttft[band].add(v)
		}
		if v, _, ok := rows[i].streamRate(); ok {
			tps[band].add(v)
			pairs = append(pairs, [2]float64{n, v})
		}
	}
	if len(means) == 0 {
		return nil
	}
	mean, _ := stats.Mean(means)
	c := &Concurrency{Requests: len(means), Mean: mean, Max: slices.Max(means), Bands: []ConcurrencyBand{}}
	for i, n := range requests {
		if n > 0 {
			c.Bands = append(c.Bands, ConcurrencyBand{concurrencyBands[i].name, n,
				ttft[i].n(), ttft[i].median(), tps[i].n(), tps[i].median()})
		}
	}
	c.Correlation, c.CorrelationRequests = rankCorrelation(pairs), len(pairs)
	return c
}

// median returns the median of the sample, nil where it is empty.
func (s *sample) median() *float64 {
	if s.n() == 0 {
		return nil
	}
	return num(s.quantile(50))
}

// rankCorrelation returns Spearman's coefficient, ties with their mean rank; nil
// where there are too few pairs or one side is the same everywhere.
func rankCorrelation(pairs [][2]float64) *float64 {
	if len(pairs) < minCorrelation {
		return nil
	}
	x, y := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		x[i], y[i] = p[0], p[1]
	}
	r, err := stats.Spearman(x, y)
	if err != nil {
		return nil
	}
	return num(max(-1, min(1, r)))
}

// inFlight returns for each row the time-weighted mean number of requests in
// flight while it ran, itself included; 0 where its start or end is not known.
// Failed requests count: they took their place. Warm-ups generate nothing.
func inFlight(rows []row) []float64 {
	var starts []int
	for i := range rows {
		if w := &rows[i]; w.start != 0 && w.end > w.start && w.status != record.Warmup {
			starts = append(starts, i)
		}
	}
	ends := slices.Clone(starts)
	slices.SortFunc(starts, func(a, b int) int { return cmp.Compare(rows[a].start, rows[b].start) })
	slices.SortFunc(ends, func(a, b int) int { return cmp.Compare(rows[a].end, rows[b].end) })

	// Requests times µs up to now. It may wrap around: only differences count,
	// and those fit, so the arithmetic is exact.
	var passed, open uint64
	var now int64
	atStart, mean := make([]uint64, len(rows)), make([]float64, len(rows))
	for len(ends) > 0 {
		i, starting := ends[0], false
		at := rows[i].end
		if len(starts) > 0 && rows[starts[0]].start < at {
			i, starting = starts[0], true
			at = rows[i].start
		}
		passed += open * uint64(at-now)
		now = at
		if starting {
			starts = starts[1:]
			atStart[i] = passed
			open++
			continue
		}
		ends = ends[1:]
		open--
		mean[i] = float64(passed-atStart[i]) / float64(rows[i].end-rows[i].start)
	}
	return mean
}
