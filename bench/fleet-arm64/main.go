// Command fleet-arm64 compares jobs over workers on an emulated arm64, alone and beside one on this processor, with the
// same jobs alone. Metrics and saved weights must have the same bits.
//
// Needs: Debian's qemu-user-static
// Takes: about 20 minutes
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// emulated are the processors that QEMU emulates: with FEAT_BF16 and without.
var emulated = []string{"max", "cortex-a72"}

func main() {
	binary := flag.String("trinity", "", "the program; empty builds bin/trinity")
	jobs := flag.String("jobs", "gsm8k,sft,ppo,pretrain", "the jobs, separated by commas")
	steps := flag.Int("steps", 60, "their steps, so many that emulated workers, which are slow, join meanwhile")
	stay := flag.Duration("stay", time.Minute, "how long the emulated workers stay")
	flag.Parse()
	err := errors.New("give no arguments")
	if flag.NArg() == 0 {
		err = run(*binary, strings.Split(*jobs, ","), *steps, *stay)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet-arm64:", err)
		os.Exit(1)
	}
}

func run(binary string, names []string, steps int, stay time.Duration) error {
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		fmt.Println("skipped: qemu-aarch64-static is missing: apt-get install qemu-user-static")
		return nil
	}
	trinity, remove, err := program.New(binary)
	if err != nil {
		return err
	}
	defer remove()
	arm, err := filepath.Abs(filepath.Join("bin", "trinity-arm64"))
	if err != nil {
		return err
	}
	if err := program.Build(arm, "GOARCH=arm64"); err != nil {
		return err
	}
	fmt.Println("| job | emulated workers | others | tasks of the emulated | same bits |")
	fmt.Println("|---|---|---|---|---|")
	var failed error
	for _, name := range names {
		j := job{qemu: qemu, arm: arm, stay: stay, Job: program.Job{Program: trinity, Name: name,
			Args: append(program.Jobs()[name], fmt.Sprint("buffer.total_steps=", steps),
				fmt.Sprint("trainer.total_steps=", steps), "trainer.save_interval=20")}}
		want, err := j.Alone()
		if err != nil {
			return err
		}
		for others := range 2 {
			failed = errors.Join(failed, j.compare(want, others))
		}
	}
	return failed
}

// job is a job over emulated workers.
type job struct {
	program.Job
	qemu, arm string
	stay      time.Duration
}

// compare runs the job over emulated workers and some of this processor, which leave after a time. The head computes
// only while none is there.
func (j job) compare(want program.Outcome, others int) error {
	arm := &program.Crew{Program: j.Program, Prefix: "arm", Wrap: j.emulate}
	own := &program.Crew{Program: j.Program, Prefix: "w"}
	defer arm.Close()
	defer own.Close()
	tasks := 0
	got, err := j.Over(fmt.Sprint("arm64and", others), func(creds string) (err error) {
		tasks, err = j.work(arm, own, creds, others)
		return err
	}, "fleet.verify=0.1")
	if err != nil {
		return err
	}
	different := want.Differs(got)
	fmt.Printf("| %s | %s | %d | %d | %v |\n", j.Name, strings.Join(emulated, ", "), others, tasks, different == "")
	if different != "" {
		return fmt.Errorf("%s over arm64: other bits: %s", j.Name, different)
	}
	if tasks == 0 && others == 0 {
		return fmt.Errorf("%s: the emulated workers computed nothing; they said:\n%s", j.Name, arm.Said())
	}
	return nil
}

// work has both crews join, stay for a time and leave. tasks are those of the emulated.
func (j job) work(arm, own *program.Crew, creds string, others int) (tasks int, err error) {
	arm.Creds, own.Creds = creds, creds
	for range emulated {
		err = errors.Join(err, arm.Join())
	}
	for range others {
		err = errors.Join(err, own.Join())
	}
	if err != nil {
		return 0, err
	}
	if _, err := arm.Worker().Await(program.WorkerName); err != nil {
		return 0, err
	}
	time.Sleep(j.stay)
	tasks, err = arm.Leave()
	_, left := own.Leave()
	return tasks, errors.Join(err, left)
}

// emulate makes worker n's command one of the program for arm64.
func (j job) emulate(n int, cmd *exec.Cmd) {
	cmd.Path = j.qemu
	cmd.Args = append([]string{"qemu-aarch64-static", "-cpu", emulated[(n-1)%len(emulated)], "-0", cmd.Args[0], j.arm},
		cmd.Args[1:]...)
}
