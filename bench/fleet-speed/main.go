// Command fleet-speed measures a step of supervised fine-tuning in one process with two threads and over two workers of
// one thread each, on this machine. The step of the fleet begins with fetching the weights.
//
// Needs: -model, a folder or GGUF file, and -data, a folder with GSM8K's train.jsonl
// Takes: about half an hour with a model of 135M parameters
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

func main() {
	binary := flag.String("trinity", "", "the program; empty builds bin/trinity")
	model := flag.String("model", "", "a model, a `folder` or GGUF file")
	data := flag.String("data", "", "a `folder` with GSM8K's train.jsonl")
	batch := flag.Int("batch", 704, "solutions in a step")
	flag.Parse()
	err := errors.New("-model and -data must be given, and no arguments")
	if *model != "" && *data != "" && flag.NArg() == 0 {
		err = run(*binary, *model, *data, *batch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet-speed:", err)
		os.Exit(1)
	}
}

func run(binary, model, data string, batch int) error {
	trinity, remove, err := program.New(binary)
	if err != nil {
		return err
	}
	defer remove()
	model, err1 := filepath.Abs(model)
	data, err2 := filepath.Abs(data)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	const source = "buffer.trainer_input.experience_buffer."
	job := program.Job{Program: trinity, Name: "sft", Args: []string{"run", "--config",
		"examples/tiny/algorithms/sft.yaml", "model.model_path=" + model, source + "path=" + data,
		source + "format.response_key=answer", "model.max_response_tokens=400", "model.max_prompt_tokens=400",
		fmt.Sprint("buffer.train_batch_size=", batch), "buffer.total_steps=1", "trainer.total_steps=1"}}
	want, err := job.Alone()
	if err != nil {
		return err
	}
	crew := &program.Crew{Program: trinity, Prefix: "w"}
	defer crew.Close()
	got, err := job.Over("workers", func(creds string) error {
		crew.Creds = creds
		return errors.Join(crew.Join(), crew.Join())
	}, "fleet.verify=0")
	if err != nil {
		return err
	}
	tasks, err := crew.Leave()
	if err != nil {
		return err
	}
	alone, err1 := job.Seconds("alone")
	fleet, err2 := job.Seconds("workers")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	fmt.Printf("%d solutions in %d parts: two threads %.1f s, two workers of one thread %.1f s: %.3f times as fast\n",
		batch, tasks, alone, fleet, alone/fleet)
	if different := want.Differs(got); different != "" {
		return fmt.Errorf("over two workers: other bits: %s", different)
	}
	return nil
}
