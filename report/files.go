package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A File is what is known of one log that was found.
type File struct {
	Path    string `json:"path"`
	Format  string `json:"format"`
	Era     string `json:"era,omitempty"`     // generation of a session file
	Version string `json:"version,omitempty"` // of Codex
	Bytes   int64  `json:"bytes"`             // of text, decompressed
	Lines   int64  `json:"lines"`

	Requests   int            `json:"requests"`
	Turns      int            `json:"turns"`
	Duplicates int            `json:"duplicates"` // requests that another copy told of already
	Skipped    map[string]int `json:"skipped"`    // lines and records by reason
	TTFT       map[string]int `json:"ttft"`       // requests by quality of their TTFT
	Timing     string         `json:"timing"`     // none, total, bound, estimated, derived, measured: the best there is
	Error      string         `json:"error,omitempty"`
	Hint       string         `json:"hint,omitempty"` // what to do for better data
}

// A Listing is all that was found.
type Listing struct {
	Language lang.Language `json:"-"` // of the page

	Files      []File      `json:"files"`
	NotOpened  []NotOpened `json:"not_opened"`
	Unreadable []string    `json:"unreadable"` // problems with paths
}

// NotOpened is something that was found and is not for reading.
type NotOpened struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

const maxNotOpened = 20 // a folder of Codex holds few; a folder of pictures many

// Files builds a document with a table of what was found, and what to do for
// better data.
func Files(l *Listing) *Document {
	b := &builder{Language: l.Language}
	b.filesTotal(l)
	t := Table{Columns: []Column{{Title: b.Text("File"), Fit: Shorten}, {Title: b.Text("Format"), Fit: Wrap}, {Title: "Codex", Drop: 4}, {Title: b.Text("Size"), Right: true, Drop: 3},
		{Title: b.Text("Lines"), Right: true, Drop: 5}, {Title: b.Text("Requests"), Right: true}, {Title: b.Text("Turns"), Right: true, Drop: 2}, {Title: "TTFT", Fit: Wrap}, {Title: b.Text("Left out"), Fit: Wrap, Drop: 1}}}
	for _, f := range l.Files {
		t.Rows = append(t.Rows, b.fileRow(f))
	}
	if len(t.Rows) > 0 {
		b.add(withoutEmpty(t))
	}
	b.hints(l)
	b.notOpened(l)
	return &Document{Language: b.Language, Title: b.Text("Codex logs found"), Blocks: b.blocks}
}

func (b *builder) filesTotal(l *Listing) {
	var size int64
	requests, timed := 0, 0
	for _, f := range l.Files {
		size += f.Bytes
		requests += f.Requests
		if f.Timing != "none" {
			timed++
		}
	}
	total := b.Sprintf("%s, %s; %s; timing in %s of them.",
		lang.Plural(b.Language, len(l.Files), "file"), human.Bytes(size), lang.Plural(b.Language, requests, "request"), human.Count(timed))
	if timed > 1 {
		total += b.Text(" ") + b.Text("A request that several files tell of is counted in each of them here, and once in a report.")
	}
	b.paragraph(plain(total))
}

func (b *builder) fileRow(f File) []Cell {
	format := f.Format
	if f.Era != "" {
		format += ", " + f.Era
	}
	row := []Cell{nameCell(f.Path), cell(format), versionCell(f.Version), cell(human.Bytes(f.Bytes)), cell(human.Count(f.Lines)),
		countCell(f.Requests), countCell(f.Turns), cell(b.ttftCounts(f)), cell(b.leftOut(f))}
	if f.Error != "" {
		row[len(row)-1].Tone = Bad
	}
	return row
}

func versionCell(v string) Cell {
	if v == "" {
		return cell("")
	}
	return nameCell(v)
}

func countCell(n int) Cell {
	if n == 0 {
		return cell("")
	}
	return cell(human.Count(n))
}

// ttftCounts says where the TTFTs of a file come from, the best first.
func (b *builder) ttftCounts(f File) string {
	var parts []string
	for _, q := range []string{"measured", "derived", "estimated", "bound", "none"} {
		if n := f.TTFT[q]; n > 0 {
			parts = append(parts, b.Sprintf("%s %s", human.Count(n), b.Word(q)))
		}
	}
	return strings.Join(parts, b.Text(", "))
}

func (b *builder) leftOut(f File) string {
	var parts []string
	if f.Error != "" {
		parts = append(parts, b.Sprintf("reading ended: %s", f.Error))
	}
	if f.Duplicates > 0 {
		parts = append(parts, b.Sprintf("%s duplicate", human.Count(f.Duplicates)))
	}
	var reasons []string
	for why := range f.Skipped {
		reasons = append(reasons, why)
	}
	slices.Sort(reasons)
	for _, why := range reasons {
		parts = append(parts, strconv.Itoa(f.Skipped[why])+" "+why)
	}
	return strings.Join(parts, b.Text(", "))
}

// hints lists what to do, each once, with the number of files it is about.
func (b *builder) hints(l *Listing) {
	var order []string
	files := map[string]int{}
	for _, f := range l.Files {
		if f.Hint == "" {
			continue
		}
		if files[f.Hint] == 0 {
			order = append(order, f.Hint)
		}
		files[f.Hint]++
	}
	if len(order) == 0 {
		return
	}
	b.section(b.Text("For better data"))
	var list List
	for _, hint := range order {
		list.Items = append(list.Items, Item{Text: Inline{plain(lang.Plural(b.Language, files[hint], "file") + b.Text(": ") + b.sentence(b.Word(hint)))}})
	}
	b.add(list)
}

func (b *builder) notOpened(l *Listing) {
	if len(l.NotOpened)+len(l.Unreadable) == 0 {
		return
	}
	b.section(b.Text("Not read"))
	var list List
	for _, problem := range l.Unreadable {
		list.Items = append(list.Items, Item{Text: Inline{{Text: b.sentence(problem), Tone: Bad}}})
	}
	for i, n := range l.NotOpened {
		if i == maxNotOpened {
			list.Items = append(list.Items, Item{Text: text(b.Sprintf("… and %s more (see --format json)", human.Count(len(l.NotOpened)-i)))})
			break
		}
		list.Items = append(list.Items, Item{Text: Inline{{Text: n.Path, Style: Name}, plain(b.Text(": ") + b.Word(n.Why))}})
	}
	b.add(list)
}

// ListingJSON writes the listing for scripts.
func ListingJSON(w io.Writer, l *Listing) error {
	out, err := marshal(l, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}
