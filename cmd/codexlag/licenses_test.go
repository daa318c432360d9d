package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linked lists the modules that the program contains on any system it is built
// for, each with the folders of its packages that are linked, its root first.
func linked(t *testing.T) map[string][]string {
	t.Helper()
	modules := map[string][]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, machine := range []string{"amd64", "arm64"} {
			cmd := exec.Command("go", "list", "-deps", "-f", "{{$dir := .Dir}}{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$dir}}{{end}}{{end}}", "./cmd/codexlag")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
			out, err := cmd.Output()
			if err != nil {
				t.Skipf("go list: %v", err)
			}
			for line := range strings.Lines(string(out)) {
				f := strings.Split(strings.TrimSpace(line), "\t")
				if len(f) != 3 {
					continue
				}
				modules[f[0]] = append(modules[f[0]], f[1:]...)
			}
		}
	}
	for name, dirs := range modules {
		slices.Sort(dirs)
		modules[name] = slices.Compact(dirs)
	}
	return modules
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)([-._].*)?$`)

// licenseTexts are the texts in a folder that licences want to be passed on.
func licenseTexts(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("GNU ")) {
			t.Errorf("%s: %s is not permissive", dir, e.Name())
		}
		fmt.Fprintf(&b, "\n-- %s --\n\n%s\n", e.Name(), text)
	}
	return b.String()
}

// The notices are those of the modules that are linked.
func TestLicensesAreCurrent(t *testing.T) {
	modules := linked(t)
	var b strings.Builder
	b.WriteString("codexlag contains the following software of others, under the licences that follow.\n")
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip(err)
	}
	add := func(name string, dirs ...string) {
		texts := ""
		for _, dir := range dirs {
			texts += licenseTexts(t, dir)
		}
		if texts == "" {
			t.Errorf("%s has no licence file", name)
		}
		fmt.Fprintf(&b, "\n%s\n%s\n%s", strings.Repeat("=", 78), name, texts)
	}
	add("the Go programming language and its standard library", strings.TrimSpace(string(root)))
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		add(name, modules[name]...)
	}
	const path = "cmd/codexlag/licenses.txt"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got := codexlag(t, "", "licenses")
	if got.stdout != b.String() {
		t.Errorf("%s is not current (go test ./cmd/codexlag -update): %s", path, firstDifference(got.stdout, b.String()))
	}
}
