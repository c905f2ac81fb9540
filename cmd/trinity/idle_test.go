package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

var idleRuns = flag.String("serve.idle", "0,40",
	"numbers of idle training runs to measure; 0,1000,10000 for the full test")

// TestIdleRuns measures what idle training runs of the shipped model cost: the time of a start, the memory after it,
// and the first request of an idle run. A restored run has the bits it had before.
func TestIdleRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	p := newProcess(t, t.TempDir(), "--idle", "3s", "--min-free", "0")
	p.start()
	ctx := t.Context()
	made := 0
	var list []tinker.TrainingClient
	for _, text := range strings.Split(*idleRuns, ",") {
		want, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		svc := connect(t, ctx, p.url)
		var g errgroup.Group
		g.SetLimit(8)
		more := make([]tinker.TrainingClient, want-made)
		first := ""
		for i := range more {
			g.Go(func() (err error) {
				seed := int64(7)
				more[i], err = svc.CreateModel(ctx, tinker.CreateModelRequest{ModelSeqID: int64(i), BaseModel: "tiny",
					LoRA: tinker.LoRA{Rank: 1, Seed: &seed, TrainAttn: true, TrainMLP: true}})
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		list, made = append(list, more...), want
		if made > 0 {
			first = logprobsOf(t, ctx, list[0])
		}
		waitFor(t, p, "trinity_models_resting", made)
		p.kill()
		p.reaped.Wait()
		begun := time.Now()
		p.start()
		ready := time.Since(begun)
		waitFor(t, p, "trinity_models_resting", made)
		memory := residentMiB(t, p.cmd.Process.Pid)
		var slowest time.Duration
		for i := range min(made, 20) {
			begun := time.Now()
			got := logprobsOf(t, ctx, list[i*(made/min(made, 20))])
			slowest = max(slowest, time.Since(begun))
			if i == 0 && got != first {
				t.Errorf("a run came back with other bits: %s, was %s", got, first)
			}
		}
		t.Logf("%d idle runs: start %v, memory %d MiB, first request of one at most %v", made,
			ready.Round(time.Millisecond), memory, slowest.Round(time.Millisecond))
	}
}

func connect(t *testing.T, ctx context.Context, url string) tinker.Service {
	t.Helper()
	svc, err := client.Open(ctx, client.Options{BaseURL: url, APIKey: "tml-idle"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	return svc
}

// logprobsOf asks a run for the logprobs of one short sequence.
func logprobsOf(t *testing.T, ctx context.Context, m tinker.TrainingClient) string {
	t.Helper()
	f, err := m.Forward(ctx, tinker.ForwardRequest{LossFn: tinker.CrossEntropy,
		Data: []tinker.Datum{{ModelInput: tinker.Text([]int32{3, 9, 12}),
			LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.TokenInts([]int32{9, 12, 4}),
				tinker.Weights: tinker.Floats([]float32{1, 1, 1})}}}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(out.LossFnOutputs[0][tinker.Logprobs].Float)
}

// waitFor waits until a number of /metrics has a value.
func waitFor(t *testing.T, p *process, name string, want int) {
	t.Helper()
	pattern := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`)
	for deadline := time.Now().Add(20 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(p.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		found := pattern.FindSubmatch(raw)
		if found != nil {
			if got, err := strconv.ParseFloat(string(found[1]), 64); err == nil && int(got) == want {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s, want %d", name, found, want)
		}
	}
}

// residentMiB is the memory of a process that is not swapped out.
func residentMiB(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(raw)
	if found == nil {
		t.Fatalf("no VmRSS in %s", raw)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}
