package analyze

import (
	"cmp"
	"math"
	"slices"
)

const (
	maxTerms = 3 // constant, uncached input, output

	// huber is the usual tuning constant: 95 % as efficient as least squares
	// on normal errors, and a bounded pull of everything beyond.
	huber = 1.345
	// nearlyLAD makes the same loop minimise the sum of absolute residuals, all
	// but: a start that one wait in ten does not move.
	nearlyLAD = 0.05
	// madToSigma makes the MAD of normal errors their standard deviation.
	madToSigma = 1.4826

	maxRounds = 50
	// Relative changes of every coefficient below which the rounds end.
	roughly   = 1e-3
	precisely = 1e-6

	// A request is a wait rather than a slow answer if it took several times as
	// long as the others would have with its tokens, far beyond the spread.
	grossFactor = 3
	grossSigmas = 6

	// minVariation: a column whose 5th and 95th percentile are closer than this
	// part of the latter cannot be told from the constant.
	minVariation = 0.1
	// maxCollinear: of two columns whose r² is beyond, nobody can say which one
	// the time went to.
	maxCollinear = 0.99
)

// A point is one observation: y, and the values of the columns; x[0] is 1.
type point struct {
	x [maxTerms]float64
	y float64
}

// A fit is a robust linear regression with coefficients that are not negative.
type fit struct {
	beta [maxTerms]float64
	// told says which coefficients could be told from the rest and are not 0.
	told [maxTerms]bool
	// explained is 1 − (MAD of the residuals / MAD of y)², 0..1.
	explained float64
}

func (f *fit) predict(x *[maxTerms]float64) float64 {
	y := 0.0
	for j, b := range f.beta {
		y += b * x[j]
	}
	return y
}

// regress fits the points by Huber's method: least squares, repeated with less
// weight on what lies far off. terms counts the columns in use. It orders the
// points, so that the order in which they came does not change a digit.
//
// ok is false where there is nothing to explain (most y are equal), or where
// two columns grow together.
func regress(points []point, terms int) (f fit, ok bool) {
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.y, b.y), cmp.Compare(a.x[1], b.x[1]), cmp.Compare(a.x[2], b.x[2]))
	})
	spread := madOf(points, func(p *point) float64 { return p.y })
	if spread == 0 || math.IsNaN(spread) || math.IsInf(spread, 0) {
		return f, false
	}
	s := solver{scale: columnScales(points, terms)}
	for j := range terms {
		s.use[j] = j == 0 || varies(points, j)
	}
	if s.use[1] && s.use[2] && correlation2(points, 1, 2) > maxCollinear {
		return f, false
	}
	f.beta = s.iterate(points, nearlyLAD, roughly, [maxTerms]float64{})
	f.beta = s.iterate(relative(withoutGross(points, &f), &f), huber, precisely, f.beta)
	for j, b := range f.beta {
		f.told[j] = s.use[j] && b > 0
	}
	rest := madOf(points, func(p *point) float64 { return p.y - f.predict(&p.x) }) / spread
	f.explained = min(1, max(0, 1-rest*rest))
	return f, true
}

// withoutGross returns the points without those that the first fit f shows to
// be waits: Huber's method bounds the pull of each, but one in ten, all on one
// side, would still shift the constant.
func withoutGross(points []point, f *fit) []point {
	sigma := madToSigma * medianOf(points, func(p *point) float64 { return math.Abs(p.y - f.predict(&p.x)) })
	kept := make([]point, 0, len(points))
	for _, p := range points {
		if y := f.predict(&p.x); p.y-y <= grossSigmas*sigma || p.y <= grossFactor*y {
			kept = append(kept, p)
		}
	}
	return kept
}

// relative divides each point by the time that the first fit f expects of it:
// what scatters is a share of the time, not so many seconds. Without it the
// long requests alone would decide, and the constant, which shows in the short
// ones, would be lost in their scatter.
func relative(points []point, f *fit) []point {
	expected := sample{values: make([]float64, len(points))}
	for i := range points {
		expected.values[i] = f.predict(&points[i].x)
	}
	least := max(expected.quantile(5), expected.quantile(50)/10) // few tokens without a constant: nearly nothing
	if least == 0 {
		return points
	}
	for i := range points {
		p := &points[i]
		y := max(least, f.predict(&p.x))
		for j := range p.x {
			p.x[j] /= y
		}
		p.y /= y
	}
	return points
}

// A solver solves weighted least squares with coefficients ≥ 0.
type solver struct {
	use   [maxTerms]bool    // columns that may have a coefficient
	scale [maxTerms]float64 // root mean square of each column: divided by it, they are alike
}

// iterate repeats the least squares with the weights of Huber's method until
// the coefficients change by no more than enough. A zero start means that of plain least squares.
func (s *solver) iterate(points []point, k, enough float64, beta [maxTerms]float64) [maxTerms]float64 {
	f := fit{beta: beta}
	// Where the fit is all but exact the spread would reach 0 and no weight be defined.
	least := 1e-9 * medianOf(points, func(p *point) float64 { return math.Abs(p.y) })
	columns := s.columns(points)
	residuals, ranked := make([]float64, len(points)), make([]float64, len(points))
	first := beta == [maxTerms]float64{}
	for range maxRounds {
		for i := range points {
			residuals[i] = math.Abs(points[i].y - f.predict(&points[i].x))
		}
		limit := math.Inf(1)
		if !first {
			copy(ranked, residuals)
			limit = k * max(least, madToSigma*median(ranked))
		}
		first = false
		next := s.leastSquares(points, columns, residuals, limit)
		same := true
		for j := range next {
			same = same && math.Abs(next[j]-f.beta[j]) <= enough*math.Abs(next[j])
		}
		f.beta = next
		if same {
			break
		}
	}
	return f.beta
}

// columns returns those of the points, scaled.
func (s *solver) columns(points []point) [][maxTerms]float64 {
	columns := make([][maxTerms]float64, len(points))
	for i := range points {
		for j, x := range points[i].x {
			columns[i][j] = x / s.scale[j]
		}
	}
	return columns
}

// leastSquares minimises Σ w·(y − Xβ)² with β ≥ 0, where w is 1 for residuals
// up to the limit and limit/|residual| beyond. columns are those of the points,
// scaled.
func (s *solver) leastSquares(points []point, columns [][maxTerms]float64, residuals []float64, limit float64) [maxTerms]float64 {
	var a [maxTerms][maxTerms]float64 // XᵀWX of the scaled columns
	var c [maxTerms]float64           // XᵀWy
	for i := range points {
		w := 1.0
		if residuals[i] > limit {
			w = limit / residuals[i]
		}
		x := &columns[i]
		for j := range x {
			for l := range j + 1 {
				a[j][l] += w * x[j] * x[l]
			}
			c[j] += w * x[j] * points[i].y
		}
	}
	best, most := [maxTerms]float64{}, 0.0
	for subset := 1; subset < 1<<maxTerms; subset++ {
		b, ok := s.solve(a, c, subset)
		gain := 0.0 // what the sum of squares loses by these columns
		for j := range b {
			gain += b[j] * c[j]
		}
		if ok && gain > most {
			best, most = b, gain
		}
	}
	for j := range best {
		best[j] /= s.scale[j]
	}
	return best
}

// solve solves the normal equations of the columns in the subset by Cholesky's
// method. With so few columns, trying all subsets is the surest way to the best
// solution without a negative coefficient; ok is false where one comes out.
func (s *solver) solve(a [maxTerms][maxTerms]float64, c [maxTerms]float64, subset int) (b [maxTerms]float64, ok bool) {
	var columns []int
	for j := range maxTerms {
		if subset&(1<<j) == 0 {
			continue
		}
		if !s.use[j] {
			return b, false
		}
		columns = append(columns, j)
	}
	var l [maxTerms][maxTerms]float64
	var z [maxTerms]float64
	for i, row := range columns {
		for j, col := range columns[:i+1] {
			v := a[row][col]
			for k := range j {
				v -= l[i][k] * l[j][k]
			}
			if i != j {
				l[i][j] = v / l[j][j]
				continue
			}
			if !(v > 1e-12*a[row][row]) {
				return b, false // nothing left of the column but rounding
			}
			l[i][i] = math.Sqrt(v)
		}
		v := c[row]
		for k := range i {
			v -= l[i][k] * z[k]
		}
		z[i] = v / l[i][i]
	}
	for i := len(columns) - 1; i >= 0; i-- {
		v := z[i]
		for k := i + 1; k < len(columns); k++ {
			v -= l[k][i] * b[columns[k]]
		}
		v /= l[i][i]
		if !(v >= 0) {
			return b, false
		}
		b[columns[i]] = v
	}
	return b, true
}

func columnScales(points []point, terms int) (scale [maxTerms]float64) {
	for j := range scale {
		scale[j] = 1
		sum := 0.0
		for i := range points {
			sum += points[i].x[j] * points[i].x[j]
		}
		if rms := math.Sqrt(sum / float64(len(points))); j < terms && rms > 0 {
			scale[j] = rms
		}
	}
	return scale
}

// varies reports whether column j differs enough between the points.
func varies(points []point, j int) bool {
	s := sample{values: make([]float64, len(points))}
	for i := range points {
		s.values[i] = points[i].x[j]
	}
	low, high := s.quantile(5), s.quantile(95)
	return high-low >= minVariation*math.Abs(high) && high > low
}

// correlation2 returns r² of two columns that vary.
func correlation2(points []point, j, k int) float64 {
	n := float64(len(points))
	var mj, mk, jj, kk, jk float64
	for i := range points {
		mj += points[i].x[j] / n
		mk += points[i].x[k] / n
	}
	for i := range points {
		dj, dk := points[i].x[j]-mj, points[i].x[k]-mk
		jj, kk, jk = jj+dj*dj, kk+dk*dk, jk+dj*dk
	}
	if jj == 0 || kk == 0 {
		return 0
	}
	return jk / jj * (jk / kk)
}

// madOf returns the median absolute deviation from the median.
func madOf(points []point, value func(*point) float64) float64 {
	m := medianOf(points, value)
	return medianOf(points, func(p *point) float64 { return math.Abs(value(p) - m) })
}

func medianOf(points []point, value func(*point) float64) float64 {
	x := make([]float64, len(points))
	for i := range points {
		x[i] = value(&points[i])
	}
	return median(x)
}

// median returns the median of x, which it reorders.
func median(x []float64) float64 {
	n := len(x)
	if n == 0 {
		return 0
	}
	lower := nth(x, (n-1)/2)
	if n%2 == 1 {
		return lower
	}
	return lower/2 + slices.Min(x[n/2:])/2
}

// nth moves the k-th smallest value to x[k], smaller ones before it and larger
// ones behind it (quickselect: sorting would take most of the time of a fit).
func nth[T cmp.Ordered](x []T, k int) T {
	low, high := 0, len(x)-1
	for low < high {
		pivot := x[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return x[k]
		}
	}
	return x[k]
}
