package record

import "codexlag/parse/lines"

// A Decoder turns the lines of one log, in order, into records. Each format
// has one; each is made by a New(file, emit) of its package.
//
// A decoder never fails: what it cannot read it emits as *Dropped.
type Decoder interface {
	// Line takes the next line that is of the decoder's format. It does not
	// keep l.Text. Where l is cut (see NeedWhole) the decoder works with the
	// beginning, or drops the line as TooLong.
	Line(l lines.Line)
	// NeedWhole is asked for a line longer than lines.Window, of which head is
	// the beginning: does the decoder need all of it?
	NeedWhole(head []byte) bool
	// End tells that the log is over: what is pending is emitted.
	End()
}
