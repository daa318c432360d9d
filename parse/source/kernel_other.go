//go:build !linux

package source

// ofKernel reports whether a directory holds what the kernel makes up.
func ofKernel(string) bool { return false }
