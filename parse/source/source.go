// Package source turns what the user named into decoded streams of bytes.
//
// Expand finds the files behind the paths of a command line, Open reads one of
// them. Neither changes anything on the disk, and credentials are never opened.
package source

import "time"

// A File is one thing to read.
type File struct {
	// Path is how the file is called in reports and how it is opened: as the
	// user named it, or the name of a directory joined with what was found below.
	Path string
	// Size, in bytes, and ModTime are those of when the file was found; zero
	// for what can be read only once: standard input and pipes.
	Size    int64
	ModTime time.Time
	// Named says that the user named this very file, so that not being able to
	// read it is a failure of the run.
	Named bool
	Stdin bool
	// ID tells what the file is, whatever it is called; the zero ID where the
	// system has no such number. It may be given to another file later.
	ID ID

	pipe  bool  // a named pipe: opening it waits for its writer
	stamp Stamp // of a regular file, else zero
}

// An ID is the number of a file in its file system.
type ID struct{ Device, Inode uint64 }

// Pipe reports whether f can be read only once: a named pipe, standard input.
func (f *File) Pipe() bool { return f.pipe || f.Stdin }

// Skipped is a file or directory that was found and is not for reading.
type Skipped struct {
	Path string
	Why  string
}

// A Problem is something that could not be looked at. Whatever else was named
// is found nevertheless.
type Problem struct {
	Path string
	// Named says that the user named this very path; otherwise it was found
	// below one.
	Named bool
	Err   error // says what was tried, on which path, and what to do about it
}

// Found is what Expand found.
type Found struct {
	Files    []File
	Skipped  []Skipped
	Problems []Problem
	Dirs     []string // that were listed
}
