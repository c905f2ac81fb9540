package env_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// table has one environment, whose episodes have as many steps as turns says.
func table() []env.Spec {
	return []env.Spec{{ID: "test:Script-v0", Params: env.Params{"turns": 3, "width": env.Drawn},
		New: func(p env.Params) (env.Env, error) {
			if p["turns"] < 1 {
				return nil, errors.New("turns must be positive")
			}
			return &script{turns: p["turns"]}, nil
		}}}
}

func TestRegistry(t *testing.T) {
	r, err := env.NewRegistry(table())
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.Make("test:Script-v0", env.Params{"turns": 5})
	if err != nil {
		t.Fatal(err)
	}
	if e.(*script).turns != 5 {
		t.Error("given parameters must win over those of the registry")
	}
	if got, want := r.Specs()[0].Params.String(), "turns=3 width=drawn"; got != want {
		t.Errorf("the parameters print as %q, want %q", got, want)
	}
	for _, tt := range []struct {
		id     string
		params env.Params
		want   string
	}{
		{"test:Skript-v0", nil, `there is no environment "test:Skript-v0"; the nearest is "test:Script-v0"`},
		{"test:Script-v0", env.Params{"turn": 1},
			`test:Script-v0 has no parameter "turn"; the nearest is "turns"; it has turns=3 width=drawn`},
		{"test:Script-v0", env.Params{"turns": 0}, "test:Script-v0 with turns=0 width=drawn: turns must be positive"},
	} {
		if _, err := r.Make(tt.id, tt.params); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the error is %v, want %q in it", err, tt.want)
		}
	}
	if _, err := env.NewRegistry(table(), table()); err == nil ||
		!strings.Contains(err.Error(), `"test:Script-v0" is registered twice`) {
		t.Errorf("an id that is registered twice gives %v", err)
	}
}

func TestSnapshotIsRestoredFromItsText(t *testing.T) {
	r, err := env.NewRegistry(table())
	if err != nil {
		t.Fatal(err)
	}
	history := func(e env.Env) env.Env { return env.NewHistory(e, env.HistoryOptions{Mode: env.Dialogue}) }
	params := env.Params{"turns": 4}
	inner, err := r.Make("test:Script-v0", params)
	if err != nil {
		t.Fatal(err)
	}
	e := env.NewRecorder(history(inner), "test:Script-v0", params)
	texts(t, e, "x", "y")
	text, err := json.Marshal(e.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"env":"test:Script-v0","params":{"turns":4},"seed":1,"actions":["x","y"]}`; string(text) != want {
		t.Errorf("the snapshot is %s, want %s", text, want)
	}
	var s env.Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	restored, err := r.Restore(s, history)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := step(t, e, "z"), step(t, restored, "z"); !reflect.DeepEqual(a, b) {
		t.Errorf("after Restore the next step is %+v, want %+v", b, a)
	}
	s.Actions = append(s.Actions, "z", "z", "z")
	if _, err := r.Restore(s); !errors.Is(err, env.ErrOver) {
		t.Errorf("a snapshot with too many actions gives the error %v, want %v", err, env.ErrOver)
	}
}
