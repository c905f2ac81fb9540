package dispatch

import "testing"

// A worker computes what its list names, and each of it with the dtypes of frozen weights that the list names.
func TestWorkersComputeWhatTheyList(t *testing.T) {
	const list = "trinity-4-blocked,trinity-5-blocked,trinity-5-sequential,int8"
	for numerics, want := range map[string]bool{"trinity-4-blocked": true, "trinity-5-sequential-int8": true,
		"trinity-4-sequential": false, "trinity-4-sequential-int8": false, "trinity-5-blocked-int4": false,
		"trinity-5": false} {
		if got := computes(list, numerics); got != want {
			t.Errorf("%s: %v, want %v", numerics, got, want)
		}
	}
}
