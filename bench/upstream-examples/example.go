package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// example is one file, with substitutes for the models and data that it names.
type example struct {
	file    string
	root    string // of all examples' folders
	dir     string
	model   string
	rows    string // made rows with every column that it names
	service string // OpenAI's interface
	steps   int    // of a run
}

// bed is what runs of examples share.
type bed struct {
	root, model string
	service     *httptest.Server
}

func newBed() (b *bed, err error) {
	b = &bed{}
	if b.root, err = os.MkdirTemp("", "trinity-upstream-"); err != nil {
		return nil, err
	}
	if b.model, err = longContext(filepath.Join(b.root, "model")); err != nil {
		os.RemoveAll(b.root)
		return nil, err
	}
	b.service = stub()
	return b, nil
}

func (b *bed) close() {
	b.service.Close()
	os.RemoveAll(b.root)
}

// example is the i-th, which runs in a folder of its own.
func (b *bed) example(i, steps int) *example {
	return &example{root: b.root, dir: filepath.Join(b.root, fmt.Sprint(i)), model: b.model, service: b.service.URL,
		steps: steps}
}

// stub speaks OpenAI's interface and gives one answer.
func stub() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ N int }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		answer := map[string]any{"message": map[string]any{"role": "assistant", "content": "<answer>4</answer>"},
			"finish_reason": "stop"}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": slices.Repeat([]any{answer}, max(1, ask.N))})
	}))
}

func (x *example) env(name string) (string, bool) {
	somebodys := "somebody/" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	switch {
	case name == "TRINITY_CHECKPOINT_ROOT_DIR":
		return filepath.Join(x.dir, "checkpoints"), true
	case name == "OPENAI_BASE_URL":
		return x.service, true
	case name == "OPENAI_API_KEY":
		return "none", true
	case name == "TRINITY_MACHINE_ID" || name == "ALFWORLD_DATA":
		return "0", true
	case name == "TRINITY_TASKSET_PATH" || name == "TRINITY_SFT_DATASET_PATH",
		strings.HasPrefix(name, "TRINITY_") && strings.HasSuffix(name, "MODEL_PATH"):
		return somebodys, true
	}
	return "", false
}

func (x *example) writeRows() error {
	x.rows = filepath.Join(x.dir, "rows.jsonl")
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return err
	}
	cfg, err := config.Load(x.file, nil, x.env)
	if x.steps > 1 && err == nil {
		return x.writeProblems(cfg)
	}
	row := map[string]any{"question": "2 + 2?", "answer": "#### 4", "size": 2, "p": 0.8, "seed": 42,
		"rubric": []map[string]any{{"description": "is right", "weight": 1}}}
	if err == nil {
		for _, t := range cfg.Buffer.ExplorerInput.Training() {
			if t.DefaultRewardFnType == "countdown_reward" {
				row[t.Format.ResponseKey] = map[string]any{"target": 4, "numbers": []int{2, 2}}
			}
		}
		columnsOf(cfg, row, "2 + 2?", "4")
	}
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return os.WriteFile(x.rows, []byte(strings.Repeat(string(line)+"\n", 12)), 0o644)
}

// columnsOf adds the columns that a configuration names.
func columnsOf(cfg *config.Config, row map[string]any, question, answer string) {
	talk := []map[string]any{{"role": "user", "content": question}, {"role": "assistant", "content": answer}}
	add := func(f config.Format, s *config.DataSelector) {
		for key, value := range map[string]any{f.PromptKey: question, f.ResponseKey: answer, f.ChosenKey: answer,
			f.RejectedKey: "5", f.MessagesKey: talk, f.ImageKey: "x"} {
			if _, there := row[key]; key != "" && !there {
				row[key] = value
			}
		}
		if s != nil {
			for _, key := range s.FeatureKeys {
				row[key] = 0.5
			}
		}
	}
	for _, t := range slices.Concat(cfg.Buffer.ExplorerInput.Training(), cfg.Buffer.ExplorerInput.EvalTasksets) {
		add(t.Format, t.DataSelector)
	}
	if eb := cfg.Buffer.TrainerInput.ExperienceBuffer; eb != nil {
		add(eb.Format, eb.DataSelector)
	}
	for _, eb := range cfg.Buffer.TrainerInput.AuxiliaryBuffers {
		add(eb.Format, eb.DataSelector)
	}
}

// overrides put stand-ins into the places of what the example names, and make it small.
func (x *example) overrides() []string {
	cfg, err := config.Load(x.file, nil, x.env)
	if err != nil {
		return nil
	}
	list := []string{"model.model_path=" + x.model, "model.max_model_len=1600", "model.max_prompt_tokens=1500",
		"model.max_response_tokens=32", "model.enable_prompt_truncation=true", "buffer.batch_size=5",
		fmt.Sprint("buffer.total_steps=", x.steps),
		fmt.Sprint("trainer.total_steps=", x.steps), "seed=1", "synchronizer.sync_timeout=30",
		"synchronizer.sync_interval=1", "explorer.max_timeout=60"}
	repeat := min(2, cfg.Algorithm.RepeatTimes)
	if x.steps > 1 {
		repeat = min(8, cfg.Algorithm.RepeatTimes)
		list = append(list, "buffer.explorer_input.taskset.format.system_prompt=Think, then answer.")
	}
	list = append(list, fmt.Sprint("algorithm.repeat_times=", repeat))
	if x.steps > 1 && len(cfg.DataProcessor.ExperiencePipeline.Operators) > 0 {
		list = append(list, fmt.Sprint("buffer.train_batch_size=", repeat)) // operators drop most
	} else if cfg.Given("buffer.train_batch_size") {
		list = append(list, fmt.Sprint("buffer.train_batch_size=", 5*repeat))
	}
	for i := range cfg.Explorer.AuxiliaryModels {
		list = append(list, fmt.Sprintf("explorer.auxiliary_models[%d].model_path=%s", i, x.model),
			fmt.Sprintf("explorer.auxiliary_models[%d].max_response_tokens=32", i))
	}
	return append(list, x.dataOverrides(cfg)...)
}

func (x *example) dataOverrides(cfg *config.Config) (list []string) {
	in := cfg.Buffer.ExplorerInput
	taskset := func(key string) {
		list = append(list, key+".path="+x.rows)
		if cfg.Given(key + ".repeat_times") {
			list = append(list, key+".repeat_times=2")
		}
		if cfg.Given(key + ".rollout_args.max_tokens") {
			list = append(list, key+".rollout_args.max_tokens=32")
		}
	}
	if in.Taskset != nil {
		taskset("buffer.explorer_input.taskset")
		if p := cfg.DataProcessor.TaskPipeline; p != nil && p.Output == nil {
			list = append(list, "buffer.explorer_input.taskset.path="+filepath.Join(x.dir, "prepared"))
		}
	}
	for i := range in.EvalTasksets {
		taskset("buffer.explorer_input.eval_tasksets[" + strconv.Itoa(i) + "]")
	}
	if eb := cfg.Buffer.TrainerInput.ExperienceBuffer; eb != nil && eb.Path != "" {
		path := x.rows
		switch {
		case cfg.DataProcessor.TaskPipeline != nil:
			path = filepath.Join(x.dir, "prepared")
		case strings.Contains(eb.Path, "://"):
			path = "sqlite:///" + filepath.Join(x.dir, "experiences.db")
		}
		list = append(list, "buffer.trainer_input.experience_buffer.path="+path,
			"buffer.trainer_input.experience_buffer.max_read_timeout=30")
	}
	for name := range cfg.Buffer.TrainerInput.AuxiliaryBuffers {
		list = append(list, "buffer.trainer_input.auxiliary_buffers."+name+".path="+x.rows)
	}
	if p := cfg.DataProcessor.TaskPipeline; p != nil {
		list = append(list, "data_processor.task_pipeline.inputs=["+x.rows+"]")
	}
	return list
}
