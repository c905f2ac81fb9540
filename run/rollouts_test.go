package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
)

// offered is a job whose rollouts programs carry out.
func offered(t *testing.T, dir string, more ...string) *config.Config {
	t.Helper()
	const set = "buffer.explorer_input.taskset."
	return load(t, dir, and(and(tiny, "explorer.proxy_port=0", set+"default_workflow_type=rollout_workflow",
		set+"workflow_args={timeout: 120}", "explorer.max_retry_times=0"), more...)...)
}

// caller is a program that knows a base URL and nothing else.
type caller struct {
	t    *testing.T
	base string
}

// post returns status and body; 0 if the server is gone.
func post(url, body string) (int, http.Header, []byte) {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, nil
	}
	return resp.StatusCode, resp.Header, raw
}

func (c caller) ask(path string, body any) (string, bool) {
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Error(err)
		return "", false
	}
	status, h, answer := post(c.base+path, string(raw))
	var out struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
		}
	}
	if status != http.StatusOK || json.Unmarshal(answer, &out) != nil || len(out.Choices) != 1 {
		if status != 0 && status != http.StatusNotFound && status != http.StatusServiceUnavailable { // the run ended
			c.t.Errorf("%s: %d %s", path, status, answer)
		}
		return "", false
	}
	if h.Get("X-Trinity-Overrode") != "temperature" {
		c.t.Errorf("overrode %q", h.Get("X-Trinity-Overrode"))
	}
	return out.Choices[0].Text + out.Choices[0].Message.Content, true
}

// converse asks twice, the second time in a way that continues the first answer, and in a branch of the
// conversation, and rewards a digit in the second answer.
func (c caller) converse(question string, branch bool) {
	prompt := "<|im_start|>user\n" + question + "<|im_end|>\n<|im_start|>assistant\n"
	first, ok := c.ask("/completions", map[string]any{"prompt": prompt, "temperature": 0.2})
	if !ok {
		return
	}
	second, ok := c.ask("/completions", map[string]any{"temperature": 0.2,
		"prompt": prompt + first + "<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n"})
	if !ok {
		return
	}
	if branch {
		c.ask("/chat/completions", map[string]any{"temperature": 0.2, "messages": []any{
			map[string]any{"role": "user", "content": question}, map[string]any{"role": "assistant", "content": "No."},
			map[string]any{"role": "user", "content": "Then?"}}})
	}
	reward := 0
	if strings.ContainsAny(second, "02468") {
		reward = 1
	}
	if status, _, answer := post(c.base+"/feedback", fmt.Sprintf(`{"reward": %d}`, reward)); status != 200 &&
		status != 404 && status != 0 {
		c.t.Errorf("feedback: %d %s", status, answer)
	}
}

// work carries out the rollouts of a run until it is gone. It returns how many that were.
func work(t *testing.T, url string, each func(c caller, task map[string]any, eval bool)) (n int) {
	var wait sync.WaitGroup
	defer wait.Wait()
	for {
		status, _, body := post(url+"/rollouts/next", `{"wait": 5}`)
		switch status {
		case http.StatusNoContent:
			continue
		case http.StatusOK:
		default:
			return n
		}
		var one struct {
			Base string `json:"base_url"`
			Task map[string]any
			Eval bool `json:"is_eval"`
		}
		if err := json.Unmarshal(body, &one); err != nil {
			t.Errorf("%v: %s", err, body)
			return n
		}
		n++
		wait.Go(func() { each(caller{t, one.Base}, one.Task, one.Eval) })
	}
}

// carryOut runs a job beside a program. A job that gives up early may end before the program finds it.
func carryOut(ctx context.Context, t *testing.T, cfg *config.Config, dir string,
	each func(c caller, task map[string]any, eval bool)) ([]monitor.Line, int, error) {
	t.Helper()
	os.Remove(filepath.Join(dir, "trinity-tiny", "gsm8k", "explorer_server_url.txt"))
	var lines []monitor.Line
	var err error
	var ended atomic.Bool
	var job sync.WaitGroup
	job.Go(func() {
		defer ended.Store(true)
		var sum *console.Summary
		if sum, err = Run(ctx, cfg, options()); err == nil {
			lines = sum.Lines
		}
	})
	var url string
	eventually(t, "the proxy listens or the job has ended", func() (ok bool) {
		url, ok = listening(dir)
		return ok || ended.Load()
	})
	n := work(t, url, each)
	job.Wait()
	return lines, n, err
}

// A program carries out all rollouts of a run, each with several calls. What is trained is what was sampled, to the
// bit; and a run that is killed while rollouts are open opens them again and ends as if nothing had happened.
func TestProgramsCarryOutRollouts(t *testing.T) {
	t.Parallel()
	talk := func(c caller, task map[string]any, _ bool) {
		question, _ := task["question"].(string)
		if question == "" || task["answer"] == nil {
			t.Errorf("the task is %v", task)
		}
		c.converse(question, strings.Contains(question, "a"))
	}
	dir := t.TempDir()
	lines, n, err := carryOut(t.Context(), t, offered(t, dir), dir, talk)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || n < 3*4 {
		t.Fatalf("%d lines of %d rollouts", len(lines), n)
	}
	branches := 0.0
	for _, l := range lines {
		gap, measured := l.Metrics["train/kl_sample_train_v1"]
		if !measured || gap != 0 || l.Metrics["rollout/num_turns/mean"] < 2 {
			t.Errorf("step %d: gap %v (%v), %v turns", l.Step, gap, measured, l.Metrics["rollout/num_turns/mean"])
		}
		branches += l.Metrics["rollout/new_sequences/mean"]
	}
	if branches == 0 {
		t.Error("no branch was counted")
	}

	again := t.TempDir()
	ctx, kill := context.WithCancel(t.Context())
	var mu sync.Mutex
	seen := 0
	_, _, err = carryOut(ctx, t, offered(t, again), again, func(c caller, task map[string]any, eval bool) {
		mu.Lock()
		seen++
		late := seen > 5 // in the second step, with one rollout carried out
		mu.Unlock()
		if late {
			kill()
			return
		}
		talk(c, task, eval)
	})
	if err == nil {
		t.Fatal("the run ended before it was killed")
	}
	resumed, _, err := carryOut(t.Context(), t, offered(t, again), again, talk)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lines {
		for _, name := range []string{"critic/rewards/mean", "actor/final_loss", "actor/grad_norm",
			"response_length/mean", "rollout/num_turns/mean"} {
			if i >= len(resumed) || l.Metrics[name] != resumed[i].Metrics[name] {
				t.Fatalf("step %d: %s differs from that of the unbroken run: %v and %v", l.Step, name, l.Metrics,
					resumed[i:])
			}
		}
	}
}

// A rollout without a reward in time is a failed attempt, and no reward of 0.
func TestRolloutsWithoutAReward(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := offered(t, dir, "buffer.explorer_input.taskset.workflow_args={timeout: 0.3}")
	_, _, err := carryOut(t.Context(), t, cfg, dir, func(c caller, task map[string]any, _ bool) {
		c.ask("/completions", map[string]any{"prompt": "Hi", "temperature": 0.2, "max_tokens": 2})
	})
	if err == nil || !strings.Contains(err.Error(), "all 2 tasks failed") {
		t.Errorf("the run ended with %v", err)
	}
}

// With an address and without rollout_workflow the URLs are served, and say what opens a rollout.
func TestRolloutsNeedAWorkflow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop, ended := make(chan struct{}), make(chan error, 1)
	o := options()
	o.Stop, o.Rollouts = stop, "127.0.0.1:0"
	go func() {
		_, err := Run(t.Context(), load(t, dir, and(tiny, "buffer.total_steps=500", "trainer.total_steps=500")...), o)
		ended <- err
	}()
	url := address(t, dir)
	for path, body := range map[string]string{"/rollouts/next": `{"wait":1}`,
		"/rollouts/x/v1/chat/completions": `{"messages":[{"role":"user","content":"Hi"}]}`} {
		if status, _, answer := post(url+path, body); status != 404 ||
			!bytes.Contains(answer, []byte("default_workflow_type: rollout_workflow")) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	close(stop)
	if err := <-ended; !errors.Is(err, ErrInterrupted) {
		t.Errorf("the run ended with %v", err)
	}
	o = options()
	o.Rollouts = "127.0.0.1:0"
	if _, err := Run(t.Context(), load(t, t.TempDir(), and(tiny, asTrainer...)...), o); err == nil ||
		!strings.Contains(err.Error(), "--rollouts") {
		t.Errorf("mode train: %v", err)
	}
}

// The same program trains a run in mode serve+train, where its first call opens a rollout.
func TestServeAndTrainRollouts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended := make(chan error, 1)
	var lines []monitor.Line
	go func() {
		sum, err := Run(t.Context(), load(t, dir, and(serving, "mode=serve+train")...), options())
		if err == nil {
			lines = sum.Lines
		}
		ended <- err
	}()
	url := address(t, dir)
	call(t, url+"/rollouts/warm/v1/completions", `{"prompt":"a","max_tokens":1}`) // until the weights are there
	for step := 1; step <= 2; step++ {
		for i := range 4 {
			base := fmt.Sprintf("%s/rollouts/%d/%d/v1", url, step, i)
			c := caller{t, base}
			if _, ok := c.ask("/completions", map[string]any{"prompt": "2 and 2?", "temperature": 0.2}); !ok {
				t.Fatal("no answer")
			}
			c.converse("2 and 2?", i == 1)
		}
		if out := call(t, url+"/commit", ""); out["experiences"] != 4.0 {
			t.Errorf("commit %d: %v", step, out)
		}
		serves(t, url, step)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		if gap, measured := l.Metrics["train/kl_sample_train_v1"]; !measured || gap != 0 {
			t.Errorf("step %d: gap %v", l.Step, gap)
		}
	}
}
