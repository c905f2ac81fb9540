package ownmodel

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	project = "own"
	name    = "model"
	heldSet = "held-out"
	// ConfigFile is the name of the configuration in the folder of the model.
	ConfigFile = "train.yaml"
	trainFile  = "train.jsonl"
	heldFile   = "held-out.jsonl"
)

// job is the folder of a stage.
func (p *plan) job(stage string) string { return filepath.Join(p.out, project, name, stage) }

// yaml is the configuration. Without steps, its only stage is the evaluation before training.
func (p *plan) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by %s\n# It runs alone too: trinity run --config %s\n#\n", p.command(),
		filepath.Join(p.out, ConfigFile))
	for _, line := range p.why {
		fmt.Fprintf(&b, "# %s.\n", line)
	}
	template := ""
	if p.Template != "" {
		template = fmt.Sprintf("  chat_template_path: %s\n", strconv.Quote(p.Template))
	}
	fmt.Fprintf(&b, head, strconv.Quote(p.out), project, name, group, strconv.Quote(p.model), template, p.prompt,
		p.answer, p.Rank, tasks, p.trained(), heldSet, p.file(heldFile), strconv.Quote(p.reward), tasks)
	b.WriteString("stages:\n  - stage_name: before # the model as it is, on the rows held out\n    mode: bench\n")
	if p.sft > 0 {
		fmt.Fprintf(&b, sftStage, max(1, p.sft/20), sftBatch, p.sft, p.file(trainFile), p.sft, max(1, (p.sft+3)/4))
	}
	if p.grpo > 0 {
		fmt.Fprintf(&b, grpoStage, tasks, p.grpo, indented(p.trained()), p.grpo, max(1, (p.grpo+3)/4))
	}
	if p.sft+p.grpo > 0 {
		b.WriteString("  - stage_name: after # the trained model on the same rows\n    mode: bench\n")
	}
	return b.String()
}

// file is the path of a file of data, quoted.
func (p *plan) file(name string) string { return strconv.Quote(filepath.Join(p.out, name)) }

// trained is the section explorer_input with the rows to train on.
func (p *plan) trained() string {
	return fmt.Sprintf(trained, p.file(trainFile), strconv.Quote(p.reward))
}

// indented is a text four columns further in.
func indented(text string) string {
	return "    " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n    "), "    ")
}

const head = `mode: both
checkpoint_root_dir: %s
project: %s
name: %s
algorithm:
  algorithm_type: grpo
  repeat_times: %d # samples of a prompt, compared with each other
  kl_loss_fn_args:
    kl_coef: 0.0
  optimizer:
    lr: 2.0e-04
    lr_warmup_steps: 2
model:
  model_path: %s
%s  max_prompt_tokens: %d # the longest prompt of the data, and the chat template
  max_response_tokens: %d
  tinker:
    enable: true
    rank: %d # of the adapter, which alone is trained
    seed: 1
buffer:
  batch_size: %d
%s    eval_tasksets:
      - name: %s
        storage_type: file
        path: %s
        default_reward_fn_type: %s
        rollout_args:
          temperature: 0.0 # the likeliest answer
        format:
          prompt_type: plaintext
          prompt_key: prompt
          response_key: answer
explorer:
  eval_on_startup: true
  eval_interval: 1000000 # stages before and after evaluate
  runner_per_model: %d
`

const trained = `  explorer_input:
    default_workflow_type: simple_workflow
    default_eval_workflow_type: simple_workflow
    taskset:
      name: train
      storage_type: file
      path: %s
      default_reward_fn_type: %s
      format:
        prompt_type: plaintext
        prompt_key: prompt
        response_key: answer
`

const sftStage = `  - stage_name: sft # learns the answers of the data
    mode: train
    algorithm:
      algorithm_type: sft
      optimizer:
        lr: 1.0e-03
        lr_warmup_steps: %d
        lr_scheduler_type: cosine
        min_lr_ratio: 0.05
    buffer:
      train_batch_size: %d
      total_steps: %d
      trainer_input:
        experience_buffer:
          name: answers
          storage_type: file
          path: %s
          format:
            prompt_type: plaintext
            prompt_key: prompt
            response_key: answer
    trainer:
      total_steps: %d
      save_interval: %d
`

const grpoStage = `  - stage_name: grpo # learns from the rewards of its own answers
    mode: both
    explorer:
      eval_on_startup: false
      eval_interval: 1000000
      runner_per_model: 4
    buffer:
      batch_size: %d
      total_steps: %d
%s    trainer:
      total_steps: %d
      save_interval: %d
`
