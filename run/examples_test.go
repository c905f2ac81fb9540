package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
)

var upstreamExamples = flag.String("upstream.examples", "",
	"TestUpstreamExamples: the `folder` examples of Trinity-RFT")

// Of each of upstream's examples validate and run say the same: as it stands, where what is not downloaded is not
// known, and with the shipped model and made rows in the place of what it names, where what validate lets through makes
// its first step.
func TestUpstreamExamples(t *testing.T) {
	t.Parallel()
	if *upstreamExamples == "" {
		t.Skip("-upstream.examples names no folder; make upstream-examples fetches it")
	}
	files := yamlBelow(t, *upstreamExamples)
	refused, ran := 0, 0
	for _, file := range files {
		name, _ := filepath.Rel(*upstreamExamples, file)
		x := &upstreamExample{t: t, file: file, dir: t.TempDir()}
		x.standIn()
		stands := x.verdict(nil, offline(), 0)
		if strings.Contains(stands.validate, "project_name: unknown key") {
			t.Logf("%s\n  no configuration of Trinity-RFT but a recipe of Data-Juicer's: %s", name, stands.validate)
			continue
		}
		in := x.verdict(x.overrides(), options(), 40*time.Second)
		agree := stands.agree() && in.agree()
		t.Logf("%s\n  as it stands   validate: %s\n                 run:      %s\n  with stand-ins validate: %s\n    "+
			"             run:      %s\n  %s",
			name, stands.validate, stands.run, in.validate, in.run,
			map[bool]string{true: "agree", false: "DISAGREE"}[agree])
		if !agree {
			t.Errorf("%s: validate and run disagree", name)
		}
		if in.refused {
			refused++
		} else {
			ran++
		}
	}
	t.Logf("%d examples: %d make their first step, %d are refused by validate and run alike", refused+ran, ran, refused)
}

func yamlBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*/*.yaml", "*/*.yml"} {
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	if len(files) == 0 {
		t.Fatalf("no YAML files in the folders of %s", dir)
	}
	slices.Sort(files)
	return files
}

// offline are options with a hub that has nothing.
func offline() Options {
	o := options()
	o.Hub = hub.New(hub.Options{Cache: filepath.Join(os.TempDir(), "no-such-cache"), Offline: true})
	return o
}

// upstreamExample is one file and what stands in for what it names.
type upstreamExample struct {
	t       *testing.T
	file    string
	dir     string
	rows    string // made rows with every column that it names
	service string // OpenAI's interface
}

func (x *upstreamExample) env(name string) (string, bool) {
	switch {
	case name == "TRINITY_CHECKPOINT_ROOT_DIR":
		return filepath.Join(x.dir, "checkpoints"), true
	case name == "OPENAI_BASE_URL":
		return x.service, true
	case name == "OPENAI_API_KEY":
		return "none", true
	case name == "TRINITY_TASKSET_PATH" || name == "TRINITY_SFT_DATASET_PATH":
		return "somebody/" + strings.ToLower(strings.ReplaceAll(name, "_", "-")), true
	case strings.HasPrefix(name, "TRINITY_") && strings.HasSuffix(name, "MODEL_PATH"):
		return "somebody/" + strings.ToLower(strings.ReplaceAll(name, "_", "-")), true
	}
	return "", false
}

// standIn serves OpenAI's interface and writes the rows.
func (x *upstreamExample) standIn() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ N int }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		answer := map[string]any{"message": map[string]any{"role": "assistant", "content": "<answer>4</answer>"},
			"finish_reason": "stop"}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": slices.Repeat([]any{answer}, max(1, ask.N))})
	}))
	x.t.Cleanup(server.Close)
	x.service = server.URL
	x.rows = filepath.Join(x.dir, "rows.jsonl")
	row := map[string]any{"question": "2 + 2?", "answer": "#### 4", "size": 2, "p": 0.8, "seed": 42,
		"rubric": []map[string]any{{"description": "is right", "weight": 1}}}
	if cfg, err := config.Load(x.file, nil, x.env); err == nil {
		for _, t := range cfg.Buffer.ExplorerInput.Training() {
			if t.DefaultRewardFnType == "countdown_reward" {
				row[t.Format.ResponseKey] = map[string]any{"target": 4, "numbers": []int{2, 2}}
			}
		}
		columnsOf(cfg, row)
	}
	line, err := json.Marshal(row)
	if err == nil {
		err = os.WriteFile(x.rows, []byte(strings.Repeat(string(line)+"\n", 12)), 0o644)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// columnsOf adds the columns that a configuration names.
func columnsOf(cfg *config.Config, row map[string]any) {
	talk := []map[string]any{{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}}
	add := func(f config.Format, s *config.DataSelector) {
		for key, value := range map[string]any{f.PromptKey: "2 + 2?", f.ResponseKey: "4", f.ChosenKey: "4",
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
func (x *upstreamExample) overrides() []string {
	cfg, err := config.Load(x.file, nil, x.env)
	if err != nil {
		return nil
	}
	model := longContext(x.t)
	list := []string{"model.model_path=" + model, "model.max_model_len=1600", "model.max_prompt_tokens=1500",
		"model.max_response_tokens=32",
		"model.enable_prompt_truncation=true", "buffer.batch_size=5", "buffer.total_steps=1", "trainer.total_steps=1",
		"seed=1",
		"synchronizer.sync_timeout=30", "synchronizer.sync_interval=1", "explorer.max_timeout=60"}
	if cfg.Algorithm.RepeatTimes > 2 {
		list = append(list, "algorithm.repeat_times=2")
	}
	if cfg.Given("buffer.train_batch_size") {
		list = append(list, "buffer.train_batch_size=10")
	}
	for i := range cfg.Explorer.AuxiliaryModels {
		list = append(list, fmt.Sprintf("explorer.auxiliary_models[%d].model_path=%s", i, model),
			fmt.Sprintf("explorer.auxiliary_models[%d].max_response_tokens=32", i))
	}
	return append(list, x.dataOverrides(cfg)...)
}

func (x *upstreamExample) dataOverrides(cfg *config.Config) (list []string) {
	in := cfg.Buffer.ExplorerInput
	taskset := func(t config.Taskset, key string) {
		list = append(list, key+".path="+x.rows)
		if cfg.Given(key + ".rollout_args.max_tokens") {
			list = append(list, key+".rollout_args.max_tokens=32")
		}
	}
	if in.Taskset != nil {
		taskset(*in.Taskset, "buffer.explorer_input.taskset")
		if p := cfg.DataProcessor.TaskPipeline; p != nil && p.Output == nil {
			list = append(list, "buffer.explorer_input.taskset.path="+filepath.Join(x.dir, "prepared"))
		}
	}
	for i, t := range in.EvalTasksets {
		taskset(t, "buffer.explorer_input.eval_tasksets["+strconv.Itoa(i)+"]")
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

// verdict is what validate and run say of a configuration.
type verdict struct {
	validate, run string
	refused       bool // by validate
	same          bool // run's error is validate's
	unknown       bool // validate let it through, as it cannot know, and run says what it cannot know
	began         bool // run made a step, or waits for another process
}

func (v verdict) agree() bool { return v.refused && v.same || !v.refused && (v.began || v.unknown) }

// verdict asks both. Without time for a step, a run that is not refused ends when it would fetch something.
func (x *upstreamExample) verdict(overrides []string, o Options, limit time.Duration) (v verdict) {
	o.LookupEnv = x.env
	cfg, err := config.Load(x.file, overrides, x.env)
	if err != nil { // both load it first
		return verdict{validate: "no: " + line(err), run: "no: the same", refused: true, same: true}
	}
	ctx := x.t.Context()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	in, err := Inspect(ctx, cfg, o)
	var unknown []string
	v.validate = "yes"
	if v.refused = err != nil; v.refused {
		v.validate = "no: " + line(err)
	} else {
		if unknown = in.Unknown; len(unknown) > 0 {
			v.validate = "yes; not here yet: " + line(errors.New(unknown[0]))
		}
		if err := in.Close(); err != nil {
			x.t.Error(err)
		}
	}
	var out bytes.Buffer
	o.Out = &out
	sum, rerr := Run(ctx, cfg, o)
	if _, warning, ok := strings.Cut(out.String(), "warning: "); rerr != nil && ok {
		rerr = fmt.Errorf("%w: %s", rerr, warning)
	}
	switch {
	case rerr == nil:
		v.began, v.run = sum.Steps > 0 || cfg.Mode == config.Bench || cfg.Mode == config.Explore, "does its first step"
	case v.refused && rerr.Error() == err.Error():
		v.same, v.run = true, "no: the same"
	case strings.Contains(rerr.Error(), "why the explorer is late"):
		v.began, v.run = true, "waits for the explorer of another process"
	case sampled(cfg):
		v.began, v.run = true, "samples its first step, then: "+line(rerr)
	default:
		v.unknown = slices.ContainsFunc(unknown,
			func(u string) bool { return strings.Contains(u, rerr.Error()) || strings.Contains(rerr.Error(), u) })
		v.run = "no: " + line(rerr)
	}
	return v
}

// sampled reports whether a job has got as far as the samples of a step.
func sampled(cfg *config.Config) bool {
	files, err := filepath.Glob(filepath.Join(cfg.JobDir(), "rollouts", "*.jsonl"))
	return err == nil && len(files) > 0
}

// temporary is a folder of the test.
var temporary = regexp.MustCompile(`/[^ "]*/TestUpstreamExamples\d+/\d+`)

// line is the first line of an error, and how many problems follow.
func line(err error) string {
	text, rest, _ := strings.Cut(temporary.ReplaceAllString(err.Error(), "DIR"), "\n")
	if _, place, ok := strings.Cut(text, ".yaml:"); ok {
		text = place
	}
	if before, _, hub := strings.Cut(text, " is not whole in the cache"); hub {
		_, text, _ = strings.Cut(before, "HF_HUB_OFFLINE is set and ")
	}
	if n := strings.Count(rest, ".yaml:"); n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	if runes := []rune(strings.ToValidUTF8(text, "?")); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
