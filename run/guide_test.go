package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hub"
	"github.com/seed-d9ad8ee0/trinity/hub/hubtest"
)

// gsm8k is the repository of the data set as it lies on the hub, with n rows of its split train.
func gsm8k(t testing.TB, n int) hubtest.Repo {
	type row struct {
		Question string `parquet:"question"`
		Answer   string `parquet:"answer"`
	}
	files := map[string][]byte{"README.md": []byte("---\nconfigs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/train-*\n  - split: test\n    path: main/test-*\n- config_name: socratic\n  data_files:\n  - split: train\n    path: socratic/train-*\n---\n# GSM8K\n")}
	for _, name := range []string{"main/train", "main/test", "socratic/train"} {
		rows := make([]row, n)
		for i := range rows {
			rows[i] = row{fmt.Sprintf("Ann has %d apples. She buys %d more. How many has she now?", i, i+1), fmt.Sprintf("She has %d + %d = <<%d+%d=%d>>%d apples.\n#### %d", i, i+1, i, i+1, 2*i+1, 2*i+1, 2*i+1)}
		}
		var b bytes.Buffer
		if err := parquet.Write(&b, rows, parquet.Compression(&parquet.Snappy)); err != nil {
			t.Fatal(err)
		}
		files[name+"-00000-of-00001.parquet"] = b.Bytes()
	}
	return hubtest.Repo{Files: files}
}

// The two configurations of upstream's guide to its Tinker backend (testdata/guide) load, resolve and train as they stand
// there, byte for byte: model and data set by their names on the hub, the veRL keys, the chat template, wandb. The model behind
// the name is a very small one.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("samples and trains two batches of 768")
	}
	s := hubtest.New(t, map[string]hubtest.Repo{"models/meta-llama/Llama-3.2-3B": hubtest.TinyLlama(), "datasets/openai/gsm8k": gsm8k(t, 100)})
	cache := t.TempDir()
	online := hub.New(hub.Options{Cache: cache, Endpoint: s.URL, Pause: time.Millisecond})
	for _, tt := range []struct {
		name, file string
		hub        *hub.Hub
	}{
		{"Tinker backend, downloading", "tinker.yaml", online},
		{"veRL backend, from the cache", "verl.yaml", hub.New(hub.Options{Cache: cache, Offline: true})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			env := func(key string) (string, bool) {
				if key == "TRINITY_CHECKPOINT_ROOT_DIR" {
					return root, true
				}
				return "", false
			}
			cfg, err := config.Load(filepath.Join("testdata", "guide", tt.file), nil, env)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			begin := time.Now()
			sum, err := Run(context.Background(), cfg, Options{Out: &out, LookupEnv: env, Hub: tt.hub})
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			t.Logf("%v\n%s", time.Since(begin), out.String())
			if n := len(sum.Lines); n != 1 {
				t.Fatalf("%d lines of metrics, want that of the one step that 100 rows fill", n)
			}
			m := sum.Lines[0].Metrics
			for key, want := range map[string]float64{"train/kl_sample_train_v2": 0, "sample/model_version/mean": 0} {
				if m[key] != want {
					t.Errorf("%s = %v, want %v", key, m[key], want)
				}
			}
			if n := m["response_length/mean"]; n < 2 || n > 500 {
				t.Errorf("answers are %v tokens long", n)
			}
			prompt := firstPrompt(t, cfg.JobDir())
			begins, ends := "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date", "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
			if !strings.HasPrefix(prompt, begins) || !strings.HasSuffix(prompt, ends) || strings.Count(prompt, "<|begin_of_text|>") != 1 {
				t.Errorf("the prompt is not Llama's, with one <|begin_of_text|>:\n%s", prompt)
			}
			for _, want := range []string{"local", "96 tasks × 8 samples", "wandb"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
		})
	}
}

// firstPrompt is the text of the first sample's prompt.
func firstPrompt(t testing.TB, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "rollouts", "step_000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var sample struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(line, &sample); err != nil {
		t.Fatal(err)
	}
	return sample.Prompt
}
