package clickhouse

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// An Address says where a database is and who asks.
type Address struct {
	Host           string // with its port
	Database       string
	User, Password string
	TLS            bool
}

// Ports of ClickHouse's HTTP interface.
const (
	httpPort  = "8123"
	httpsPort = "8443"
)

// Variables and files that a password may come from, so that it need not stand
// on a command line.
const (
	UserVariable     = "CODEXLAG_CLICKHOUSE_USER"
	PasswordVariable = "CODEXLAG_CLICKHOUSE_PASSWORD"
)

// IsAddress reports whether s has the form of an address.
func IsAddress(s string) bool {
	return strings.HasPrefix(s, "clickhouse://") || strings.HasPrefix(s, "clickhouses://")
}

// ParseAddress reads clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DB; clickhouses://
// is the same over TLS. What the address leaves out comes from the file of
// passwordFile, then from the environment. No error quotes a password.
func ParseAddress(s, passwordFile string) (*Address, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("the address cannot be read: write clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DB, with %40 for an @ and %2F for a / in a password")
	}
	if !IsAddress(s) || u.Hostname() == "" {
		return nil, errors.New("no address of ClickHouse: write clickhouse://HOST:" + httpPort + "/DB")
	}
	a := &Address{TLS: u.Scheme == "clickhouses", Database: strings.Trim(u.Path, "/"), User: u.User.Username()}
	if a.Database == "" || strings.Contains(a.Database, "/") {
		return nil, fmt.Errorf("clickhouse://%s names no database: write clickhouse://%[1]s/DB", u.Host)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("behind the database the address takes nothing; write %3F for a ? in its name")
	}
	port := u.Port()
	switch {
	case port != "":
	case a.TLS:
		port = httpsPort
	default:
		port = httpPort
	}
	a.Host = net.JoinHostPort(u.Hostname(), port)
	if a.User == "" {
		a.User = os.Getenv(UserVariable)
	}
	if a.User == "" {
		a.User = "default"
	}
	if password, ok := u.User.Password(); ok {
		a.Password = password
		return a, nil
	}
	if passwordFile != "" {
		b, err := os.ReadFile(passwordFile)
		if err != nil {
			return nil, fmt.Errorf("reading the password: %w", err)
		}
		a.Password = strings.TrimRight(string(b), "\r\n")
		return a, nil
	}
	a.Password = os.Getenv(PasswordVariable)
	return a, nil
}

// String is the address as it may be shown: without the password.
func (a *Address) String() string {
	scheme := "clickhouse"
	if a.TLS {
		scheme = "clickhouses"
	}
	u := url.URL{Scheme: scheme, Host: a.Host, Path: "/" + a.Database}
	return u.String()
}
