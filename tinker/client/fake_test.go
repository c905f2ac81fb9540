package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// answer is an answer of a scripted server. Status 0 is no connection; hang is a long poll without an answer; after is
// the time until the answer.
type answer struct {
	status int
	body   string
	header http.Header
	proto  []byte
	hang   bool
	after  time.Duration
}

func ok(body string) answer { return answer{status: 200, body: body} }

// received is a request as the server saw it.
type received struct {
	path string
	at   time.Duration // since the start
	key  string
	idem string
	body map[string]any
}

// script is a server that answers each path's requests from a list; the last entry is repeated. It is the
// http.RoundTripper of a client, so that no network is needed and the test controls the time.
type script struct {
	answers map[string][]answer
	start   time.Time

	mu   sync.Mutex
	seen []received
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r := received{path: req.URL.Path[len(wire.Prefix):], at: time.Since(s.start), key: req.Header.Get(wire.HeaderKey),
		idem: req.Header.Get(wire.HeaderIdempotency)}
	json.Unmarshal(raw, &r.body) // protobuf stays nil
	s.mu.Lock()
	s.seen = append(s.seen, r)
	list := s.answers[r.path]
	a := answer{status: 200, body: "{}"}
	if len(list) > 0 {
		a = list[0]
	}
	if len(list) > 1 {
		s.answers[r.path] = list[1:]
	}
	s.mu.Unlock()
	if a.hang {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	select {
	case <-time.After(a.after):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if a.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set("Content-Type", wire.JSON)
	body := []byte(a.body)
	if a.proto != nil {
		body = a.proto
		a.header.Set("Content-Type", wire.Proto)
	}
	return &http.Response{StatusCode: a.status, Header: a.header, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
}

// to lists the requests to a path.
func (s *script) to(path string) []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []received
	for _, r := range s.seen {
		if r.path == path {
			list = append(list, r)
		}
	}
	return list
}

// scripted runs test with a client of a scripted server, in fake time.
func scripted(t *testing.T, answers map[string][]answer, change func(*Options),
	test func(t *testing.T, c *Client, s *script)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: map[string][]answer{
			"/create_session":          {ok(`{"session_id": "s"}`)},
			"/create_sampling_session": {ok(`{"sampling_session_id": "s:sample:0"}`)},
			"/create_model":            {ok(`{"request_id": "model"}`)},
			"/optim_step":              {ok(`{"request_id": "step"}`)},
			"/forward_backward":        {ok(`{"request_id": "forward"}`)},
			"/save_weights":            {ok(`{"request_id": "save"}`)},
			"/asample":                 {ok(`{"request_id": "sample"}`)},
			"/retrieve_future": {
				ok(`{"model_id": "s:train:0", "metrics": {"grad_norm": 1}, "path": "tinker://s:train:0/weights/x"}`)},
		}, start: time.Now()}
		for path, list := range answers {
			s.answers[path] = list
		}
		o := Options{BaseURL: "http://server", APIKey: "tml-key", KeyName: "TINKER_API_KEY",
			HTTP: &http.Client{Transport: s}}
		if change != nil {
			change(&o)
		}
		c, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		test(t, c, s)
	})
}

func newModel(t *testing.T, c *Client) tinker.TrainingClient {
	t.Helper()
	m, err := c.CreateModel(t.Context(), tinker.CreateModelRequest{BaseModel: "m",
		LoRA: tinker.LoRA{Rank: 4, TrainAttn: true}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newSampler(t *testing.T, c *Client) tinker.SamplingClient {
	t.Helper()
	s, err := c.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func step(t *testing.T, m tinker.TrainingClient, seq int64) (tinker.OptimStepOutput, error) {
	t.Helper()
	f, err := m.OptimStep(t.Context(), tinker.OptimStepRequest{SeqID: seq, Adam: tinker.DefaultAdam()})
	if err != nil {
		return tinker.OptimStepOutput{}, err
	}
	return f.Wait(t.Context())
}

func draw(t *testing.T, s tinker.SamplingClient) (tinker.SampleResponse, error) {
	t.Helper()
	f, err := s.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text([]int32{1, 2}),
		Params: tinker.DefaultSampling()})
	if err != nil {
		return tinker.SampleResponse{}, err
	}
	return f.Wait(t.Context())
}
