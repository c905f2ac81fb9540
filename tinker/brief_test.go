package tinker

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBrief(t *testing.T) {
	long := strings.Repeat("ü", 50_000)
	for _, err := range []error{nil, errors.New("short"), Userf("a name: %w", ErrExists)} {
		if got := Brief(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, known := range []error{ErrUnloaded, ErrNotFound, ErrExists, ErrClosed, ErrBusy} {
		got := Brief(Userf("checkpoint %q: %w", long, known))
		if !errors.Is(got, known) || CategoryOf(got) != User || len(got.Error()) > 3<<10 ||
			!strings.HasSuffix(got.Error(), "bytes in all)") || !utf8.ValidString(got.Error()) {
			t.Errorf("%v: %d bytes, category %s: %.80q", known, len(got.Error()), CategoryOf(got), got.Error())
		}
	}
	if got := Brief(errors.New(long)); CategoryOf(got) != Unknown || len(got.Error()) > 3<<10 {
		t.Errorf("without a category: %.80q", got.Error())
	}
}
