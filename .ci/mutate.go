// Mutation testing of one package: does some test fail when a line is wrong?
//
//	go run .ci/mutate.go [-one-in N] [-files REGEXP] [-skip REGEXP] [-least N] [-jobs N] ./analyze
//
// It makes every small mistake it knows (a < for a <=, a + for a -, a statement
// left out, a constant one off, …) and runs the tests that reach the place. It
// prints the mistakes that no test notices, then the counts. Each is to be
// looked at: a test is missing, or the mistake changes nothing that can be seen.
//
// Tools that do this build the tests once for each mistake: for analyze that is
// hours. Here all mistakes are in one binary, and a variable of the environment
// chooses which one is made; only those in constants are built one by one. The
// whole of analyze takes an hour or two on two cores, -one-in 60 about a minute.
// Nothing is written beside the sources.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A mutant is one mistake.
type mutant struct {
	id    int
	place string
	what  string
	tests []string // that reach it

	// Of a constant: the file with the mistake in it.
	file, source string
}

// An insertion is text to be put into a file.
type insertion struct {
	at    int
	text  string
	close bool // it ends what began at other
	other int
}

// A mutator collects the mistakes of one package.
type mutator struct {
	dir     string
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	file    string
	source  []byte
	imports map[string]bool // names of the packages that file imports
	edits   []insertion
	mutants []*mutant
	// Numbers that something is compared with: a < for a <= is mistake enough.
	limits map[ast.Expr]bool
}

func main() {
	log.SetFlags(0)
	oneIn := flag.Int("one-in", 1, "make one mistake in `N` only")
	files := flag.String("files", "", "only in the files whose names match `REGEXP`")
	skip := flag.String("skip", "^$", "without the tests whose names match `REGEXP`: slow ones that reach everything")
	least := flag.Int("least", 0, "fail when tests notice less than `N` percent")
	jobs := flag.Int("jobs", 2, "test `N` mistakes at a time")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	m, overlay := mutate(flag.Arg(0), regexp.MustCompile(*files))
	work, err := os.MkdirTemp("", "mutate")
	check(err)
	defer os.RemoveAll(work)

	binary := filepath.Join(work, "all.test")
	check(build(work, "all", flag.Arg(0), overlay))
	tests := baseline(m, binary, work, regexp.MustCompile(*skip))
	chosen := m.mutants
	if *oneIn > 1 {
		r := rand.New(rand.NewPCG(1, uint64(*oneIn)))
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(*mutant) bool { return r.IntN(*oneIn) > 0 })
	}
	if noticed := run(m, chosen, tests, binary, work, flag.Arg(0), *jobs); 100*noticed < *least*len(chosen) {
		os.RemoveAll(work)
		log.Fatalf("less than %d %% were noticed", *least)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// mutate reads the package and returns its mistakes, and its files with all of
// them in.
func mutate(path string, files *regexp.Regexp) (*mutator, map[string]string) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{range .GoFiles}}{{.}} {{end}}", path).Output()
	check(err)
	exports := map[string]string{}
	var last []string
	for line := range strings.Lines(string(out)) {
		last = strings.Split(strings.TrimRight(line, "\n"), "\t")
		exports[last[0]] = last[1]
	}
	m := &mutator{dir: last[2], fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}, limits: map[ast.Expr]bool{}}
	var parsed []*ast.File
	for _, name := range strings.Fields(last[3]) {
		f, err := parser.ParseFile(m.fset, filepath.Join(m.dir, name), nil, parser.SkipObjectResolution)
		check(err)
		parsed = append(parsed, f)
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	m.pkg, err = (&types.Config{Importer: importer.ForCompiler(m.fset, "gc", lookup)}).Check(last[0], m.fset, parsed, m.info)
	check(err)

	overlay := map[string]string{}
	for _, f := range parsed {
		m.file = m.fset.Position(f.Pos()).Filename
		if !files.MatchString(filepath.Base(m.file)) {
			continue
		}
		m.source, err = os.ReadFile(m.file)
		check(err)
		m.edits, m.imports = nil, map[string]bool{}
		for _, i := range f.Imports {
			m.imports[strings.Trim(i.Path.Value, `"`)] = i.Name == nil
		}
		for _, d := range f.Decls {
			m.declaration(d)
		}
		overlay[m.file] = m.edited()
	}
	overlay[filepath.Join(m.dir, "mutant.go")] = fmt.Sprintf(switches, f0(parsed))
	overlay[filepath.Join(m.dir, "mutant_test.go")] = fmt.Sprintf(testMain, f0(parsed))
	return m, overlay
}

func f0(parsed []*ast.File) string { return parsed[0].Name.Name }

const switches = `package %s

import (
	"os"
	"strconv"
)

var mutantID = func() int { n, _ := strconv.Atoi(os.Getenv("MUTANT")); return n }()

var mutantHits = map[bool][]bool{true: make([]bool, 1<<16)}[os.Getenv("MUTANT_HITS") != ""]

func mutantIs(id int) bool {
	if mutantHits != nil {
		mutantHits[id] = true
	}
	return id == mutantID
}

func mutantPick[T any](id int, right, wrong T) T {
	if mutantIs(id) {
		return wrong
	}
	return right
}
`

const testMain = `package %s

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if mutantHits != nil {
		f, err := os.Create(os.Getenv("MUTANT_HITS"))
		if err != nil {
			panic(err)
		}
		for id, hit := range mutantHits {
			if hit {
				fmt.Fprintln(f, id)
			}
		}
		f.Close()
	}
	os.Exit(code)
}
`

// edited returns the file with its insertions.
func (m *mutator) edited() string {
	slices.SortStableFunc(m.edits, func(a, b insertion) int {
		if a.at != b.at || a.close != b.close {
			return cmp.Or(cmp.Compare(a.at, b.at), map[bool]int{true: -1, false: 1}[a.close])
		}
		return cmp.Compare(b.other, a.other) // outer ones begin first and end last
	})
	var b strings.Builder
	at := 0
	for _, e := range m.edits {
		b.Write(m.source[at:e.at])
		b.WriteString(e.text)
		at = e.at
	}
	b.Write(m.source[at:])
	return b.String()
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *mutator) text(n ast.Node) string {
	return string(m.source[m.offset(n.Pos()):m.offset(n.End())])
}

// add notes a mistake at n and returns its number.
func (m *mutator) add(n ast.Node, format string, args ...any) int {
	p := m.fset.Position(n.Pos())
	what := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	m.mutants = append(m.mutants, &mutant{id: len(m.mutants) + 1, place: fmt.Sprintf("%s:%d:%d", filepath.Base(p.Filename), p.Line, p.Column), what: what})
	return len(m.mutants)
}

// wrap puts text before and after n.
func (m *mutator) wrap(n ast.Node, before, after string) {
	from, to := m.offset(n.Pos()), m.offset(n.End())
	m.edits = append(m.edits, insertion{from, before, false, to}, insertion{to, after, true, from})
}

func (m *mutator) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Body != nil {
			ast.Inspect(d.Body, m.node)
		}
	case *ast.GenDecl:
		switch d.Tok {
		case token.VAR:
			ast.Inspect(d, m.node)
		case token.CONST:
			for _, s := range d.Specs {
				for _, v := range s.(*ast.ValueSpec).Values {
					m.constant(v)
				}
			}
		}
	}
}

// constant makes a number in a constant's value larger.
func (m *mutator) constant(v ast.Expr) {
	ast.Inspect(v, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.INT && l.Kind != token.FLOAT {
			return true
		}
		x, err := strconv.ParseFloat(strings.ReplaceAll(l.Value, "_", ""), 64)
		if err != nil {
			return true
		}
		wrong := strconv.FormatFloat(x*1.25, 'g', -1, 64)
		if l.Kind == token.INT {
			wrong = strconv.Itoa(int(x) + 1)
		}
		at := m.offset(l.Pos())
		id := m.add(l, "%s: %s becomes %s", m.line(at), l.Value, wrong)
		c := m.mutants[id-1]
		c.file, c.source = m.file, string(m.source[:at])+wrong+string(m.source[at+len(l.Value):])
		return true
	})
}

func (m *mutator) line(at int) string {
	from := bytes.LastIndexByte(m.source[:at], '\n') + 1
	return string(m.source[from : at+bytes.IndexByte(m.source[at:], '\n')])
}

// opposite arithmetic; none of it can panic.
var opposite = map[token.Token]string{token.ADD: "-", token.SUB: "+", token.MUL: "+", token.QUO: "*", token.REM: "*"}

func (m *mutator) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ArrayType, *ast.FuncType, *ast.StructType, *ast.InterfaceType:
		return false
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	case *ast.BinaryExpr:
		if m.info.Types[n].Value != nil {
			return false
		}
		m.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			m.negate(n)
		}
	case *ast.IfStmt:
		switch n.Cond.(type) {
		case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr:
			m.negate(n.Cond)
		}
	case *ast.Ident:
		if v := m.info.Types[n].Value; v != nil && (n.Name == "true" || n.Name == "false") {
			m.negate(n)
		}
	case *ast.BasicLit:
		m.literal(n)
	}
	return true
}

// negate wraps a condition. What it is of stays an untyped bool.
func (m *mutator) negate(n ast.Expr) {
	m.wrap(n, "((", fmt.Sprintf(") != mutantIs(%d))", m.add(n, "not %s", m.text(n))))
}

// literal makes a whole number one larger.
func (m *mutator) literal(n *ast.BasicLit) {
	t, ok := m.info.Types[n].Type.Underlying().(*types.Basic)
	x, err := strconv.ParseInt(n.Value, 0, 64)
	if n.Kind != token.INT || m.limits[n] || !ok || t.Info()&types.IsUntyped != 0 || err != nil {
		return
	}
	name := types.TypeString(m.info.Types[n].Type, func(p *types.Package) string {
		if p == m.pkg {
			return ""
		}
		if !m.imports[p.Path()] {
			ok = false
		}
		return p.Name()
	})
	if ok {
		id := m.add(n, "%s: %d becomes %d", m.line(m.offset(n.Pos())), x, x+1)
		m.wrap(n, fmt.Sprintf("mutantPick[%s](%d, ", name, id), fmt.Sprintf(", %d)", x+1))
	}
}

func (m *mutator) binary(n *ast.BinaryExpr) {
	x, y := m.text(n.X), m.text(n.Y)
	switch n.Op {
	case token.EQL, token.NEQ, token.LSS, token.GTR, token.LEQ, token.GEQ:
		m.limits[n.X], m.limits[n.Y] = true, true
	}
	switch op := n.Op; op {
	case token.LAND:
		m.wrap(n.X, fmt.Sprintf("(mutantIs(%d) || (", m.add(n.X, "%s without %s", m.text(n), x)), "))")
		m.wrap(n.Y, fmt.Sprintf("(mutantIs(%d) || (", m.add(n.Y, "%s without %s", m.text(n), y)), "))")
	case token.LOR:
		m.wrap(n.X, fmt.Sprintf("(!mutantIs(%d) && (", m.add(n.X, "%s without %s", m.text(n), x)), "))")
		m.wrap(n.Y, fmt.Sprintf("(!mutantIs(%d) && (", m.add(n.Y, "%s without %s", m.text(n), y)), "))")
	case token.EQL, token.NEQ:
		m.negate(n)
	case token.LSS, token.GTR:
		edge := m.add(n, "%s with %s=", m.text(n), op)
		m.wrap(n, "((", fmt.Sprintf(" || mutantIs(%d) && (%s) == (%s)) != mutantIs(%d))", edge, x, y, m.add(n, "not %s", m.text(n))))
	case token.LEQ, token.GEQ:
		edge := m.add(n, "%s without =", m.text(n))
		m.wrap(n, "((", fmt.Sprintf(" && !(mutantIs(%d) && (%s) == (%s))) != mutantIs(%d))", edge, x, y, m.add(n, "not %s", m.text(n))))
	default:
		t, ok := m.info.Types[n].Type.Underlying().(*types.Basic)
		if wrong := opposite[op]; ok && wrong != "" && t.Info()&types.IsNumeric != 0 {
			id := m.add(n, "%s: %s becomes %s", m.text(n), op, wrong)
			m.wrap(n, fmt.Sprintf("mutantPick(%d, ", id), fmt.Sprintf(", (%s) %s (%s))", x, wrong, y))
		}
	}
}

// statements leaves out each statement that can be.
func (m *mutator) statements(l []ast.Stmt) {
	for _, s := range l {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok {
				if f, ok := c.Fun.(*ast.Ident); ok && f.Name == "panic" {
					continue
				}
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		m.wrap(s, fmt.Sprintf("if !mutantIs(%d) { ", m.add(s, "without %s", m.text(s))), " }")
	}
}

// build makes the test binary work/name.test of the package with other files.
func build(work, name, path string, files map[string]string) error {
	replace := map[string]string{}
	for file, source := range files {
		copied := filepath.Join(work, name+"-"+filepath.Base(file))
		if err := os.WriteFile(copied, []byte(source), 0o600); err != nil {
			return err
		}
		replace[file] = copied
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := filepath.Join(work, name+".json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", filepath.Join(work, name+".test"), path).CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	return nil
}

// execute runs tests of the binary; env is added to the environment.
func (m *mutator) execute(binary string, tests []string, limit time.Duration, env string) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 8000000; exec "$0" "$@"`, binary, "-test.failfast", "-test.run", "^("+strings.Join(tests, "|")+")$")
	c.Dir, c.Env = m.dir, append(os.Environ(), env)
	out, err = c.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out, err
}

// baseline runs each test without a mistake, and notes how long it takes and
// which mistakes it would meet.
func baseline(m *mutator, binary, work string, skip *regexp.Regexp) map[string]time.Duration {
	list := exec.Command(binary, "-test.list", "^(Test|Example|Fuzz)")
	list.Dir = m.dir
	out, err := list.Output()
	check(err)
	took := map[string]time.Duration{}
	hits := filepath.Join(work, "hits")
	all := slices.DeleteFunc(strings.Fields(string(out)), skip.MatchString)
	for _, test := range all {
		start := time.Now()
		if out, err := m.execute(binary, []string{test}, 10*time.Minute, "MUTANT_HITS="+hits); err != nil {
			log.Fatalf("%s fails without a mistake: %v\n%s", test, err, out)
		}
		took[test] = time.Since(start)
		b, err := os.ReadFile(hits)
		check(err)
		for _, id := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(id)
			m.mutants[n-1].tests = append(m.mutants[n-1].tests, test)
		}
	}
	for _, c := range m.mutants {
		if c.file != "" {
			c.tests = slices.Clone(all)
		}
		slices.SortFunc(c.tests, func(a, b string) int { return cmp.Compare(took[a], took[b]) })
	}
	return took
}

// run makes the chosen mistakes one by one, prints what no test notices, and
// returns how many were noticed.
func run(m *mutator, chosen []*mutant, took map[string]time.Duration, binary, work, path string, jobs int) int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts := map[string]int{}
	queue := make(chan *mutant)
	for range jobs {
		wg.Go(func() {
			for c := range queue {
				result := m.try(c, took, binary, work, path)
				mu.Lock()
				counts[result]++
				if result != "killed" && result != "timed out" {
					fmt.Printf("%s: %s: %s\n", c.place, result, c.what)
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range chosen {
		queue <- c
	}
	close(queue)
	wg.Wait()
	fmt.Printf("%d mistakes: %d killed, %d timed out, %d survived, %d that no test reaches, %d that do not build\n",
		len(chosen), counts["killed"], counts["timed out"], counts["survived"], counts["not reached"], counts["does not build"])
	return counts["killed"] + counts["timed out"] + counts["does not build"]
}

func (m *mutator) try(c *mutant, took map[string]time.Duration, binary, work, path string) string {
	if c.file != "" {
		name := "constant" + strconv.Itoa(c.id)
		if err := build(work, name, path, map[string]string{c.file: c.source}); err != nil {
			return "does not build"
		}
		binary = filepath.Join(work, name+".test")
		defer os.Remove(binary)
	}
	if len(c.tests) == 0 {
		return "not reached"
	}
	// Quick tests first: most mistakes are noticed by one of them.
	const quick = 300 * time.Millisecond
	n := 0
	for n < len(c.tests) && took[c.tests[n]] < quick {
		n++
	}
	for _, tests := range [][]string{c.tests[:n], c.tests[n:]} {
		if len(tests) == 0 {
			continue
		}
		limit := 20 * time.Second
		for _, t := range tests {
			limit += 5 * took[t]
		}
		_, err := m.execute(binary, tests, limit, "MUTANT="+strconv.Itoa(c.id))
		switch {
		case err == context.DeadlineExceeded:
			return "timed out"
		case err != nil:
			return "killed"
		}
	}
	return "survived"
}
