package analyze

import (
	"fmt"
	"slices"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
	"codexlag/parse/record"
)

// manyFailures: from this share of all requests on, failures of one kind are
// what the user must deal with first.
const manyFailures = 0.05

// failures counts the failed requests that are of a kind.
func (f *facts) failures(is func(*row) bool) (n int, waited int64) {
	for _, w := range f.rows {
		if w.status == record.Failed && is(w) {
			n++
			waited += w.waited()
		}
	}
	return n, waited
}

// failureSeverity is bad for many failures, else warn.
func (f *facts) failureSeverity(n int) string {
	if float64(n) >= manyFailures*float64(len(f.rows)) {
		return SeverityBad
	}
	return SeverityWarn
}

// ofAll writes how many of all requests so many rows stand for.
func (f *facts) ofAll(n int) string {
	return f.Sprintf("%s of %s (%s)", f.count(n), lang.Plural(f.Language, f.all.Requests, "request"), human.Percent(float64(n)/float64(len(f.rows))))
}

func status(code int16) func(*row) bool { return func(w *row) bool { return w.httpStatus == code } }

func http401(f *facts) []found {
	n, waited := f.failures(status(401))
	if n == 0 {
		return nil
	}
	return one(SeverityBad, "http_401", waited, f.Text("The key is not accepted (HTTP 401)"),
		f.Sprintf("Refused: %s", f.ofAll(n)),
		f.Text("Check that the key is complete, without a stray blank or line break, not revoked, and that it belongs to the provider of the base URL; codex login makes a new one"))
}

func http404(f *facts) []found {
	n, waited := f.failures(status(404))
	if n == 0 {
		return nil
	}
	return one(SeverityBad, "http_404", waited, f.Text("The address or the model does not exist (HTTP 404)"),
		f.Sprintf("Not found: %s", f.ofAll(n)),
		f.Text("Look at base_url of the provider: /v1 is missing there, or it is in it twice; then at the spelling of the model's name"))
}

func http429(f *facts) []found {
	n, waited := f.failures(status(429))
	if n == 0 {
		return nil
	}
	return one(f.failureSeverity(n), "http_429", waited, f.Text("Requests run into the rate limit (HTTP 429)"),
		f.Sprintf("Turned away: %s", f.ofAll(n)),
		f.Text("Run fewer sessions at once, shorten the context (limits count tokens too), wait as long as the answer says, or ask for a higher limit"))
}

func http5xx(f *facts) []found {
	n, waited := f.failures(func(w *row) bool { return w.httpStatus >= 500 && w.httpStatus <= 599 })
	if n == 0 {
		return nil
	}
	return one(f.failureSeverity(n), "http_5xx", waited, f.Text("The server fails (HTTP 5xx)"),
		f.Sprintf("Failed at the server: %s%s", f.ofAll(n), f.codes(500, 599)),
		f.Text("Nothing at this end makes that faster: compare the times with the provider's status page, and ask whoever runs the gateway if one is in between"))
}

// codes lists the HTTP statuses of failed requests in a range, most frequent first.
func (f *facts) codes(from, to int16) string {
	n := make(map[int16]int)
	for _, w := range f.rows {
		if w.status == record.Failed && w.httpStatus >= from && w.httpStatus <= to {
			n[w.httpStatus]++
		}
	}
	codes := make([]int16, 0, len(n))
	for c := range n {
		codes = append(codes, c)
	}
	slices.SortFunc(codes, func(a, b int16) int {
		if n[a] != n[b] {
			return n[b] - n[a]
		}
		return int(a - b)
	})
	s := ""
	for i, c := range codes {
		sep := f.Text(", ")
		if i == 0 {
			sep = f.Text("; HTTP ")
		}
		s += fmt.Sprintf("%s%d (%s×)", sep, c, human.Count(f.scaled(n[c])))
	}
	return s
}

func timeouts(f *facts) []found {
	n, waited := f.failures(func(w *row) bool {
		return w.httpStatus == 408 || w.httpStatus == 0 && w.errKind() == record.ErrTimeout
	})
	if n == 0 {
		return nil
	}
	evidence := f.Sprintf("Timed out: %s", f.ofAll(n))
	if waited > 0 {
		evidence += f.Sprintf(", after %s of waiting in all", human.Duration(float64(waited)/1000/f.share))
	}
	return one(f.failureSeverity(n), "timeouts", waited, f.Text("Requests time out"), evidence,
		f.Text("See whether the answers would have been long (then raise the time-out: stream_idle_timeout_ms of the provider in config.toml, and that of any gateway) or never began (then look at the network and the queue)"))
}

// droppedStreams tells of connections that broke, and of attempts before the
// one that succeeded: their waits are inside TTFT.
func droppedStreams(f *facts) []found {
	n, waited := f.failures(func(w *row) bool { return w.httpStatus == 0 && w.errKind() == record.ErrDisconnected })
	var retries, retried int
	var again, at1 []float64 // TTFT with retries, and without
	for _, w := range f.rows {
		if !w.ok() {
			continue
		}
		if w.retries > 0 {
			retries += int(w.retries)
			retried++
		}
		if v, ok := w.firstToken(); ok {
			if w.retries > 0 {
				again = append(again, v)
				waited += w.ttft
			} else {
				at1 = append(at1, v)
			}
		}
	}
	evidence, severity := "", SeverityInfo
	if n > 0 {
		evidence = f.Sprintf("Connection lost: %s", f.ofAll(n))
		severity = f.failureSeverity(n)
	}
	if retried > 0 {
		if evidence != "" {
			evidence += f.Text("; ")
		}
		evidence += f.Sprintf("%s before the attempt that worked, in %s", lang.Plural(f.Language, f.scaled(retries), "failed attempt"), f.requests(retried))
		if c, ok := contrasted(at1, again, MinTest); ok {
			evidence += f.Sprintf("; TTFT p50 is %s with retries (n=%d) and %s without (n=%d)", human.Duration(c.mb), c.b.n(), human.Duration(c.ma), c.a.n())
			if c.factor() >= notable && c.p() < Alpha {
				severity = SeverityWarn
			}
		}
	}
	if evidence == "" {
		return nil
	}
	return one(severity, "dropped_streams", waited, f.Text("Connections break or are tried again"), evidence,
		f.Text("A retry waits inside TTFT, so it looks like a slow model: check proxy, VPN and Wi-Fi, and idle limits of a gateway on long streams"))
}

const (
	ceilingWidth  = 0.01 // totals so close together did not end by chance
	ceilingGap    = 0.05 // below them nothing ends for that much
	ceilingFactor = 2    // and they are far above p90 of the rest
	minCeiling    = 3    // requests at the ceiling
	minBelow      = 10   // requests below, for a p90
)

// commonCeiling looks for requests that end after the same long time, whatever
// their status: not a speed but somebody's time-out. Failed requests count
// here, because a time-out is what made them fail.
func commonCeiling(f *facts) []found {
	var totals sample
	for _, w := range f.rows {
		if w.total > 0 && w.status != record.Warmup {
			totals.add(float64(w.total) / 1000)
		}
	}
	x := totals.ordered()
	if len(x) < minCeiling+minBelow {
		return nil
	}
	top := x[len(x)-1]
	at, _ := slices.BinarySearch(x, top*(1-ceilingWidth))
	below := sample{values: x[:at], sorted: true}
	n := len(x) - at
	if n < minCeiling || below.n() < minBelow || x[at-1] > top*(1-ceilingGap) || top < ceilingFactor*below.quantile(90) {
		return nil
	}
	unfinished := 0
	var waited int64
	for _, w := range f.rows {
		if float64(w.total)/1000 >= x[at] && w.status != record.Warmup {
			waited += w.total
			if !w.ok() {
				unfinished++
			}
		}
	}
	return one(SeverityWarn, "common_ceiling", waited, f.Sprintf("Requests end at a common ceiling of %s", human.Duration(top)),
		f.Sprintf("%s end between %s and %s, %d of them not completed; p90 of the other %d is %s",
			f.requests(n), human.Duration(x[at]), human.Duration(top), f.scaled(unfinished), f.scaled(below.n()), human.Duration(below.quantile(90))),
		f.Text("That is a time-out, not a speed: find whose it is (client, gateway, proxy; for Codex stream_idle_timeout_ms of the provider) and raise it, or ask for shorter answers"))
}
