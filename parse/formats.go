package parse

import (
	"cmp"
	"time"

	"codexlag/parse/bundle"
	"codexlag/parse/execjson"
	"codexlag/parse/otlp"
	"codexlag/parse/record"
	"codexlag/parse/requestline"
	"codexlag/parse/rollout"
	"codexlag/parse/sqlitelog"
	"codexlag/parse/trace"
)

// newDecoder returns the decoder of a kind of line; nil where lines of that
// kind hold nothing for us.
func newDecoder(k kind, path string, location *time.Location, emit func(record.Record)) record.Decoder {
	switch k {
	case kindRequest:
		return requestline.New(path, location, emit)
	case kindRollout:
		return rollout.New(path, emit)
	case kindTrace:
		return trace.New(path, emit)
	case kindOTLP:
		return otlp.New(path, emit)
	case kindExec:
		return execjson.New(path, emit)
	case kindBundle:
		return bundle.New(path, emit)
	case kindRows:
		return sqlitelog.NewRows(path, emit)
	}
	return nil
}

// describe adds what a decoder knows of its log as a whole.
func describe(d record.Decoder, i *Info) {
	switch d := d.(type) {
	case *rollout.Decoder:
		about := d.Info()
		i.Era, i.Version, i.Session = about.Era, about.Version, about.Session
	case *trace.Decoder:
		i.Version = cmp.Or(i.Version, d.Info().Version)
	case *otlp.Decoder:
		i.Version = cmp.Or(i.Version, d.Info().Version)
	case *sqlitelog.Rows:
		i.Version = cmp.Or(i.Version, d.Info().Version)
	case *execjson.Decoder:
		i.Threads = d.Threads()
	}
}
