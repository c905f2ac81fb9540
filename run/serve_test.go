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
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

var serving = and(tiny, "explorer.proxy_port=0", "buffer.train_batch_size=4", "buffer.total_steps=null",
	"trainer.total_steps=2")

// address waits for the URL of the proxy of a job that does not end by itself.
func address(t *testing.T, dir string) (url string) {
	t.Helper()
	eventually(t, "the proxy listens", func() (ok bool) {
		url, ok = listening(dir)
		return ok
	})
	return url
}

// listening is the URL of a job's proxy, if there is one and it answers.
func listening(dir string) (url string, ok bool) {
	data, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "explorer_server_url.txt"))
	if err != nil {
		return "", false
	}
	resp, err := http.Get(string(data) + "/health")
	if err != nil {
		return "", false
	}
	resp.Body.Close()
	return string(data), true
}

// serves waits until the proxy serves a version of the weights, or has ended.
func serves(t *testing.T, url string, version int) {
	t.Helper()
	eventually(t, fmt.Sprintf("version %d is served", version), func() bool {
		resp, err := http.Get(url + "/metrics")
		if err != nil {
			return true
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		return bytes.Contains(raw, fmt.Appendf(nil, "trinity_proxy_model_version %d\n", version))
	})
}

func call(t *testing.T, url, body string) (out map[string]any) {
	t.Helper()
	eventually(t, "the model is loaded", func() bool {
		resp, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if resp.StatusCode == http.StatusServiceUnavailable { // no weights yet
			return false
		}
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %s: %s", url, err, resp.Status, raw)
		}
		return true
	})
	return out
}

// play is an agent: it asks four times, rewards two answers, and commits.
func play(t *testing.T, url string, step int) {
	t.Helper()
	for i := range 4 {
		answer := call(t, url+"/v1/chat/completions",
			`{"messages":[{"role":"user","content":"2 and 2 apples?"}],"max_tokens":6}`)
		call(t, url+"/feedback", fmt.Sprintf(`{"reward": %d, "msg_ids": [%q], "task_id": "apples %d", "run_id": %d}`,
			i%2, answer["id"], step, i))
	}
	if out := call(t, url+"/commit", ""); out["explore_step_num"] != float64(step) || out["experiences"] != 4.0 {
		t.Errorf("commit %d: %v", step, out)
	}
}

// A program of its own is the agent of a run in one process; killed in between, the run trains what was committed,
// once.
func TestServeAndTrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, kill := context.WithCancel(t.Context())
	cfg := and(serving, "mode=serve+train")
	ended := make(chan error)
	go func() { _, err := Run(ctx, load(t, dir, cfg...), options()); ended <- err }()
	play(t, address(t, dir), 1)
	kill()
	if err := <-ended; err == nil {
		t.Fatal("the run ended before it was killed")
	}
	os.Remove(filepath.Join(dir, "trinity-tiny", "gsm8k", "explorer_server_url.txt"))
	var lines []monitor.Line
	go func() {
		sum, err := Run(t.Context(), load(t, dir, cfg...), options())
		if err == nil {
			lines = sum.Lines
		}
		ended <- err
	}()
	url := address(t, dir)
	serves(t, url, 1) // step 1 is trained
	play(t, url, 2)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || lines[0].Metrics["sample/model_version/mean"] != 0 ||
		lines[1].Metrics["sample/model_version/mean"] != 1 {
		t.Fatalf("%d lines, want a step with the base model's answers and one with those of its first weights: %v",
			len(lines), lines)
	}
	for _, l := range lines {
		if l.Metrics["train/kl_sample_train_v1"] != 0 || l.Metrics["critic/rewards/mean"] != 0.5 {
			t.Errorf("step %d: %v", l.Step, l.Metrics)
		}
	}
}

// The proxy and the trainer may be two processes.
func TestServeBesideATrainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop, ended := make(chan struct{}), make(chan error, 2)
	go func() {
		o := options()
		o.Stop = stop
		_, err := Run(t.Context(), load(t, dir, and(serving, "mode=serve")...), o)
		ended <- err
	}()
	url := address(t, dir)
	play(t, url, 1)
	play(t, url, 2)
	sum, err := Run(t.Context(), load(t, dir, and(serving, asTrainer...)...), options())
	if err != nil || sum.Steps != 2 {
		t.Fatalf("the trainer: %+v, %v", sum, err)
	}
	close(stop)
	if err := <-ended; !errors.Is(err, ErrInterrupted) {
		t.Errorf("the proxy ended with %v", err)
	}
}
