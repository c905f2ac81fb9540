package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
)

// What can be known before the first sample is refused by validate and by run in the same words, at its key, and
// nothing is written.
func TestValidateAndRunAgree(t *testing.T) {
	t.Parallel()
	few := filepath.Join(t.TempDir(), "few.jsonl")
	if err := os.WriteFile(few, []byte(`{"question": "2 + 2?", "answer": "4"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const taskset, eval = "buffer.explorer_input.taskset", "buffer.explorer_input.eval_tasksets"
	operators := func(list string) string { return "data_processor.experience_pipeline={operators: [" + list + "]}" }
	for _, tt := range []struct{ overrides, key, says string }{
		{taskset + ".default_workflow_type=math_workflo", taskset + ".default_workflow_type",
			"did you mean math_workflow?"},
		{taskset + ".default_workflow_type=toolcall_workflow", taskset + ".default_workflow_type",
			"did you mean tool_call_workflow?"},
		{taskset + ".default_workflow_type=alfworld_workflow", taskset + ".default_workflow_type",
			"ALFWorld, a Python package"},
		{taskset + ".default_workflow_type=intercode_sql_workflow", taskset + ".default_workflow_type",
			"a Docker image with MySQL"},
		{taskset + ".default_workflow_type=thinking_budget_workflow " + taskset + ".default_reward_fn_type=math_reward",
			taskset + ".default_workflow_type", "workflow_args.thinking_token_budget: is missing"},
		{taskset + ".default_reward_fn_type=math_rewards", taskset + ".default_reward_fn_type",
			"did you mean math_reward?"},
		{eval + "=[{name: e, path: " + few + ", default_workflow_type: simple_workflow, default_reward_fn_type: " +
			"accuracy, format: {prompt_key: question, response_key: answer}}]",
			eval + "[0].default_reward_fn_type", `default_reward_fn_type is "accuracy"`},
		{taskset + ".default_workflow_type=frozen_lake_workflow " + taskset + ".workflow_args={agent_maxsteps: 3}",
			taskset + ".workflow_args.agent_maxsteps", "did you mean agent_max_steps?"},
		{taskset + ".default_workflow_type=math_boxed_workflow " + taskset + ".workflow_args={with_think: maybe}",
			taskset + ".workflow_args.with_think", "must be true or false"},
		{taskset + ".default_workflow_type=gem_workflow " + taskset + ".workflow_args={env_id: game:Hangmann-v0}",
			taskset + ".default_workflow_type", "the nearest is"},
		{taskset + ".default_workflow_type=rubric_judge_workflow", taskset + ".default_workflow_type", "needs a judge"},
		{taskset + ".format.prompt_key=qestion", taskset + ".format.prompt_key", `no column "qestion"`},
		{taskset + ".path=./nowhere", taskset + ".path", "nowhere"},
		{taskset + ".data_selector={selector_type: difficulty_based, feature_keys: [a, b], kwargs: {lambd: 1}}",
			taskset + ".data_selector.feature_keys", `"a"`},
		{taskset + ".default_reward_fn_type=math_dapo_reward " + taskset + ".reward_fn_args={penalty_facter: 1}",
			taskset + ".reward_fn_args.penalty_facter", "did you mean penalty_factor?"},
		{"monitor.monitor_type=mlflow monitor.monitor_args={urii: x}", "monitor.monitor_args.urii",
			"did you mean uri?"},
		{operators("{name: reward_filtr}"), "data_processor.experience_pipeline.operators[0].name",
			"did you mean reward_filter?"},
		{operators("{name: reward_filter}, {name: reward_std_filter, args: {treshold: 1}}"),
			"data_processor.experience_pipeline.operators[1].args.treshold", "did you mean threshold?"},
		{operators("{name: cod_advantage_fn}"), "data_processor.experience_pipeline.operators[0].name",
			"Python research package"},
		{operators("{name: data_juicer}"), "data_processor.experience_pipeline.operators[0].name",
			"Data-Juicer service"},
		{"data_processor.task_pipeline={inputs: [" + few +
			"], operators: [{name: text_length_filter, args: {min_lem: 1}}]}",
			"data_processor.task_pipeline.operators[0].args.min_lem", "did you mean min_len?"},
		{"algorithm.policy_loss_fn_args={clip_rang: 0.2}", "algorithm.policy_loss_fn_args.clip_rang",
			"did you mean clip_range?"},
		{"algorithm.policy_loss_fn_args={clip_range: wide}", "algorithm.policy_loss_fn_args.clip_range",
			"must be a number"},
		{"algorithm.advantage_fn_args={epsilo: 1}", "algorithm.advantage_fn_args.epsilo", "did you mean epsilon?"},
		{"algorithm.kl_loss_fn_args={kl_coeff: 1}", "algorithm.kl_loss_fn_args.kl_coeff", "did you mean kl_coef?"},
		{"algorithm.algorithm_type=on_policy_distill algorithm.kl_loss_fn_args=null", "explorer.auxiliary_models",
			"learns from a teacher"},
		{"model.max_model_len=513", "model.max_model_len", "the context of examples/tiny/model is 512 tokens"},
		{"model.model_path=./nowhere", "model.model_path", "is not a folder or GGUF file here"},
		{"model.custom_chat_template='{% for %}'", "model.custom_chat_template", "cannot be read"},
		{"buffer.total_steps=null trainer.total_steps=null " + taskset + ".path=" + few, taskset,
			"1 rows for 1 epochs do not fill one batch of 16; " +
				"lower buffer.batch_size, raise buffer.total_epochs or give buffer.total_steps"},
		{"buffer.train_batch_size=100000", "buffer.train_batch_size", "less than one step"},
		{"mode=train buffer.train_batch_size=4 algorithm.algorithm_type=sft algorithm.kl_loss_fn_args=null " +
			"buffer.trainer_input.experience_buffer={storage_type: file, path: " + few +
			", format: {prompt_type: plaintext, prompt_key: question, response_key: reply}}",
			"buffer.trainer_input.experience_buffer.format.response_key", `"reply"`},
		{"mode=train buffer.train_batch_size=16 algorithm.algorithm_type=sft algorithm.kl_loss_fn_args=null " +
			"buffer.total_steps=null trainer.total_steps=50 " +
			"buffer.trainer_input.experience_buffer={storage_type: file, path: " + few +
			", format: {prompt_type: plaintext, prompt_key: question, response_key: answer}}",
			"buffer.trainer_input.experience_buffer", "1 rows for 1 epochs do not fill one batch of 16; " +
				"lower buffer.train_batch_size, raise buffer.total_epochs or give buffer.total_steps"},
		{"algorithm.sample_strategy=mix algorithm.sample_strategy_args={expert_data_ratio: 0.5} " +
			"buffer.trainer_input.auxiliary_buffers={sft_dataset: {storage_type: file, path: " + few +
			", format: {prompt_type: plaintext, prompt_key: question, response_key: answer}}}",
			"buffer.trainer_input.auxiliary_buffers.sft_dataset",
			"lower algorithm.sample_strategy_args.expert_data_ratio, or raise " +
				"buffer.trainer_input.auxiliary_buffers.sft_dataset.total_epochs"},
		{"buffer.trainer_input.experience_buffer={replay_buffer: {enable: true, priority_fn_args: {decai: 1}}}",
			"buffer.trainer_input.experience_buffer.replay_buffer.priority_fn_args.decai", "did you mean decay?"},
		{taskset + ".default_workflow_type=simple_workflow " + taskset + ".default_reward_fn_type=countdown_reward",
			taskset, "each of the 16 tasks of the first step fails: reward countdown_reward"},
		{"model.max_prompt_tokens=20 model.enable_prompt_truncation=false", taskset,
			"each of the 16 tasks of the first step fails: workflow: the prompt of row 0 has"},
		{taskset + ".default_workflow_type=math_boxed_workflow " + taskset + ".reward_fn_args={format_score_coef: low}",
			taskset + ".reward_fn_args.format_score_coef", "must be a number"},
		{"model.random_init=true", "model.random_init", "without a model to sample from"},
	} {
		t.Run(tt.overrides, func(t *testing.T) {
			root := t.TempDir()
			cfg := load(t, root, split(tt.overrides)...)
			in, err := Inspect(t.Context(), cfg, options())
			if err == nil {
				in.Close()
				t.Fatalf("validate says yes, want no: %s: %s", tt.key, tt.says)
			}
			found := false
			for _, p := range problemsOf(err) {
				found = found || p.Key == tt.key && strings.Contains(p.Text, tt.says) && p.File != ""
			}
			if !found {
				t.Errorf("validate says %v, want %s: %s", err, tt.key, tt.says)
			}
			if _, rerr := Run(t.Context(), cfg, options()); rerr == nil || rerr.Error() != err.Error() {
				t.Errorf("run says    %v,\nvalidate    %v", rerr, err)
			}
			if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
				t.Errorf("%v, %v is left", left, err)
			}
		})
	}
}

// split cuts overrides at the spaces before a key.
func split(overrides string) (list []string) {
	for part := range strings.SplitSeq(overrides, " ") {
		key, _, isKey := strings.Cut(part, "=")
		if isKey && strings.ContainsAny(key, "._") || strings.HasPrefix(part, "mode=") {
			list = append(list, part)
		} else {
			list[len(list)-1] += " " + part
		}
	}
	return list
}

func problemsOf(err error) (list []*config.Problem) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			list = append(list, problemsOf(e)...)
		}
		return list
	}
	var p *config.Problem
	if errors.As(err, &p) {
		list = append(list, p)
	}
	return list
}

// What a run would fetch is not a mistake: validate says what it has not looked at, and looks at the rest.
func TestNotHereYet(t *testing.T) {
	t.Parallel()
	o := options()
	o.Hub = hub.New(hub.Options{Cache: t.TempDir(), Offline: true})
	in, err := Inspect(t.Context(), load(t, t.TempDir(), "model.model_path=somebody/model"), o)
	if err != nil || len(in.Unknown) != 1 || !strings.Contains(in.Unknown[0], "somebody/model") {
		t.Fatalf("%+v, %v", in, err)
	}
	in.Close()
	_, err = Inspect(t.Context(), load(t, t.TempDir(), "model.model_path=somebody/model",
		"buffer.explorer_input.taskset.default_workflow_type=math_workflo"), o)
	if err == nil || !strings.Contains(err.Error(), "did you mean math_workflow?") {
		t.Errorf("of a model that is not here the workflow is %v", err)
	}
}
