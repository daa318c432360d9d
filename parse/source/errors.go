package source

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// failed says what was being done to a path, why it failed and what to try.
func failed(doing, path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err // it names the path and the system call, which is no use
	}
	try := "check the disk, or read a copy of it"
	switch {
	case errors.Is(err, fs.ErrNotExist) && doing == "looking for":
		try = "check the spelling"
	case errors.Is(err, fs.ErrNotExist):
		try = "it went away after it was found: rotated or deleted; read again"
	case outOfDescriptors(err):
		try = "allow more open files (ulimit -n), or read fewer at once (--jobs 1)"
	case errors.Is(err, fs.ErrPermission):
		try = "read it as a user who may, or leave it out"
	}
	return fmt.Errorf("%s %s: %w; %s", doing, show(path), err, try)
}

// show returns a path fit for a terminal: names of files can hold anything.
func show(path string) string {
	if path == "" || !utf8.ValidString(path) {
		return strconv.Quote(path)
	}
	for _, r := range path {
		if !unicode.IsPrint(r) {
			return strconv.Quote(path)
		}
	}
	return path
}
