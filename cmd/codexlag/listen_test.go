package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"
)

// listening runs the program with --follow --listen and returns its address.
func listening(t *testing.T, log *logFile) (f *following, addr string) {
	t.Helper()
	f = followed(t, "--listen", "127.0.0.1:0", log.path)
	await(t, "address", func() bool {
		_, rest, found := strings.Cut(f.stderr.String(), "metrics on http://")
		at, _, whole := strings.Cut(rest, "/")
		addr = at
		return found && whole
	})
	await(t, "page", func() bool { code, _, _ := get(t, "http://"+addr+"/", ""); return code == http.StatusOK })
	return f, addr
}

func get(t *testing.T, url, host string) (code int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

func scrape(t *testing.T, addr string) map[string]*dto.MetricFamily {
	t.Helper()
	_, _, body := get(t, "http://"+addr+"/metrics", "")
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	return families
}

// count adds up how many observations of a histogram, or what a counter counts,
// over all series.
func count(f *dto.MetricFamily) (n float64) {
	for _, m := range f.GetMetric() {
		n += float64(m.GetHistogram().GetSampleCount()) + m.GetCounter().GetValue()
	}
	return n
}

// What was there before is in the report, but the metrics count what ended while
// following, each request once.
func TestListen(t *testing.T) {
	log := newLog(t, request(400, 800, 9400, "model=old"))
	f, addr := listening(t, log)
	log.add(request(320, 2180, 48200, "model=gpt-x"), request(2840, 3, 3120, "model=gpt-x"), `[request] status=429 model=gpt-x`,
		request(640, 1200, 20640, "model=gpt-y input_tokens=5000 prompt_tokens=5000"))
	f.awaitOutput("640 ms")
	for range 2 { // looking changes nothing
		got := scrape(t, addr)
		for name, want := range map[string]float64{
			"gen_ai_server_time_to_first_token_seconds":   3,
			"gen_ai_server_time_per_output_token_seconds": 2,
			"gen_ai_client_operation_duration_seconds":    3,
			"gen_ai_client_token_usage":                   4,
			"codexlag_requests_total":                     4,
			"codexlag_slo_requests_total":                 4,
			"codexlag_decode_tokens_total":                3383,
			"codexlag_request_time_seconds_total":         71.96,
		} {
			if n := count(got[name]); n < want-1e-6 || n > want+1e-6 {
				t.Errorf("%s counts %v, want %v", name, n, want)
			}
		}
	}
	var header http.Header
	var body string
	await(t, "page with what is new", func() bool { // it may be a second old
		_, header, body = get(t, "http://"+addr+"/", "")
		return strings.Contains(body, "5 requests")
	})
	if !strings.Contains(body, "Content-Security-Policy") || header.Get("Cache-Control") != "no-store" {
		t.Errorf("/: %v", header)
	}
	for path, want := range map[string]int{"/metrics": 200, "/other": 404, "/metrics/x": 404} {
		if code, _, _ := get(t, "http://"+addr+path, ""); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	for host, want := range map[string]int{"localhost": 200, "127.0.0.1:1": 200, "[::1]:9": 200, "name.example": 421, "127.0.0.1.name.example:80": 421} {
		if code, _, _ := get(t, "http://"+addr+"/metrics", host); code != want {
			t.Errorf("asked under the name %s: %d, want %d", host, code, want)
		}
	}
	if code := f.end(); code != exitOK {
		t.Errorf("exit %d, stderr %q", code, f.stderr.String())
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("still listens")
	}
}

// A real Prometheus server takes the metrics, the native histograms too.
func TestListenToPrometheus(t *testing.T) {
	server, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	log := newLog(t, request(400, 800, 9400, "model=old"))
	f, addr := listening(t, log)
	log.add(request(320, 2180, 48200, "model=gpt-x"), request(2840, 3, 3120, "model=gpt-x"))
	f.awaitOutput("2.84 s")

	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "scrape_configs:\n- job_name: codexlag\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  static_configs:\n  - targets: ['%s']\n", addr), 0o600); err != nil {
		t.Fatal(err)
	}
	at := freeAddress(t)
	cmd := exec.Command(server, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at, "--enable-feature=native-histograms", "--log.level=error")
	var said buffer
	cmd.Stderr, cmd.Stdout = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	}()
	ask := func(query string) string {
		res, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return "" // not up yet
		}
		defer res.Body.Close()
		var answer struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if json.NewDecoder(res.Body).Decode(&answer) != nil || len(answer.Data.Result) != 1 {
			return ""
		}
		return fmt.Sprint(answer.Data.Result[0].Value[1])
	}
	for query, want := range map[string]string{
		`up`: "1",
		`sum(codexlag_requests_total{model="gpt-x"})`:                            "2",
		`histogram_count(sum(gen_ai_server_time_to_first_token_seconds))`:        "2",
		`histogram_sum(sum(gen_ai_client_operation_duration_seconds))`:           "51.32",
		`histogram_quantile(1, sum(gen_ai_client_token_usage)) >= bool 2180`:     "1",
		`histogram_quantile(1, sum(gen_ai_client_token_usage)) <= bool 2180*1.1`: "1",
	} {
		await(t, query+" = "+want, func() bool { return ask(query) == want })
	}
	if code := f.end(); code != exitOK {
		t.Errorf("exit %d, stderr %q", code, f.stderr.String())
	}
}

// freeAddress is one where nobody listens right now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
