package main

import (
	"flag"
	"fmt"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

var (
	fleetModel = flag.String("fleet.model", "", "TestFleetSpeed: a model, a `folder` or GGUF file")
	fleetData  = flag.String("fleet.data", "", "TestFleetSpeed: GSM8K, a `folder` with train.jsonl")
	fleetBatch = flag.Int("fleet.batch", 704, "TestFleetSpeed: solutions in a step")
)

// TestFleetSpeed measures a step of supervised fine-tuning on one process with two threads and over two workers with
// one thread each, on this machine. The step of the fleet begins with fetching the weights.
func TestFleetSpeed(t *testing.T) {
	if *fleetModel == "" || *fleetData == "" {
		t.Skip("-fleet.model or -fleet.data is not set; make bench-fleet-real runs it")
	}
	const source = "buffer.trainer_input.experience_buffer."
	m := &matrixRun{t: t, name: "sft", home: t.TempDir(), args: []string{"run", "--config",
		"examples/tiny/algorithms/sft.yaml", "model.model_path=" + *fleetModel, source + "path=" + *fleetData,
		source + "format.response_key=answer", "model.max_response_tokens=400", "model.max_prompt_tokens=400",
		fmt.Sprint("buffer.train_batch_size=", *fleetBatch), "buffer.total_steps=1", "trainer.total_steps=1"}}
	m.alone()
	c := newCrew(t, m.home, "")
	m.overCrew("workers", func(creds string) {
		c.creds = creds
		c.join()
		c.join()
	}, "fleet.verify=0")
	tasks, got := c.leave(), m.outcome("workers")
	if !got.equal(m.want) {
		t.Errorf("over two workers: other bits: %s", m.want.differs(got))
	}
	alone, fleet := m.seconds("alone"), m.seconds("workers")
	fmt.Printf("%d solutions in %d parts: two threads %.1f s, two workers of one thread %.1f s: %.3f times as fast\n",
		*fleetBatch, tasks, alone, fleet, alone/fleet)
}

// seconds is the time of a variant's steps.
func (m *matrixRun) seconds(variant string) (sum float64) {
	for _, path := range m.files(variant, "metrics.jsonl") {
		lines, err := monitor.ReadLog(path)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, l := range lines {
			sum += l.Metrics["time/step"]
		}
	}
	return sum
}
