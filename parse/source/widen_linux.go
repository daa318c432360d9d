package source

import (
	"io"
	"os"
	"syscall"
)

const (
	setPipeSize = 1031    // F_SETPIPE_SZ of fcntl.h
	pipeSize    = 1 << 20 // what Linux allows everybody
)

// widen gives a pipe more room than the usual 64 KiB, so that its writer and its
// reader wait for each other less often. What is no pipe stays as it is.
func widen(r io.Reader) {
	file, ok := r.(*os.File)
	if !ok {
		return
	}
	if raw, err := file.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize) })
	}
}
