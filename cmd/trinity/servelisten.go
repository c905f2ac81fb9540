package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/run/catalog"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// listenTCP listens at an address. An address in use is retried for a second, because its server may just have been
// killed.
func listenTCP(addr string) (net.Listener, error) {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		l, err := net.Listen("tcp", addr)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Since(begun) > time.Second {
			return l, err
		}
	}
}

// listen serves until the first Ctrl-C.
func (c *serveStart) listen(s *surroundings, l net.Listener, h *server.Server, log *slog.Logger) error {
	e := web.Edge{Options: web.Options{Stall: c.BodyStall, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)},
		Connections: c.connections(log), Cert: c.TLSCert, Key: c.TLSKey, End: shutdownWait, Ending: h.Release}
	if err := e.Serve(s.ctx, s.stop, l, h); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// greet prints what a user needs to know, in one write.
func (c *serveStart) greet(s *surroundings, addr net.Addr, models *catalog.Catalog) error {
	scheme, key, note := "http", "tml-local", " or none"
	if c.TLSCert != "" {
		scheme = "https"
	}
	if keys, err := c.openKeys(false); err != nil || keys.Demanded() {
		key, note = "tml-…", ""
	}
	url := scheme + "://" + addr.String()
	if c.PublicURL != "" {
		url = strings.TrimRight(c.PublicURL, "/")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "trinity serves the Tinker API at %s\n\n  export TINKER_BASE_URL=%s TINKER_API_KEY=%s\n\n",
		url, url, key)
	fmt.Fprintf(&text, "OpenAI's interface: base_url %s/v1, api_key %s%s\n\n", url, key, note)
	fmt.Fprintf(&text, "For tokenizers that are not on the hub, the Python SDK's get_tokenizer() needs "+
		"HF_ENDPOINT=%s, and HF_TOKEN set to the key if keys are required.\n\nbase models:\n", url)
	for _, name := range models.Names() {
		fmt.Fprintf(&text, "  %s\n", name)
	}
	fmt.Fprintf(&text, "data: %s   health: %s/healthz   metrics: %s/metrics   Ctrl-C stops; the next start resumes\n",
		c.Data, url, url)
	_, err := io.WriteString(s.out, text.String())
	return err
}

func (c *serveStart) loopback() bool {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkExposure requires keys and TLS for addresses that other machines can reach.
func (c *serveStart) checkExposure() error {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return fmt.Errorf("serve: --addr %s: %w; write host:port, such as 127.0.0.1:8000", c.Addr, err)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("serve: --tls-cert and --tls-key need each other")
	}
	if c.loopback() {
		return nil
	}
	keys, err := c.openKeys(false)
	if err != nil {
		return err
	}
	if len(keys.List()) == 0 {
		return fmt.Errorf("serve: other machines can reach %s and there are no keys; create one: "+
			"trinity serve key add NAME --data %s", c.Addr, c.Data)
	}
	if c.TLSCert == "" && !c.Insecure {
		return fmt.Errorf("serve: other machines can reach %s; use --tls-cert and --tls-key, "+
			"or --insecure to send keys and data in the clear", c.Addr)
	}
	return nil
}
