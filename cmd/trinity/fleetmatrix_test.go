package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

var (
	fleetFull = flag.Bool("fleet.full", false,
		"TestFleetMatrix: all jobs, numbers of workers and kills (make fleet-matrix)")
	fleetUntil = flag.Duration("fleet.for", 0, "TestFleetMatrix: begin no job after that time; 0 is never")
)

// matrixJobs are short jobs of each kind.
func matrixJobs() map[string][]string {
	short := []string{"seed=3", "buffer.total_steps=4", "trainer.total_steps=4", "trainer.save_interval=2",
		"monitor.monitor_type=tensorboard"}
	explore := append([]string{"buffer.batch_size=4", "algorithm.repeat_times=4",
		"buffer.explorer_input.eval_tasksets=[]"}, short...)
	run := func(file string, pairs ...string) []string {
		return append([]string{"run", "--config", "examples/tiny/" + file}, pairs...)
	}
	return map[string][]string{
		"gsm8k": run("gsm8k.yaml", explore...),
		"off1":  run("gsm8k_off1.yaml", explore...),
		"ppo":   run("algorithms/ppo.yaml", append(explore, "algorithm.advantage_fn_args.critic_warmup=2")...),
		"sft":   run("algorithms/sft.yaml", short...),
		"pretrain": run("algorithms/sft.yaml", append(short, "model.random_init=true", "model.tinker.rank=0",
			"algorithm.optimizer.lr=2e-3")...),
		"gem": {"gem", "--config", "examples/tiny/guess/easy.yaml", "max_steps=4", "eval_every=0", "save_every=2"},
	}
}

// matrixWorkers are the numbers of workers, and matrixKernels the paths that they take turns with; those that this
// processor lacks are left out.
var matrixWorkers, matrixKernels = []int{2, 1, 3, 5, 0}, []string{"", "portable", "avx2"}

// TestFleetMatrix compares each kind of job over workers, which are killed and join at random, as the head is killed,
// with the job alone: metrics and saved weights must have the same bits. Without -fleet.full it is one job.
func TestFleetMatrix(t *testing.T) {
	if !*fleetFull {
		t.Skip("-fleet.full is not set; make fleet-matrix runs it")
	}
	begun := time.Now()
	fmt.Println("| job | workers | kills of workers | kills of the head | tasks of workers at the end | same bits |")
	fmt.Println("|---|---|---|---|---|---|")
	jobs, runs := matrixJobs(), map[string]*matrixRun{}
	for k, workers := range matrixWorkers {
		for i, name := range slices.Sorted(maps.Keys(jobs)) {
			if *fleetUntil > 0 && time.Since(begun) > *fleetUntil {
				fmt.Printf("| %s | %d | | | | not run |\n", name, workers)
				continue
			}
			if runs[name] == nil {
				runs[name] = &matrixRun{t: t, name: name, args: jobs[name], home: t.TempDir()}
				runs[name].alone()
			}
			runs[name].rand = rand.New(rand.NewPCG(uint64(i), uint64(k)))
			runs[name].over(workers)
		}
	}
}

// matrixRun is a job of the matrix.
type matrixRun struct {
	t    *testing.T
	name string
	args []string
	home string
	rand *rand.Rand
	want jobOutcome
}

// jobOutcome is what must not differ by a bit.
type jobOutcome struct {
	metrics []monitor.Line
	weights []string // hashes of the saved tensors, sorted
}

func (m *matrixRun) root(variant string) string { return filepath.Join(m.home, variant) }

func (m *matrixRun) command(variant string, more ...string) *exec.Cmd {
	where := "checkpoint_root_dir="
	if m.args[0] == "gem" {
		where = "output_dir="
	}
	return trinity(m.home, append(append(slices.Clone(m.args), where+m.root(variant)), more...)...)
}

func (m *matrixRun) alone() {
	if out, err := m.command("alone").CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", m.name, err, out)
	}
	m.want = m.outcome("alone")
}

// over runs the job over workers.
func (m *matrixRun) over(workers int) {
	variant := fmt.Sprint("over", workers)
	addr := freeAddress(m.t)
	more := []string{"fleet.listen=" + addr, "fleet.verify=0.1", fmt.Sprint("fleet.local=", workers == 0 || m.rand.IntN(
		2) == 0)}
	if m.args[0] == "gem" {
		more = []string{"--fleet", addr}
	}
	c := newCrew(m.t, m.home, "")
	kills, heads, creds := 0, 0, ""
	for {
		said := &lockedBuffer{}
		cmd := m.command(variant, more...)
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			m.t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if creds == "" {
			creds = m.credentials(variant, ended)
			c.creds = creds
			for range workers {
				m.join(c)
			}
		}
		// trinity gem begins a new run unless it is told to resume one, so its head is not killed
		err, killed := m.disturb(c, cmd, ended, workers, &kills, heads < 2 && m.args[0] != "gem")
		if killed {
			heads++
			continue
		}
		if err != nil {
			m.t.Fatalf("%s over %d workers: %v\n%s\nthe workers said:\n%s", m.name, workers, err, said, c.said)
		}
		break
	}
	tasks := c.leave()
	got := m.outcome(variant)
	same := got.equal(m.want)
	fmt.Printf("| %s | %d | %d | %d | %d | %v |\n", m.name, workers, kills, heads, tasks, same)
	if !same {
		m.t.Errorf("%s over %d workers: other bits: %s", m.name, workers, m.want.differs(got))
	}
}

// overCrew runs the job over workers alone. start starts them.
func (m *matrixRun) overCrew(variant string, start func(creds string), more ...string) {
	cmd := m.command(variant, append(more, "fleet.listen="+freeAddress(m.t), "fleet.local=false")...)
	said := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	start(m.credentials(variant, ended))
	if err := <-ended; err != nil {
		m.t.Fatalf("%s: %v\n%s", m.name, err, said)
	}
}

func (m *matrixRun) join(c *crew) {
	c.join("--kernel", matrixKernels[c.made%len(matrixKernels)])
}

// mostKills are the kills of workers in a job, so that those on a busy machine get to compute something.
const mostKills = 3

// disturb kills workers and the head at random times until the job ends.
func (m *matrixRun) disturb(c *crew, cmd *exec.Cmd, ended <-chan error, workers int, kills *int,
	head bool) (err error, killed bool) {
	for {
		wait := time.Duration(1000+m.rand.IntN(6000)) * time.Millisecond
		select {
		case err := <-ended:
			return err, false
		case <-time.After(wait):
		}
		switch {
		case head && m.rand.IntN(4) == 0:
			cmd.Process.Kill()
			err := <-ended
			return err, err != nil // it may have ended before
		case workers > 0 && *kills < mostKills && m.rand.IntN(2) == 0:
			c.kill()
			*kills++
			m.join(c)
		}
	}
}

// credentials waits for the credentials of a job's workers.
func (m *matrixRun) credentials(variant string, ended <-chan error) string {
	for begun := time.Now(); time.Since(begun) < 3*time.Minute; time.Sleep(50 * time.Millisecond) {
		if list := m.files(variant, "worker.creds"); len(list) > 0 {
			return list[0]
		}
	}
	m.t.Fatalf("%s wrote no credentials", m.name)
	return ""
}

// files lists the files of a variant whose names end so.
func (m *matrixRun) files(variant, end string) (list []string) {
	filepath.WalkDir(m.root(variant), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, end) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

func (m *matrixRun) outcome(variant string) (o jobOutcome) {
	for _, path := range m.files(variant, "metrics.jsonl") {
		lines, err := monitor.ReadLog(path)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, l := range lines {
			maps.DeleteFunc(l.Metrics, func(key string, _ float64) bool { return monitor.IsTime(key) })
		}
		o.metrics = append(o.metrics, lines...)
	}
	for _, path := range m.files(variant, ".safetensors") {
		raw, err := os.ReadFile(path)
		if err != nil {
			m.t.Fatal(err)
		}
		if strings.Contains(path, string(filepath.Separator)+"fleet"+string(filepath.Separator)) {
			continue
		}
		o.weights = append(o.weights, fmt.Sprintf("%x", sha256.Sum256(raw)))
	}
	slices.Sort(o.weights)
	o.weights = slices.Compact(o.weights)
	if len(o.metrics) == 0 || len(o.weights) == 0 {
		m.t.Fatalf("%s %s left %d lines of metrics and %d files of weights", m.name, variant, len(o.metrics),
			len(o.weights))
	}
	return o
}

func (o jobOutcome) equal(other jobOutcome) bool { return reflect.DeepEqual(o, other) }

func (o jobOutcome) differs(other jobOutcome) string {
	if len(o.metrics) != len(other.metrics) {
		return fmt.Sprintf("%d lines of metrics, not %d", len(other.metrics), len(o.metrics))
	}
	for i := range o.metrics {
		if !reflect.DeepEqual(o.metrics[i], other.metrics[i]) {
			return fmt.Sprintf("line %d of the metrics:\n%v\n%v", i+1, o.metrics[i], other.metrics[i])
		}
	}
	return fmt.Sprintf("weights %v, not %v", other.weights, o.weights)
}
