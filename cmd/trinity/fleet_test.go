package main

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// A run over workers has the bits of the run alone. The first worker computes a step on portable kernels and is killed
// in the next one, which another worker ends.
func TestFleetRun(t *testing.T) {
	t.Parallel()
	job := program.Job{Program: self(t, t.TempDir()), Name: "gsm8k", Args: append(program.Tiny(),
		"algorithm.repeat_times=2", "buffer.total_steps=3", "trainer.total_steps=3")}
	want, err := job.Alone()
	if err != nil {
		t.Fatal(err)
	}
	p := begin(t, job.Command("over", "fleet.listen=127.0.0.1:0", "fleet.local=false", "fleet.verify=0.2"))
	workers := &program.Crew{Program: job.Program, Prefix: "w", Creds: await(t, p, program.Credentials)[1]}
	t.Cleanup(workers.Close)
	if err := workers.Join("--kernel", "portable"); err != nil {
		t.Fatal(err)
	}
	await(t, p, "step 1/3")
	if err := workers.Join(); err != nil {
		t.Fatal(err)
	}
	await(t, p, "worker w2 joined")
	workers.Kill()
	if err := p.Wait(); err != nil {
		t.Fatalf("%v; it said:\n%s\nthe workers said:\n%s", err, p.Said(), workers.Said())
	}
	got, err := job.Outcome("over")
	if err != nil {
		t.Fatal(err)
	}
	if d := want.Differs(got); d != "" {
		t.Error(d)
	}
	if n, err := workers.Leave(); err != nil || n == 0 {
		t.Errorf("the second worker computed %d tasks: %v; the workers said:\n%s", n, err, workers.Said())
	}
}
