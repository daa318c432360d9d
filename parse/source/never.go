package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const credentials = "holds credentials"

// Names of files, in lower case, that are never logs: what Codex keeps beside
// its logs, and what people keep in the same directories.
var neverNames = map[string]string{
	"history.jsonl":       "holds prompts, no times of requests",
	"session_index.jsonl": "holds titles, no times of requests",
	"config.toml":         "settings",
	".ds_store":           "view settings of the desktop",
	"thumbs.db":           "view settings of the desktop",
	".env":                credentials,
	".netrc":              credentials,
	"credentials.json":    credentials,
	".credentials.json":   credentials,
	"id_rsa":              credentials,
	"id_ed25519":          credentials,
}

var neverEndings = []struct{ ending, why string }{
	{".tmp", "not finished yet"},
	{".lock", "a lock"},
	{"-wal", "read with its database"},
	{"-shm", "read with its database"},
	{"-journal", "read with its database"},
	{".pem", credentials}, {".key", credentials}, {".p12", credentials}, {".pfx", credentials},
	{".png", "a picture"}, {".jpg", "a picture"}, {".jpeg", "a picture"}, {".gif", "a picture"},
	{".webp", "a picture"}, {".bmp", "a picture"}, {".ico", "a picture"}, {".heic", "a picture"},
}

// neverLog says why a file found below a directory is not read; "" if it is.
func neverLog(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, secretName) { // backups of it, too
		return credentials
	}
	if why := neverNames[name]; why != "" {
		return why
	}
	for _, n := range neverEndings {
		if strings.HasSuffix(name, n.ending) {
			return n.why
		}
	}
	return ""
}

// neverEntered says why a directory found below another is not visited.
func neverEntered(name string) string {
	switch name {
	case ".git":
		return "history of a repository"
	case "node_modules":
		return "packages of a program"
	}
	return ""
}

// secretName is the file with the user's keys. Nothing makes us open it.
const secretName = "auth.json"

// isSecret reports whether path is, or leads to, the file with the keys.
func isSecret(path string) bool {
	if strings.EqualFold(filepath.Base(path), secretName) {
		return true
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		return false
	}
	target, err := filepath.EvalSymlinks(path)
	return err == nil && strings.EqualFold(filepath.Base(target), secretName)
}

func errSecret(path string) error {
	return fmt.Errorf("reading %s: it %s and is never read; leave it out", show(path), credentials)
}
