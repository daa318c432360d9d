package source

import (
	"io/fs"
	"syscall"
)

// noWait is nothing here: opening never waits for a writer.
const noWait = 0

// number returns the time of creation: the same for all names of a file, and
// to be had without opening it.
func number(info fs.FileInfo) uint64 {
	if d, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		return uint64(d.CreationTime.Nanoseconds())
	}
	return 0
}

func device(fs.FileInfo) uint64 { return 0 }
