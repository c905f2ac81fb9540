package run

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A run goes back to the same state only so often, and the count begins again with each new state.
func TestBack(t *testing.T) {
	lost := errors.New("lost")
	var b goingBack
	for _, saved := range []int{0, 3, 4} {
		for range goBacks {
			if err := b.to(saved, lost, io.Discard); err != nil {
				t.Fatalf("after step %d: %v", saved, err)
			}
		}
	}
	err := b.to(4, lost, io.Discard)
	if !errors.Is(err, lost) || !strings.Contains(err.Error(), "6 times after the state of step 4") {
		t.Errorf("once more: %v", err)
	}
}
