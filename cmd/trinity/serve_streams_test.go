package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// streamTally counts streams of OpenAI's interface.
type streamTally struct {
	whole, cut atomic.Int64  // cut: begun, and ended by the server's death
	events     chan struct{} // gets something at an event of any stream, if somebody receives
}

// stream opens one stream after the other until it is enough and one was complete. A stream that is complete has the
// same tokens each time.
func (c *crowd) stream(n int, enough *atomic.Bool, tally *streamTally) {
	want := ""
	for (!enough.Load() || want == "") && c.ok() {
		tokens, begun, done := c.oneStream(n, tally.events)
		switch {
		case done && want == "":
			want = tokens
			tally.whole.Add(1)
		case done && tokens != want:
			c.fail(fmt.Errorf("stream %d has the tokens %s, before %s", n, tokens, want))
		case done:
			tally.whole.Add(1)
		case begun:
			tally.cut.Add(1)
		default:
			c.pause()
		}
	}
}

// oneStream reads one stream as far as it comes.
func (c *crowd) oneStream(n int, events chan<- struct{}) (tokens string, begun, done bool) {
	body := fmt.Sprintf(`{"model":%q,"prompt":[40,41,%d],"max_tokens":200,"seed":%d,"ignore_eos":true,"stream":true,`+
		`"return_token_ids":true}`, c.load.Base(), 42+n, n)
	req, err := http.NewRequestWithContext(c.ctx, "POST", c.url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		c.fail(err)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode < 500 {
			c.fail(fmt.Errorf("stream %d: %s", n, resp.Status))
		}
		return
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if lines.Text() == "data: [DONE]" {
			return tokens, begun, true
		}
		if _, rest, ok := strings.Cut(lines.Text(), `"token_ids":[`); ok { // an event has one token or several
			some, _, _ := strings.Cut(rest, "]")
			tokens, begun = tokens+some+",", true
			select {
			case events <- struct{}{}:
			default:
			}
		}
	}
	return tokens, begun, false
}
