package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// tree lists the files below dir.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func saveState(c tinker.TrainingClient, name string, overwrite bool) (tinker.SaveOutput, error) {
	f, err := c.SaveState(context.Background(), tinker.SaveRequest{Name: name, Overwrite: overwrite})
	if err != nil {
		return tinker.SaveOutput{}, err
	}
	return f.Wait(context.Background())
}

func TestFilesOfCheckpoints(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	a, full := create(t, e, 0, lora(4)), create(t, e, 1, lora(0))
	for _, c := range []tinker.TrainingClient{a, full} {
		train(t, c, 1, mixed...)
		if _, err := saveState(c, "one", false); err != nil {
			t.Fatal(err)
		}
		samplerOf(t, e, c, "two")
	}
	adapter := []string{"adapter_config.json", "adapter_model.safetensors", "trinity.json"}
	whole := []string{"config.json", "generation_config.json", "model.safetensors", "trinity.json"}
	for folder, want := range map[string][]string{
		"s%3Atrain%3A0/sampler_weights/two": adapter,
		"s%3Atrain%3A0/weights/one":         append(adapter[:2:2], "optimizer.safetensors", "trinity.json"),
		"s%3Atrain%3A1/sampler_weights/two": whole,
		"s%3Atrain%3A1/weights/one": {"config.json", "generation_config.json", "master.safetensors",
			"model.safetensors", "optimizer.safetensors", "trinity.json"},
	} {
		if got := tree(t, filepath.Join(dir, folder)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", folder, got, want)
		}
	}
	var config map[string]any
	raw, err := os.ReadFile(filepath.Join(dir, "s%3Atrain%3A0/weights/one/adapter_config.json"))
	if err == nil {
		err = json.Unmarshal(raw, &config)
	}
	if err != nil || config["peft_type"] != "LORA" || config["r"] != 4.0 || config["lora_alpha"] != 32.0 ||
		len(config["target_modules"].([]any)) != 8 {
		t.Errorf("adapter_config.json: %v, %v", config, err)
	}
	// a full-parameter checkpoint is a model folder, and computes what the run computes
	again := open(t, Options{Models: map[string]Model{baseName: {Dir: filepath.Join(dir,
		"s%3Atrain%3A1/weights/one")}}})
	s, err := again.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tinker.ComputeLogprobs(testContext(t), s, tinker.Text(mixed[0]))
	if want := logprobs(t, full, mixed[0])[0]; err != nil || !sameBits(got[1:], want) {
		t.Errorf("the saved model computes %v, the run %v, %v", got, want, err)
	}
}

// After a kill between any two operations on the disk, a checkpoint is the complete old one, the complete new one, or
// absent.
func TestSavingIsAtomic(t *testing.T) {
	models := map[string]Model{baseName: {Dir: writeShape(t, true, true,
		map[string]any{"vocab_size": vocab, "hidden_size": 8, "num_hidden_layers": 1,
			"num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 8,
			"max_position_embeddings": context_}, 8)}}
	for _, overwrite := range []bool{false, true} {
		for _, power := range []bool{false, true} {
			for at := 1; ; at++ {
				dir := t.TempDir()
				fs := &disktest.Crash{FS: disk.OS(), PowerLoss: power}
				e := open(t, Options{Models: models, Dir: dir, FS: fs})
				c := create(t, e, 0, lora(2))
				want := [][][]float32{nil, nil} // logprobs by version
				if overwrite {
					want[0] = logprobs(t, c, mixed[0])
					if _, err := saveState(c, "x", false); err != nil {
						t.Fatal(err)
					}
				}
				train(t, c, 1, mixed...)
				want[1] = logprobs(t, c, mixed[0])
				fs.At = fs.Count() + at
				_, err := saveState(c, "x", overwrite)
				if fs.Count() < fs.At {
					if err != nil || at < 10 {
						t.Fatalf("saved with %d operations: %v", at, err)
					}
					break
				}
				if err == nil || !errors.Is(err, disktest.ErrCrash) {
					t.Fatalf("crash at %d: error %v", at, err)
				}
				what := fmt.Sprintf("overwrite %v power loss %v crash at %d", overwrite, power, at)
				checkAfterCrash(t, what, models, dir, overwrite, want)
			}
		}
	}
}

func checkAfterCrash(t *testing.T, what string, models map[string]Model, dir string, overwrite bool,
	want [][][]float32) {
	t.Helper()
	e := open(t, Options{Models: models, Dir: dir})
	for _, f := range tree(t, dir) {
		if strings.Contains(f, "~") {
			t.Errorf("%s: %s is left", what, f)
		}
	}
	c, err := e.CreateModelFromState(testContext(t), tinker.CreateFromStateRequest{SessionID: "n",
		Path: "tinker://s:train:0/weights/x", Optimizer: true})
	if errors.Is(err, tinker.ErrNotFound) && !overwrite {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got := logprobs(t, c, mixed[0]); !allSame(got, want[0]) && !allSame(got, want[1]) {
		t.Errorf("%s: the checkpoint is neither the old nor the new one", what)
	}
}

// fullDisk has room for some bytes.
type fullDisk struct {
	disk.FS
	room int
}

type fullFile struct {
	disk.File
	d *fullDisk
}

func (d *fullDisk) Create(path string) (disk.File, error) {
	f, err := d.FS.Create(path)
	return fullFile{f, d}, err
}

func (f fullFile) Write(b []byte) (int, error) {
	if f.d.room -= len(b); f.d.room < 0 {
		return 0, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return f.File.Write(b)
}

func TestFullDisk(t *testing.T) {
	dir, fs := t.TempDir(), &fullDisk{disk.OS(), 1 << 20}
	e := open(t, Options{Dir: dir, FS: fs})
	c := create(t, e, 0, lora(4))
	if _, err := saveState(c, "kept", false); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	for _, room := range []int{0, 1000, 20_000} {
		fs.room = room
		_, err := saveState(c, "new", false)
		if err == nil || !strings.Contains(err.Error(),
			"saving tinker://s:train:0/weights/new: the disk of "+dir+" is full") ||
			tinker.CategoryOf(err) != tinker.Server {
			t.Errorf("room for %d bytes: %v", room, err)
		}
		if _, err := saveState(c, "kept", true); err == nil {
			t.Error("overwriting on a full disk succeeded")
		}
		if got := tree(t, dir); !slices.Equal(got, before) {
			t.Errorf("left behind: %v, before %v", got, before)
		}
	}
	fs.room = 1 << 20
	if _, err := saveState(c, "new", false); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// Whichever operation of a save fails, nothing of it is left: the name is free for the next request.
func TestFaultOfASave(t *testing.T) {
	d := &disktest.Fault{FS: disk.OS()}
	dir := t.TempDir()
	e := open(t, Options{Dir: dir, FS: d})
	c := create(t, e, 0, lora(4))
	if _, err := saveState(c, "first", false); err != nil { // makes the folders
		t.Fatal(err)
	}
	before := tree(t, dir)
	for at := 1; ; at++ {
		*d = disktest.Fault{FS: disk.OS(), At: at, For: 1, Err: syscall.EIO}
		_, err := saveState(c, "new", false)
		if d.First() == "" {
			if err != nil || at < 10 {
				t.Errorf("operation %d: %v", at, err)
			}
			return
		}
		if err == nil && !strings.Contains(d.First(), "remove") {
			t.Errorf("%s: saved", d.First())
		}
		if got := tree(t, dir); err != nil && !slices.Equal(got, before) {
			t.Errorf("%s: left behind %v, before %v", d.First(), got, before)
		}
	}
}

// Requests that are replayed after a crash replace their own checkpoints.
func TestSavingAgain(t *testing.T) {
	models, dir := map[string]Model{baseName: {Dir: writeModel(t, true, true)}}, t.TempDir()
	for life := range 2 {
		e := open(t, Options{Models: models, Dir: dir})
		c := create(t, e, 0, lora(2))
		for i, req := range []tinker.SaveRequest{{Name: "a"}, {Name: "b"}, {Name: "a"}, {Name: "a", Overwrite: true}} {
			f, err := c.SaveState(testContext(t), req)
			if err == nil {
				_, err = f.Wait(testContext(t))
			}
			if (err != nil) != (i == 2) || err != nil && !errors.Is(err, tinker.ErrExists) {
				t.Errorf("life %d request %d: %v", life+1, i+1, err)
			}
		}
	}
}

func TestRefusedStates(t *testing.T) {
	dir := t.TempDir()
	models := map[string]Model{baseName: {Dir: writeModel(t, true, true)}, "other": {Dir: writeModel(t, true, false)}}
	e := open(t, Options{Models: models, Dir: dir})
	c := create(t, e, 0, lora(4))
	if _, err := saveState(c, "s", false); err != nil {
		t.Fatal(err)
	}
	samplerOf(t, e, c, "w")
	narrow := lora(4)
	narrow.TrainMLP = false
	other, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{SessionID: "o", BaseModel: "other",
		LoRA: lora(4)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		c          tinker.TrainingClient
		path, want string
	}{
		{create(t, e, 1, lora(8)), "tinker://s:train:0/weights/s",
			"has rank 4, alpha 32, train_attn true, train_mlp true, train_unembed true, model s:train:1 has rank 8"},
		{create(t, e, 2, narrow), "tinker://s:train:0/weights/s",
			"model s:train:2 has rank 4, alpha 32, train_attn true, train_mlp false"},
		{create(t, e, 3, lora(0)), "tinker://s:train:0/weights/s", "model s:train:3 has rank 0 (full parameters)"},
		{other, "tinker://s:train:0/weights/s", `is of base model "tiny"`},
		{c, "tinker://s:train:0/sampler_weights/w", "holds weights for sampling only"},
		{c, "tinker://s:train:0/weights/none", "not found"},
		{c, "somewhere", "is not tinker://"},
		{c, "tinker://../weights/s", "not found"},
	} {
		f, err := tt.c.LoadState(testContext(t), tinker.LoadRequest{Path: tt.path})
		if err := failure(t, f, err); !strings.Contains(err.Error(), tt.want) || tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%s: %v, want a user error with %q", tt.path, err, tt.want)
		}
	}
	// damaged files are named, and the model stays as it is
	before := logprobs(t, c, mixed...)
	folder := filepath.Join(dir, "s%3Atrain%3A0/weights/s")
	for _, name := range []string{"adapter_model.safetensors", "optimizer.safetensors", "trinity.json"} {
		whole, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name), whole[:len(whole)*2/3])
		f, err := c.LoadState(testContext(t), tinker.LoadRequest{Path: "tinker://s:train:0/weights/s", Optimizer: true})
		if err := failure(t, f, err); !strings.Contains(err.Error(), name) {
			t.Errorf("%s cut short: %v", name, err)
		}
		write(t, filepath.Join(folder, name), whole)
	}
	if !allSame(logprobs(t, c, mixed...), before) {
		t.Error("a refused state changed the model")
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "grpo[1]") // not a pattern
	e := open(t, Options{Dir: dir, Now: func() time.Time { return now }})
	c := create(t, e, 0, lora(2))
	for name, ttl := range map[string]time.Duration{"hour": time.Hour, "ever": 0} {
		f, err := c.SaveState(testContext(t), tinker.SaveRequest{Name: name, TTL: ttl})
		value(t, f, err)
	}
	if gone, err := e.Expire(testContext(t), now.Add(59*time.Minute)); err != nil || len(gone) != 0 {
		t.Errorf("before its time: %v, %v", gone, err)
	}
	now = now.Add(time.Hour)
	f, err := c.LoadState(testContext(t), tinker.LoadRequest{Path: "tinker://s:train:0/weights/hour"})
	if err := failure(t, f, err); !errors.Is(err, tinker.ErrNotFound) {
		t.Errorf("an expired checkpoint: %v", err)
	}
	if gone, err := e.Expire(testContext(t), now); err != nil ||
		!slices.Equal(gone, []string{"tinker://s:train:0/weights/hour"}) {
		t.Errorf("expired %v, %v", gone, err)
	}
	f, err = c.LoadState(testContext(t), tinker.LoadRequest{Path: "tinker://s:train:0/weights/ever"})
	value(t, f, err)
}

// A snapshot waits until it can run between two requests, but not longer than its caller.
func TestSnapshotGivesUp(t *testing.T) {
	kernels() // their self-test polls the clock, which does not pass in a bubble
	dir := writeModel(t, true, true)
	synctest.Test(t, func(t *testing.T) {
		e := open(t, Options{Threads: 1, Models: map[string]Model{baseName: {Dir: dir, Tokens: letters{}}}})
		c := create(t, e, 0, lora(2))
		e.turn.Take(fair.ForTraining) // the request below waits for its turn
		f, err := c.ForwardBackward(testContext(t), batch(mixed...))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		var w bytes.Buffer
		if _, err := e.Snapshot(ctx, "s:train:0", &w); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("snapshot: %v", err)
		}
		e.turn.Done(fair.ForTraining)
		value(t, f, nil)
		if n, err := e.Snapshot(testContext(t), "s:train:0", &w); err != nil || n != 1 {
			t.Errorf("snapshot at %d: %v", n, err)
		}
	})
}

func FuzzRestore(f *testing.F) {
	models := map[string]Model{baseName: {Dir: writeShape(f, true, true,
		map[string]any{"vocab_size": vocab, "hidden_size": 8, "num_hidden_layers": 1,
			"num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 8,
			"max_position_embeddings": context_}, 8)}}
	e := open(f, Options{Models: models})
	create(f, e, 0, lora(1))
	var w bytes.Buffer
	if _, err := e.Snapshot(f.Context(), "s:train:0", &w); err != nil {
		f.Fatal(err)
	}
	f.Add(w.Bytes())
	f.Add(bytes.Replace(w.Bytes(), []byte(`"shape":[1,8]`), []byte(`"shape":[9,8]`), 1))
	f.Add([]byte("TRNSNAP1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, _, err := e.Restore(t.Context(), bytes.NewReader(b))
		if err == nil && id == "s:train:0" {
			t.Error("restored over a model that is there")
		}
	})
}

func TestRefusedSnapshots(t *testing.T) {
	models := map[string]Model{baseName: {Dir: writeModel(t, true, true)}}
	e := open(t, Options{Models: models})
	c := create(t, e, 0, lora(2))
	train(t, c, 1, mixed...)
	var whole bytes.Buffer
	if _, err := e.Snapshot(testContext(t), "s:train:0", &whole); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Restore(testContext(t), bytes.NewReader(whole.Bytes())); !errors.Is(err, tinker.ErrExists) {
		t.Errorf("restored over a model that is there: %v", err)
	}
	if _, err := e.Snapshot(testContext(t), "none", &whole); !errors.Is(err, tinker.ErrNotFound) {
		t.Errorf("snapshot of no model: %v", err)
	}
	fresh := open(t, Options{Models: models})
	n := whole.Len()
	for _, cut := range []int{0, 5, 100, n / 2, n - 1} {
		if _, _, err := fresh.Restore(testContext(t), bytes.NewReader(whole.Bytes()[:cut])); err == nil {
			t.Errorf("restored from %d bytes of %d", cut, n)
		}
	}
	for _, at := range []int{2, n / 2, n - 2} {
		bad := bytes.Clone(whole.Bytes())
		bad[at] ^= 4
		if _, _, err := fresh.Restore(testContext(t), bytes.NewReader(bad)); err == nil {
			t.Errorf("restored with a flipped bit at %d", at)
		}
	}
	other := open(t, Options{Models: map[string]Model{baseName: {Dir: writeModel(t, false, true)}}})
	if _, _, err := other.Restore(testContext(t), bytes.NewReader(whole.Bytes())); err == nil ||
		!strings.Contains(err.Error(), "is of base model") {
		t.Errorf("restored on another base model: %v", err)
	}
	if got := other.Models(); len(got) != 0 {
		t.Errorf("models %v", got)
	}
	if id, _, err := fresh.Restore(testContext(t), bytes.NewReader(whole.Bytes())); err != nil ||
		!slices.Equal(fresh.Models(), []string{id}) {
		t.Errorf("restored %s, %v; models %v", id, err, fresh.Models())
	}
}
