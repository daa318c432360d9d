package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A tab is a page in a real browser.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	messages []string // of the console: errors, exceptions, refusals of the policy
	requests []string // addresses that were asked for
}

// openTab starts a headless Chromium; without one the test is skipped.
func openTab(t *testing.T) *tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = cmp.Or(path, found)
		}
	}
	if path == "" {
		t.Skip("no Chromium (Debian package chromium)")
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{T: t}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	b.ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.must(err)
	return b
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, string(e.Type))
	case *log.EventEntryAdded:
		b.messages = append(b.messages, e.Entry.Text)
	}
}

func (b *tab) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	b.must(chromedp.Do(b.ctx, steps...))
}

func eval[T any](b *tab, script string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	b.must(err)
	return v
}

// script runs a statement whose value doesn't matter.
func (b *tab) script(statement string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](statement))
}

// open shows the report of the logs and returns its address.
func (b *tab) open(args ...string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "report.html")
	if got := codexlag(b.T, "", append(args, "-o", path)...); got.code != exitOK {
		b.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	address := (&url.URL{Scheme: "file", Path: path}).String()
	b.do(chromedp.Navigate(address))
	return address
}

// quiet fails where the page asked for anything but itself, or complained.
func (b *tab) quiet(address string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		b.Errorf("the console says: %s", m)
	}
	for _, r := range b.requests {
		if place, _, _ := strings.Cut(r, "#"); place != address {
			b.Errorf("the page asked for %s", r)
		}
	}
	if len(b.requests) == 0 {
		b.Error("no request was seen, not even that of the page")
	}
}

// inlined is the style and the script of a page, and their hashes in its policy:
// they have their own files, and would only fill the golden one.
var inlined = regexp.MustCompile(`(?s)(<style>|<script>|'sha256-).*?(</style>|</script>|')`)

func TestPageOfASmallLog(t *testing.T) {
	got := codexlag(t, "", "--format", "html", "testdata/quickstart/experiment-short-input.log")
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	compare(t, "short-input.html", inlined.ReplaceAllString(got.stdout, "$1…$2"))
}

// What is drawn is thinned: a page of any number of requests stays small. What
// was in flight is not known of a sample, so that chart may be missing.
func TestPageOfManyRequestsIsSmall(t *testing.T) {
	const most = 1_500_000 // bytes: opens in well under a second
	for _, args := range [][]string{
		{"--by", "session", "--by", "model", "--by", "hour", "--by", "file"},
		{"--top", "100"},
	} {
		got := codexlag(t, manyRequests(100_000), append(args, "--format", "html", "-")...)
		if got.code != exitOK || len(got.stdout) > most {
			t.Errorf("%v: exit %d, %d bytes, want at most %d", args, got.code, len(got.stdout), most)
		}
		for _, id := range []string{"ttft", "tps", "time", "prompt", "length", "ttft-over-time", "tps-over-time", "hours", "slowest-requests"} {
			if !strings.Contains(got.stdout, `<figure id="chart-`+id+`"`) {
				t.Errorf("%v: no chart %s", args, id)
			}
		}
	}
}

func TestMarkdownOfManyRequestsFitsInAnIssue(t *testing.T) {
	got := codexlag(t, manyRequests(20_000), "--by", "session", "--by", "model", "--by", "hour", "--by", "day", "--by", "input-size", "--by", "effort", "--format", "markdown", "-")
	if lines := strings.Count(got.stdout, "\n"); got.code != exitOK || lines >= 200 {
		t.Errorf("exit %d, %d lines, want fewer than 200", got.code, lines)
	}
}

// manyRequests are n request lines of a fortnight.
func manyRequests(n int) string {
	r := rand.New(rand.NewPCG(1, 7))
	start := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	for i := range n {
		end := start.Add(time.Duration(i) * (14 * 24 * time.Hour / time.Duration(n)))
		input, output := r.IntN(60_000), 20+int(900*r.ExpFloat64())
		ttft := 300 + input/12 + r.IntN(500)
		fmt.Fprintf(&b, "%s [request] first_token_ms=%d total_tokens=%d total_ms=%d prompt_tokens=%d cached_tokens=%d model=m%d session=s%d effort=e%d label=l%d\n",
			end.Format(time.RFC3339), ttft, output, ttft+output*(15+r.IntN(20)), input, input/(1+r.IntN(5)), i%40, i%3000, i%5, i%60)
	}
	return b.String()
}

func TestPageInABrowser(t *testing.T) {
	b := openTab(t)
	b.do(chromedp.EmulateViewport(1400, 900))
	address := b.open("--by", "model", "testdata/quickstart")
	b.sorts()
	b.tells()
	b.jumps()
	b.quiet(address)
}

func (b *tab) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = nil
}

// sorts presses the head of a column of the groups: times of different units
// ascend, then descend, and the column says so.
func (b *tab) sorts() {
	b.Helper()
	const table = `[...document.querySelectorAll("table[data-sort]")].find(t => t.textContent.includes("gpt-5.4-mini") && t.tHead.textContent.includes("Total p50"))`
	head := `[...` + table + `.tHead.rows[0].cells].find(c => c.textContent.includes("TTFT p50"))`
	column := `JSON.stringify([...` + table + `.tBodies[0].rows].map(r => r.cells[` + head + `.cellIndex].textContent))`
	press := func(order string) []string {
		b.script(head + `.querySelector("button").click()`)
		if got := eval[string](b, head+`.getAttribute("aria-sort")`); got != order {
			b.Errorf("aria-sort is %s, want %s", got, order)
		}
		return strings.Split(strings.Trim(eval[string](b, column), `[]`), ",")
	}
	up := press("ascending")
	down := press("descending")
	slices.Reverse(down)
	if len(up) != 3 || !slices.Equal(up, down) || !strings.HasSuffix(up[0], `ms"`) {
		b.Errorf("ascending %v, descending and turned round %v", up, down)
	}
}

// tells points at a bar, then moves on with the keyboard.
func (b *tab) tells() {
	b.Helper()
	b.script(`document.querySelector("#chart-ttft svg.plot").scrollIntoView({block: "center"})`)
	time.Sleep(100 * time.Millisecond) // scrolling hides what is told
	at := eval[[]float64](b, `(() => { const r = document.querySelectorAll("#chart-ttft [data-t]")[3].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	b.do(chromedp.MouseEvent("mouseMoved", at[0], at[1]))
	tip := func() string {
		return eval[string](b, `document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`)
	}
	pointed := tip()
	if !strings.Contains(pointed, "clean") || !strings.Contains(pointed, "ms") {
		b.Errorf("pointing at a bar tells %q", pointed)
	}
	b.do(chromedp.Focus("#chart-ttft svg.plot"), chromedp.KeyEvent(kb.ArrowRight))
	if next := tip(); next == "" || next == pointed {
		b.Errorf("the arrow key tells %q after %q", next, pointed)
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	if left := tip(); left != "" {
		b.Errorf("Escape leaves %q", left)
	}
}

// jumps follows a link from a finding to its chart and back.
func (b *tab) jumps() {
	b.Helper()
	follow := func(link string) string {
		b.script(`document.querySelector('` + link + `').click()`)
		return eval[string](b, `(() => { const r = document.querySelector(location.hash).getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0 ? location.hash : "out of sight"; })()`)
	}
	if got := follow(`li[id^="finding-"] a`); !strings.HasPrefix(got, "#chart-") {
		b.Errorf("a finding leads to %s", got)
	}
	if got := follow(`figure:target .back a`); !strings.HasPrefix(got, "#finding-") {
		b.Errorf("a chart leads back to %s", got)
	}
}

// At no width does the page scroll sideways, in neither theme is it blank.
// PAGE_SHOTS=DIR keeps pictures to be looked at.
func TestPageAtAllSizes(t *testing.T) {
	b := openTab(t)
	for _, logs := range []string{"testdata/quickstart", "testdata/codexhome"} {
		address := b.open("--by", "model", logs)
		for _, columns := range []int64{360, 390, 800, 1400} {
			for _, theme := range []string{"light", "dark"} {
				b.do(chromedp.EmulateViewport(columns, 800))
				_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
				b.must(err)
				if over := eval[int64](b, "document.documentElement.scrollWidth"); over > columns {
					t.Errorf("%s is %d wide at %d", logs, over, columns)
				}
				if right := eval[float64](b, `Math.max(...[...document.querySelectorAll(".scroll")].map(s => s.getBoundingClientRect().right))`); right > float64(columns) {
					t.Errorf("%s: the box of a table ends at %.0f of %d", logs, right, columns)
				}
				if columns < 400 {
					b.slowestScroll()
				}
				colours := eval[[]string](b, `["color", "backgroundColor"].map(c => getComputedStyle(document.body)[c])`)
				if dark := colours[1] != "rgb(255, 255, 255)"; dark != (theme == "dark") || colours[0] == colours[1] {
					t.Errorf("%s in %s is %v", logs, theme, colours)
				}
				if bottom := eval[float64](b, `document.querySelector(".tiles").getBoundingClientRect().bottom`); bottom > 800 {
					t.Errorf("%s at %d: the key numbers end at %.0f, below the first screen", logs, columns, bottom)
				}
				b.picture(fmt.Sprintf("%s-%d-%s.png", filepath.Base(logs), columns, theme))
			}
		}
		b.quiet(address)
		b.forget()
	}
}

// slowestScroll looks whether the widest table, that of the slowest requests,
// scrolls inside its box, and its line numbers are not broken.
func (b *tab) slowestScroll() {
	b.Helper()
	const box = `[...document.querySelectorAll(".scroll")].find(s => s.getAttribute("aria-label").includes("The slowest requests"))`
	if moved := eval[float64](b, `(() => { const s = `+box+`; s.scrollLeft = 1e6; const x = s.scrollLeft; s.scrollLeft = 0; return x; })()`); moved < 100 {
		b.Errorf("the slowest requests scroll by %.0f in their box", moved)
	}
	if broken := eval[int64](b, `[...`+box+`.querySelectorAll("code .place")].filter(l => l.getClientRects().length != 1).length`); broken > 0 {
		b.Errorf("%d line numbers are broken", broken)
	}
	if n := eval[int64](b, box+`.querySelectorAll("code .place").length`); n != 10 {
		b.Errorf("%d of 10 places have a line number", n)
	}
}

func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.must(err)
	b.must(os.WriteFile(filepath.Join(dir, name), picture, 0o644))
}
