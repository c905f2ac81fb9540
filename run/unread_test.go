package run

import (
	"os"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// What a file gives and nobody reads is noted with its place; what is misspelt is refused at its place.
func TestPlacesOfWhatNobodyReads(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../examples/tiny/gsm8k.yaml")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, more string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("the example has no %q", old)
		}
		return strings.Replace(string(text), old, old+more, 1)
	}
	for _, tt := range []struct{ text, noted, refused string }{
		{text: edit("      storage_type: queue\n", "      format: {image_key: images}\n"),
			noted: "run.yaml:57: buffer.trainer_input.experience_buffer.format.image_key is not used"},
		{text: edit("      split: train\n", "      data_selector: {selector_type: shuffle, kwargs: {sead: 1}}\n"),
			noted: "run.yaml:37: buffer.explorer_input.taskset.data_selector.kwargs.sead is not used"},
		{text: edit("      split: train\n", "      workflow_args: {max_turns: 1}\n"),
			noted: "run.yaml:37: buffer.explorer_input.taskset.workflow_args.max_turns is not used"},
		{text: edit("  monitor_type: tensorboard\n", "  monitor_args: {host: x}\n"),
			noted: "run.yaml:67: monitor.monitor_args.host is not used: tensorboard reads none"},
		{text: strings.Replace(string(text), "monitor_type: tensorboard\n",
			"monitor_type: wandb\n  monitor_args: {rollouts_per_stp: 1}\n", 1),
			refused: "run.yaml:67:18: monitor.monitor_args.rollouts_per_stp: unknown argument: wandb reads"},
		{text: edit("      split: train\n", "      default_reward_fn_type: math_dapo_reward\n"+
			"      reward_fn_args:\n        cash_length: 4\n"),
			refused: "run.yaml:39:9: buffer.explorer_input.taskset.reward_fn_args.cash_length: unknown argument: "},
	} {
		cfg, err := config.Parse("run.yaml", []byte(tt.text), []string{"checkpoint_root_dir=" + t.TempDir()}, noEnv,
			Plugins{}.Names())
		if err != nil {
			t.Error(err)
			continue
		}
		in, err := Inspect(t.Context(), cfg, options())
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(),
				"did you mean") {
				t.Errorf("error %v, want %q", err, tt.refused)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if notes := strings.Join(in.Notes, "\n"); !strings.Contains(notes, tt.noted) {
			t.Errorf("notes are\n%s\nwant %q", notes, tt.noted)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}
