package telemetry

import "codexlag/parse/record"

// FNV-1a, 64 bits: enough to tell a few thousand recent events apart.
const (
	hashSeed  = 14695981039346656037
	hashPrime = 1099511628211
)

func hashBytes[T string | []byte](h uint64, b T) uint64 {
	for i := range len(b) {
		h = (h ^ uint64(b[i])) * hashPrime
	}
	return h
}

func hashInt(h uint64, v int64) uint64 {
	for range 8 {
		h = (h ^ uint64(v&0xff)) * hashPrime
		v >>= 8
	}
	return h
}

func hashTokens(h uint64, t record.Tokens) uint64 {
	if !t.Known {
		return hashInt(h, -1)
	}
	return hashInt(h, t.N)
}

// print is what two copies of one event have in common; the fields of the two
// targets differ in the rest.
func (e *Event) print() uint64 {
	h := hashInt(hashSeed, int64(e.Kind)<<8|int64(e.Part))
	h = hashInt(h, int64(e.Duration))
	h = hashInt(h, int64(e.TTFT))
	h = hashInt(h, int64(e.HTTPStatus)<<32|int64(e.Attempt))
	h = hashTokens(h, e.Input)
	h = hashTokens(h, e.Output)
	h = hashInt(h, int64(e.Call))
	return hashBytes(h, e.Tool)
}
