package simulate_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/simulate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSimulatedWorkers(t *testing.T) {
	h, err := fleet.Open(t.Context(), fleet.HeadOptions{Dir: filepath.Join(t.TempDir(), "fleet"),
		Listen: "127.0.0.1:0", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	crew := simulate.Crew{Creds: h.Creds(), Dir: t.TempDir(), N: 10, Delay: 5 * time.Millisecond, Version: "v1"}
	go func() { ended <- crew.Run(ctx) }()
	r, err := simulate.Head(t.Context(), h, simulate.Work{Workers: 10, Tasks: 5, Each: 20 * time.Millisecond,
		Spread: 0.5, Payload: 1000, Answer: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if r.Tasks != 50 || r.Status.Done != 50 || r.Efficiency <= 0 || r.Efficiency > 1 {
		t.Errorf("%+v", r)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
