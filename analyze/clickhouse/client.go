// Package clickhouse keeps records in a ClickHouse server and asks it about
// them, over HTTP. It knows the tables and how rows get into them exactly once;
// what the figures are, package analyze knows.
//
// It speaks what servers from 18.16 on understand.
package clickhouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A DB is a database of a server.
type DB struct {
	address Address
	http    *http.Client
	// RetryFor is for how long a call is repeated whose failure may pass: the
	// server is away, busy or has no room. Zero: not at all.
	RetryFor time.Duration
	// Warn, where set, is told of a failure that is tried again. Several may
	// come at once.
	Warn func(err error, again time.Duration)
}

// New returns the database at an address. Nothing is sent yet.
func New(a *Address) *DB {
	return &DB{address: *a, http: &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       2 * time.Second, // servers close theirs after three
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}}}
}

func (db *DB) String() string { return db.address.String() }

// Exec runs a statement that returns nothing.
func (db *DB) Exec(ctx context.Context, statement string) error {
	return db.retrying(ctx, func() error {
		body, err := db.post(ctx, url.Values{}, strings.NewReader(statement), "")
		if err != nil {
			return err
		}
		return body.Close()
	})
}

// insert sends rows in the format RowBinary, packed by gzip.
func (db *DB) insert(ctx context.Context, t *table, packed []byte) error {
	query := url.Values{
		"query": {"INSERT INTO " + quoteName(t.name) + " (" + strings.Join(t.columnNames(), ", ") + ") FORMAT RowBinary"},
		// A Distributed table answers when the rows are where they belong.
		"insert_distributed_sync": {"1"},
	}
	return db.retrying(ctx, func() error {
		body, err := db.post(ctx, query, bytes.NewReader(packed), "gzip")
		if err != nil {
			return err
		}
		return body.Close()
	})
}

// Query runs a SELECT and calls each with every row of its result. A failure
// is not tried again once rows came.
func (db *DB) Query(ctx context.Context, query string, each func(*Row)) error {
	rows := false
	return db.retrying(ctx, func() error {
		body, err := db.post(ctx, url.Values{
			"default_format": {"RowBinary"},
			// The whole result first: an error in the middle is then told as one.
			"wait_end_of_query": {"1"},
			"buffer_size":       {"1048576"},
			// Thousands of groups make long queries.
			"max_query_size":            {"33554432"},
			"max_ast_elements":          {"10000000"},
			"max_expanded_ast_elements": {"10000000"},
		}, strings.NewReader(query), "")
		if err != nil {
			return err
		}
		defer body.Close()
		r := newRow(body)
		for r.more() {
			rows = true
			each(r)
		}
		if r.err != nil {
			err = db.explain(fmt.Errorf("the answer breaks off: %w", r.err))
			if rows {
				err = &final{err}
			}
		}
		return err
	})
}

// post sends one request and returns the body of the answer, which must be closed.
func (db *DB) post(ctx context.Context, query url.Values, body io.Reader, encoding string) (io.ReadCloser, error) {
	a := &db.address
	u := url.URL{Scheme: "http", Host: a.Host, Path: "/"}
	if a.TLS {
		u.Scheme = "https"
	}
	query.Set("database", a.Database)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), body)
	if err != nil {
		return nil, db.explain(err)
	}
	// In headers, because addresses end up in logs.
	req.Header.Set("X-ClickHouse-User", a.User)
	req.Header.Set("X-ClickHouse-Key", a.Password)
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	resp, err := db.http.Do(req)
	if err != nil {
		var about *url.Error
		if errors.As(err, &about) {
			err = about.Err // it would quote the query
		}
		return nil, db.explain(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return nil, db.explain(newServerError(resp.StatusCode, resp.Header.Get("X-ClickHouse-Exception-Code"), string(text)))
}

// explain puts the address before an error, and what to do behind it.
func (db *DB) explain(err error) error {
	return &failure{address: db.String(), cause: err}
}

// Pauses between tries double from the first to the longest.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 15 * time.Second
)

// retrying calls try until it succeeds, fails for good, or has failed for
// RetryFor. Pauses are spread, so that many loaders do not come back at once.
func (db *DB) retrying(ctx context.Context, try func() error) error {
	var since time.Time
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passes(err):
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		wait := pause/2 + rand.N(pause)
		if left := db.RetryFor - time.Since(since); left <= 0 {
			if db.RetryFor > 0 {
				err = fmt.Errorf("%w (tried again for %v)", err, db.RetryFor)
			}
			return err
		} else if wait > left {
			wait = left // one last time at the end
		}
		if db.Warn != nil {
			db.Warn(err, wait)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// quoteName quotes the name of a table, a column or a database.
func quoteName(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}

// Quote quotes a text as SQL does.
func Quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\x00", `\0`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + "'"
}
