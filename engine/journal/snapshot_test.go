package journal

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// An evicted model has nothing to replay, whatever its last requests took: no snapshot of it is due.
func TestEvictedModelsAreNotReplayed(t *testing.T) {
	j := &Journal{opts: Options{ReplayMax: time.Second}, models: map[string]*trainingClient{}}
	idle := newTrainingClient(j, created{ModelID: "idle"}, nil)
	idle.evicted, idle.compute = true, time.Hour
	busy := newTrainingClient(j, created{ModelID: "busy"}, nil)
	busy.compute = time.Millisecond
	j.models["idle"], j.models["busy"] = idle, busy
	if m := j.replayable(); m != nil {
		t.Errorf("model %s is to be snapshotted", m.id)
	}
	if busy.compute = time.Minute; j.replayable() != busy {
		t.Error("the model in memory is not to be snapshotted")
	}
}

// unused is a Machine that is asked for its numerics only.
type unused struct{ Machine }

func (unused) NumericsID() string { return "n" }

func TestRefusesSnapshotsBeforeV02(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model-m.snap")
	if err := os.WriteFile(path, []byte("the state, a trailer, their lengths, "+olderEnd), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openSnapshot(path); err == nil || !strings.Contains(err.Error(), "v0.2") {
		t.Errorf("error = %v", err)
	}
}

// A snapshot of a version that did not note the optimizer tells it by the request that made the model.
func TestOptimizerOfOlderSnapshots(t *testing.T) {
	for request, want := range map[string]string{`{"optimizer_type":"dimuon"}`: tinker.Dimuon, `{}`: "",
		`{"optimizer_type":"adamw"}`: "", `null`: ""} {
		j := &Journal{dir: t.TempDir(), m: unused{}, models: map[string]*trainingClient{},
			byKey: map[key]*trainingClient{}}
		var file bytes.Buffer
		_, err := writeSnapshot(&file, func(io.Writer) (trailer, []loggedResult, error) {
			return trailer{Version: version, Numerics: "n", Info: tinker.ModelInfo{ModelID: "m"},
				Created: created{ModelID: "m", Kind: recCreate, Request: json.RawMessage(request)}}, nil, nil
		})
		if err == nil {
			err = os.WriteFile(filepath.Join(j.dir, "model-m.snap"), file.Bytes(), 0o644)
		}
		if err == nil {
			err = j.restoreSnapshots()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := j.models["m"].info.OptimizerType; got != want {
			t.Errorf("made by %s: optimizer %q, want %q", request, got, want)
		}
	}
}
