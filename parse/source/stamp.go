package source

import (
	"io/fs"
	"time"
)

// A Stamp is all that a look at a file tells of its state: equal stamps mean an
// unchanged file, unless it was written to within the clock's step.
type Stamp struct {
	Size           int64 // bytes
	ModTime        int64 // ns in Unix time
	Changed        int64 // the same for when anything of it changed; 0 where the system does not tell
	Device, Number uint64
}

// Latest returns when the file was changed last.
func (s Stamp) Latest() time.Time { return time.Unix(0, max(s.ModTime, s.Changed)) }

// SameFile reports whether two stamps are of one file, whatever it holds.
func (s Stamp) SameFile(t Stamp) bool { return s.Device == t.Device && s.Number == t.Number }

func stampOf(info fs.FileInfo) Stamp {
	return Stamp{
		Size: info.Size(), ModTime: info.ModTime().UnixNano(), Changed: changed(info),
		Device: IDOf(info).Device, Number: number(info),
	}
}

// Stamp returns the state of the file when it was found; ok is false for what
// is no regular file.
func (f File) Stamp() (s Stamp, ok bool) {
	return f.stamp, f.stamp != Stamp{}
}

// Stamp returns the state of the open file; ok is false where it is no regular one.
func (s *Stream) Stamp() (now Stamp, ok bool) {
	if s.file == nil {
		return Stamp{}, false
	}
	info, err := s.file.Stat()
	if err != nil {
		return Stamp{}, false
	}
	return stampOf(info), true
}
