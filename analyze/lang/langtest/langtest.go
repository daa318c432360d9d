// Package langtest helps tests to find what nobody translated.
package langtest

import (
	"regexp"
	"slices"
	"strings"
)

// stays is what is the same in every language: abbreviations, units, names of
// methods and of programs.
var stays = strings.Fields(`
	TTFT TPS TPOT SLO CI UTC HTTP JSON NUL UTF ms min tok tokens token kB MB type Mann Whitney Bonferroni sketch
	Codex codexlag codex exec trace request rollout MCP VPN Wi Fi TUI URL nginx proxy buffering off diff config toml base v1`)

// What a user types or a log says: `code`, flags with their values, commands,
// names with underlines or dots, /compact.
var names = regexp.MustCompile("```text|`[^`]*`|--by [a-z-]+(?:、(?:--by )?[a-z-]+)*|--format json|--[a-z-]+(?: [A-Z]+)?|codexlag [a-z]+|codex login|FILE:LINE|log_dir=DIR|RUST_LOG=codex_otel=info|5xx" +
	`|[A-Za-z]+(?:_[A-Za-z]+)+|\./log|trace\.log|/compact|p\d+`)

var words = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]+`)

// English returns the words of a Chinese text that look like English ones,
// without those that stay or that the test knows.
func English(text string, known ...string) []string {
	var l []string
	for _, w := range words.FindAllString(names.ReplaceAllString(text, " "), -1) {
		if !slices.Contains(stays, w) && !slices.Contains(known, w) {
			l = append(l, w)
		}
	}
	return l
}
