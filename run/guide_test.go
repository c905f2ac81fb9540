package run

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
)

// shippedRows are word problems in the columns of GSM8K.
const shippedRows = "../examples/tiny/data/train.jsonl"

// gsm8k is the repository of the data set as it lies on the hub, with the first n rows of a jsonl file as its split
// train.
func gsm8k(t testing.TB, file string, n int) hubtest.Repo {
	t.Helper()
	type row struct {
		Question string `parquet:"question" json:"question"`
		Answer   string `parquet:"answer" json:"answer"`
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < n {
		t.Fatalf("%s has %d rows, want %d", file, len(lines), n)
	}
	rows := make([]row, n)
	for i := range rows {
		if err := json.Unmarshal([]byte(lines[i]), &rows[i]); err != nil {
			t.Fatalf("%s: row %d: %v", file, i, err)
		}
	}
	files := map[string][]byte{"README.md": []byte("---\nconfigs:\n- config_name: main\n  data_files:\n  - split: " +
		"train\n    path: main/train-*\n  - split: test\n    path: main/test-*\n- config_name: socratic\n  " +
		"data_files:\n  - split: train\n    path: socratic/train-*\n---\n# GSM8K\n")}
	for _, name := range []string{"main/train", "main/test", "socratic/train"} {
		var b bytes.Buffer
		if err := parquet.Write(&b, rows, parquet.Compression(&parquet.Snappy)); err != nil {
			t.Fatal(err)
		}
		files[name+"-00000-of-00001.parquet"] = b.Bytes()
	}
	return hubtest.Repo{Files: files}
}

// smallLlama is the repository of examples/llama/model.
func smallLlama(t testing.TB) hubtest.Repo {
	t.Helper()
	const dir = "../examples/llama/model"
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range list {
		if files[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return hubtest.Repo{Files: files}
}

// guideHub is a hub with what the guide's configurations name: the small Llama behind the names of the models, and word
// problems behind that of GSM8K. It returns it as it is online, and its cache alone.
func guideHub(t testing.TB, rows string, n int) (online, offline *hub.Hub) {
	t.Helper()
	llama := smallLlama(t)
	s := hubtest.New(t, map[string]hubtest.Repo{"models/meta-llama/Llama-3.2-3B": llama,
		"models/Qwen/Qwen3-4B-Instruct-2507": llama, "datasets/openai/gsm8k": gsm8k(t, rows, n)})
	cache := t.TempDir()
	return hub.New(hub.Options{Cache: cache, Endpoint: s.URL, Pause: time.Millisecond}),
		hub.New(hub.Options{Cache: cache, Offline: true})
}

// rootedAt is an environment with the guide's variable for where jobs lie, and nothing else.
func rootedAt(root string) func(string) (string, bool) {
	return func(key string) (string, bool) {
		if key == "TRINITY_CHECKPOINT_ROOT_DIR" {
			return root, true
		}
		return "", false
	}
}

// loadGuide reads a configuration with its jobs below root.
func loadGuide(t testing.TB, path, root string) *config.Config {
	t.Helper()
	cfg, err := config.Load(path, nil, rootedAt(root))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// withFragment is the guide's configuration tinker.yaml with a fragment of the guides, byte for byte, in the place of
// its own section model.tinker.
func withFragment(t testing.TB, fragment string) (path string) {
	t.Helper()
	whole, err := os.ReadFile("testdata/guide/tinker.yaml")
	if err != nil {
		t.Fatal(err)
	}
	part, err := os.ReadFile(filepath.Join("testdata/guide", fragment))
	if err != nil {
		t.Fatal(err)
	}
	const own, section = "  tinker:\n    enable: true\n", "\nmodel:\n"
	text := string(whole)
	if strings.Count(text, own) != 1 || strings.Count(text, section) != 1 {
		t.Fatal("tinker.yaml has changed")
	}
	text = strings.Replace(strings.Replace(text, own, "", 1), section, "\n"+string(part), 1)
	path = filepath.Join(t.TempDir(), fragment)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The fragments of the guides say what is the default: with them the configuration resolves to the same.
func TestGuideFragments(t *testing.T) {
	t.Parallel()
	want := loadGuide(t, "testdata/guide/tinker.yaml", "root")
	for _, name := range []string{"fragment.yaml", "fragment_readme.yaml"} {
		got := loadGuide(t, withFragment(t, name), "root")
		if !reflect.DeepEqual(got.Model.Tinker, want.Model.Tinker) || got.JobDir() != want.JobDir() ||
			got.Model.ModelPath != want.Model.ModelPath {
			t.Errorf("%s: %+v, want %+v", name, got.Model.Tinker, want.Model.Tinker)
		}
	}
}

// The two configurations of upstream's guide to its Tinker backend (testdata/guide) load, resolve and train as they
// stand there, byte for byte: model and data set by their names on the hub, the veRL keys, the chat template, wandb.
// The model behind the name is examples/llama/model.
func TestGuide(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("samples and trains two batches of 768")
	}
	online, offline := guideHub(t, shippedRows, 100)
	for _, tt := range []struct {
		name, file string
		hub        *hub.Hub
	}{
		{"Tinker backend, downloading", "tinker.yaml", online},
		{"veRL backend, from the cache", "verl.yaml", offline},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			cfg := loadGuide(t, filepath.Join("testdata", "guide", tt.file), root)
			var out bytes.Buffer
			o := onEngine()
			o.Out, o.LookupEnv, o.Hub, o.Find = &out, rootedAt(root), tt.hub, nil
			sum, err := Run(t.Context(), cfg, o)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if n := len(sum.Lines); n != 1 {
				t.Fatalf("%d lines of metrics, want that of the one step that 100 rows fill", n)
			}
			m := sum.Lines[0].Metrics
			for key, want := range map[string]float64{"train/kl_sample_train_v2": 0, "sample/model_version/mean": 0} {
				if m[key] != want {
					t.Errorf("%s = %v, want %v", key, m[key], want)
				}
			}
			if n := m["response_length/mean"]; n < 10 || n > 50 {
				t.Errorf("answers are %v tokens long", n)
			}
			if a := m[accuracyKey]; a < 0.25 || a > 0.45 {
				t.Errorf("the model is right %.3f of the time before it is trained, want about a third", a)
			}
			prompt := firstPrompt(t, cfg.JobDir())
			begins, ends := "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date",
				"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
			if !strings.HasPrefix(prompt, begins) || !strings.HasSuffix(prompt, ends) ||
				strings.Count(prompt, "<|begin_of_text|>") != 1 {
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
