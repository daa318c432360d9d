package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"codexlag/analyze"
	"codexlag/analyze/lang"
	"codexlag/report"
)

// A screen shows what comes, line by line. On a terminal it keeps a footer below
// the lines, which it draws in place; elsewhere it writes lines and nothing else.
//
// It leaves the terminal in the mode in which it found it, cursor and all, so
// that the program can be ended at any time.
type screen struct {
	options report.TextOptions
	tty     *os.File // nil: no terminal
	color   string   // when to use colours

	mu     sync.Mutex
	w      io.Writer
	height int
	last   []shown  // the latest lines, to draw them anew
	footer []string // as it stands there; the cursor is behind its last line
	lines  int      // that were shown
	err    error    // of the first write that failed: nothing is shown after it
}

// shown is one line: a request, or a text.
type shown struct {
	request    *analyze.Request
	ended, now time.Time
	text       string
}

// maxShown is how many lines the tallest terminal has that is drawn anew whole.
const maxShown = 200

func newScreen(w io.Writer, color string, l lang.Language) *screen {
	s := &screen{w: w, color: color, options: report.TextOptions{Unicode: true, Language: l}}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.tty = f
		s.measure()
	}
	return s
}

// measure asks the terminal for its size and reports whether that has changed.
func (s *screen) measure() bool {
	options := terminal(s.tty, s.color)
	options.Language = s.options.Language
	height := 24
	if _, h, err := term.GetSize(int(s.tty.Fd())); err == nil && h > 0 {
		height = h
	}
	if options.Width <= 0 {
		options.Width = 80
	}
	changed := options.Width != s.options.Width || height != s.height
	s.options, s.height = options, height
	return changed
}

// update shows further lines, and view below them on a terminal. It returns the
// error of the first write that failed.
func (s *screen) update(lines []shown, view *report.LiveView) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines += len(lines)
	if s.tty == nil {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(s.line(l) + "\n")
		}
		s.write(b.String())
		return s.err
	}
	resized := s.measure()
	s.last = append(s.last, lines...)
	if n := len(s.last) - maxShown; n > 0 {
		s.last = slices.Delete(s.last, 0, n)
	}
	var footer []string
	if view != nil {
		footer = view.Footer(s.options, s.height-1)
	}
	switch {
	case resized && s.footer != nil:
		s.redraw(footer)
	case len(lines) > 0 || !slices.Equal(footer, s.footer):
		var b strings.Builder
		b.WriteString(s.erase())
		for _, l := range lines {
			b.WriteString(s.line(l) + "\r\n")
		}
		b.WriteString(strings.Join(footer, "\r\n"))
		s.write(b.String())
		s.footer = footer
	}
	return s.err
}

// redraw draws the whole screen: where a terminal was made narrower or wider
// there is no telling where the lines of the footer went.
func (s *screen) redraw(footer []string) {
	room := max(0, s.height-len(footer))
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[J")
	for _, l := range s.last[max(0, len(s.last)-room):] {
		b.WriteString(s.line(l) + "\r\n")
	}
	b.WriteString(strings.Join(footer, "\r\n"))
	s.write(b.String())
	s.footer = footer
}

// erase takes the footer away and leaves the cursor where it began.
func (s *screen) erase() string {
	switch n := len(s.footer); n {
	case 0:
		return ""
	case 1:
		return "\r\x1b[J"
	default:
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", n-1)
	}
}

func (s *screen) line(l shown) string {
	if l.request == nil {
		return l.text
	}
	return report.LiveLine(l.request, l.ended, l.now, s.options)
}

// close takes the footer away.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty != nil {
		s.write(s.erase())
		s.footer = nil
	}
}

// resume begins anew below what others wrote to the terminal.
func (s *screen) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.footer = nil
}

func (s *screen) write(text string) {
	if text == "" || s.err != nil {
		return
	}
	_, s.err = io.WriteString(s.w, text)
}

// An aside writes what is told on standard error above the footer of a screen
// on the same terminal.
type aside struct {
	screen *screen
	w      io.Writer
}

func (a aside) Write(b []byte) (int, error) {
	a.screen.mu.Lock()
	defer a.screen.mu.Unlock()
	s := a.screen
	s.write(s.erase())
	n, err := a.w.Write(b)
	s.write(strings.Join(s.footer, "\r\n"))
	for line := range strings.Lines(string(b)) {
		s.last = append(s.last, shown{text: strings.TrimRight(line, "\n")})
	}
	return n, err
}
