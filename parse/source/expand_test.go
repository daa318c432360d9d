package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// lay makes files (their content is their name) below a new directory, which
// becomes the current one. A name that ends in a slash is a directory, one with
// " -> " a link to what follows, one with " = " another name of what follows.
func lay(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		path, target, isLink := strings.Cut(name, " -> ")
		path, other, isName := strings.Cut(path, " = ")
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		switch {
		case err != nil:
		case isLink:
			if err = os.Symlink(target, path); err != nil && runtime.GOOS == "windows" {
				t.Skip("needs the right to make links")
			}
		case isName:
			err = os.Link(other, path)
		case strings.HasSuffix(path, "/"):
			err = os.MkdirAll(path, 0o777)
		default:
			err = os.WriteFile(path, []byte(path), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// paths lists files, marking those that were named with a star.
func paths(files []File) []string {
	var list []string
	for _, f := range files {
		p := filepath.ToSlash(f.Path)
		if f.Named {
			p += "*"
		}
		list = append(list, p)
	}
	return list
}

func TestExpand(t *testing.T) {
	tests := []struct {
		name    string
		lay     []string
		args    []string
		want    []string // a star marks what was named
		skipped []string
	}{
		{"one file", []string{"a.log"}, []string{"a.log"}, []string{"a.log*"}, nil},
		{"a file keeps the name it was given", []string{"a.log"}, []string{"./a.log"}, []string{"./a.log*"}, nil},
		{"a directory, sorted, hidden ones too", []string{"logs/b", "logs/.c/d", "logs/a", "logs/B"}, []string{"logs"},
			[]string{"logs/.c/d", "logs/B", "logs/a", "logs/b"}, nil},
		{"the directory's name is cleaned", []string{"logs/a"}, []string{"./logs/"}, []string{"logs/a"}, nil},
		{"the current directory", []string{"x/a"}, []string{"."}, []string{"x/a"}, nil},
		{"an empty directory", []string{"logs/"}, []string{"logs"}, nil, nil},
		{"nothing", nil, nil, nil, nil},
		{"standard input once", []string{"a"}, []string{"-", "a", "-"}, []string{"-*", "a*"}, nil},
		{"a file called -", []string{"-"}, []string{"./-"}, []string{"./-*"}, nil},

		{"named twice", []string{"a"}, []string{"a", "a", "./a"}, []string{"a*"}, nil},
		{"named and below a directory that comes first", []string{"x/a", "x/b"}, []string{"x", "x/a"}, []string{"x/a*", "x/b"}, nil},
		{"directory inside directory", []string{"x/y/a", "x/b"}, []string{"x/y", "x"}, []string{"x/b", "x/y/a"}, nil},
		{"hard link", []string{"x/a", "x/b = x/a"}, []string{"x"}, []string{"x/a"}, nil},
		{"link beside the file, before it in order", []string{"x/b", "x/a -> b"}, []string{"x"}, []string{"x/b"}, nil},
		{"link to a file elsewhere", []string{"y/a", "x/l -> ../y/a"}, []string{"x"}, []string{"x/l"}, nil},
		{"link to a directory elsewhere", []string{"y/z/a", "x/l -> ../y"}, []string{"x"}, []string{"x/l/z/a"}, nil},
		{"link to a directory that is read anyway", []string{"x/y/a", "x/l -> y"}, []string{"x"}, []string{"x/y/a"}, nil},
		{"link to the parent", []string{"x/y/a", "x/y/up -> .."}, []string{"x"}, []string{"x/y/a"}, nil},
		{"directories that link to each other", []string{"x/a", "y/b", "x/y -> ../y", "y/x -> ../x"}, []string{"x"}, []string{"x/a", "x/y/b"}, nil},
		{"named link and its target", []string{"a", "l -> a"}, []string{"l", "a"}, []string{"l*"}, nil},
		{"link to itself", []string{"x/l -> l", "x/a"}, []string{"x"}, []string{"x/a"}, []string{"x/l: a link that leads nowhere"}},
		{"link to nothing", []string{"x/l -> gone"}, []string{"x"}, nil, []string{"x/l: a link that leads nowhere"}},

		{"glob", []string{"a.log", "b.log", "c.txt", "d/e.log"}, []string{"*.log"}, []string{"a.log", "b.log"}, nil},
		{"glob over directories", []string{"d1/x/a", "d2/b", "e/c"}, []string{"d*"}, []string{"d1/x/a", "d2/b"}, nil},
		{"glob through all levels", []string{"x/a.log", "x/y/z/b.log", "x/y/c"}, []string{"x/**/*.log"}, []string{"x/a.log", "x/y/z/b.log"}, nil},
		{"glob over everything", []string{"x/a", "x/y/b"}, []string{"x/**"}, []string{"x/a", "x/y/b"}, nil},
		{"glob through links in a circle", []string{"x/a.log", "x/l -> .", "x/m -> ."}, []string{"x/**/*.log"}, []string{"x/a.log"}, nil},
		{"glob of links to directories", []string{"y/a", "x/l -> ../y"}, []string{"x/*"}, []string{"x/l/a"}, nil},
		{"a file with the name of a glob", []string{"a[1].log", "a1.log"}, []string{"a[1].log"}, []string{"a[1].log*"}, nil},
		{"globs in braces", []string{"a.log", "b.txt", "c.md"}, []string{"*.{log,txt}"}, []string{"a.log", "b.txt"}, nil},

		{"what Codex keeps beside its logs",
			[]string{"c/auth.json", "c/history.jsonl", "c/session_index.jsonl", "c/config.toml", "c/logs_2.sqlite", "c/logs_2.sqlite-wal", "c/logs_2.sqlite-shm",
				"c/.tmp/rollout-compression.lock", "c/r.jsonl.zst.tmp", "c/log/codex-tui.log", "c/auth.json.bak", "c/shot.PNG"},
			[]string{"c"}, []string{"c/log/codex-tui.log", "c/logs_2.sqlite"},
			[]string{"c/.tmp/rollout-compression.lock: a lock", "c/auth.json: holds credentials", "c/auth.json.bak: holds credentials", "c/config.toml: settings",
				"c/history.jsonl: holds prompts, no times of requests", "c/logs_2.sqlite-shm: read with its database", "c/logs_2.sqlite-wal: read with its database",
				"c/r.jsonl.zst.tmp: not finished yet", "c/session_index.jsonl: holds titles, no times of requests", "c/shot.PNG: a picture"}},
		{"a named one is read all the same", []string{"c/history.jsonl", "c/a"}, []string{"c", "c/history.jsonl"}, []string{"c/a", "c/history.jsonl*"}, nil},
		{"directories that hold no logs", []string{"p/.git/a", "p/node_modules/b", "p/c"}, []string{"p"}, []string{"p/c"},
			[]string{"p/.git: history of a repository", "p/node_modules: packages of a program"}},
		{"such a directory, named", []string{"p/.git/a", "p/c"}, []string{"p", "p/.git"}, []string{"p/.git/a", "p/c"}, nil},
		{"a link to the keys", []string{"c/auth.json", "x/l -> ../c/auth.json"}, []string{"x"}, nil, []string{"x/l: a link to credentials"}},

		{"plain and compressed", []string{"s/r.jsonl", "s/r.jsonl.zst", "s/q.jsonl.zst", "s/r.jsonl.gz"}, []string{"s"}, []string{"s/q.jsonl.zst", "s/r.jsonl"},
			[]string{"s/r.jsonl.gz: the same file lies beside it uncompressed", "s/r.jsonl.zst: the same file lies beside it uncompressed"}},
		{"plain and compressed, both named", []string{"r.jsonl", "r.jsonl.zst"}, []string{"r.jsonl.zst", "r.jsonl"}, []string{"r.jsonl*", "r.jsonl.zst*"}, nil},
		{"a glob for the compressed ones", []string{"r.jsonl", "r.jsonl.zst"}, []string{"*.zst"}, []string{"r.jsonl.zst"}, nil},
		{"other logs may differ from what lies beside", []string{"s/app.log", "s/app.log.gz"}, []string{"s"}, []string{"s/app.log", "s/app.log.gz"}, nil},
		{"sessions first, archived last", []string{"c/archived_sessions/a.jsonl", "c/log/x.log", "c/sessions/2026/b.jsonl.zst", "c/sessions/2026/c.jsonl"}, []string{"c"},
			[]string{"c/sessions/2026/b.jsonl.zst", "c/sessions/2026/c.jsonl", "c/log/x.log", "c/archived_sessions/a.jsonl"}, nil},
		{"also when named the other way round", []string{"archived_sessions/a", "sessions/a"}, []string{"archived_sessions", "sessions"},
			[]string{"sessions/a", "archived_sessions/a"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lay(t, test.lay...)
			got := Expand(test.args)
			if p := paths(got.Files); !slices.Equal(p, test.want) {
				t.Errorf("got files %q, want %q", p, test.want)
			}
			var skipped []string
			for _, s := range got.Skipped {
				skipped = append(skipped, filepath.ToSlash(s.Path)+": "+s.Why)
			}
			if !slices.Equal(skipped, test.skipped) {
				t.Errorf("skipped %q, want %q", skipped, test.skipped)
			}
			for _, p := range got.Problems {
				t.Errorf("unexpected problem: %v", p.Err)
			}
		})
	}
}

func TestExpandTellsSizeAndTime(t *testing.T) {
	lay(t, "x/abc")
	info, err := os.Stat("x/abc")
	if err != nil {
		t.Fatal(err)
	}
	f := Expand([]string{"x"}).Files[0]
	if f.Size != 5 || !f.ModTime.Equal(info.ModTime()) {
		t.Errorf("got %d bytes of %v, want 5 of %v", f.Size, f.ModTime, info.ModTime())
	}
}

func TestExpandProblems(t *testing.T) {
	tests := []struct {
		name, arg string
		lay       []string
		is        error
		want      []string // parts of the message
	}{
		{"missing", "gone.log", nil, fs.ErrNotExist, []string{"looking for gone.log: ", "check the spelling"}},
		{"empty name", "", nil, fs.ErrNotExist, []string{`looking for "": `}},
		{"missing, with a name for no terminal", "a\x1b[31m\n", nil, nil, []string{`"a\x1b[31m\n"`}},
		{"below a file", "a/b", []string{"a"}, nil, []string{"looking for a/b: "}},
		{"glob that matches nothing", "*.log", []string{"a.txt"}, fs.ErrNotExist, []string{"*.log", "matches nothing"}},
		{"malformed glob", "[a", []string{"a"}, nil, []string{"malformed", "brackets"}},
		{"link to nothing", "l", []string{"l -> gone"}, fs.ErrNotExist, []string{"looking for l: "}},
		{"the keys", "c/auth.json", []string{"c/auth.json"}, nil, []string{"credentials", "never read"}},
		{"the keys, in capitals", "AUTH.JSON", []string{"AUTH.JSON"}, nil, []string{"credentials"}},
		{"a link to the keys", "l", []string{"auth.json", "l -> auth.json"}, nil, []string{"credentials"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lay(t, append(test.lay, "good.txt")...)
			got := Expand([]string{test.arg, "good.txt"})
			if p := paths(got.Files); !slices.Equal(p, []string{"good.txt*"}) {
				t.Errorf("the rest is %q", p)
			}
			if len(got.Problems) != 1 || !got.Problems[0].Named || got.Problems[0].Path != test.arg {
				t.Fatalf("got problems %+v, want one, of %q", got.Problems, test.arg)
			}
			err := got.Problems[0].Err
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}
