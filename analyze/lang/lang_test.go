package lang

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A source is what the program's own code says.
type source struct {
	texts, formats, nouns map[string]string // to be translated, with the place of one
	strings               map[string]bool   // every constant string
	faults                []string
}

// read parses the packages that say something to a reader.
func read(t *testing.T) *source {
	t.Helper()
	s := &source{texts: map[string]string{}, formats: map[string]string{}, nouns: map[string]string{}, strings: map[string]bool{}}
	for _, top := range []string{"analyze", "report", "cmd", "parse"} {
		err := filepath.WalkDir(filepath.Join("..", "..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() || d.Name() == "lang" {
				return err
			}
			return s.directory(path, top != "parse")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *source) directory(path string, speaks bool) error {
	names, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	c := constants{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
		c.collect(f)
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if v, ok := c.value(e); ok {
					s.strings[v] = true
				}
			}
			if call, ok := n.(*ast.CallExpr); ok && speaks {
				s.call(call, c, files.Position(call.Pos()).String())
			}
			return true
		})
	}
	return nil
}

// call notes what a call of this package's functions says.
func (s *source) call(call *ast.CallExpr, c constants, place string) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	on, _ := f.X.(*ast.Ident)
	of := func(name string) bool { return on != nil && on.Name == name }
	texts, at := s.texts, 0
	switch f.Sel.Name {
	case "Text":
		if of("report") {
			return
		}
	case "Sprintf":
		if of("fmt") {
			return
		}
		texts = s.formats
	case "Mark":
		if !of("lang") {
			return
		}
	case "Plural":
		if !of("lang") {
			return
		}
		texts, at = s.nouns, 2
	default:
		return
	}
	v, ok := c.value(call.Args[at])
	if !ok {
		s.faults = append(s.faults, place+": the text is no constant")
		return
	}
	texts[v] = place
}

// constants are those of a package, and of its functions, by name.
type constants map[string]string

func (c constants) collect(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			return true
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			for i, name := range v.Names {
				if i < len(v.Values) {
					if s, ok := c.value(v.Values[i]); ok {
						c[name.Name] = s
					}
				}
			}
		}
		return true
	})
}

func (c constants) value(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return constant.StringVal(constant.MakeFromLiteral(e.Value, e.Kind, 0)), true
		}
	case *ast.Ident:
		v, ok := c[e.Name]
		return v, ok
	case *ast.BinaryExpr:
		a, ok := c.value(e.X)
		b, ok2 := c.value(e.Y)
		return a + b, ok && ok2 && e.Op == token.ADD
	case *ast.CallExpr: // lang.Mark("…")
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Mark" {
			return c.value(e.Args[0])
		}
	}
	return "", false
}

// Everything that the code says has a translation, and nothing else has one.
func TestCatalogueIsComplete(t *testing.T) {
	s := read(t)
	for _, f := range s.faults {
		t.Error(f)
	}
	for _, c := range []struct {
		said      map[string]string
		catalogue map[string]string
		name      string
	}{{s.texts, chinese, "chinese"}, {s.formats, chinese, "chinese"}, {s.nouns, chineseNouns, "chineseNouns"}} {
		for _, text := range slices.Sorted(maps.Keys(c.said)) {
			if _, ok := c.catalogue[text]; !ok {
				t.Errorf("%s: %s lacks %q", c.said[text], c.name, text)
			}
		}
		for text := range c.catalogue {
			if !s.strings[text] {
				t.Errorf("%s: nothing says %q", c.name, text)
			}
		}
	}
}

// Values that the program says by way of Word.
func TestWordsHaveTranslations(t *testing.T) {
	for _, word := range strings.Fields(`
		prefill decode balanced measured modelled high low none derived estimated bound ok failed aborted warmup
		reasoning model tool wait better worse more fewer small unchanged unsure too_few noise clean all
		effort provider session file dir label day hour version source cache input-size output-size status format turn`) {
		if chinese[word] == "" {
			t.Errorf("no translation of %q", word)
		}
	}
}

// What parse says of logs is said by way of Word too: it knows no languages.
func TestWordsOfParseHaveTranslations(t *testing.T) {
	for _, dir := range []string{"../../parse", "../../parse/source"} {
		c, files := constants{}, []*ast.File{}
		for _, name := range []string{"hint.go", "walk.go", "never.go"} {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				continue // in the other directory
			}
			c.collect(f)
			files = append(files, f)
		}
		if len(files) == 0 {
			t.Errorf("%s: no file that says something", dir)
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				for _, e := range saidBy(n) {
					if word, ok := c.value(e); ok && word != "" && chinese[word] == "" {
						t.Errorf("%s: no translation of %q", dir, word)
					}
				}
				return true
			})
		}
	}
}

// saidBy returns what a node gives to a reader: a result, a reason to skip, the
// second of a pair.
func saidBy(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.ReturnStmt:
		return n.Results
	case *ast.KeyValueExpr:
		return []ast.Expr{n.Value}
	case *ast.CompositeLit:
		if _, of := n.Type.(*ast.Ident); len(n.Elts) == 2 && !of {
			return n.Elts[1:]
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "skip" {
			return n.Args[1:]
		}
	}
	return nil
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?([-+# 0]*\d*(?:\.\d+)?[a-zA-Z%])`)

// verbs lists what a format does with each argument: 1s 2d.
func verbs(format string) []string {
	var l []string
	next := 1
	for _, m := range verb.FindAllStringSubmatch(format, -1) {
		if m[2] == "%" {
			continue
		}
		if n, err := strconv.Atoi(m[1]); err == nil {
			next = n
		}
		l = append(l, fmt.Sprint(next, m[2]))
		next++
	}
	slices.Sort(l)
	return l
}

// A translation uses the same arguments in the same way, each once.
func TestTranslationsTakeTheSameArguments(t *testing.T) {
	formats := read(t).formats
	for text, translation := range chinese {
		if _, ok := formats[text]; !ok {
			continue
		}
		if a, b := verbs(text), verbs(translation); !slices.Equal(a, b) {
			t.Errorf("%q takes %v, its translation %v", text, a, b)
		}
	}
	for noun, format := range chineseNouns {
		if !slices.Equal(verbs(format), []string{"1s"}) {
			t.Errorf("%q: %q must take the number", noun, format)
		}
	}
}

// What is Chinese has full signs, and none that the English left behind.
func TestChineseSigns(t *testing.T) {
	half := regexp.MustCompile(`\p{Han}[,;:!?]|[,;!?]\p{Han}|\p{Han}\.$`)
	for _, m := range []map[string]string{chinese, chineseNouns} {
		for text, translation := range m {
			if bad := half.FindString(translation); bad != "" {
				t.Errorf("%q: %q in %q", text, bad, translation)
			}
		}
	}
}

func TestEnglishIsTheText(t *testing.T) {
	for _, l := range []Language{"", English} {
		if got := l.Sprintf("%s of %s", "1", "2") + l.Text(": ") + l.Word("failed") + Plural(l, 2, "request"); got != "1 of 2: failed2 requests" {
			t.Errorf("%q: %q", l, got)
		}
	}
}

func TestUnknownTextsStay(t *testing.T) {
	if got := Chinese.Word("gpt-x") + Plural(Chinese, 2, "thing"); got != "gpt-x2 things" {
		t.Error(got)
	}
}
