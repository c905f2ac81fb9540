package workflow

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlots: of three with a key two run at a time, and the third runs after them.
func TestSlots(t *testing.T) { synctest.Test(t, slots) }

func slots(t *testing.T) {
	var s Slots
	enter := func(key string) func() {
		t.Helper()
		leave, err := s.Enter(t.Context(), key, 2)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	first, second, other := enter("a"), enter("a"), enter("b")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Enter(ctx, "a", 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third: %v", err)
	}
	first()
	third := enter("a")
	second()
	third()
	other()
}
