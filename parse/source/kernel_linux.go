package source

import "syscall"

// madeByKernel are the types of file systems whose files the kernel makes up:
// proc, sysfs, debugfs, tracefs, securityfs, configfs, control groups. No log
// lies there, reading some of their files waits for ever, and links in them lead
// to everything that a machine holds. The numbers are those of statfs(2).
var madeByKernel = map[uint32]bool{
	0x9fa0: true, 0x62656572: true, 0x64626720: true, 0x74726163: true,
	0x73636673: true, 0x62656570: true, 0x27e0eb: true, 0x63677270: true,
}

func ofKernel(dir string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(dir, &st) == nil && madeByKernel[uint32(st.Type)]
}
