package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

// TestOrder begins a job in each order of sums, and continues it without naming one.
func TestOrder(t *testing.T) {
	for _, order := range []string{"blocked", "sequential"} {
		t.Run(order, func(t *testing.T) {
			dir := t.TempDir()
			o := onEngine()
			o.Order = order
			run := func(steps string) (out string, err error) {
				var w strings.Builder
				o.Out = &w
				_, err = Run(t.Context(), load(t, dir, and(tiny, "buffer.total_steps="+steps)...), o)
				return w.String(), err
			}
			if out, err := run("1"); err != nil {
				t.Fatal(err, out)
			}
			id, err := os.ReadFile(onlyFile(t, dir, "run.json"))
			if err != nil {
				t.Fatal(err)
			}
			if full := engine.Numerics + "-" + order; !strings.Contains(string(id), full) {
				t.Errorf("run.json is %s, without %s", id, full)
			}
			o.Order = ""
			if out, err := run("2"); err != nil || strings.Contains(out, "last bits") {
				t.Error(err, out)
			}
			o.Order = map[string]string{"blocked": "sequential", "sequential": "blocked"}[order]
			if _, err := run("3"); err == nil || !strings.Contains(err.Error(), "begun with products in order "+order) {
				t.Errorf("the other order: %v", err)
			}
		})
	}
}

func TestOrderOnServer(t *testing.T) {
	o := options()
	o.Order = "blocked"
	_, err := Run(t.Context(), load(t, t.TempDir(), "model.tinker.base_url="+serve(t)), o)
	if err == nil || !strings.Contains(err.Error(), "an order of sums is asked for (blocked)") {
		t.Error(err)
	}
}

// onlyFile returns the path of the one file of that name below dir.
func onlyFile(t *testing.T, dir, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", name))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s below %s: %v, %v", name, dir, found, err)
	}
	return found[0]
}
