// Package clickhousetest starts real ClickHouse servers for tests. A test that
// asks for one is skipped where none is installed (Debian: clickhouse-server).
package clickhousetest

import (
	"bytes"
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
	"time"
)

// Password is that of the user "guarded"; "default" has none.
const Password = "not for the eyes of logs"

// A Server is a process of its own, with its own data, on loopback.
type Server struct {
	t         *testing.T
	dir       string
	http, tcp int
	peers     int // port for other servers
	cmd       *exec.Cmd
	ended     chan struct{}
}

// Start starts a server whose data are in dir, or in a temporary folder where
// that is "". It ends with the test.
func Start(t *testing.T, dir string) *Server {
	t.Helper()
	s := New(t, dir)
	s.Run()
	return s
}

// New is Start without a process: shards must know each other's ports first.
func New(t *testing.T, dir string) *Server {
	t.Helper()
	if _, err := exec.LookPath("clickhouse-server"); err != nil {
		t.Skip("no clickhouse-server here")
	}
	if dir == "" {
		dir = t.TempDir()
	}
	s := &Server{t: t, dir: dir, http: freePort(t), tcp: freePort(t), peers: freePort(t)}
	t.Cleanup(s.Kill)
	return s
}

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

const users = `<yandex>
  <profiles><default></default></profiles>
  <quotas><default></default></quotas>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
    <guarded><password>` + Password + `</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></guarded>
  </users>
</yandex>
`

func (s *Server) configure(shards []*Server) {
	var cluster strings.Builder
	for _, o := range shards {
		fmt.Fprintf(&cluster, "<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>", o.tcp)
	}
	remote := ""
	if len(shards) > 0 {
		remote = "<remote_servers><shards>" + cluster.String() + "</shards></remote_servers>"
	}
	config := fmt.Sprintf(`<yandex>
  <logger><level>warning</level><log>%[1]s/log</log><errorlog>%[1]s/errors</errorlog></logger>
  <http_port>%[2]d</http_port><tcp_port>%[3]d</tcp_port><interserver_http_port>%[4]d</interserver_http_port>
  <listen_host>127.0.0.1</listen_host>
  <path>%[1]s/data/</path><tmp_path>%[1]s/tmp/</tmp_path>
  <users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>5368709</mark_cache_size>%[5]s
</yandex>
`, s.dir, s.http, s.tcp, s.peers, remote)
	for name, text := range map[string]string{"config.xml": config, "users.xml": users} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Run starts the process and waits until it answers. The shards, if any, make
// up the cluster "shards".
func (s *Server) Run(shards ...*Server) {
	s.t.Helper()
	if len(shards) > 0 || !exists(filepath.Join(s.dir, "config.xml")) {
		s.configure(shards)
	}
	s.cmd = exec.Command("clickhouse-server", "--config-file="+filepath.Join(s.dir, "config.xml"))
	s.cmd.Dir = s.dir
	var said bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &said, &said
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.ended:
			s.t.Fatalf("the server ended at once: %s", said.String())
		default:
		}
		if _, err := s.try("default", "SELECT 1"); err == nil {
			return
		}
	}
	s.t.Fatal("the server does not answer")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Kill ends the process at once, as a loss of power would.
func (s *Server) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		<-s.ended
		s.cmd = nil
	}
}

// URL is the address of a database of the server.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("clickhouse://127.0.0.1:%d/%s", s.http, database)
}

// Host is the address of the server alone.
func (s *Server) Host() string { return fmt.Sprintf("127.0.0.1:%d", s.http) }

// Query runs a statement and returns what the server answers, in tab-separated lines.
func (s *Server) Query(statement string) string {
	s.t.Helper()
	return s.QueryIn("default", statement)
}

// QueryIn is Query in a database.
func (s *Server) QueryIn(database, statement string) string {
	s.t.Helper()
	answer, err := s.try(database, statement)
	if err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
	return answer
}

func (s *Server) try(database, statement string) (string, error) {
	resp, err := http.Post("http://"+s.Host()+"/?"+url.Values{"database": {database}}.Encode(), "", strings.NewReader(statement))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", b)
	}
	return strings.TrimRight(string(b), "\n"), err
}
