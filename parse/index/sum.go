package index

import (
	"io"

	"github.com/cespare/xxhash/v2"
)

const (
	// summed is how many bytes in a row are looked at, and blocks at how many
	// places: a log of up to summed*blocks bytes is looked at as a whole.
	summed = 4 << 10
	blocks = 16
)

// SumOf returns a hash of what the first size bytes of a log hold at its
// beginning, at its end, and at evenly spaced places between them. It tells a
// log that has grown from one that was written anew; not from one that was
// changed by hand between those places.
func SumOf(log io.ReaderAt, size int64) (uint64, error) {
	if size <= summed*blocks {
		b := make([]byte, size)
		if _, err := log.ReadAt(b, 0); err != nil && err != io.EOF {
			return 0, err
		}
		return xxhash.Sum64(b), nil
	}
	h := xxhash.New()
	b := make([]byte, summed)
	for i := range int64(blocks) {
		if _, err := log.ReadAt(b, (size-summed)*i/(blocks-1)); err != nil && err != io.EOF {
			return 0, err
		}
		h.Write(b)
	}
	return h.Sum64(), nil
}
