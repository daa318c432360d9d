package clickhouse

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A serverError is what the server said instead of an answer.
type serverError struct {
	status  int // of HTTP
	code    int // of ClickHouse; 0 where it has none
	message string
}

func (e *serverError) Error() string {
	if e.code == 0 {
		return fmt.Sprintf("HTTP status %d: %s", e.status, e.message)
	}
	return fmt.Sprintf("%s (code %d)", e.message, e.code)
}

// Codes of ClickHouse that matter here.
const (
	codeUnknownTable    = 60
	codeUnknownDatabase = 81
	codeUnknownUser     = 192
	codeWrongPassword   = 193
	codePasswordNeeded  = 194
	codeReadOnly        = 164
	codeMemoryLimit     = 241
	codeNoSpace         = 243
	codeCannotWrite     = 75
	codeNoRights        = 497
	codeAuthentication  = 516
)

// passing are the codes of what may be over in a while: timeouts, a lost
// connection, too many queries or parts, no memory, no room on the disk, a
// shard that is away, a server that shuts down.
var passing = []int{3, codeCannotWrite, 159, 198, 202, 209, 210, 236, codeMemoryLimit, codeNoSpace, 252, 279, 394, 425}

var (
	codeText = regexp.MustCompile(`^Code: (\d+)`)
	noise    = regexp.MustCompile(`(, e\.(displayText|what)\(\) = .*|,? ?Stack trace:.*| \(version [^)]*\)| \(official build\))`)
)

const maxMessage = 300

func newServerError(status int, code, text string) *serverError {
	e := &serverError{status: status}
	e.code, _ = strconv.Atoi(code)
	if m := codeText.FindStringSubmatch(text); m != nil && e.code == 0 {
		e.code, _ = strconv.Atoi(m[1])
	}
	text = strings.Join(strings.Fields(text), " ")
	if _, after, ok := strings.Cut(text, "DB::Exception: "); ok {
		text = after
	}
	text = noise.ReplaceAllString(text, "")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	e.message = strings.TrimSpace(text)
	return e
}

// A failure is why a call did not succeed.
type failure struct {
	address string
	cause   error
}

func (f *failure) Unwrap() error { return f.cause }

func (f *failure) Error() string {
	s := f.address + ": " + f.cause.Error()
	if hint := hint(f.cause); hint != "" {
		s += "; " + hint
	}
	return s
}

// A final failure must not be tried again.
type final struct{ error }

func (f *final) Unwrap() error { return f.error }

// passes reports whether an error may be gone in a while.
func passes(err error) bool {
	var last *final
	var layout *layoutError
	var e *serverError
	switch {
	case errors.As(err, &last), errors.As(err, &layout), errors.Is(err, errEmpty):
		return false
	case !errors.As(err, &e):
		return true // nobody answered, or not to the end
	case e.code == 0:
		return e.status >= 500 || e.status == 429 || e.status == 408 // a gateway before the server
	}
	return slices.Contains(passing, e.code)
}

// hasCode reports whether the server answered with that code.
func hasCode(err error, code int) bool {
	var e *serverError
	return errors.As(err, &e) && e.code == code
}

// hint says what to do about an error.
func hint(err error) string {
	var e *serverError
	var layout *layoutError
	switch {
	case errors.As(err, &layout), errors.Is(err, errEmpty):
		return "" // they say it
	case !errors.As(err, &e):
		return "is the server running, and is this the port of its HTTP interface?"
	}
	switch {
	case e.code == codeUnknownUser, e.code == codeWrongPassword, e.code == codePasswordNeeded, e.code == codeAuthentication, e.status == 401, e.status == 403:
		return "give user and password in the address, in " + UserVariable + " and " + PasswordVariable + ", or --password-file"
	case e.code == codeNoSpace, e.code == codeCannotWrite:
		return "the server's disk is full: make room there"
	case e.code == codeMemoryLimit:
		return "the server needs more memory for this: raise max_memory_usage, or ask about less time (--since)"
	case e.code == codeUnknownDatabase, e.code == codeUnknownTable:
		return "was anything loaded there? codexlag load --to makes what is missing"
	case e.code == codeReadOnly, e.code == codeNoRights:
		return "this user may not do that"
	}
	return ""
}
