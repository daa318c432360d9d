package source

import (
	"io/fs"
	"os"
)

// A fileSet holds files by what they are, not by what they are called. The
// zero value is empty and ready to use.
type fileSet struct {
	ids map[ID]struct{} // all that is needed, where files have IDs
	// Else by a number that two names of one file share; os.SameFile decides.
	byNumber map[uint64][]fs.FileInfo
}

func (s *fileSet) has(info fs.FileInfo) bool {
	if id := IDOf(info); id != (ID{}) {
		_, ok := s.ids[id]
		return ok
	}
	for _, other := range s.byNumber[number(info)] {
		if os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// add puts a file into the set and reports whether it is new there.
func (s *fileSet) add(info fs.FileInfo) bool {
	if s.has(info) {
		return false
	}
	if id := IDOf(info); id != (ID{}) {
		if s.ids == nil {
			s.ids = make(map[ID]struct{})
		}
		s.ids[id] = struct{}{}
		return true
	}
	if s.byNumber == nil {
		s.byNumber = make(map[uint64][]fs.FileInfo)
	}
	n := number(info)
	s.byNumber[n] = append(s.byNumber[n], info)
	return true
}
