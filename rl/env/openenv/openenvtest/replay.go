package openenvtest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// Replay starts a server that answers as a recorded one did, until the test ends, and returns the id of its
// environment. The file is a recording of rl/env/openenv/testdata/record.py. More answers are added to those in it.
func Replay(t testing.TB, file string, more map[string]string) string {
	t.Helper()
	answers := recorded(t, file)
	for asked, answer := range more {
		answers[asked] = answer
	}
	ctx, end := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws" {
			w.Write([]byte(answers[r.Method+" "+r.URL.Path]))
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			_, asked, err := c.Read(ctx)
			if err != nil {
				return
			}
			answer := answers[string(asked)]
			if strings.HasPrefix(string(asked), `{"type":"reset"`) { // of every seed
				answer = answers[`{"type":"reset"`]
			}
			if answer == "" || c.Write(ctx, websocket.MessageText, []byte(answer)) != nil {
				return
			}
		}
	}))
	t.Cleanup(func() { end(); server.CloseClientConnections(); server.Close() })
	return "openenv:" + server.URL
}

// recorded are the answers of a recording, and that to the first reset under its beginning.
func recorded(t testing.TB, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(string(data)) {
		var x struct{ Asked, Answer string }
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		answers[x.Asked] = x.Answer
		const reset = `{"type":"reset"`
		if strings.HasPrefix(x.Asked, reset) && answers[reset] == "" {
			answers[reset] = x.Answer
		}
	}
	return answers
}
