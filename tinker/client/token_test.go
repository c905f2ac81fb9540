package client

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func TestToken(t *testing.T) {
	token := func(exp time.Time) string {
		claims := fmt.Sprintf(`{"exp": %d}`, exp.Unix())
		return "eyJ." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
	}
	var first, second string
	config := []answer{ok(`{"pjwt_auth_enabled": true}`)}
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of synctest
	first, second = token(start.Add(20*time.Minute)), token(start.Add(time.Hour))
	tokens := []answer{ok(`{"jwt": "` + first + `"}`), {status: 503}, ok(`{"jwt": "` + second + `"}`)}
	scripted(t, map[string][]answer{"/client/config": config, "/auth/token": tokens}, nil,
		func(t *testing.T, c *Client, s *script) {
			for _, at := range []time.Duration{0, 14 * time.Minute, 15*time.Minute + time.Second,
				15*time.Minute + 30*time.Second, 17 * time.Minute} {
				time.Sleep(at - time.Since(s.start))
				if _, err := c.Capabilities(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var keys []string
			for _, r := range s.to("/get_server_capabilities") {
				keys = append(keys, r.key)
			}
			if want := []string{first, first, first, first, second}; !slices.Equal(keys, want) {
				t.Errorf("keys %q, want %q", keys, want)
			}
			exchanges := s.to("/auth/token")
			if len(exchanges) != 3 || exchanges[2].key != "tml-key" || exchanges[2].at != 17*time.Minute {
				t.Errorf("exchanges %+v", exchanges)
			}
		})
}

func TestKey(t *testing.T) {
	for key, text := range map[string]string{"": "set MY_KEY", "sk-123": "MY_KEY does not begin with tml-"} {
		_, err := Open(t.Context(), Options{BaseURL: "http://127.0.0.1:1", APIKey: key, KeyName: "MY_KEY"})
		if tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(), text) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestCredentialCommand(t *testing.T) {
	if _, err := Open(t.Context(), Options{BaseURL: "http://127.0.0.1:1",
		Credential: Command("echo no login >&2; false")}); err == nil || !strings.Contains(err.Error(), "no login") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := Open(t.Context(), Options{BaseURL: "http://127.0.0.1:1",
		Credential: Command("echo hello")}); err == nil ||
		!strings.Contains(err.Error(), "credential command's output") {
		t.Errorf("a command that prints no key: %v", err)
	}
	for _, tt := range []struct{ key, config, exchanged, config0 string }{
		{"", `{"pjwt_auth_enabled": true}`, "tml-2", "tml-1"},
		{"tml-key", `{"pjwt_auth_enabled": true}`, "tml-key", "tml-key"},
		{"tml-key", `{"pjwt_auth_enabled": true, "credential_default_source": "credential_cmd"}`, "tml-1", "tml-key"},
	} {
		asked := 0
		use := func(o *Options) {
			o.APIKey = tt.key
			o.Credential = func(context.Context) (string, error) { asked++; return fmt.Sprintf("tml-%d", asked), nil }
		}
		answers := map[string][]answer{"/client/config": {ok(tt.config)}, "/auth/token": {ok(`{"jwt": "eyJ.e30.x"}`)}}
		scripted(t, answers, use, func(t *testing.T, c *Client, s *script) {
			if got := s.to("/auth/token"); len(got) != 1 || got[0].key != tt.exchanged ||
				s.to("/client/config")[0].key != tt.config0 {
				t.Errorf("key %q, %s: exchanged %+v; config was asked for with %q", tt.key, tt.config, got,
					s.to("/client/config")[0].key)
			}
		})
	}
}
