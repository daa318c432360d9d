package analyze

import (
	"strings"
	"time"

	"codexlag/analyze/human"
)

const (
	minCacheable = 1024 // prompts below are not cached at all, in tokens

	lowHit, highHit = 0.5, 0.9 // shares of the prompt

	// A prefix stopped hitting where most of the prompt before came from the
	// cache, and next to nothing of this one, which is no shorter.
	wasHitting, nearNothing = 0.7, 0.1
	notShorter              = 0.9
	minLost                 = 3 // fewer can be chance
	// cacheLife is for how long at least the usual providers keep an unused prefix.
	cacheLife = 5 * time.Minute

	minMedian = 10 // requests on each side of a comparison of medians
)

// hitShare returns the share of the prompt that came from the cache.
func (w *row) hitShare() (share float64, ok bool) {
	if w.input < minCacheable || w.cached < 0 || w.cached > w.input {
		return 0, false
	}
	return float64(w.cached) / float64(w.input), true
}

// cacheMisses tells that requests that miss the cache start later, and that
// prefixes stopped hitting in the middle of sessions.
func cacheMisses(f *facts) []found {
	var evidence []string
	title, severity := "", SeverityInfo
	slower, stake := f.missesAreSlower()
	if slower != "" {
		title, severity = f.Text("Requests that miss the prompt cache start later"), f.startSeverity()
		evidence = append(evidence, slower)
	}
	lost := f.lostPrefixes()
	if lost.n >= minLost {
		evidence = append(evidence, f.lostEvidence(lost))
		if title == "" {
			title = f.Text("The prompt cache stops hitting in mid-session")
			stake = lost.waited
		}
		severity = SeverityWarn
	}
	if len(evidence) == 0 {
		return nil
	}
	return one(severity, "cache_misses", stake, title, strings.Join(evidence, f.Text(". ")),
		f.Text("Keep the beginning of the prompt the same: don't change model, tools, MCP servers or instructions in mid-session, put what varies at the end, and go on before the cache expires"))
}

// missesAreSlower compares TTFT at low and at high cache hits within the most
// used model. The stake is the time beyond the median of those that hit.
func (f *facts) missesAreSlower() (evidence string, stake int64) {
	model, rows := mostUsed(f.rowsWith(func(w *row) (float64, bool) {
		_, known := w.hitShare()
		v, ok := w.firstToken()
		return v, known && ok
	}))
	var low, high []float64
	for _, w := range rows {
		v, _ := w.firstToken()
		switch hit, _ := w.hitShare(); {
		case hit < lowHit:
			low = append(low, v)
		case hit >= highHit:
			high = append(high, v)
		}
	}
	c, ok := contrasted(high, low, minMedian)
	if !ok || c.factor() < notable || c.p() >= Alpha {
		return "", 0
	}
	for _, v := range low {
		stake += int64(1000 * max(0, v-c.ma))
	}
	return f.Sprintf("TTFT p50%s is %s where less than %s of the prompt came from the cache (n=%d), %s where at least %s did (n=%d): %s, %s",
		f.of(model), human.Duration(c.mb), human.Percent(lowHit), c.b.n(), human.Duration(c.ma), human.Percent(highHit), c.a.n(), times(c.factor()), human.PValue(c.p())), stake
}

// lostPrefixes are the requests of a session whose prefix had been hitting
// and did not any more.
type lostPrefixes struct {
	n, model, paused int   // all; after a change of model; else after a long pause
	again            int64 // prompt tokens that came from the cache before
	waited           int64 // µs until the first token, where known
}

// A thread is one history of prompts: a session, or a helper of it.
type thread struct{ session, origin string }

func (f *facts) lostPrefixes() (l lostPrefixes) {
	before := make(map[thread]*row)
	for _, w := range f.rows {
		hit, known := w.hitShare()
		if w.session() == "" || w.end == 0 || !w.ok() || !known {
			continue // without a time there is no order
		}
		t := thread{w.session(), w.origin()}
		b := before[t]
		before[t] = w
		if b == nil || hit >= nearNothing || float64(w.input) < notShorter*float64(b.input) {
			continue
		}
		if was, _ := b.hitShare(); was < wasHitting {
			continue
		}
		l.n++
		l.again += int64(b.cached)
		l.waited += max(0, w.ttft)
		switch {
		case w.model() != b.model():
			l.model++
		case w.start > 0 && time.Duration(w.start-b.end)*time.Microsecond > cacheLife:
			l.paused++
		}
	}
	return l
}

func (f *facts) lostEvidence(l lostPrefixes) string {
	s := f.Sprintf("In %s the cache hit fell from at least %s of the prompt to below %s, though it had not become shorter: about %s tokens were read again",
		f.requests(l.n), human.Percent(wasHitting), human.Percent(nearNothing), human.Count(int64(float64(l.again)/f.share)))
	var why []string
	if l.model > 0 {
		why = append(why, f.Sprintf("%d after a change of model", l.model))
	}
	if l.paused > 0 {
		why = append(why, f.Sprintf("%d after a pause of more than %s", l.paused, human.Limit(milliseconds(cacheLife))))
	}
	if len(why) > 0 {
		s += f.Sprintf(" (%s)", strings.Join(why, f.Text(", ")))
	}
	return s
}
