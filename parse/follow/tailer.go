package follow

import (
	"fmt"
	"os"
	"time"

	"github.com/hpcloud/tail"
	"github.com/hpcloud/tail/watch"
)

// pollEvery is how often a tail looks at its file. The library has one value
// for all, which must be set before the first tail starts.
const pollEvery = 50 * time.Millisecond

func init() { watch.POLL_DURATION = pollEvery }

// A tailer follows one open file with hpcloud/tail. That library follows an
// undisturbed file well and is lost with nearly everything else: it can miss
// a rotation for ever, hang in Stop, and end the whole process where a file
// cannot be looked at. So it is given a name of the file that stays: the one
// of our own descriptor, which nothing can rename, delete or forbid. What
// happens to the file's real name, and to its content, the engine looks after.
type tailer struct {
	tail *tail.Tail
	stop chan struct{} // closed: nobody wants lines any more
	done chan struct{} // closed: the tail is over
}

// A piece is a line that a tailer found.
type piece struct {
	from *tailer
	of   *file
	text string // without its line feed
}

// startTail follows the open file from offset on; lines go to out.
func startTail(of *file, out chan<- piece) (*tailer, error) {
	t, err := tail.TailFile(stableName(of.fd, of.File.Path), tail.Config{
		Location: &tail.SeekInfo{Offset: of.Offset},
		Follow:   true,
		Poll:     true, // its other way of watching goes deaf
		Logger:   tail.DiscardingLogger,
	})
	if err != nil {
		return nil, fmt.Errorf("following %s: %w", of.File.Path, err)
	}
	s := &tailer{tail: t, stop: make(chan struct{}), done: make(chan struct{})}
	go s.pass(of, out)
	return s, nil
}

// pass passes lines on until the tail is over. It takes them in any case: the
// tail would hang while one is not taken.
func (s *tailer) pass(of *file, out chan<- piece) {
	defer close(s.done)
	for l := range s.tail.Lines {
		select {
		case out <- piece{s, of, l.Text}:
		case <-s.stop:
		}
	}
}

// end stops the tail. Lines that were not taken by then are not delivered.
func (s *tailer) end() {
	close(s.stop)
	s.tail.Kill(nil)
	select {
	case <-s.done:
	case <-time.After(time.Second): // it cannot be; we must not hang all the same
	}
}

// over reports whether the tail ended by itself.
func (s *tailer) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// stableName returns a name of the open file f that cannot be taken from it,
// where the system has one; else its path.
func stableName(f *os.File, path string) string {
	own, err := f.Stat()
	if err != nil {
		return path
	}
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		name := fmt.Sprintf("%s/%d", dir, f.Fd())
		if info, err := os.Stat(name); err == nil && os.SameFile(own, info) {
			return name
		}
	}
	return path
}
