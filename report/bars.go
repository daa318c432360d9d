package report

import (
	"math"
	"strings"

	"codexlag/analyze/human"
)

// A barLine is a bar in characters: its three parts are aligned with those of
// its neighbours.
type barLine struct {
	label, bar, rest string
	tone             Tone
}

// eighths fill a cell from the left.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// barLines draws bars that are length cells long for a whole.
func barLines(bars []Bar, length int, unicode bool) []barLine {
	labels, shares, values := 0, 0, 0
	for _, b := range bars {
		labels = max(labels, width(visible(b.Label)))
		shares = max(shares, width(human.Percent(b.Share)))
		values = max(values, width(visible(b.Value)))
	}
	lines := make([]barLine, len(bars))
	for i, b := range bars {
		lines[i] = barLine{
			label: pad(visible(b.Label), labels, false) + "  ",
			bar:   pad(drawBar(b.Share, length, unicode), length, false),
			rest:  "  " + pad(human.Percent(b.Share), shares, true) + "  " + pad(visible(b.Value), values, true),
			tone:  b.Tone,
		}
	}
	return lines
}

// drawBar draws one bar; a share that is not nothing leaves at least a sliver.
func drawBar(part float64, length int, unicode bool) string {
	if !(part > 0) || length <= 0 {
		return ""
	}
	part = min(part, 1)
	if !unicode {
		return strings.Repeat("#", max(1, int(math.Round(part*float64(length)))))
	}
	n := max(1, int(math.Round(part*float64(8*length))))
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// pad fills s with spaces up to the given number of columns.
func pad(s string, columns int, right bool) string {
	fill := strings.Repeat(" ", max(0, columns-width(s)))
	if right {
		return fill + s
	}
	return s + fill
}
