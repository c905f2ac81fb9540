package run

import (
	"bytes"
	"context"
	"flag"
	"math"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor/console"
)

var (
	seedsRows = flag.String("seeds.rows", "", "TestSeeds: train the guide's configurations on these rows, a jsonl "+
		"`file`")
	seedsDir   = flag.String("seeds.dir", "", "TestSeeds: the `folder` to keep the jobs in; empty: they are removed")
	seedsSteps = flag.Int("seeds.steps", 40, "TestSeeds: steps of the two whole configurations; the others take at "+
		"most 20")
)

// A curve is how the reward of a run went.
type curve struct{ first, last, se float64 }

// rise is the mean reward of the first ten steps and of the last ten, and the standard error of the difference over
// steps.
func rise(s *console.Summary) curve {
	a, va := tenSteps(s, 1)
	b, vb := tenSteps(s, s.Steps-9)
	return curve{a, b, math.Sqrt((va + vb) / 10)}
}

// tenSteps is the mean and the variance of the steps' rewards.
func tenSteps(s *console.Summary, from int) (mean, variance float64) {
	mean = s.Mean(rewardKey, from, from+9)
	for step := from; step < from+10; step++ {
		d := s.Mean(rewardKey, step, step) - mean
		variance += d * d / 9
	}
	return mean, variance
}

// TestSeeds trains every configuration of upstream's guides, byte for byte as it stands there, on the small Llama: the
// rewards of all must rise, and those of the two backends must end at the same. make seeds keeps its log and the
// picture in docs.
func TestSeeds(t *testing.T) {
	t.Parallel()
	if *seedsRows == "" {
		t.Skip("trains for minutes: make seeds")
	}
	root := *seedsDir
	if root == "" {
		root = t.TempDir()
	}
	brief := min(*seedsSteps, 20)
	ends := map[string]float64{}
	for _, tt := range []struct {
		name, file string
		steps      int
	}{
		{"tinker", "testdata/guide/tinker.yaml", *seedsSteps},
		{"verl", "testdata/guide/verl.yaml", *seedsSteps},
		{"fragment", withFragment(t, "fragment.yaml"), brief},
		{"fragment_readme", withFragment(t, "fragment_readme.yaml"), brief},
		{"example", "testdata/guide/example.yaml", brief},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sum := trainGuide(t, tt.file, filepath.Join(root, tt.name), tt.steps)
			c, n := rise(sum), tt.steps
			t.Logf("%-16s %d steps in %.0f s  reward %.3f → %.3f (+%.3f ± %.3f)  accuracy %.3f → %.3f  length %.1f → "+
				"%.1f", tt.name, n, float64(n)*sum.Mean("time/step", 1, n),
				c.first, c.last, c.last-c.first, c.se, sum.Mean(accuracyKey, 1, 10), sum.Mean(accuracyKey, n-9, n),
				sum.Mean("response_length/mean", 1, 10), sum.Mean("response_length/mean", n-9, n))
			if c.last-c.first <= 3*c.se {
				t.Errorf("the reward went from %.3f to %.3f, that is no more than 3 standard errors of %.3f", c.first,
					c.last, c.se)
			}
			ends[tt.name] = c.last
		})
	}
	a, okA := ends["tinker"]
	b, okB := ends["verl"]
	if okA && okB && math.Abs(a-b) > 0.05 {
		t.Errorf("the backends end at %.3f and %.3f, want them within 0.05", a, b)
	}
}

// trainGuide runs a configuration of the guide, with as many rows as the steps take and its jobs below root. A job that
// is there continues.
func trainGuide(t *testing.T, file, root string, steps int) *console.Summary {
	t.Helper()
	online, _ := guideHub(t, *seedsRows, 96*steps)
	var out bytes.Buffer
	sum, err := Run(context.Background(), loadGuide(t, file, root), Options{Out: &out, LookupEnv: rootedAt(root),
		Hub: online})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if sum.Steps != steps {
		t.Fatalf("%d steps, want %d", sum.Steps, steps)
	}
	return sum
}
