package engine

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func dimuon(lr float64) tinker.OptimStepRequest {
	p := tinker.DefaultDimuon()
	p.LearningRate = lr
	return tinker.OptimStepRequest{Dimuon: &p}
}

func createDimuon(t testing.TB, e *Engine, seq int64) tinker.TrainingClient {
	t.Helper()
	c, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{SessionID: "s", ModelSeqID: seq,
		BaseModel: baseName, LoRA: lora(4), OptimizerType: tinker.Dimuon})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func trainDimuon(t testing.TB, c tinker.TrainingClient, steps int, seqs ...[]int32) (losses []float64) {
	t.Helper()
	ctx := testContext(t)
	for range steps {
		f, err := c.ForwardBackward(ctx, batch(seqs...))
		o, oerr := c.OptimStep(ctx, dimuon(2e-2))
		losses = append(losses, value(t, f, err).Metrics["loss:sum"])
		if norm := value(t, o, oerr).Metrics["grad_norm"]; !(norm > 0) {
			t.Errorf("grad_norm %v", norm)
		}
	}
	return losses
}

// Dimuon learns, and its momentum is in checkpoints and snapshots: a run that continues from one has the bits of the
// run that never stopped.
func TestDimuonContinues(t *testing.T) {
	models, dir := map[string]Model{baseName: {Dir: writeModel(t, true, true)}}, t.TempDir()
	e := open(t, Options{Models: models, Dir: dir})
	c := createDimuon(t, e, 0)
	if losses := trainDimuon(t, createDimuon(t, e, 1), 12, mixed[0]); !(losses[11] < losses[0]-1) {
		t.Errorf("losses %v", losses)
	}
	trainDimuon(t, c, 3, mixed...)
	f, err := c.SaveState(testContext(t), tinker.SaveRequest{Name: "here"})
	path := value(t, f, err).Path
	var snapshot bytes.Buffer
	if _, err := e.Snapshot(testContext(t), "s:train:0", &snapshot); err != nil {
		t.Fatal(err)
	}
	if magic := snapshot.String()[:8]; magic != "TRNSNAP2" {
		t.Errorf("the snapshot begins with %q, which older versions would read as AdamW's", magic)
	}
	finish := func(c tinker.TrainingClient) [][]float32 {
		trainDimuon(t, c, 2, mixed[2:]...)
		return logprobs(t, c, mixed...)
	}
	want := finish(c)
	other := open(t, Options{Models: models, Dir: dir, Threads: 2})
	id, _, err := other.Restore(testContext(t), &snapshot)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := other.OpenModel(testContext(t), id)
	if err != nil {
		t.Fatal(err)
	}
	made, err := other.CreateModelFromState(testContext(t), tinker.CreateFromStateRequest{SessionID: "t", Path: path,
		Optimizer: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.LoadState(testContext(t), tinker.LoadRequest{Path: path, Optimizer: true})
	value(t, l, err)
	for name, c := range map[string]tinker.TrainingClient{"snapshot": restored, "created from the state": made,
		"loaded": c} {
		if !allSame(finish(c), want) {
			t.Errorf("%s: other bits", name)
		}
	}
}

// The optimizer of a run is fixed: settings or states of another one are refused by name, and the gradient stays.
func TestOptimizerIsFixed(t *testing.T) {
	e := open(t, Options{})
	a, d := create(t, e, 0, lora(4)), createDimuon(t, e, 1)
	ctx := testContext(t)
	says := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%v, want a user error with %q", err, want)
		}
	}
	paths := map[string]string{}
	for name, c := range map[string]tinker.TrainingClient{tinker.AdamW: a, tinker.Dimuon: d} {
		f, err := c.ForwardBackward(ctx, batch(mixed[0]))
		value(t, f, err)
		right, wrong := adam(1e-2), dimuon(1e-2)
		if name == tinker.Dimuon {
			right, wrong = wrong, right
		}
		o, err := c.OptimStep(ctx, wrong)
		says(failure(t, o, err), "which was chosen when the model was made; send settings of "+name)
		o, err = c.OptimStep(ctx, right)
		if norm := value(t, o, err).Metrics["grad_norm"]; !(norm > 0) {
			t.Errorf("%s: the refused step took the gradient (norm %v)", name, norm)
		}
		s, err := c.SaveState(ctx, tinker.SaveRequest{Name: "x"})
		paths[name] = value(t, s, err).Path
	}
	l, err := a.LoadState(ctx, tinker.LoadRequest{Path: paths[tinker.Dimuon], Optimizer: true})
	says(failure(t, l, err), "has the state of dimuon, model s:train:0 has the optimizer adamw")
	l, err = d.LoadState(ctx, tinker.LoadRequest{Path: paths[tinker.AdamW], Optimizer: true})
	says(failure(t, l, err), "has the state of adamw")
	l, err = d.LoadState(ctx, tinker.LoadRequest{Path: paths[tinker.AdamW]})
	value(t, l, err)
	trainDimuon(t, d, 1, mixed[0])

	_, err = e.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: "t", Path: paths[tinker.AdamW],
		Optimizer: true, OptimizerType: tinker.Dimuon})
	says(err, "has the state of adamw; a run that restores it cannot have the optimizer dimuon")
	m, err := e.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: "t", ModelSeqID: 1,
		Path: paths[tinker.AdamW], OptimizerType: tinker.Dimuon})
	if err != nil {
		t.Fatal(err)
	}
	trainDimuon(t, m, 1, mixed[0])
	m, err = e.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: "t", ModelSeqID: 2,
		Path: paths[tinker.Dimuon]})
	if err != nil {
		t.Fatal(err)
	}
	train(t, m, 1, mixed[0]) // without the optimizer's state it is AdamW, as in the hosted service
	for want, req := range map[string]tinker.CreateModelRequest{
		`optimizer "sgd" is unknown`:  {LoRA: lora(4), OptimizerType: "sgd"},
		"dimuon trains LoRA matrices": {LoRA: lora(0), OptimizerType: tinker.Dimuon},
		"ranks up to 256":             {LoRA: lora(257), OptimizerType: tinker.Dimuon},
	} {
		req.SessionID, req.BaseModel = "bad", baseName
		_, err := e.CreateModel(ctx, req)
		says(err, want)
	}
}

// With each of the newer losses and both optimizers the loss falls and the rewarded tokens become likelier.
func TestNewLossesLearn(t *testing.T) {
	e := open(t, Options{})
	seq := tokens(7, 24)
	for i, name := range []string{tinker.GSPO, tinker.StableReinforce} {
		for j, kind := range []string{tinker.AdamW, tinker.Dimuon} {
			c, step := create(t, e, int64(10+2*i), lora(4)), adam(1e-2)
			if j == 1 {
				c, step = createDimuon(t, e, int64(11+2*i)), dimuon(2e-2)
			}
			losses, sums := reinforce(t, c, step, name, seq)
			if last := len(losses) - 1; !(losses[last] < losses[0]) || !(sums[last] > sums[0]+1) {
				t.Errorf("%s with %s: losses %v, logprobs of the rewarded tokens %v", name, kind, losses, sums)
			}
		}
	}
}

// reinforce rewards the second half of a sequence: gspo off policy, with the first logprobs as the sampler's, and wide
// bounds; stable_reinforce on policy.
func reinforce(t *testing.T, c tinker.TrainingClient, step tinker.OptimStepRequest, name string,
	seq []int32) (losses, sums []float64) {
	ctx := testContext(t)
	q := logprobs(t, c, seq)[0]
	n := len(q)
	mask, a := make([]float32, n), make([]float32, n)
	for i := n / 2; i < n; i++ {
		mask[i], a[i] = 1, 1
	}
	for range 10 {
		req := tinker.ForwardRequest{LossFn: name, Data: []tinker.Datum{{ModelInput: tinker.Text(seq[:n]),
			LossFnInputs: map[string]tinker.Tensor{
				tinker.TargetTokens: tinker.TokenInts(seq[1:]), tinker.Logprobs: tinker.Floats(q),
				tinker.Advantages:        tinker.Floats(a),
				tinker.SequenceRatioMask: tinker.Floats(mask), tinker.SampledMask: tinker.Floats(mask)}}}}
		if name == tinker.GSPO {
			req.LossFnConfig = map[string]float64{"clip_low_threshold": 0, "clip_high_threshold": 1e6}
		}
		f, err := c.ForwardBackward(ctx, req)
		out := value(t, f, err)
		o, err := c.OptimStep(ctx, step)
		value(t, o, err)
		sum := 0.0
		for i, p := range out.LossFnOutputs[0][tinker.Logprobs].Float {
			sum += float64(p * mask[i])
		}
		losses, sums = append(losses, out.Metrics["loss:sum"]), append(sums, sum)
		if name == tinker.StableReinforce {
			q = slices.Clone(logprobs(t, c, seq)[0])
		}
	}
	if math.IsNaN(losses[0]) {
		t.Fatal(losses)
	}
	return losses, sums
}

// A snapshot that a version without Dimuon wrote (testdata/snapshot-adamw.bin: two steps on an adapter of rank 1, and a
// gradient) opens, and is written again as it was.
func TestOldSnapshot(t *testing.T) {
	old, err := os.ReadFile("testdata/snapshot-adamw.bin")
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{})
	id, applied, err := e.Restore(testContext(t), bytes.NewReader(old))
	if err != nil || id != "s:train:0" || applied != 5 {
		t.Fatalf("restored %s at %d: %v", id, applied, err)
	}
	var again bytes.Buffer
	if _, err := e.Snapshot(testContext(t), id, &again); err != nil {
		t.Fatal(err)
	}
	// behind the header, which names this processor's arithmetic, and before the checksum
	numbers := func(b []byte) []byte {
		return b[16+binary.LittleEndian.Uint64(b[8:]) : len(b)-4]
	}
	if string(old[:8]) != "TRNSNAP1" || !bytes.Equal(numbers(again.Bytes()), numbers(old)) {
		t.Error("other numbers")
	}
	c, err := e.OpenModel(testContext(t), id)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.OptimStep(testContext(t), adam(1e-2))
	if norm := value(t, o, err).Metrics["grad_norm"]; !(norm > 0) {
		t.Errorf("the gradient is lost: norm %v", norm)
	}
}
