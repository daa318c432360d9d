package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"codexlag/report"
)

// A server answers at the address of --listen.
type server struct {
	http http.Server
	url  string
}

// goodbye is how long answers under way may take when the program ends.
const goodbye = 200 * time.Millisecond

// listen serves the metrics and the report of l at addr.
func listen(addr string, any bool, every time.Duration, l *live) (*server, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, usageError("--listen %s: %v; such as 127.0.0.1:9464", addr, err)
	}
	loopback := tcp.IP.IsLoopback() // not so for an empty host, which is every address
	if !loopback && !any {
		return nil, usageError("--listen %s: other machines reach this address; take 127.0.0.1:%d, or add --listen-any", addr, tcp.Port)
	}
	at, err := net.ListenTCP("tcp", tcp)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--listen %s: another program listens there, perhaps another codexlag; take another port", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", addr, cause(err))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", l.metrics.Handler())
	mux.Handle("GET /{$}", &page{live: l, every: every})
	var handler http.Handler = mux
	if loopback {
		handler = localOnly(mux)
	}
	s := &server{url: "http://" + at.Addr().String() + "/", http: http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}}
	go s.http.Serve(at) // until stop
	return s, nil
}

func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
}

// localOnly refuses what was asked for under a name. A page on the web can let a
// browser ask under a name of its own that leads here, and read the answer.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && !strings.EqualFold(host, "localhost") {
			http.Error(w, "ask by address, not by name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A page is the report so far. It is made anew at most once a second, however
// many look at it.
type page struct {
	live  *live
	every time.Duration

	mu      sync.Mutex
	changes int
	again   time.Time
	body    []byte
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := p.current()
	if err != nil {
		http.Error(w, "the report cannot be made", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if body == nil {
		h.Set("Retry-After", "1")
		http.Error(w, "still reading what is there", http.StatusServiceUnavailable)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Refresh", strconv.Itoa(int(p.every.Seconds())))
	w.Write(body)
}

func (p *page) current() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.body != nil && (time.Now().Before(p.again) || !p.live.hasNews(p.changes)) {
		return p.body, nil
	}
	r, changes := p.live.report(true)
	if r == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if err := report.HTML(&b, report.New(r)); err != nil {
		return nil, err
	}
	p.body, p.changes, p.again = b.Bytes(), changes, time.Now().Add(time.Second)
	return p.body, nil
}
