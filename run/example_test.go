package run_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// Train the shipped example for two steps. The sampler's logprobs and the trainer's are the same bits, so the estimate
// of their KL divergence is exactly 0.
func Example() {
	dir, err := os.MkdirTemp("", "trinity-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	root := ".." // of the project; its paths begin with examples/tiny
	cfg, err := config.Load(filepath.Join(root, "examples/tiny/gsm8k.yaml"), []string{
		"checkpoint_root_dir=" + dir, "seed=1", "buffer.total_steps=2", "trainer.total_steps=2", "buffer.batch_size=4",
		"buffer.explorer_input.eval_tasksets=[]",
	}, os.LookupEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	find := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(root, path)
	}
	summary, err := run.Run(context.Background(), cfg, run.Options{Find: find})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range summary.Lines {
		if line.Step == 0 {
			continue // an evaluation before the first step
		}
		m := line.Metrics
		divergence, measured := m["train/kl_sample_train_v1"]
		fmt.Printf("step %d: %g samples, KL divergence of sampler and trainer %g, measured %v\n",
			line.Step, m["experience_pipeline/experience_count"], divergence, measured)
	}
	// Output:
	// step 1: 32 samples, KL divergence of sampler and trainer 0, measured true
	// step 2: 32 samples, KL divergence of sampler and trainer 0, measured true
}
