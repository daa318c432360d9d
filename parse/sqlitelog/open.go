package sqlitelog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"modernc.org/sqlite" // registers the driver "sqlite", too
	sqlite3 "modernc.org/sqlite/lib"
)

// A database is one that is open for reading.
type database struct {
	*sql.DB
	path string // as the user named it
	temp string // folder of the copy that is read instead; "" where none is
}

// Ways to open a database, as parameters of its URI.
const (
	// locked reads beside other processes, taking part in their locking. The
	// index of a write-ahead log (-shm) is only looked at: without readonly_shm
	// a reader marks in it how far it reads.
	locked = "mode=ro&readonly_shm=1"
	// alone takes the file as it is. An ordinary reader would create -wal and
	// -shm beside a database whose write-ahead log was closed properly. It does
	// not see a log, so there must not be one.
	alone = "mode=ro&immutable=1"
	// private is for our own copy, where anything may be written: a database
	// that was left in the middle of a transaction has to be repaired first.
	private = "mode=rw"

	// Two seconds are ample for one transaction of Codex. A foreign schema must
	// not run anything that reaches outside the database.
	settings = "&_pragma=busy_timeout(2000)&_pragma=trusted_schema(0)"
)

// open opens the database at path. What stands beside it decides how:
//
//	-wal and -shm        in use, or left so by a crash: read in place, locked
//	-wal without -shm    copied from elsewhere or left over: read from a copy
//	an empty or no -wal  closed properly: read in place, alone
//
// A database that is not in write-ahead mode needs nothing beside it. Where
// reading in place fails because something is left to be repaired, a copy is
// read.
func open(ctx context.Context, path string) (*database, error) {
	d := &database{path: path}
	file, err := filepath.Abs(path)
	if err == nil {
		file, err = filepath.EvalSymlinks(file) // the log lies beside the file itself
	}
	if err != nil {
		return nil, d.explain(err)
	}
	walMode, err := checkHead(file)
	if err != nil {
		return nil, d.explain(err)
	}
	wal, journal, shm := size(file+"-wal"), size(file+"-journal"), size(file+"-shm")
	if wal <= 0 || shm >= 0 {
		how := locked
		switch {
		case wal < 0 && walMode, wal == 0 && shm < 0:
			how = alone
		case wal == 0 && !sameMode(file, file+"-wal"):
			how = alone // SQLite would give an empty log the permissions of its database
		}
		err := d.openAt(ctx, file, how)
		if err == nil || ctx.Err() != nil || wal <= 0 && journal <= 0 {
			return d, d.explain(err)
		}
	}
	err = d.openCopy(ctx, file)
	return d, d.explain(err)
}

func sameMode(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && x.Mode() == y.Mode()
}

// checkHead reports whether the file is a database in write-ahead mode, or an
// error where it is no database at all.
func checkHead(file string) (walMode bool, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("it is not a regular file")
	}
	if info.Size() == 0 {
		return false, errors.New("the file is empty")
	}
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	// The format: 16 bytes of magic; bytes 18 and 19 are 2 in write-ahead mode.
	var head [20]byte
	if _, err := io.ReadFull(f, head[:]); err != nil && err != io.ErrUnexpectedEOF {
		return false, err
	}
	if !bytes.HasPrefix(head[:], []byte("SQLite format 3\x00")) {
		return false, errors.New("it is not an SQLite database")
	}
	return head[18] == 2 || head[19] == 2, nil
}

// size returns the size of a regular file, -1 where there is none.
func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// openAt opens the database in file and makes sure that it can be read.
func (d *database) openAt(ctx context.Context, file, how string) error {
	db, err := sql.Open("sqlite", uri(file)+"?"+how+settings)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n); err != nil {
		db.Close()
		return err
	}
	d.DB = db
	return nil
}

// uri returns the file as SQLite's file: URI. In it a ? or a # in a name would
// end the path, and a % is an escape.
func uri(file string) string {
	p := filepath.ToSlash(file)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/…
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath()
}

// openCopy opens a copy of the database, made together with what is left to be
// brought into it. (The -shm is only an index, which SQLite makes anew.)
func (d *database) openCopy(ctx context.Context, file string) (err error) {
	d.temp, err = os.MkdirTemp("", "codexlag-*") // for the user only
	if err != nil {
		return fmt.Errorf("making room for a copy: %w", err)
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	to := filepath.Join(d.temp, "logs.sqlite")
	for _, ending := range []string{"", "-wal", "-journal"} {
		if ending != "" && size(file+ending) <= 0 {
			continue
		}
		if err := copyFile(ctx, to+ending, file+ending); err != nil {
			return fmt.Errorf("copying it, to leave the original as it is: %w", err)
		}
	}
	return d.openAt(ctx, to, private)
}

// copyFile copies in pieces: databases of 10 GB exist, and ctx may be done.
func copyFile(ctx context.Context, to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(dst, src, 64<<20)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, dst.Close())
}

func (d *database) close() {
	if d.DB != nil {
		d.DB.Close()
	}
	if d.temp != "" {
		os.RemoveAll(d.temp)
	}
}

// explain says what was being done when err came up, and what to try.
func (d *database) explain(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err // it names the path as well
	}
	if e := new(sqlite.Error); errors.As(err, &e) {
		err = fault{e}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case hasCode(err, sqlite3.SQLITE_CORRUPT), hasCode(err, sqlite3.SQLITE_NOTADB):
		err = fmt.Errorf("%w; where sqlite3 can't read it either, its command .recover saves what there is", err)
	case hasCode(err, sqlite3.SQLITE_BUSY):
		err = fmt.Errorf("%w; try again when Codex is idle", err)
	}
	return fmt.Errorf("reading the database %s: %w", show(d.path), err)
}

// A fault is an error of SQLite without its details: those quote the file,
// which can hold anything, codes for the terminal and what users wrote included.
type fault struct{ of *sqlite.Error }

func (f fault) Error() string {
	code := f.of.Code() & 0xff
	if s, ok := sqlite.ErrorCodeString[code]; ok {
		return s
	}
	return "SQLite's error " + strconv.Itoa(code)
}

func (f fault) Unwrap() error { return f.of }

// show returns a path fit for a terminal: names of files can hold anything.
func show(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

func hasCode(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == code // the low byte is the primary code
}
