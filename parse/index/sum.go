package index

import (
	"hash/crc64"
	"io"
)

// summed is how many bytes at either end tell a log from others.
const summed = 4 << 10

var ecma = crc64.MakeTable(crc64.ECMA)

// SumOf returns a hash of the beginning and the end of the first size bytes of a log.
func SumOf(log io.ReaderAt, size int64) (uint64, error) {
	b := make([]byte, 2*summed)
	head, tail := b[:min(size, summed)], b[summed:]
	if size < 2*summed {
		tail = tail[:max(0, size-summed)]
	}
	if _, err := log.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	if _, err := log.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, err
	}
	return crc64.Update(crc64.Checksum(head, ecma), ecma, tail), nil
}
