package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// deletion saves a checkpoint, deletes it and saves another one under its name, and writes all results to the log.
func deletion(t *testing.T, modelDir, dir string) *journal.Journal {
	t.Helper()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{SnapshotAfter: time.Hour})
	c := mustBegin(t, j)
	path := must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "latest"})).Path
	must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(2)))
	if err := j.DeleteCheckpoint(ctx, path); err != nil {
		t.Fatal(err)
	}
	must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 3, Name: "latest"}))
	must[tinker.ForwardOutput](t)(c.m.Forward(ctx, batch(4))) // writes the results before it
	return j
}

// savedAt is the request that saved the checkpoint; 0 if it is gone.
func savedAt(t *testing.T, dir string) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "checkpoints", "s%3Atrain%3A0", "weights", "latest", "trinity.json"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	var m struct {
		SeqID int64 `json:"seq_id"`
	}
	if err := errors.Join(err, json.Unmarshal(raw, &m)); err != nil {
		t.Fatal(err)
	}
	return m.SeqID
}

// A start does not delete a checkpoint that was saved after another one of its name was deleted.
func TestSavedAfterDeletion(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	j := deletion(t, modelDir, dir)
	killed := asKilled(t, dir)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a kill": killed, "a stop": dir} {
		if got := savedAt(t, dir); got != 3 {
			t.Fatalf("before the start: saved at %d", got)
		}
		if err := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{}).Close(); err != nil {
			t.Fatal(err)
		}
		if got := savedAt(t, dir); got != 3 {
			t.Errorf("after %s and a start the checkpoint is of request %d, want 3", name, got)
		}
	}
}

// A save whose result was lost does not replace the checkpoint of a later one.
func TestLostResultOfSave(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	j := deletion(t, modelDir, dir)
	killed := asKilled(t, dir)
	j.Close()
	changeResult(t, killed, 1, func([]byte) []byte { return nil })
	again := mustOpen(t, modelDir, killed, disk.OS(), journal.Options{})
	defer again.Close()
	c := mustBegin(t, again)
	out := must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "latest"}))
	want := tinker.Path{ModelID: "s:train:0", Kind: tinker.KindState, Name: "latest"}.String()
	if out.Path != want || savedAt(t, killed) != 3 {
		t.Errorf("the first save again: %q, want %q; the checkpoint is of request %d, want 3", out.Path, want,
			savedAt(t, killed))
	}
}

// changeResult replaces the logged result of a request; nil removes it.
func changeResult(t *testing.T, dir string, seq int64, change func([]byte) []byte) {
	t.Helper()
	type record struct {
		kind    byte
		payload []byte
	}
	var records []record
	l, err := wal.Open(filepath.Join(dir, "journal", "log-00000001.seg"), wal.Options{},
		func(kind byte, payload []byte) error {
			if kind == 'R' && bytes.Contains(payload, fmt.Appendf(nil, `"seq_id":%d,`, seq)) {
				payload = change(payload)
			}
			if payload != nil {
				records = append(records, record{kind, payload})
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Rewrite(func(add func(byte, []byte) error) (err error) {
		for _, r := range records {
			err = errors.Join(err, add(r.kind, r.payload))
		}
		return err
	})
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
}

// A step that failed, for instance for lack of memory, is not executed by a later start.
func TestFailedStepStaysFailed(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{SnapshotAfter: time.Hour})
	c := mustBegin(t, j)
	want, err := outcome(c.m.Forward(ctx, batch(1)))
	if err != nil {
		t.Fatal(err)
	}
	must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(2)))
	step := tinker.OptimStepRequest{SeqID: 3, Adam: tinker.DefaultAdam()}
	must[tinker.OptimStepOutput](t)(c.m.OptimStep(ctx, step))
	must[tinker.ForwardOutput](t)(c.m.Forward(ctx, batch(4))) // writes the results before it
	killed := asKilled(t, dir)
	j.Close()
	changeResult(t, killed, 3, func(payload []byte) []byte {
		var r map[string]json.RawMessage
		if err := json.Unmarshal(payload, &r); err != nil {
			t.Fatal(err)
		}
		delete(r, "value")
		r["error"], r["category"] = json.RawMessage(`"no memory"`), json.RawMessage(`"server"`)
		payload, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return payload
	})
	again := mustOpen(t, modelDir, killed, disk.OS(), journal.Options{})
	defer again.Close()
	c = mustBegin(t, again)
	if _, err := outcome(c.m.OptimStep(ctx, step)); err == nil || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("the step again: %v", err)
	}
	req := batch(1)
	req.SeqID = 5
	if got, err := outcome(c.m.Forward(ctx, req)); err != nil || got != want {
		t.Errorf("after a step that failed: %s, %v; want %s", got, err, want)
	}
}

// A deleted checkpoint stays deleted, also when the kill comes before anything else is written.
func TestDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{SnapshotAfter: time.Hour})
	c := mustBegin(t, j)
	path := must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "latest"})).Path
	if err := j.DeleteCheckpoint(ctx, path); err != nil {
		t.Fatal(err)
	}
	killed := asKilled(t, dir)
	j.Close()
	again := mustOpen(t, modelDir, killed, disk.OS(), journal.Options{})
	defer again.Close()
	if err := again.DeleteCheckpoint(ctx, path); !errors.Is(err, tinker.ErrNotFound) || savedAt(t, killed) != 0 {
		t.Errorf("after a start: %v, saved at %d", err, savedAt(t, killed))
	}
}
