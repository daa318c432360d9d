//go:build !unix

package bundle

func mkfifo(string) {}
