package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// A build says what the program was built from.
type build struct {
	version string // of the module; devel where it has none
	commit  string // its first 12 digits; "" where it is not known
	changed bool   // there were changes that are not in the commit
	date    string // of the commit
}

func buildInfo() build {
	b := build{version: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.version = v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			b.commit = s.Value[:12]
		case s.Key == "vcs.modified":
			b.changed = s.Value == "true"
		case s.Key == "vcs.time":
			b.date, _, _ = strings.Cut(s.Value, "T")
		}
	}
	return b
}

// String is what --version prints: version, commit, what it was built with and for.
func (b build) String() string {
	s := b.short()
	if b.changed && !strings.Contains(s, "+dirty") {
		s += " with changes"
	}
	return fmt.Sprintf("%s, %s %s/%s", s, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// short is version and commit.
func (b build) short() string {
	if b.commit == "" || strings.Contains(b.version, b.commit) {
		return b.version
	}
	return b.version + " " + b.commit
}

// version names the build in reports.
func version() string { return buildInfo().short() }
