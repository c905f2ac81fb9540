package dispatch_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch/dispatchtest"
	"github.com/seed-d9ad8ee0/trinity/engine/executor"
)

// reader is a worker that answers with the content of the task's blob.
type reader struct{ hash string }

func (r reader) Compute(_ context.Context, _ []byte, have func(hash string) (string, error)) ([]byte, error) {
	path, err := have(r.hash)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// A blob that several versions offer is read by one that still has it, and is withdrawn with the last of them.
func TestVersionsWithEqualWeights(t *testing.T) {
	const content = "weights"
	gone := errors.New("not used any more")
	hash := executor.HashOf([]byte(content))
	carrier := dispatchtest.New(t, reader{hash})
	pool := dispatch.New(carrier, 1)
	used := make([]bool, 3)
	var withdraw []func()
	for i := range used {
		used[i] = true
		withdraw = append(withdraw, pool.Offer(executor.Blob{Hash: hash, Size: int64(len(content)),
			Open: func() (io.ReadCloser, error) {
				if !used[i] {
					return nil, gone
				}
				return io.NopCloser(strings.NewReader(content)), nil
			}}))
	}
	read := func() error {
		_, err := carrier.Do(t.Context(), dispatch.Task{})
		return err
	}
	used[0] = false // the first one's version is gone, and a little later its offer
	for _, last := range []int{0, 2} {
		used[last] = false
		if err := read(); err != nil {
			t.Errorf("version %d is gone: %v", last, err)
		}
		withdraw[last]()
		withdraw[last]() // counts once
		if err := read(); err != nil {
			t.Errorf("version %d is withdrawn: %v", last, err)
		}
	}
	used[1] = false
	if err := read(); !errors.Is(err, gone) {
		t.Errorf("no version is left: %v", err)
	}
	if withdraw[1](); len(carrier.Offered()) != 0 {
		t.Errorf("still offered: %q", carrier.Offered())
	}
}
