package run

import "testing"

// What is sampled and not trained on is in the record of rollouts, marked and without an advantage, whichever rule
// dropped it.
func TestDroppedSamplesAreRecorded(t *testing.T) {
	t.Parallel()
	for name, arg := range map[string]string{
		"pipeline":  operatorsOf("{name: reward_filter, args: {threshold: 5}}"),
		"threshold": "algorithm.advantage_fn_args={std_threshold: 9}",
	} {
		cfg := load(t, t.TempDir(), append(and(tiny, arg), "synchronizer.sync_timeout=30")...)
		if _, err := Run(t.Context(), cfg, options()); err != nil {
			t.Fatal(err)
		}
		list := kept(t, cfg, 1)
		for _, r := range list {
			if !r.Dropped || r.Advantage != nil || r.Reward == nil {
				t.Errorf("%s: sample %s is %+v", name, r.ID, r)
			}
		}
		if len(list) != 4 {
			t.Errorf("%s: %d samples of the first step are recorded, want 4", name, len(list))
		}
	}
}
