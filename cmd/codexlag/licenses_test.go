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
			for name, dirs := range needed(t, []string{"GOOS=" + system, "GOARCH=" + machine}, "./cmd/codexlag") {
				modules[name] = append(modules[name], dirs...)
			}
		}
	}
	for name, dirs := range modules {
		slices.Sort(dirs)
		modules[name] = slices.Compact(dirs)
	}
	return modules
}

// needed lists the modules of others that packages need, as linked does.
func needed(t *testing.T, env []string, packages ...string) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f", "{{$dir := .Dir}}{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$dir}}{{end}}{{end}}"}, packages...)...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	modules := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 {
			modules[f[0]] = append(modules[f[0]], f[1:]...)
		}
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

// permissive are sentences by which a permissive licence is known.
var permissive = map[string]string{
	"MIT":           "permission is hereby granted, free of charge, to any person obtaining a copy of this software",
	"BSD":           "redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met",
	"Apache 2.0":    "apache license version 2.0",
	"public domain": "has been dedicated to the public domain",
	"ISC":           "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted",
}

var grantFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)`)

// noGrant are files with such a name that grant nothing to what is built.
var noGrant = map[string]string{
	"modernc.org/memory/LICENSE-LOGO":         "the address of a picture",
	"modernc.org/sqlite/LICENSE-3RD-PARTY.md": "a list, also of what only its own tests need; what is linked has files of its own",
}

// license names the permissive licence that the text of a file grants, "" for none.
func license(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, copyleft := range []string{"gnu general public", "gnu lesser general", "gnu affero", "mozilla public license", "server side public", "business source license", "commons clause"} {
		if strings.Contains(text, copyleft) {
			return ""
		}
	}
	for name, sentence := range permissive {
		if strings.Contains(text, sentence) {
			return name
		}
	}
	return ""
}

// What is linked in, and what the tests need besides, is under licences that
// allow any use.
func TestLicensesArePermissive(t *testing.T) {
	modules := linked(t)
	maps.Copy(modules, needed(t, nil, "-test", "./..."))
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		found := 0
		for _, dir := range slices.Compact(slices.Sorted(slices.Values(modules[name]))) {
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				path, _, _ := strings.Cut(name, " ")
				if e.IsDir() || !grantFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" || noGrant[path+"/"+e.Name()] != "" {
					continue
				}
				text, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				found++
				if license(string(text)) == "" {
					t.Errorf("%s: %s is no permissive licence that this test knows", name, filepath.Join(dir, e.Name()))
				}
			}
		}
		if found == 0 {
			t.Errorf("%s has no licence file", name)
		}
	}
	if len(modules) < 10 {
		t.Errorf("only %d modules were looked at", len(modules))
	}
}

func TestLicenseIsTold(t *testing.T) {
	for text, want := range map[string]string{
		"The MIT License\n\nPermission is hereby granted, free of\ncharge, to any person obtaining a copy of this software and": "MIT",
		"  Apache License\n  Version 2.0, January 2004":  "Apache 2.0",
		"GNU LESSER GENERAL PUBLIC LICENSE":              "",
		"Apache License Version 2.0 with Commons Clause": "",
		"All rights reserved.":                           "",
		"":                                               "",
	} {
		if got := license(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// The table of the README names what go.mod asks for, nothing else, and says
// what only tests need.
func TestDependenciesAreTold(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "| dependency |")
	told := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				told[name[1]] = cells[2]
			}
		}
	}
	imports, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./...").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	used := func(module string) bool {
		return slices.ContainsFunc(strings.Fields(string(imports)), func(p string) bool { return p == module || strings.HasPrefix(p, module+"/") })
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) { // others end in // indirect
		direct++
		what, ok := told[m[1]]
		delete(told, m[1])
		if !ok {
			t.Errorf("the README does not say what %s is for", m[1])
		} else if tests := strings.Contains(what, "tests"); tests == used(m[1]) {
			t.Errorf("the README says that %s is for %q; the program imports it: %v", m[1], strings.TrimSpace(what), used(m[1]))
		}
	}
	for name := range told {
		t.Errorf("the README names %s, which go.mod does not ask for", name)
	}
	if direct == 0 {
		t.Error("no dependency was found")
	}
}
