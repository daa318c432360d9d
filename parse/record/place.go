package record

import (
	"hash/fnv"
	"io"
)

// Hash spreads places evenly over 64 bits. It is the same in every run: where
// not all requests can be kept, the hashes of their places decide which are.
func (p Pos) Hash() uint64 { return p.HashIn(HashFile(p.File)) }

// HashIn is Hash for who has hashed the file already.
func (p Pos) HashIn(file uint64) uint64 { return Mix(file ^ Mix(uint64(p.Line)+1)) }

// HashFile returns the hash of a file's name, or of another text.
func HashFile(name string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, name)
	return h.Sum64()
}

// Mix spreads a number evenly over 64 bits (the finalizer of splitmix64).
func Mix(k uint64) uint64 {
	k += 0x9e3779b97f4a7c15
	k = (k ^ k>>30) * 0xbf58476d1ce4e5b9
	k = (k ^ k>>27) * 0x94d049bb133111eb
	return k ^ k>>31
}
