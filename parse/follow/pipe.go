package follow

import (
	"bytes"
	"fmt"
	"io"

	"codexlag/parse/source"
)

// A chunk is what came through a pipe or standard input.
type chunk struct {
	of   *file
	text []byte
	err  error // io.EOF at its end
}

func errFixed(path string) error {
	return fmt.Errorf("following %s: it changed, and a file of its kind can only be read as a whole; read it again without --follow for what it holds now", path)
}

// readPipe starts reading what can be read only once, unless that was done.
func (e *engine) readPipe(now source.File) {
	if f := e.files[keyOf(now)]; f != nil {
		f.look = e.look
		return
	}
	f := e.track(e.live.Open(now))
	f.pipe, f.classified = true, true
	stdin, ctx, out := e.o.Stdin, e.ctx, e.chunks
	go func() { // it may wait for its writer for ever, and then ends with the program
		send := func(text []byte, err error) bool {
			select {
			case out <- chunk{f, text, err}:
				return err == nil
			case <-ctx.Done():
				return false
			}
		}
		s, err := source.Open(now, stdin)
		if err != nil {
			send(nil, err)
			return
		}
		defer s.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := s.Read(buf)
			if !send(bytes.Clone(buf[:n]), err) {
				return
			}
		}
	}()
}

// takeChunk takes what came through a pipe.
func (e *engine) takeChunk(c chunk) {
	c.of.Write(c.text)
	switch {
	case c.err == nil:
		return
	case c.err != io.EOF:
		c.of.Failed(c.err)
	}
	c.of.End()
	if c.of.File.Stdin {
		e.over = len(e.paths) == 1
		return
	}
	e.retire(c.of) // the pipe may get another writer
}
