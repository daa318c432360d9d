//go:build unix

package source

import (
	"io/fs"
	"syscall"
)

// noWait makes opening a named pipe return at once instead of waiting for its
// writer; reading a regular file is as ever.
const noWait = syscall.O_NONBLOCK

// number returns the inode number: the same for all names of a file.
func number(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// device returns the number of the device that the inode number is of.
func device(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev)
	}
	return 0
}
