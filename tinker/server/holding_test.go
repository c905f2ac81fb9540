package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// newBusyEndpoint is newEndpoint with the engine's own limits, as trinity serve has them.
func newBusyEndpoint(t *testing.T, cacheBytes int64) *rig {
	return newTunedRig(t, Options{Models: Models{Tokenizers: map[string]string{"tiny": shippedModel}}},
		func(o *engine.Options) {
			o.Models = map[string]engine.Model{"tiny": {Dir: shippedModel}}
			o.MaxSequences, o.Threads, o.CacheBytes = 0, 0, cacheBytes
		})
}

// engineStats are those of the rig's engine.
func (r *rig) engineStats() tinker.Stats { return r.server.opts.Store.(*engine.Engine).Stats() }

// streamHold is the memory that one open stream may take, of server and client together, when its answer is complete
// and was not read. Buffers of connections are most of it.
const streamHold = 192 << 10

// Many streams at a time each get all of their tokens in order, also if their clients begin to read when all is drawn,
// and hold little memory meanwhile.
func TestManyStreams(t *testing.T) {
	r := newBusyEndpoint(t, 0)
	const seeds, tokens = 16, 48
	ask := func(seed int, stream bool) string {
		return fmt.Sprintf(`{"model":"tiny","prompt":"What is 3 + %d?","max_tokens":%d,"seed":%d,"ignore_eos":true,`+
			`"return_token_ids":true,"stream":%v}`, seed, tokens, seed, stream)
	}
	var want [seeds][]int32
	for seed := range seeds {
		code, got := r.openai("POST", "/v1/completions", ask(seed, false))
		if code != http.StatusOK || len(got.Choices[0].TokenIDs) != tokens {
			t.Fatalf("%d %+v", code, got)
		}
		want[seed] = got.Choices[0].TokenIDs
	}
	before, n := heldMemory(), 200
	bodies := make([]io.ReadCloser, n)
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() { bodies[i] = r.open(fmt.Sprintf("tml-%d", i%5), ask(i%seeds, true)) })
	}
	clients.Wait()
	if t.Failed() {
		return
	}
	eventually(t, r.unanswered)
	held := (heldMemory() - before) / int64(n)
	if held > streamHold {
		t.Errorf("%d streams hold %d KiB each; the bound is %d KiB", n, held>>10, streamHold>>10)
	}
	for i := range n {
		clients.Go(func() {
			defer bodies[i].Close()
			if got, err := streamedTokens(bodies[i]); err != nil || !slices.Equal(got, want[i%seeds]) {
				t.Errorf("stream %d: %v (%v), want %v", i, got, err, want[i%seeds])
			}
		})
	}
	clients.Wait()
	t.Logf("%d streams at a time, each complete and in order; %d KiB each while nobody reads", n, held>>10)
}

// unanswered is what the engine still has to do.
func (r *rig) unanswered() string {
	s := r.engineStats()
	return unless(s.Running == 0 && s.Waiting[tinker.Sampling].Requests == 0, fmt.Sprintf("%+v", s))
}

// heldMemory is what the process holds after a garbage collection, in bytes.
func heldMemory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// open begins a stream and returns its body when the headers are there.
func (r *rig) open(key, body string) io.ReadCloser {
	req, err := http.NewRequest("POST", r.web.URL+"/v1/completions", strings.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return nil
	}
	req.Header.Set(wire.HeaderKey, key)
	resp, err := r.web.Client().Do(req)
	if err != nil {
		r.t.Error(err)
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(resp.Body)
		r.t.Errorf("%s %s %v", resp.Status, raw, err)
	}
	return resp.Body
}

// streamedTokens are the tokens of a stream with one choice, which must end with [DONE].
func streamedTokens(body io.Reader) (ids []int32, err error) {
	last := ""
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if ok {
			last = data
		}
		if !ok || data == "[DONE]" {
			continue
		}
		var e openaiAnswer
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return ids, err
		}
		for _, c := range e.Choices {
			ids = append(ids, c.TokenIDs...)
		}
	}
	if last != "[DONE]" {
		return ids, fmt.Errorf("the stream ends with %q", last)
	}
	return ids, lines.Err()
}

// Clients that vanish midway leave no pages behind: as many samples run together afterwards as fit into an unused
// cache.
func TestVanishedClientsLeaveNoPages(t *testing.T) {
	t.Parallel()
	const together, tokens = 4, 440
	r := newBusyEndpoint(t, together<<19) // half a MiB holds the 512 positions of this model's context
	full := fmt.Sprintf(`{"model":"tiny","prompt":"What is","max_tokens":%d,"seed":1,"ignore_eos":true}`, tokens)
	steps := func(enough int64) (least int64) { // of some tries: on a busy machine the clients may not begin together
		for try := 0; try < 20 && (least == 0 || least > enough); try++ {
			before := r.engineStats().Steps
			var clients sync.WaitGroup
			for i := range together { // a tenant each: one that is alone gets pages beyond the cache's size
				clients.Go(func() { r.open(fmt.Sprintf("tml-%d", i), full).Close() })
			}
			clients.Wait()
			took := r.engineStats().Steps - before
			if least == 0 || took < least {
				least = took
			}
		}
		return least
	}
	unused := steps(tokens + tokens/4)
	if unused > 2*tokens {
		t.Fatalf("%d samples of %d tokens take %d steps in an unused cache, so that this test shows nothing", together,
			tokens, unused)
	}
	goroutines := runtime.NumGoroutine()
	var clients sync.WaitGroup
	for i := range 60 {
		clients.Go(func() {
			body := r.open(fmt.Sprintf("tml-%d", i%3), fmt.Sprintf(`{"model":"tiny","prompt":"What is %d","n":2,`+
				`"max_tokens":400,"ignore_eos":true,"stream":true,"return_token_ids":true}`, i))
			defer body.Close()
			lines := bufio.NewScanner(body)
			for range i % 40 {
				lines.Scan()
			}
		})
	}
	clients.Wait()
	r.settled(t)
	eventually(t, func() string {
		r.web.Client().CloseIdleConnections()
		left := runtime.NumGoroutine()
		return r.unanswered() + unless(left <= goroutines+8, fmt.Sprintf("%d goroutines, %d before", left, goroutines))
	})
	if again := steps(unused + unused/2); again > unused+unused/2 {
		t.Errorf("%d samples take %d steps after the clients vanished, %d before", together, again, unused)
	}
}
