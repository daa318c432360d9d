package analyze

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"codexlag/analyze/human"
)

const (
	// sameStart: a median TTFT that is less than a fifth longer is no difference.
	sameStart = 1.2
	// minInput: requests on each side that a comparison of inputs needs.
	minInput = 6
	// longPrompt: prompts from so many uncached tokens on take time to read.
	longPrompt = 4000
	// muchLonger: between the halves of the prompts, for them to be an experiment.
	muchLonger = 4
)

// longInput tells that an experiment with long and with short prompts shows no
// difference, and why: by the names of groups, else by the sizes of prompts.
func longInput(f *facts) []found {
	for _, by := range []Dimension{"label", "file", "dir"} {
		long, short := f.inputSide(by, "long"), f.inputSide(by, "short")
		if len(long) > 0 && len(short) > 0 {
			return f.compareInputs(long, short)
		}
	}
	return f.shortPrompts()
}

// inputSide returns the rows with a TTFT of the groups whose name says that
// their input is long, or short.
func (f *facts) inputSide(by Dimension, word string) []*row {
	var l []*row
	for _, g := range f.groups {
		if g.by != by || !speaksOfInput(g.key, word) {
			continue
		}
		rows := g.population.ordered()
		for i := range rows {
			w := &rows[i]
			if _, ok := w.firstToken(); ok {
				l = append(l, w)
			}
		}
	}
	return l
}

// speaksOfInput reports whether a label or a file's name calls the input long,
// or short: by that word alone, or by one for the prompt right after it.
func speaksOfInput(name, word string) bool {
	words := strings.FieldsFunc(strings.ToLower(filepath.Base(name)), func(r rune) bool { return !unicode.IsLetter(r) })
	at := slices.Index(words, word)
	if at < 0 {
		return false
	}
	if at+1 < len(words) {
		switch words[at+1] {
		case "input", "prompt", "context":
			return true
		case "output", "answer", "reply", "completion":
			return false
		}
	}
	return !slices.Contains(words, "long") || !slices.Contains(words, "short") // else it is about both
}

// compareInputs compares the TTFTs of long and short inputs.
func (f *facts) compareInputs(long, short []*row) []found {
	const id = "long_input_no_difference"
	c, ok := contrasted(values(short, (*row).firstToken), values(long, (*row).firstToken), minInput)
	if !ok {
		return f.inconclusive(id, f.Text("does the long input start later than the short one?"),
			f.Sprintf("%d requests with a TTFT have a long input, %d a short one; %d of each are needed", c.b.n(), c.a.n(), minInput),
			f.Text("Repeat both a few times"))
	}
	evidence := f.Sprintf("TTFT p50 is %s for long input (n=%d) and %s for short (n=%d), %s%s",
		human.Duration(c.mb), c.b.n(), human.Duration(c.ma), c.a.n(), human.PValue(c.p()), f.inputSizes(long, short))
	switch {
	case c.factor() >= sameStart && c.p() < Alpha:
		return nil
	case c.factor() >= sameStart:
		return f.inconclusive(id, f.Text("does the long input start later than the short one?"), evidence, f.Text("Repeat both a few times more: the two overlap too much for so few requests"))
	}
	advice := f.Text("The input is too short to show in TTFT: use several thousand tokens, and begin each prompt differently so that it does not come from the cache")
	if p := uncachedOf(long); p.n() > 0 && p.quantile(50) >= longPrompt {
		advice = f.Text("The input is long enough, so the prompt is not what the first token waits for: look at queue, network and gateway")
	}
	return one(SeverityInfo, id, 0, f.Text("The long input makes no difference to TTFT"), evidence, advice)
}

func uncachedOf(rows []*row) *sample {
	return &sample{values: values(rows, func(w *row) (float64, bool) {
		n, ok := w.uncached()
		return float64(n), ok
	})}
}

// inputSizes says how long the inputs are, where that is known.
func (f *facts) inputSizes(long, short []*row) string {
	l, s := uncachedOf(long), uncachedOf(short)
	if l.n() == 0 || s.n() == 0 {
		return ""
	}
	return f.Sprintf("; uncached prompt tokens at the median: %s against %s", human.Quantity(l.quantile(50)), human.Quantity(s.quantile(50)))
}

// shortPrompts tells that TTFT does not grow with the prompt because none is
// long. Sessions of an agent bring more than that at once: only experiments do not.
func (f *facts) shortPrompts() []found {
	known := f.rowsWith(func(w *row) (float64, bool) {
		v, ok := w.firstToken()
		return v, ok && w.input >= 0 && w.cached <= w.input
	})
	long := 0
	for _, w := range known {
		if w.input >= longPrompt {
			long++
		}
	}
	if len(known) < 2*minMedian || 10*long > len(known) {
		return nil
	}
	_, rows := mostUsed(known)
	longer, shorter := halves(rows)
	if len(longer) < minMedian || uncachedOf(longer).quantile(50) < muchLonger*uncachedOf(shorter).quantile(50) {
		return nil
	}
	c, ok := contrasted(values(shorter, (*row).firstToken), values(longer, (*row).firstToken), minMedian)
	if !ok || c.factor() >= sameStart {
		return nil
	}
	return f.compareInputs(longer, shorter)
}

// halves parts the rows at the median of their inputs.
func halves(rows []*row) (longer, shorter []*row) {
	inputs := sample{values: values(rows, func(w *row) (float64, bool) { return float64(w.input), true })}
	middle := inputs.quantile(50)
	for _, w := range rows {
		if float64(w.input) > middle {
			longer = append(longer, w)
		} else {
			shorter = append(shorter, w)
		}
	}
	return longer, shorter
}
