package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// said is a recorded answer of another project's server; testdata/foreign/record.py made the file.
type said struct {
	When, What, Path string
	Status           int
	Body             json.RawMessage
}

// recorded returns the answers of the server whose name has this prefix.
func recorded(t *testing.T, server string) map[string]answer {
	t.Helper()
	raw, err := os.ReadFile("testdata/foreign/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]said
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for name, list := range all {
		if !strings.HasPrefix(name, server+",") {
			continue
		}
		answers := map[string]answer{}
		for _, s := range list {
			body := string(s.Body)
			var text string
			if json.Unmarshal(s.Body, &text) == nil { // no JSON
				body = text
			}
			if name := s.When + ": " + s.What; answers[name].status == 0 { // the first of its name
				answers[name] = answer{status: s.Status, body: body}
			}
		}
		return answers
	}
	t.Fatalf("no answers of %s are recorded", server)
	return nil
}

// answered returns recorded answers by their names.
func answered(t *testing.T, answers map[string]answer, names ...string) []answer {
	t.Helper()
	list := make([]answer, len(names))
	for i, name := range names {
		a, ok := answers[name]
		if !ok {
			t.Fatalf("no answer %q is recorded", name)
		}
		list[i] = a
	}
	return list
}

const (
	skyrlServer = "SkyRL on JAX"
	tuftFile    = "TuFT, persistence FILE"
	tuftMemory  = "TuFT, persistence off"
)

// Each server's answer about a model that it lost in a restart is tinker.ErrLost.
func TestForeignLosesModel(t *testing.T) {
	for _, tt := range []struct{ server, submit, result string }{
		{skyrlServer, "restarted: optimizer step", "restarted: optimizer step: result"},
		{tuftMemory, "restarted: optimizer step", "restarted: optimizer step: result"},
		{tuftMemory, "restarted: optimizer step", "restarted: an earlier result"},
	} {
		t.Run(tt.server+" "+tt.result, func(t *testing.T) {
			r := recorded(t, tt.server)
			scripted(t, map[string][]answer{
				"/create_session":  answered(t, r, "running: session"),
				"/create_model":    answered(t, r, "running: model"),
				"/optim_step":      answered(t, r, tt.submit),
				"/retrieve_future": answered(t, r, "running: model: result", tt.result),
			}, nil, func(t *testing.T, c *Client, s *script) {
				_, err := step(t, newModel(t, c), 1)
				if !errors.Is(err, tinker.ErrLost) || !strings.Contains(err.Error(), "is gone from http://server") {
					t.Errorf("error %v, want tinker.ErrLost", err)
				}
			})
		})
	}
}

// When the server is full, models of earlier processes are unloaded until there is room, the oldest first and the
// model of the state last.
func TestForeignMakesRoom(t *testing.T) {
	r := recorded(t, skyrlServer)
	var noted []string
	change := func(o *Options) {
		o.Spare = []string{"first", "source", "second"}
		o.OnModel = func(id string) error { noted = append(noted, id); return nil }
	}
	var results []answer
	for range 3 {
		full := answered(t, r, "running: a model too many: result")
		results = append(results, slices.Repeat(full, 1+badRequests)...) // a 400 is polled for again
		results = append(results, answered(t, r, "running: unload: result")...)
	}
	results = append(results, answered(t, r, "running: a model when there is room again: result")...)
	scripted(t, map[string][]answer{
		"/create_session":  answered(t, r, "running: session"),
		"/create_model":    answered(t, r, "running: a model too many"),
		"/weights_info":    answered(t, r, "restarted: state"),
		"/load_weights":    {ok(`{"request_id": "1"}`)},
		"/unload_model":    answered(t, r, "running: unload"),
		"/retrieve_future": append(results, ok(`{"path": null}`)),
	}, change, func(t *testing.T, c *Client, s *script) {
		_, err := c.CreateModelFromState(t.Context(),
			tinker.CreateFromStateRequest{Path: "tinker://source/weights/x", Optimizer: true})
		if err != nil {
			t.Fatal(err)
		}
		var unloaded []string
		for _, u := range s.to("/unload_model") {
			unloaded = append(unloaded, fmt.Sprint(u.body["model_id"]))
		}
		if want := []string{"first", "second", "source"}; !slices.Equal(unloaded, want) {
			t.Errorf("unloaded %q, want %q", unloaded, want)
		}
		if len(noted) != 1 || !strings.HasPrefix(noted[0], "model_") {
			t.Errorf("told of models %q, want the one", noted)
		}
	})
}

// A full server without a model of the job to unload is an error that names the remedy.
func TestForeignNoRoom(t *testing.T) {
	r := recorded(t, skyrlServer)
	scripted(t, map[string][]answer{
		"/create_session":  answered(t, r, "running: session"),
		"/create_model":    answered(t, r, "running: a model too many"),
		"/retrieve_future": answered(t, r, "running: a model too many: result"),
	}, nil, func(t *testing.T, c *Client, s *script) {
		_, err := c.CreateModel(t.Context(), tinker.CreateModelRequest{BaseModel: "m", LoRA: tinker.LoRA{Rank: 4}})
		if err == nil || !strings.Contains(err.Error(), "Maximum number of LoRA adapters (4) reached") ||
			!strings.Contains(err.Error(), "max_lora_adapters") {
			t.Errorf("error %v, want SkyRL's and the remedy", err)
		}
	})
}

// SkyRL accepts seeds of 31 bits, and leaves the kind out of the paths of sampler weights.
func TestForeignSkyRL(t *testing.T) {
	r := recorded(t, skyrlServer)
	long := answered(t, r, "running: a sample with a long seed: result")[0]
	if long.status != 400 || !strings.Contains(long.body, "out of bounds for int32") {
		t.Fatalf("SkyRL now accepts long seeds: %d %s", long.status, long.body)
	}
	saved := answered(t, r, "running: save sampler weights: result")[0]
	var out tinker.SaveOutput
	var id struct {
		ID string `json:"model_id"`
	}
	if err := errors.Join(json.Unmarshal([]byte(saved.body), &out),
		json.Unmarshal([]byte(answered(t, r, "running: model: result")[0].body), &id)); err != nil {
		t.Fatal(err)
	}
	scripted(t, map[string][]answer{
		"/create_session":           answered(t, r, "running: session"),
		"/create_model":             answered(t, r, "running: model"),
		"/save_weights_for_sampler": answered(t, r, "running: save sampler weights"),
		"/retrieve_future": append(answered(t, r, "running: model: result"), saved,
			answer{status: 200, proto: []byte{}}),
	}, nil, func(t *testing.T, c *Client, s *script) {
		seed := int64(7<<40 | 5)
		m, err := c.CreateModel(t.Context(), tinker.CreateModelRequest{BaseModel: "m",
			LoRA: tinker.LoRA{Rank: 4, Seed: &seed}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.SaveWeightsForSampler(t.Context(), tinker.SaveRequest{Name: "sampler"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Wait(t.Context())
		if want := "tinker://" + id.ID + "/sampler_weights/sampler"; err != nil || got.Path != want {
			t.Errorf("path %q, %v, want %q (SkyRL says %q)", got.Path, err, want, out.Path)
		}
		draw := uint64(1<<63 | 9)
		sampler, err := c.SamplingClient(t.Context(), tinker.SamplingClientRequest{ModelPath: got.Path})
		if err != nil {
			t.Fatal(err)
		}
		g, err := sampler.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text([]int32{1}),
			Params: tinker.SamplingParams{MaxTokens: 1, Seed: &draw}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.to("/asample")[0].body["sampling_params"].(map[string]any)["seed"]; got != 9.0 {
			t.Errorf("seed of a sample %v, want 9", got)
		}
		if got := s.to("/create_model")[0].body["lora_config"].(map[string]any)["seed"]; got != 5.0 {
			t.Errorf("seed of the adapter %v, want 5", got)
		}
	})
}

// After a restart that lost them, session and sampler are created again and the sample is drawn.
func TestForeignLosesSampler(t *testing.T) {
	r := recorded(t, tuftMemory)
	scripted(t, map[string][]answer{
		"/create_session": {answered(t, r, "running: session")[0], ok(`{"session_id": "new"}`)},
		"/create_sampling_session": append(answered(t, r, "running: sampler", "restarted: sampler"),
			ok(`{"sampling_session_id": "another"}`)),
		"/asample": answered(t, r, "restarted: sample"),
		"/retrieve_future": append(answered(t, r, "restarted: an earlier result", "restarted: sample: result"),
			answer{status: 200, proto: []byte{}}),
	}, nil, func(t *testing.T, c *Client, s *script) {
		sampler, err := c.SamplingClient(t.Context(),
			tinker.SamplingClientRequest{ModelPath: "tinker://m/sampler_weights/x"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := draw(t, sampler); err != nil {
			t.Fatal(err)
		}
		asked := s.to("/asample")
		if last := asked[len(asked)-1].body["sampling_session_id"]; len(asked) != 3 || last != "another" {
			t.Errorf("%d samples were requested, the last of sampler %v; want 3, of another", len(asked), last)
		}
		if got := s.to("/create_sampling_session"); got[len(got)-1].body["session_id"] != "new" {
			t.Errorf("the sampler was created in session %v, want the new one", got[len(got)-1].body["session_id"])
		}
	})
}

// Weights that SkyRL can no longer sample from are ErrLost, not a failed task.
func TestForeignLosesWeights(t *testing.T) {
	r := recorded(t, skyrlServer)
	scripted(t, map[string][]answer{
		"/create_session":          answered(t, r, "running: session"),
		"/create_sampling_session": answered(t, r, "restarted: sampler"),
		"/asample":                 answered(t, r, "restarted: sample of a new sampler"),
		"/retrieve_future":         answered(t, r, "restarted: sample of a new sampler: result"),
	}, nil, func(t *testing.T, c *Client, s *script) {
		sampler, err := c.SamplingClient(t.Context(),
			tinker.SamplingClientRequest{ModelPath: "tinker://m/sampler_weights/x"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := draw(t, sampler); !errors.Is(err, tinker.ErrLost) {
			t.Errorf("error %v, want tinker.ErrLost", err)
		}
	})
}

// A model is created in a new session when the server has lost the old one.
func TestForeignLosesSession(t *testing.T) {
	r := recorded(t, tuftMemory)
	scripted(t, map[string][]answer{
		"/create_session":  {answered(t, r, "running: session")[0], ok(`{"session_id": "new"}`)},
		"/create_model":    answered(t, r, "restarted: model in the old session", "running: model"),
		"/retrieve_future": answered(t, r, "running: model: result"),
	}, nil, func(t *testing.T, c *Client, s *script) {
		newModel(t, c)
		got := s.to("/create_model")
		if len(got) != 2 || got[1].body["session_id"] != "new" {
			t.Errorf("requested %d models, want 2, the last in the new session: %v", len(got), got)
		}
	})
}

// A restarted TuFT that keeps its records silently returns to the model's last checkpoint. So its models are lost
// after a broken connection; those of other servers are not.
func TestForeignTakesModelBack(t *testing.T) {
	r := recorded(t, tuftFile)
	if later := answered(t, r, "restarted: optimizer step: result")[0]; later.status != 200 {
		t.Fatalf("a restarted TuFT now reports the lost steps: %d %s", later.status, later.body)
	}
	for _, server := range []string{tuftFile, "another"} {
		t.Run(server, func(t *testing.T) {
			caps := ok(`{"supported_models": [{"model_name": "m"}]}`)
			if server == tuftFile {
				caps = answered(t, r, "running: capabilities")[0]
			}
			scripted(t, map[string][]answer{
				"/get_server_capabilities": {caps},
				"/create_model":            answered(t, r, "running: model"),
				"/optim_step":              {{status: 0}, answered(t, r, "restarted: optimizer step")[0]},
				"/retrieve_future":         answered(t, r, "running: model: result", "running: optimizer step: result"),
			}, nil, func(t *testing.T, c *Client, s *script) {
				if _, err := c.Capabilities(t.Context()); err != nil {
					t.Fatal(err)
				}
				m := newModel(t, c)
				if _, err := step(t, m, 1); err != nil {
					t.Fatal(err)
				}
				if _, err := step(t, m, 2); errors.Is(err, tinker.ErrLost) != (server == tuftFile) {
					t.Errorf("after a broken connection: %v", err)
				}
			})
		})
	}
}

// A missing state is an error at once, which says what each server keeps; TuFT answers it with 500.
func TestForeignStateIsGone(t *testing.T) {
	r := recorded(t, tuftMemory)
	scripted(t, map[string][]answer{
		"/get_server_capabilities": answered(t, r, "running: capabilities"),
		"/weights_info":            answered(t, r, "restarted: state"),
	}, nil, func(t *testing.T, c *Client, s *script) {
		if _, err := c.Capabilities(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := c.CreateModelFromState(t.Context(), tinker.CreateFromStateRequest{Path: "tinker://m/weights/x"})
		if !errors.Is(err, tinker.ErrNotFound) || !strings.Contains(err.Error(),
			"TuFT forgets them when it is restarted unless its configuration enables persistence") {
			t.Errorf("error %v, want what TuFT keeps", err)
		}
		if n := len(s.to("/weights_info")); n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
	})
}
