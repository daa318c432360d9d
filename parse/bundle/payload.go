package bundle

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/record"
)

// maxPayload is how much is read of a payload, in bytes. The token counts stand
// in front of the answer's text.
const maxPayload = 8 << 20

// readTokens fills in the token counts that the payload at path holds. Where it
// can't be read they stay unknown: bundles are passed on without payloads,
// which hold the whole conversation.
func (d *Decoder) readTokens(r *record.Request, path []byte) {
	b, err := d.readPayload(string(path))
	if err != nil {
		return
	}
	usage := []byte(nil)
	o := jsonwalk.Members(b)
	for o.Next() {
		if string(o.Key) == "token_usage" {
			usage = o.Value
			break
		}
	}
	o = jsonwalk.Members(usage)
	for o.Next() {
		switch string(o.Key) {
		case "input_tokens":
			r.Input = count(o.Value)
		case "cached_input_tokens":
			r.Cached = count(o.Value)
		case "input_tokens_details":
			if !r.Cached.Known {
				r.Cached = count(jsonwalk.Get(o.Value, "cached_tokens"))
			}
		case "output_tokens":
			r.Output = count(o.Value)
		case "reasoning_output_tokens":
			r.Reasoning = count(o.Value)
		case "output_tokens_details":
			if !r.Reasoning.Known {
				r.Reasoning = count(jsonwalk.Get(o.Value, "reasoning_tokens"))
			}
		}
	}
}

// count reads a count of tokens. No answer has 1e12 of them: that is damage.
func count(v []byte) record.Tokens {
	n, ok := jsonwalk.Int(v)
	if !ok || n >= 1e12 {
		return record.Tokens{}
	}
	return record.Count(n)
}

// readPayload returns the beginning of a file of the bundle. The path comes out
// of a log that anyone may have written, so it must not lead out of the
// bundle's folder, to a device, or to the user's keys.
func (d *Decoder) readPayload(path string) ([]byte, error) {
	path = filepath.FromSlash(path)
	if d.dir == "" || !filepath.IsLocal(path) || strings.EqualFold(filepath.Base(path), "auth.json") {
		return nil, os.ErrInvalid
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path) // before opening: a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n := min(info.Size(), maxPayload)
	if int64(cap(d.payload)) < n {
		d.payload = make([]byte, n)
	}
	got, err := io.ReadFull(f, d.payload[:n])
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return d.payload[:got], nil
}
