package analyze

import "time"

// A Course is percentiles over time.
type Course struct {
	N           int           // requests with the figure and a time
	Width       time.Duration // of a bucket; 24 h and more are calendar days
	Percentiles []float64
	Buckets     []Bucket // without gaps: one without requests has N = 0
}

// A Bucket is the requests that ended in one stretch of time.
type Bucket struct {
	Start  time.Time // as the clock on the wall shows it, whatever the zone of the value
	N      int
	Values []*float64 // one a percentile; nil where N is too small for it
}

const (
	maxBuckets = 48
	day        = 24 * time.Hour
)

// widths are the stretches that people think in.
var widths = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
	3 * time.Hour, 6 * time.Hour, day, 7 * day, 28 * day, 91 * day, 364 * day}

// newCourse is nil where all requests with the figure end in one bucket, or
// none tells its time.
func newCourse(rows []row, figure func(*row) (float64, bool), ps []float64, zone *time.Location) *Course {
	type value struct {
		at int64 // s, wall clock
		v  float64
	}
	var l []value
	for i := range rows {
		w := &rows[i]
		if v, ok := figure(w); ok && w.end > 0 {
			l = append(l, value{wallClock(w.end, zone), v})
		}
	}
	if len(l) == 0 {
		return nil
	}
	first, last := l[0].at, l[0].at
	for _, x := range l {
		first, last = min(first, x.at), max(last, x.at)
	}
	c := &Course{N: len(l), Percentiles: ps}
	var from, buckets int64
	for _, c.Width = range widths {
		from = bucketOf(first, c.Width)
		if buckets = bucketOf(last, c.Width) - from + 1; buckets <= maxBuckets {
			break
		}
	}
	if buckets < 2 || buckets > maxBuckets {
		return nil
	}
	samples := make([]sample, buckets)
	for _, x := range l {
		samples[bucketOf(x.at, c.Width)-from].add(x.v)
	}
	for i := range samples {
		c.Buckets = append(c.Buckets, newBucket(&samples[i], bucketStart(from+int64(i), c.Width), ps))
	}
	return c
}

func newBucket(s *sample, start time.Time, ps []float64) Bucket {
	b := Bucket{Start: start, N: s.n()}
	for _, p := range ps {
		var v *float64
		if s.n() >= SamplesFor(max(p, 100-p)) {
			v = num(s.quantile(p))
		}
		b.Values = append(b.Values, v)
	}
	return b
}

// wallClock returns what the clock on the wall shows, as seconds. When it is
// put back, an hour comes twice and shares its buckets.
func wallClock(µs int64, zone *time.Location) int64 {
	t := time.UnixMicro(µs).In(zone)
	_, offset := t.Zone()
	return t.Unix() + int64(offset)
}

// monday is the first one after 1970-01-01, a Thursday: weeks begin on Mondays.
const monday = 4 * 86400

// bucketOf numbers the stretch that a time lies in.
func bucketOf(s int64, width time.Duration) int64 {
	if width >= 7*day {
		s -= monday
	}
	w := int64(width / time.Second)
	if s < 0 {
		s -= w - 1
	}
	return s / w
}

func bucketStart(n int64, width time.Duration) time.Time {
	s := n * int64(width/time.Second)
	if width >= 7*day {
		s += monday
	}
	return time.Unix(s, 0).UTC()
}

// An HourMap is the TTFTs by weekday and hour of the day in which the requests ended.
type HourMap struct {
	N     int
	Cells [7][24]HourCell // Monday first
}

// An HourCell is the requests of one hour of the week.
type HourCell struct {
	N        int
	P50, P90 *float64 // ms; nil where N is too small
}

// newHourMap is nil where the requests end in fewer than two hours of the week.
func newHourMap(rows []row, zone *time.Location) *HourMap {
	var samples [7][24]sample
	m := &HourMap{}
	for i := range rows {
		w := &rows[i]
		if v, ok := w.firstToken(); ok && w.end > 0 {
			m.N++
			t := time.Unix(wallClock(w.end, zone), 0).UTC()
			samples[(t.Weekday()+6)%7][t.Hour()].add(v)
		}
	}
	hours := 0
	for d := range samples {
		for h := range samples[d] {
			b := newBucket(&samples[d][h], time.Time{}, []float64{50, 90})
			m.Cells[d][h] = HourCell{b.N, b.Values[0], b.Values[1]}
			if b.N > 0 {
				hours++
			}
		}
	}
	if hours < 2 {
		return nil
	}
	return m
}
