package studio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	root := t.TempDir()
	_, server := opened(t, Options{Dirs: []string{root}, Token: "secret", Hosts: []string{"box.example"}})
	send := func(method, path string, header map[string]string) *http.Response {
		t.Helper()
		req, err := http.NewRequest(method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			req.Header.Set(name, value)
		}
		if host := header["Host"]; host != "" {
			req.Host = host
		}
		client := http.Client{CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	key := "Bearer secret"
	for _, c := range []struct {
		name   string
		path   string
		header map[string]string
		status int
	}{
		{"no token", "/api/runs", nil, 401},
		{"a wrong token", "/api/runs", map[string]string{"Authorization": "Bearer other"}, 401},
		{"the token", "/api/runs", map[string]string{"Authorization": key}, 200},
		{"the token in the address", "/?token=secret", nil, 303},
		{"a wrong one there", "/?token=other", nil, 401},
		{"a foreign host", "/api/runs", map[string]string{"Authorization": key, "Host": "evil.example"}, 403},
		{"a host that is allowed", "/api/runs", map[string]string{"Authorization": key, "Host": "box.example:80"}, 200},
		{"a foreign origin", "/api/runs", map[string]string{"Authorization": key, "Origin": "http://evil.example"},
			403},
		{"no origin", "/api/runs", map[string]string{"Authorization": key, "Origin": "null"}, 403},
		{"a foreign page", "/api/runs", map[string]string{"Authorization": key, "Sec-Fetch-Site": "cross-site"}, 403},
	} {
		res := send("GET", c.path, c.header)
		if res.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.name, res.Status, c.status)
		}
		if p := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'") ||
			strings.Contains(p, "unsafe") {
			t.Errorf("%s: the policy is %q", c.name, p)
		}
	}
	res := send("GET", "//evil.example/?token=secret", nil)
	if to := res.Header.Get("Location"); strings.HasPrefix(to, "//") || strings.Contains(to, "secret") {
		t.Errorf("the token leads to %q", to)
	}
	cookie := send("GET", "/?token=secret", nil).Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %v", cookie)
	}
	if res := send("GET", "/api/runs", map[string]string{"Cookie": cookie.String()}); res.StatusCode != 200 {
		t.Errorf("with the cookie: %s", res.Status)
	}
}

func TestHostile(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	evil := "<script>alert(1)</script>\u202eشر\x00\u2028😀</pre>"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	lines := fmt.Sprintf(`{"id":"9/0/0/0/a","prompt":%s,"response":%s,"reward":1,"tokens":[-1,999999,1],`+
		`"logprobs":[1],`+
		`"stop_reason":%s,"metrics":{"<b>":1}}`+"\n", quoted, quoted, quoted)
	lines += `{"id":"9/0/1/0/a","prompt":"` + "\xff\xfe" + `","response":"` + "\xc3" + `","reward":1e999}` + "\n" +
		"not JSON\n" + `{"id":5}` + "\n" + `{"id":"9/0/2/0/a","v":99,"response":"new"}` + "\n" + `{"id":"half`
	if err := os.WriteFile(filepath.Join(dir, "rollouts", "step_000009.jsonl"), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	s, server := opened(t, Options{Dirs: []string{root}})
	run := "/api/runs/" + first(t, server)
	got := get[rows](t, server, run+"/samples?step=9", 200)
	if len(got.Samples) < 3 {
		t.Fatalf("there are %d samples", len(got.Samples))
	}
	if one := get[Sample](t, server, run+"/samples/step_000009.0", 200); one.Response != evil || len(one.Tokens) != 3 {
		t.Errorf("the hostile sample is %+v", one)
	}
	get[map[string]any](t, server, run+"/samples/step_000009.4", 410)
	for _, query := range []string{"?step=9&q=%00", "?step=9&q=%FF", "?step=9&regex=.%2B", "?step=9&q=%E2%80%AE"} {
		get[rows](t, server, run+"/samples"+query, 200)
	}
	var page strings.Builder
	if err := s.Report(&page, "new"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script") || !strings.Contains(page.String(), "&lt;script&gt;") {
		t.Error("the report has the script of a sample, or not its text")
	}
}
