package budget

import (
	"strings"
	"testing"
)

func TestBusy(t *testing.T) {
	for _, tt := range []struct {
		then, now waits
		want      string
	}{
		{waits{}, waits{}, ""},
		{waits{5, 5}, waits{105, 5}, ""},
		{waits{5, 5}, waits{95, 15}, ""},
		{waits{5, 5}, waits{30, 80}, "75 % of its time"},
		{waits{50, 50}, waits{10, 10}, ""}, // threads ended meanwhile
	} {
		got := Rates{Waited: tt.now.since(tt.then)}.Busy()
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%v to %v: %q, want %q", tt.then, tt.now, got, tt.want)
		}
	}
	if got := (Rates{Waited: 0.75}).Busy(); !strings.Contains(got, "4.0 times") {
		t.Errorf("it says %s", got)
	}
}
