package source

import (
	"io/fs"
	"syscall"
)

// changed returns when the file or what is known of it was changed, which no
// program can set.
func changed(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}
