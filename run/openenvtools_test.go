package run

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// toolCaller makes a model that never learned to call tools call one at the beginning of each episode. The tokens of
// the call are given, and their logprobs are those that the model has for them; what follows the tool's answer is the
// model's own.
type toolCaller struct {
	tinker.Service
	tokens *tokenizer.Tokenizer
	calls  *atomic.Int32
}

func (c toolCaller) SamplingClient(ctx context.Context,
	req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	s, err := c.Service.SamplingClient(ctx, req)
	return toolSampler{s, c}, err
}

type toolSampler struct {
	tinker.SamplingClient
	toolCaller
}

const toolCall = `<tool_call>{"name": "echo_message", "arguments": {"message": "hi"}}</tool_call>`

// Sample implements tinker.SamplingClient.
func (s toolSampler) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	prompt := req.Prompt.Chunks[0].Tokens
	if strings.Contains(s.tokens.Decode(prompt, false), "<tool_response>") {
		return s.SamplingClient.Sample(ctx, req)
	}
	call := s.tokens.Encode(toolCall+"<|im_end|>", false)
	score := req
	score.Prompt, score.PromptLogprobs = tinker.Text(append(slices.Clone(prompt), call...)), true
	score.Params.MaxTokens = 1
	scored, err := tinker.Sample(ctx, s.SamplingClient, score)
	if err != nil {
		return nil, err
	}
	s.calls.Add(1)
	return tinker.Resolved(tinker.SampleResponse{Sequences: []tinker.SampledSequence{{Tokens: call,
		Logprobs: scored.PromptLogprobs[len(prompt):], StopReason: tinker.StopStop}}}, nil), nil
}

// toolModel is the shipped player with a chat template that has tools, that of Qwen3.
func toolModel(t *testing.T) (dir string, tokens *tokenizer.Tokenizer) {
	t.Helper()
	const shipped = "../examples/tiny/guess/model"
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(shipped)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tokenizer_config.json")
	data, err := os.ReadFile(file)
	template, terr := os.ReadFile("../hf/jinja/testdata/qwen3.jinja")
	var conf map[string]any
	if err != nil || terr != nil || json.Unmarshal(data, &conf) != nil {
		t.Fatal(err, terr)
	}
	conf["chat_template"] = string(template)
	if data, err = json.Marshal(conf); err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err = tokenizer.Load(dir); err != nil {
		t.Fatal(err)
	}
	return dir, tokens
}

// Training through MCP tools, which the chat template describes, is exactly on policy: the tools are called, their
// results are messages of the role tool, and the model reads its own call as it was written. What the server says was
// recorded from OpenEnv's echo environment; the reward is ours.
func TestGemOpenEnvTools(t *testing.T) {
	dir, tokens := toolModel(t)
	const hi = `{"type":"step","data":{"type":"call_tool","tool_name":"echo_message","arguments":{"message":"hi"}}}`
	id := openenvtest.Replay(t, "../rl/env/openenv/testdata/echo.jsonl", map[string]string{
		hi: `{"type":"observation","data":{"observation":{"metadata":{},"tool_name":"echo_message","result":` +
			`{"content":[{"type":"text","text":"hi"}],"data":"hi","is_error":false},"error":null},"reward":1.0,` +
			`"done":false}}`})
	var calls atomic.Int32
	play := func(method string) (string, []byte) {
		o := options()
		o.Wrap = func(s tinker.Service) tinker.Service { return toolCaller{s, tokens, &calls} }
		folder, lines := gemRuns(t, o, short(t.TempDir(), "model_name="+dir, "env_id="+id, "env_wrappers=concat_chat",
			"template=no", "eval_every=0", "group_size=4", "max_steps=2", "method="+method))
		onPolicy(t, lines)
		for _, l := range lines {
			if v := l.Metrics["sampler/num_turns_per_episode"]; v < 2 {
				t.Errorf("%s, step %d: %v turns an episode; the tool's answer is one", method, l.Step, v)
			}
			if v := l.Metrics["sampler/num_new_sequence"]; v != 0 {
				t.Errorf("%s, step %d: the model read its own call otherwise in %v turns", method, l.Step, v)
			}
		}
		data, err := os.ReadFile(filepath.Join(folder, "rollouts", "openenv.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return folder, data
	}
	for _, method := range []string{"reinforce", "grpo"} {
		_, data := play(method)
		for line := range bytes.Lines(data) {
			var e openenv.Episode
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			if len(e.Answers) < 2 || !strings.HasPrefix(e.Answers[0], toolCall) || e.Return < 1 {
				t.Errorf("%s: an episode is recorded as %s", method, line)
			}
		}
	}
	if calls.Load() < 16 {
		t.Errorf("%d calls of tools", calls.Load())
	}
}
