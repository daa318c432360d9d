package main

import (
	"fmt"
	"slices"
	"strings"

	"codexlag/analyze"
)

// suggest returns the known word that somebody who wrote word probably meant,
// ready to be put behind an error; "" where none is near.
func suggest(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// nearest returns the known word that is spelled most like word, or that word
// begins; "" where none is near.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	if slices.Contains(known, word) || len(word) < 2 {
		return ""
	}
	best, least := "", 3
	if len(word) <= 4 {
		least = 2 // two letters of four are another word
	}
	for _, k := range known {
		if d := editDistance(word, k); k != "" && d < least {
			best, least = k, d
		}
	}
	for _, k := range known {
		if best == "" && len(word) >= 3 && strings.HasPrefix(k, word) {
			best = k
		}
	}
	return best
}

// editDistance counts the letters to insert, delete or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

func dimensionNames() []string {
	names := make([]string, len(analyze.Dimensions))
	for i, d := range analyze.Dimensions {
		names[i] = string(d)
	}
	return names
}
