package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codexlag/analyze/clickhouse/clickhousetest"
)

// A small file system in memory stands for the disk that is full.
func TestLoadOntoAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("no file system for the test: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := clickhousetest.Start(t, dir)
	log := gatewayLog(t, filepath.Join(t.TempDir(), "gateway.log"), 120_000, 4)
	got := codexlag(t, "", "load", "--to", s.URL("full"), "--batch", "20000", "--retry-for", "1s", log)
	if got.code != exitIO || !strings.Contains(got.stderr, "disk is full") {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=2g"); err != nil {
		t.Fatal(err)
	}
	load(t, "--to", s.URL("full"), log)
	load(t, "--to", s.URL("roomy"), log)
	if got, want := each(s, "full"), each(s, "roomy"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
