package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// complete returns the words that fit, as the program answers the shells.
func complete(t *testing.T, words ...string) []string {
	t.Helper()
	got := codexlag(t, "", append([]string{"__complete", "--"}, words...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%q: exit %d, %s", words, got.code, got.stderr)
	}
	var l []string
	for line := range strings.Lines(got.stdout) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		l = append(l, word)
	}
	return l
}

func TestCompletions(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []string
		want  string // all of them, or with … in front: among others
	}{
		{"commands and files", []string{"re"}, "report requests :files"},
		{"no command behind an argument", []string{"logs", "re"}, ":files"},
		{"no hidden command", []string{"__"}, ":files"},
		{"flags of the default command", []string{"--slo-"}, "--slo-min"},
		{"flags of a command", []string{"compare", "--thr"}, "--threshold"},
		{"only those of the command", []string{"files", "--thr"}, ""},
		{"global flags", []string{"files", "--conf"}, "--config"},
		{"short flags", []string{"-"}, "… -o -q"},
		{"choices", []string{"requests", "--format", ""}, "text csv ndjson"},
		{"choices of another command", []string{"--format", "m"}, "markdown"},
		{"choices behind =", []string{"requests", "--format=c"}, "--format=csv"},
		{"dimensions", []string{"--by", "in"}, "input-size"},
		{"dimensions of a list", []string{"--by", "model,h"}, "model,hour"},
		{"conditions", []string{"--where", "mo"}, "model="},
		{"metrics", []string{"compare", "--fail-on", "tt"}, "ttft"},
		{"limits", []string{"--slo", "ttft=3s,t"}, "ttft=3s,ttft= ttft=3s,tps="},
		{"times", []string{"--since", "-"}, "-24h -3d -7d"},
		{"files of a flag", []string{"-o", "x"}, ":files"},
		{"files of a flag behind =", []string{"--output=x"}, ":files"},
		{"a value that may be anything", []string{"--model", "x"}, ""},
		{"a truth has no value", []string{"--quiet", "files"}, "files :files"},
		{"only files behind --", []string{"--", "--"}, ":files"},
		{"shells", []string{"completion", ""}, "bash zsh fish"},
		{"one shell is enough", []string{"completion", "bash", ""}, ""},
		{"schemas", []string{"schema", "re"}, "report request"},
		{"an unknown flag", []string{"--nonsense=x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := complete(t, c.words...)
			if rest, some := strings.CutPrefix(c.want, "… "); some {
				for _, w := range strings.Fields(rest) {
					if !slices.Contains(got, w) {
						t.Errorf("%q: %q, want %q among them", c.words, got, w)
					}
				}
			} else if strings.Join(got, " ") != c.want {
				t.Errorf("%q: %q, want %q", c.words, got, c.want)
			}
		})
	}
	if got := complete(t); !slices.Contains(got, "compare") {
		t.Errorf("without a word: %q", got)
	}
}

// Commands of commands are completed, and are in the manual page.
func TestCommandsOfCommands(t *testing.T) {
	var grammar struct {
		Report struct {
			Paths []string `arg:"" optional:""`
		} `cmd:"" default:"withargs"`
		Cache struct {
			Clear struct {
				Really bool
			} `cmd:""`
			Show struct{} `cmd:""`
		} `cmd:""`
	}
	k, err := kong.New(&grammar)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"ca": "cache :files", "cache ": "clear show", "cache cl": "clear", "cache clear --r": "--really", "x cache ": ":files"} {
		var got []string
		for _, f := range completions(k.Model, strings.Split(line, " ")) {
			got = append(got, f.word)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if page := manual(k.Model); !strings.Contains(page, "codexlag cache clear") {
		t.Error(page)
	}
}

// installed puts the program into a PATH of its own, with files to complete, and
// returns the folder. The program is this test binary; see TestMain.
func installed(t *testing.T, shell string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("no %s here", shell)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "codexlag")); err != nil {
		t.Skip(err)
	}
	write(t, dir, "script", codexlag(t, "", "completion", shell).stdout)
	write(t, dir, "work/unusual name.log", "")
	write(t, dir, "work/other.jsonl", "")
	return dir
}

// shell runs a script in a shell that finds the program.
func shell(t *testing.T, dir, script string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], script)...)
	cmd.Dir = filepath.Join(dir, "work")
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), beProgram+"=1", "HOME="+dir, "TERM=xterm", "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// shellCases are what each shell must make of a line with one way to go on.
var shellCases = []struct{ line, want string }{
	{"codexlag req", "requests"},
	{"codexlag --slo-", "--slo-min"},
	{"codexlag requests --format c", "csv"},
	{"codexlag requests --format=c", "csv"},
	{"codexlag --by model --by lab", "label"},
	{"codexlag --by model,lab", "label"},
	{"codexlag --where lab", "label="},
	{"codexlag files oth", "other.jsonl"},
	{"codexlag -o unu", "name.log"},
	{"codexlag --output=oth", "other.jsonl"},
	{"codexlag completion z", "zsh"},
}

func TestBashCompletion(t *testing.T) {
	dir := installed(t, "bash")
	for _, c := range shellCases {
		// bash itself would split the line; = and : are words of their own.
		words := strings.Fields(strings.ReplaceAll(c.line, "=", " = "))
		script := fmt.Sprintf(`. ../script; COMP_WORDS=(%s); COMP_CWORD=%d; _codexlag; printf '<%%s>\n' "${COMPREPLY[@]}"`, strings.Join(words, " "), len(words)-1)
		if got := shell(t, dir, script, "bash", "--norc", "-c"); strings.Count(got, "<") != 1 || !strings.Contains(got, c.want+">") {
			t.Errorf("%s: %q, want %s", c.line, got, c.want)
		}
	}
	// And once as a person would, at a prompt.
	got := shell(t, dir, `printf '. ../script\ncodexlag completion z\t >out\n' | bash --norc -i; cat out`, "bash", "--norc", "-c")
	if !strings.Contains(got, "#compdef codexlag") {
		t.Errorf("interactive: %q", got)
	}
}

func TestFishCompletion(t *testing.T) {
	dir := installed(t, "fish")
	for _, c := range shellCases {
		got := shell(t, dir, fmt.Sprintf("source ../script; complete -C %q", c.line), "fish", "--no-config", "-c")
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %s", c.line, got, c.want)
		}
	}
}

func TestZshCompletion(t *testing.T) {
	dir := installed(t, "zsh")
	for _, c := range shellCases {
		// A zsh at a terminal of its own gets the line and a tab, then shows it.
		script := fmt.Sprintf(`zmodload zsh/zpty || exit 0
zpty z zsh -f -i
zpty -w z 'PS1=; autoload -Uz compinit; compinit -C -d ~/zcompdump; source ../script; show() { print -r -- "<<<$BUFFER>>>"; exit }; zle -N show; bindkey "^Xs" show; print rea""dy'
zpty -r -m z line '*ready*'
zpty -w -n z %q$'\t\C-Xs'
zpty -r -m z line '*>>>*'
print -r -- $line
zpty -d z`, c.line)
		got := shell(t, dir, script, "zsh", "-f", "-c")
		_, shown, _ := strings.Cut(got, "<<<")
		shown, _, _ = strings.Cut(shown, ">>>")
		if !strings.HasSuffix(strings.TrimSpace(shown), c.want) {
			t.Errorf("%s: %q, want %s", c.line, got, c.want)
		}
	}
}
