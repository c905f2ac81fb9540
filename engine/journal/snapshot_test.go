package journal

import (
	"testing"
	"time"
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
