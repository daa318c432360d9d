package requestline

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"codexlag/parse/record"
	"codexlag/parse/timestamp"
)

// Row takes the line if it is a request of the usual shape, and reports whether
// it was:
//
//	[request] first_token_ms=2840 total_tokens=3 total_ms=3120 tokens_per_sec=10.7
//	2026-09-10T09:00:03.12Z INFO model=m [request] total_ms=3120 …
//	{"ts":"2026-09-10T09:00:03.12Z","model":"m","first_token_ms":2840,…}
//
// with the fields in any order. What Row leaves may be a request all the same:
// Line and Object know every shape. What it takes they would read alike.
// The text has neither its line feed nor a carriage return before it; bracket is
// where the first [ stands in it, which only an object may lack. Bytes behind
// the text may be looked at.
func (d *Decoder) Row(text []byte, bracket int, r *record.Row) bool {
	*r = record.Row{Rate: -1}
	s := rowScanner{text: text, decoder: d, row: r}
	if text[0] == '{' {
		return s.object()
	}
	if bracket > 0 && !s.prefix(bracket) {
		return false
	}
	return s.pairs()
}

// Models lists the models that rows have so far: see record.Rows.
func (d *Decoder) Models() []string { return d.rowModels }

// A rowScanner goes through one line. Whatever it does not expect ends it.
type rowScanner struct {
	text    []byte
	i       int // read up to here
	have    uint8
	decoder *Decoder
	row     *record.Row
}

// The figures that a row has.
const (
	haveTTFT = 1 << iota
	haveTotal
	haveOutput
	haveRate
	haveTime
	haveModel

	haveAll = haveTTFT | haveTotal | haveOutput
)

// first returns h for the first value of its kind in a line, else 0: which of
// two counts is a question for the long way.
func (s *rowScanner) first(h uint8) bool {
	if s.have&h != 0 {
		return false
	}
	s.have |= h
	return true
}

func (s *rowScanner) done() bool { return s.have&haveAll == haveAll && s.row.Total > 0 }

// prefix reads what stands before the mark: a time, words, a model. A log
// repeats what stands behind the time on most lines, so that is remembered.
func (s *rowScanner) prefix(end int) bool {
	if end > maxPrefix {
		return false
	}
	t := s.text[:end]
	i := 0
	if isDigit(t[0]) {
		if i = bytes.IndexByte(t, ' '); i < 0 || !s.time(t[:i]) {
			return false
		}
	}
	s.i = end
	d := s.decoder
	for k := range d.prefixes {
		if p := &d.prefixes[k]; string(t[i:]) == p.text {
			s.row.Model = p.model
			if p.model > 0 {
				s.have |= haveModel
			}
			return true
		}
	}
	if !s.words(t[i:]) {
		return false
	}
	if len(d.prefixes) < maxPrefixes {
		d.prefixes = append(d.prefixes, rowPrefix{string(t[i:]), s.row.Model})
	}
	return true
}

// A rowPrefix is what stood between the time and the mark of a row.
type rowPrefix struct {
	text  string
	model uint16
}

// maxPrefixes bounds how many are compared.
const maxPrefixes = 8

// words reads the words before the mark, and a model among them.
func (s *rowScanner) words(t []byte) bool {
	for i := 0; i < len(t); {
		start := i
		for i < len(t) && class[t[i]]&keyByte != 0 {
			if t[i] == '_' {
				return false // maybe codex_core: a line of Codex's trace
			}
			i++
		}
		switch {
		case i == len(t):
			return false
		case t[i] == ' ':
			i++
		case t[i] == '=' && string(t[start:i]) == "model":
			n := nameEnd(t[i+1:])
			if !s.model(t[i+1:i+1+n]) || bytes.IndexByte(t[i+1:i+1+n], '_') >= 0 {
				return false
			}
			i += 1 + n
		default:
			return false
		}
	}
	return true
}

// pairs reads the mark and the pairs after it.
func (s *rowScanner) pairs() bool {
	t, i := s.text, s.i
	end := len(t)
	if cap(t) < end+Behind {
		return false // Row says what it needs
	}
	t = t[:end+Behind] // loads of eight bytes need not look where the line ends
	if string(t[i:i+len(mark)]) != string(mark) {
		return false
	}
	i += len(mark)
	have := s.have
	r := s.row
	for i < end {
		if t[i] != ' ' {
			return false
		}
		i++
		var bit uint8
		var value *uint32
		switch binary.LittleEndian.Uint64(t[i:]) {
		case firstToken:
			if binary.LittleEndian.Uint64(t[i+7:]) != firstTokenEnd {
				return false
			}
			i += len("first_token_ms=")
			bit, value = haveTTFT, &r.TTFT
		case totalTokens:
			if binary.LittleEndian.Uint64(t[i+5:]) != totalTokensEnd {
				return false
			}
			i += len("total_tokens=")
			bit, value = haveOutput, &r.Output
		case totalMillis:
			if t[i+8] != '=' {
				return false
			}
			i += len("total_ms=")
			bit, value = haveTotal, &r.Total
		case tokensPerSecond:
			if binary.LittleEndian.Uint64(t[i+7:]) != tokensPerSecondEnd {
				return false
			}
			i += len("tokens_per_sec=")
			n, digits := wholeNumber(t[i:])
			i += digits
			decimals := 0
			if t[i] == '.' {
				var fraction uint64
				if fraction, decimals = wholeNumber(t[i+1:]); decimals == 0 {
					return false
				}
				i += 1 + decimals
				n = n*wholePowersOf10[decimals] + fraction
			}
			if r.Rate = float64(n) / powersOf10[decimals]; digits == 0 || r.Rate > maxRate {
				return false
			}
			bit = haveRate
		default:
			if s.i, s.have = i, have; !s.modelPair(end) {
				return false
			}
			i, have = s.i, s.have
			continue
		}
		if value != nil {
			n, digits := wholeNumber(t[i:])
			if digits == 0 {
				return false
			}
			*value = uint32(n)
			i += digits
		}
		if have&bit != 0 || i > end || i < end && t[i] != ' ' {
			return false
		}
		have |= bit
	}
	s.have = have
	return s.done()
}

// Behind is how many bytes behind a line Row may look at.
const Behind = 16

// wholeNumber reads the digits that t begins with, up to seven, all at once: of
// eight bytes the first that is no digit is found by a carry, and the digits
// before it are joined two by two. digits is 0 where there is no number, or a
// longer one.
func wholeNumber(t []byte) (n uint64, digits int) {
	x := binary.LittleEndian.Uint64(t) ^ 0x3030303030303030
	other := (x + 0x7676767676767676 | x) & 0x8080808080808080
	if other&0x80 != 0 || other == 0 {
		return 0, 0
	}
	digits = bits.TrailingZeros64(other) / 8
	x <<= 64 - 8*uint(digits)
	x = (x * 2561 >> 8) & 0x00ff00ff00ff00ff
	x = (x * 6553601 >> 16) & 0x0000ffff0000ffff
	return x * 42949672960001 >> 32, digits
}

// modelPair reads a model after the mark.
func (s *rowScanner) modelPair(end int) bool {
	t := s.text[s.i:end]
	if !bytes.HasPrefix(t, []byte("model=")) {
		return false
	}
	t = t[len("model="):]
	n := nameEnd(t)
	s.i += len("model=") + n
	return s.model(t[:n])
}

// nameEnd returns where a name without quotes ends: before a blank, or before
// what does not belong to a plain name.
func nameEnd(t []byte) int {
	n := 0
	for n < len(t) && (class[t[n]]&keyByte != 0 || t[n] == '/') {
		n++
	}
	return n
}

// object reads a JSON object whose members are numbers and plain strings.
func (s *rowScanner) object() bool {
	t := s.text
	if t[len(t)-1] != '}' {
		return false
	}
	for i := 1; i < len(t); {
		if t[i] == ' ' {
			i++
		}
		if i+1 >= len(t) || t[i] != '"' {
			return false
		}
		i++
		k, n := usualKey(t[i:])
		if k == fieldNone {
			end := bytes.IndexByte(t[i:], '"')
			if end < 0 || bytes.IndexByte(t[i:i+end], '\\') >= 0 {
				return false
			}
			k, n = lookup(t[i:i+end]), end+1
		}
		if i += n; i+2 >= len(t) || t[i] != ':' {
			return false
		}
		if i++; t[i] == ' ' {
			i++
		}
		s.i = i
		if t[i] == '"' {
			if !s.quoted(k) {
				return false
			}
		} else if !s.number(k) {
			return false
		}
		switch i = s.i; {
		case i == len(t)-1: // the closing brace
			return s.done()
		case t[i] != ',':
			return false
		}
		i++
	}
	return false
}

// quoted reads the value of a member that is a string.
func (s *rowScanner) quoted(k field) bool {
	v := s.text[s.i+1:]
	n := plainText(v)
	if n >= len(v)-1 || v[n] != '"' {
		return false
	}
	s.i += n + 2
	switch v = v[:n]; k {
	case fieldNone:
		return true
	case fieldMessage:
		return !bytes.HasPrefix(v, mark)
	case fieldTime:
		return s.time(v)
	case fieldModel:
		return nameEnd(v) == len(v) && s.model(v)
	}
	return false
}

// plainText returns how many bytes at the start of v stand for themselves in a
// JSON string. Of eight bytes at once the first that does not is found by the
// borrow that it makes.
func plainText(v []byte) (n int) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(v); n += 8 {
		x := binary.LittleEndian.Uint64(v[n:])
		quote, escape := x^'"'*ones, x^'\\'*ones
		if special := ((quote-ones)&^quote | (escape-ones)&^escape | (x-' '*ones)&^x) & tops; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(v) && class[v[n]]&textByte != 0 {
		n++
	}
	return n
}

// usualKey recognises the keys that nearly every object has, up to the quote that
// ends them. n is the length of both.
func usualKey(t []byte) (k field, n int) {
	if len(t) < 16 {
		if len(t) < 10 {
			return fieldNone, 0
		}
		t = append(make([]byte, 0, 16), t...)[:16] // stays on the stack
	}
	switch binary.LittleEndian.Uint64(t) {
	case firstToken:
		k, n = fieldTTFT, len("first_token_ms")
		if string(t[8:14]) != "ken_ms" {
			return fieldNone, 0
		}
	case totalTokens:
		k, n = fieldTotalTokens, len("total_tokens")
		if string(t[8:12]) != "kens" {
			return fieldNone, 0
		}
	case totalMillis:
		k, n = fieldTotal, len("total_ms")
	case tokensPerSecond:
		k, n = fieldTPS, len("tokens_per_sec")
		if string(t[8:14]) != "er_sec" {
			return fieldNone, 0
		}
	default:
		return fieldNone, 0
	}
	if t[n] != '"' {
		return fieldNone, 0
	}
	return k, n + 1
}

// The first eight bytes of the usual keys, and the last eight with their sign.
var (
	firstToken         = binary.LittleEndian.Uint64([]byte("first_to"))
	firstTokenEnd      = binary.LittleEndian.Uint64([]byte("oken_ms="))
	totalTokens        = binary.LittleEndian.Uint64([]byte("total_to"))
	totalTokensEnd     = binary.LittleEndian.Uint64([]byte("_tokens="))
	totalMillis        = binary.LittleEndian.Uint64([]byte("total_ms"))
	tokensPerSecond    = binary.LittleEndian.Uint64([]byte("tokens_p"))
	tokensPerSecondEnd = binary.LittleEndian.Uint64([]byte("per_sec="))
)

// number reads a number: of up to nine digits and, where k is a rate, one with
// a few decimals.
func (s *rowScanner) number(k field) bool {
	t, i := s.text, s.i
	n, digits := uint64(0), 0
	if i+8 <= len(t) {
		n, digits = wholeNumber(t[i:])
		i += digits
	}
	if digits == 0 {
		for i < len(t) && isDigit(t[i]) {
			n = n*10 + uint64(t[i]-'0')
			i++
		}
		digits = i - s.i
	}
	if digits == 0 || digits > 9 || digits > 1 && t[s.i] == '0' {
		return false
	}
	decimals := 0
	if i < len(t) && t[i] == '.' {
		for i++; i < len(t) && isDigit(t[i]); i++ {
			n = n*10 + uint64(t[i]-'0')
			decimals++
		}
		if decimals == 0 || decimals > 6 {
			return false
		}
	}
	if i < len(t) && t[i] != ' ' && t[i] != ',' && t[i] != '}' {
		return false
	}
	s.i = i
	switch r := s.row; k {
	case fieldTTFT:
		r.TTFT = uint32(n)
		return decimals == 0 && s.first(haveTTFT)
	case fieldTotal:
		r.Total = uint32(n)
		return decimals == 0 && s.first(haveTotal)
	case fieldTotalTokens:
		r.Output = uint32(n)
		return decimals == 0 && s.first(haveOutput)
	case fieldTPS:
		r.Rate = float64(n) / powersOf10[decimals]
		return r.Rate <= maxRate && s.first(haveRate)
	}
	return k == fieldNone
}

func (s *rowScanner) time(v []byte) bool {
	t, ok := timestamp.Parse(v)
	if !ok || !s.first(haveTime) {
		return false
	}
	s.row.Seconds, s.row.Nanoseconds, s.row.HasEnd = t.Unix(), uint32(t.Nanosecond()), true
	return true
}

// model finds the number of a model. A log has few.
func (s *rowScanner) model(v []byte) bool {
	if isUnknown(v) || !s.first(haveModel) {
		return false
	}
	d := s.decoder
	if string(v) == d.lastModel {
		s.row.Model = d.lastNumber
		return true
	}
	n, ok := d.rowNumbers[string(v)]
	if !ok {
		if len(d.rowModels) == math.MaxUint16 {
			return false
		}
		name := d.names.Get(v)
		d.rowModels = append(d.rowModels, name)
		n = uint16(len(d.rowModels))
		if d.rowNumbers == nil {
			d.rowNumbers = make(map[string]uint16)
		}
		d.rowNumbers[string(v)] = n
	}
	d.lastModel, d.lastNumber = d.rowModels[n-1], n
	s.row.Model = n
	return true
}
