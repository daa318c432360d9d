package parse

import (
	"time"

	"codexlag/parse/record"
	"codexlag/parse/requestline"
)

// newDecoder returns the decoder of a kind of line; nil where lines of that
// kind hold nothing for us.
func newDecoder(k kind, path string, location *time.Location, emit func(record.Record)) record.Decoder {
	switch k {
	case kindRequest:
		return requestline.New(path, location, emit)
	}
	return nil
}
