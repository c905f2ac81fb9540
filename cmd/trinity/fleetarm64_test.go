package main

import (
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var fleetArm64 = flag.String("fleet.arm64", "",
	"TestFleetArm64: these tests as a program for arm64, which qemu-aarch64-static runs")

// emulated are the processors that QEMU emulates: with FEAT_BF16 and without.
var emulated = []string{"max", "cortex-a72"}

// emulatedSteps make a job last until emulated workers, which are slow, have joined. They stay for emulatedTime.
var emulatedSteps = []string{"buffer.total_steps=60", "trainer.total_steps=60", "trainer.save_interval=20"}

const emulatedTime = time.Minute

// TestFleetArm64 compares jobs that workers on an emulated arm64 compute, alone and beside a worker on this processor,
// with the job on this processor alone.
func TestFleetArm64(t *testing.T) {
	if *fleetArm64 == "" {
		t.Skip("-fleet.arm64 is not set; make fleet-arm64 runs it")
	}
	fmt.Println("| job | emulated workers | others | tasks of the emulated | same bits |")
	fmt.Println("|---|---|---|---|---|")
	jobs := matrixJobs()
	for _, name := range []string{"gsm8k", "sft", "ppo", "pretrain"} {
		m := &matrixRun{t: t, name: name, home: t.TempDir(), args: append(jobs[name], emulatedSteps...)}
		m.alone()
		for others := range 2 {
			m.overArm64(others)
		}
	}
}

// overArm64 runs the job over emulated workers and some of this processor, which leave after a time. The head computes
// only while none is there.
func (m *matrixRun) overArm64(others int) {
	variant := fmt.Sprint("arm64and", others)
	arm, own := newCrew(m.t, m.home, ""), newCrew(m.t, m.home, "")
	tasks := 0
	m.overCrew(variant, func(creds string) {
		arm.creds, own.creds, own.made = creds, creds, len(emulated)
		for _, processor := range emulated {
			arm.wrap = func(cmd *exec.Cmd) { emulate(cmd, processor) }
			arm.join()
		}
		for range others {
			own.join()
		}
		for begun := time.Now(); time.Since(begun) < time.Minute && !arm.greeted(arm.workers[0]); {
			time.Sleep(time.Second)
		}
		time.Sleep(emulatedTime)
		tasks = arm.leave()
		own.leave()
	}, "fleet.verify=0.1")
	got := m.outcome(variant)
	fmt.Printf("| %s | %s | %d | %d | %v |\n", m.name, strings.Join(emulated, ", "), others, tasks, got.equal(m.want))
	if !got.equal(m.want) {
		m.t.Errorf("%s over arm64: other bits: %s", m.name, m.want.differs(got))
	}
	if tasks == 0 && others == 0 {
		m.t.Errorf("%s: the emulated workers computed nothing; they said:\n%s", m.name, arm.said)
	}
}

// emulate makes a command one of the program for arm64.
func emulate(cmd *exec.Cmd, processor string) {
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		cmd.Err = err
		return
	}
	cmd.Path = qemu
	cmd.Args = append([]string{"qemu-aarch64-static", "-cpu", processor, "-0", cmd.Args[0], *fleetArm64},
		cmd.Args[1:]...)
}
