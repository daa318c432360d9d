//go:build unix

package bundle

import "syscall"

func mkfifo(path string) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		panic(err)
	}
}
