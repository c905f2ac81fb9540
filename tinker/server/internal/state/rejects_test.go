package state

import (
	"fmt"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The latest rejected requests of a tenant are kept; another tenant's stay.
func TestRejectsAreBounded(t *testing.T) {
	s := newStore()
	for _, tenant := range []string{"a", "b"} {
		s.Sessions[tenant] = &Session{ID: tenant, Tenant: tenant}
		s.Models[tenant] = NewModel(ModelRecord{ID: tenant, Session: tenant})
	}
	s.AddReject(Rejection{Model: "b", Seq: 1, Error: "theirs", Category: tinker.User})
	for i := range int64(maxRejects + 100) {
		for range 2 { // the second time it is the same
			s.AddReject(Rejection{Model: "a", Seq: i, Error: fmt.Sprint(i), Category: tinker.User})
		}
	}
	if len(s.Rejects) != maxRejects+1 || len(s.byTenant["a"]) != maxRejects {
		t.Errorf("%d rejects are kept, %d of a", len(s.Rejects), len(s.byTenant["a"]))
	}
	for _, c := range []struct {
		key  TrainKey
		want string
	}{{TrainKey{"b", 1}, "theirs"}, {TrainKey{"a", 99}, ""}, {TrainKey{"a", 100}, "100"}} {
		if got := s.Rejects[c.key].Error; got != c.want {
			t.Errorf("%v: %q, want %q", c.key, got, c.want)
		}
	}
}
