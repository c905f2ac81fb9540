package openenv

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

// exchange is a line of a recording that testdata/record.py made of a real server.
type exchange struct {
	Asked, Answer string
	Status        int
}

func recording(t testing.TB, file string) (list []exchange) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// The server for tests says what the real one says, byte for byte.
func TestServerIsReal(t *testing.T) {
	s := openenvtest.Start(t, openenvtest.Options{})
	c, _, err := websocket.Dial(t.Context(), "ws"+s.URL[4:]+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	list := recording(t, "testdata/threes.jsonl")
	for _, x := range list {
		got, code := over(t, s, c, x.Asked)
		if got != x.Answer || code != x.Status {
			t.Errorf("%s\nanswers %d %s\nand the real server %d %s", x.Asked, code, got, x.Status, x.Answer)
		}
	}
	if len(list) < 30 {
		t.Errorf("the recording has %d lines", len(list))
	}
}

// over asks a server.
func over(t *testing.T, s *openenvtest.Server, c *websocket.Conn, asked string) (string, int) {
	t.Helper()
	method, rest, http := strings.Cut(asked, " ")
	if !http || method != "GET" && method != "POST" {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(asked)); err != nil {
			t.Fatal(err)
		}
		_, answer, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(answer), 0
	}
	path, body, _ := strings.Cut(rest, " ")
	return fetch(t, method, s.URL+path, body)
}

func fetch(t *testing.T, method, url, body string) (string, int) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), a.StatusCode
}

// What real servers say is read as it is meant.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		raw      string
		reward   float64
		rewarded bool
		done     bool
		code     string
		garbage  bool
	}{
		{raw: `{"type":"observation","data":{"observation":{},"reward":null,"done":false}}`},
		{raw: `{"type":"observation","data":{"observation":{},"done":true}}`, done: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":true,"done":true}}`, reward: 1, rewarded: true,
			done: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":false,"done":false}}`, rewarded: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":-0.5,"done":false,"metadata":{"a":1}}}`,
			reward: -0.5, rewarded: true},
		{raw: `{"type":"error","data":{"message":"no","code":"EXECUTION_ERROR"}}`, code: raised},
		{raw: `{"type":"state","data":{"step_count":1}}`},
		{raw: `{"type":"observation","data":{"observation":[],"reward":1,"done":false}}`, garbage: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":"1","done":false}}`, garbage: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":1e999,"done":false}}`, garbage: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":NaN,"done":false}}`, garbage: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":1}}`, garbage: true},
		{raw: `{"type":"observation","data":{"observation":{},"reward":1,"done":null}}`, garbage: true},
		{raw: `{"type":"observation"}`, garbage: true},
		{raw: `{"type":"tea","data":{}}`, garbage: true},
		{raw: `{"data":{}}`, garbage: true},
		{raw: `[]`, garbage: true},
		{raw: `<html>502 Bad Gateway</html>`, garbage: true},
		{raw: ``, garbage: true},
	} {
		r, err := decode([]byte(c.raw))
		if errors.Is(err, errGarbage) != c.garbage {
			t.Errorf("%s: error %v", c.raw, err)
		}
		if err != nil {
			continue
		}
		code := ""
		if r.fault != nil {
			code = r.fault.Code
		}
		if r.reward != c.reward || r.rewarded != c.rewarded || r.done != c.done || code != c.code {
			t.Errorf("%s: %+v, code %q", c.raw, r, code)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range []string{"testdata/threes.jsonl", "testdata/echo.jsonl"} {
		for _, x := range recording(f, file) {
			f.Add([]byte(x.Answer))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decode(raw)
		if err != nil {
			if !errors.Is(err, errGarbage) {
				t.Errorf("error %v is not of garbage", err)
			}
			return
		}
		if r.fault != nil {
			_ = r.fault.Error()
			return
		}
		if !json.Valid(r.observation) || !isObject(r.observation) {
			t.Fatalf("the observation is %q", r.observation)
		}
		if w := whole(r.observation, json.RawMessage(`{}`)); !json.Valid([]byte(w)) {
			t.Errorf("shown as %q", w)
		}
		shown(r.observation, pathsOf("a.-1.*.b,metadata"))
		answered(r.observation)
		readTools(r.observation)
		legalOf(r.observation)
	})
}

// A message has the form that servers insist on: no data where there is none.
func TestMessage(t *testing.T) {
	for want, m := range map[string][2]any{
		`{"type":"state"}`:                              {"state", nil},
		`{"type":"close"}`:                              {"close", nil},
		`{"type":"reset","data":{"seed":1}}`:            {"reset", map[string]any{"seed": uint32(1)}},
		`{"type":"step","data":{"message":"<a> & \\"}}`: {"step", json.RawMessage(`{"message":"<a> & \\"}`)},
	} {
		got, err := message(m[0].(string), m[1])
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s, error %v, want %s", got, err, want)
		}
	}
}
