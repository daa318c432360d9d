package pseudonym

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"codexlag/parse"
	"codexlag/parse/record"
	"codexlag/parse/source"
)

const planted = "PLANTED"

// plant fills every text that v leads to.
func plant(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[record.Format]() && v.Type() != reflect.TypeFor[record.Reason]() {
			v.SetString(planted + "/a " + planted)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			plant(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			plant(v.Index(i))
		}
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(fmt.Errorf("reading %s: %w", planted, &fs.PathError{Op: "open", Path: planted, Err: errors.New(planted)})))
		}
	}
}

// found lists where a planted text is left below v.
func found(v reflect.Value, at string) (l []string) {
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), planted) {
			l = append(l, at)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := range v.NumField() {
			l = append(l, found(v.Field(i), at+"."+v.Type().Field(i).Name)...)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			l = found(v.Elem(), at)
		}
	case reflect.Slice:
		for i := range v.Len() {
			l = append(l, found(v.Index(i), at+"[]")...)
		}
	case reflect.Interface:
		if err, ok := v.Interface().(error); ok && strings.Contains(fmt.Sprintf("%v %+v", err, err), planted) {
			l = append(l, at)
		}
	}
	return l
}

// Every text of every record is gone, those of fields that are yet to be added too.
func TestNothingIsLeftOfARecord(t *testing.T) {
	for _, r := range []record.Record{new(record.Request), new(record.Turn), new(record.Dropped), new(record.Rows)} {
		plant(reflect.ValueOf(r).Elem())
		before := fmt.Sprintf("%+v", r)
		got := New("").Record(r)
		if left := found(reflect.ValueOf(got), fmt.Sprintf("%T", r)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if fmt.Sprintf("%+v", r) != before {
			t.Errorf("%T: the original was changed", r)
		}
	}
}

func TestNothingIsLeftOfASummary(t *testing.T) {
	s := &parse.Summary{Skipped: []source.Skipped{{Path: planted, Why: "not a log"}}}
	s.Logs = make([]parse.Log, 1)
	for _, v := range []any{&s.Logs[0].Path, &s.Logs[0].Session, &s.Logs[0].Version, &s.Logs[0].Threads, &s.Logs[0].Err, &s.Problems} {
		plant(reflect.ValueOf(v).Elem())
	}
	New("").Summary(s)
	if left := found(reflect.ValueOf(s), "Summary"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if s.Logs[0].Err == nil || !strings.HasPrefix(s.Logs[0].Err.Error(), "reading "+s.Logs[0].Path+": ") {
		t.Errorf("%v", s.Logs[0].Err)
	}
}

// What Info may hold is known here: a new text field must be thought of.
func TestTextFieldsOfInfo(t *testing.T) {
	var texts []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[parse.Info]()) {
		if k := f.Type.Kind(); k == reflect.String || k == reflect.Slice && f.Type.Elem().Kind() == reflect.String {
			texts = append(texts, f.Name)
		}
	}
	if got := strings.Join(texts, " "); got != "Path Format Era Version Session Threads" {
		t.Errorf("text fields: %s; Names.Summary must know each", got)
	}
}

func TestPseudonymsAreStable(t *testing.T) {
	a, again, other := New("secret"), New("secret"), New("another secret")
	one := a.of("session", "s1")
	if one != a.of("session", "s1") || one != again.of("session", "s1") {
		t.Error("the same name has two pseudonyms")
	}
	if one == a.of("session", "s2") || one == "session-"+strings.TrimPrefix(a.of("turn", "s1"), "turn-") || one == other.of("session", "s1") {
		t.Error("two names, kinds or keys have one pseudonym")
	}
	if run, next := New(""), New(""); run.of("session", "s1") == next.of("session", "s1") {
		t.Error("without a key, a run can be related to another")
	}
	if len(one) != len("session-")+length || a.of("label", "") != "" {
		t.Errorf("%q", one)
	}
}

func TestPaths(t *testing.T) {
	n := New("x")
	dir, _, _ := strings.Cut(n.Path("/home/me/logs/a.log"), "/")
	for _, p := range []string{"/home/me/logs", "/home/me/logs/", "/home/me/./logs"} {
		if n.Dir(p) != dir {
			t.Errorf("Dir(%q) = %s, want %s", p, n.Dir(p), dir)
		}
	}
	if n.Path("-") != "-" || n.Path("") != "" || strings.Contains(n.Path("a.log"), "/") || n.Dir("./") != "." {
		t.Errorf("%q %q %q", n.Path("-"), n.Path("a.log"), n.Dir("./"))
	}
}

func TestPublicNames(t *testing.T) {
	n := New("x")
	for _, m := range []string{"", "gpt-5", "gpt-5.4-mini", "gpt-5.2-codex", "gpt-5.1-codex-max", "o4-mini", "o3", "gpt-4o", "gpt-oss-120b", "gpt-oss:20b",
		"codex-mini-latest", "claude-opus-4.5", "qwen3-coder:30b", "openai/gpt-5", "gpt-5-2025-08-07", "llama3.3", "deepseek-r1"} {
		if n.Model(m) != m {
			t.Errorf("%s becomes %s", m, n.Model(m))
		}
	}
	for _, m := range []string{"acme-gpt", "gpt-5-acme", "ft:gpt-4o-mini:acme::8x7y", "my-deployment", "gpt-5 für alle", "123456789012", "gpt—5"} {
		if n.Model(m) == m {
			t.Errorf("%s stays", m)
		}
	}
	for v, stays := range map[string]bool{"0.150.0": true, "0.150.0-alpha.3": true, "": true, "0.0.2504301751": true, "0.150.0-acme": false, "acme": false, "1.2": false} {
		if got := n.request(&record.Request{Version: v}).Version == v; got != stays {
			t.Errorf("version %q: stays %v, want %v", v, got, stays)
		}
	}
}

func TestKindOfError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("x: %w", fs.ErrPermission), "permission denied"},
		{&fs.PathError{Op: "open", Path: "p", Err: fs.ErrNotExist}, "no such file or directory"},
		{fmt.Errorf("x: %w", io.ErrUnexpectedEOF), "it ends too early"},
		{errors.New("x"), "it cannot be read (without --anonymize the reason is told)"},
	} {
		if got := kindOf(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
