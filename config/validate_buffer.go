package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

func (k *checker) buffer() {
	b := &k.c.Buffer
	atLeast(k, "buffer.batch_size", b.BatchSize, 1)
	atLeast(k, "buffer.total_epochs", b.TotalEpochs, 1)
	k.optional("buffer.total_steps", b.TotalSteps)
	if b.TrainBatchSize >= 1 {
		return
	}
	if k.c.Mode == Train && !k.c.given("buffer.train_batch_size") {
		k.bad("buffer.train_batch_size", "is missing; mode train needs it: the number of experiences of one step")
		return
	}
	if b.BatchSize >= 1 && k.c.Algorithm.RepeatTimes >= 1 {
		k.bad("buffer.train_batch_size", "is %d; it must be at least 1, or left out for batch_size × repeat_times",
			b.TrainBatchSize)
	}
}

func (k *checker) tasksets() {
	c, in := k.c, &k.c.Buffer.ExplorerInput
	const section = "buffer.explorer_input"
	if c.Mode == Train || c.Mode.Serves() {
		return
	}
	switch {
	case in.Taskset != nil && len(in.Tasksets) > 0:
		k.bad(section+".tasksets", "is given beside taskset; move the one taskset into the list")
	case len(in.Training()) == 0 && c.Mode != Bench:
		k.bad(section+".taskset", "is missing; mode %s needs tasks: give a taskset with the path of a dataset", c.Mode)
	case c.Mode == Bench && len(in.EvalTasksets) == 0:
		k.bad(section+".eval_tasksets", "is empty; mode bench evaluates on them: give one with the path of a dataset")
	}
	if in.Taskset != nil {
		k.taskset(in.Taskset, section+".taskset")
	}
	for i := range in.Tasksets {
		k.taskset(&in.Tasksets[i], document.Index(section+".tasksets", i))
	}
	for i := range in.EvalTasksets {
		k.taskset(&in.EvalTasksets[i], document.Index(section+".eval_tasksets", i))
	}
}

func (k *checker) taskset(t *Taskset, key string) {
	if t.Path == "" && !slices.Contains(k.c.own.Readers, t.StorageType) {
		k.bad(key+".path", "is missing; name the dataset: a file, a folder or a hub name")
	}
	if k.c.PluginDir == "" || t.StorageType == "" { // what those files register shows when they are loaded
		k.oneOf(key+".storage_type", t.StorageType, slices.Concat([]string{"file", "sql", "task_dir"}, k.c.own.Readers))
	}
	k.storage(t.StorageType, key, t.Path)
	if k.c.given(key + ".repeat_times") {
		atLeast(k, key+".repeat_times", t.RepeatTimes, 1)
	}
	k.selector(t.DataSelector, key+".data_selector")
	if r := t.RolloutArgs; r.Temperature != nil && r.TopP != nil && r.TopK != nil {
		k.ownSampling(key+".rollout_args", *r.Temperature, *r.TopP, *r.TopK)
	}
	if n := t.RolloutArgs.MaxTokens; n != nil && k.c.given(key+".rollout_args.max_tokens") {
		atLeast(k, key+".rollout_args.max_tokens", *n, 1)
	}
}

// storage wants a path that fits the kind of storage.
func (k *checker) storage(kind, key, path string) {
	switch {
	case path == "":
	case kind == "sql", kind == "queue" && strings.Contains(path, "://"):
		k.database(key+".path", path)
	case kind == "file" && strings.Contains(path, "://"):
		k.bad(key+".path", "is %s, but storage_type is file; write storage_type: sql for a database",
			document.Quote(hidden(path)))
	}
}

// database wants the URL of a database of a kind that can be read and written.
func (k *checker) database(key, url string) {
	scheme, _, ok := strings.Cut(url, "://")
	kind, _, _ := strings.Cut(scheme, "+")
	switch {
	case !ok:
		k.bad(
			key, "is %s, which is not a database URL; write sqlite:///file.db or postgresql://user:password@host/name",
			document.Quote(url))
	case kind != "sqlite" && kind != "postgresql" && kind != "postgres":
		k.bad(key, "is a database of kind %s, which is not supported; use sqlite:///file.db or "+
			"postgresql://user:password@host/name", document.Quote(kind))
	}
}

// hidden is a URL without the password in it.
func hidden(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}

func (k *checker) selector(s *DataSelector, key string) {
	if s == nil {
		return
	}
	if known := k.c.own.Selectors; len(known) > 0 {
		k.oneOf(key+".selector_type", s.SelectorType, known)
	}
	if s.SelectorType == "difficulty_based" && len(s.FeatureKeys) != 2 {
		k.bad(key+".feature_keys", "has %d names; difficulty_based needs two: the columns of a weak and of a strong "+
			"model's pass rate", len(s.FeatureKeys))
	}
}

func (k *checker) experienceBuffers() {
	in := &k.c.Buffer.TrainerInput
	if b := in.ExperienceBuffer; b != nil {
		k.experienceBuffer(b, experienceBuffer)
	}
	for _, name := range slices.Sorted(maps.Keys(in.AuxiliaryBuffers)) {
		b, key := in.AuxiliaryBuffers[name], document.Join("buffer.trainer_input.auxiliary_buffers", name)
		if b.Path == "" {
			k.bad(key+".path", "is missing; an auxiliary buffer is a dataset: name its file, folder or hub name")
		}
		k.experienceBuffer(&b, key)
	}
}

func (k *checker) experienceBuffer(b *ExperienceBuffer, key string) {
	k.oneOf(key+".storage_type", b.StorageType, []string{"queue", "file", "sql"})
	k.storage(b.StorageType, key, b.Path)
	atLeast(k, key+".capacity", b.Capacity, 1)
	k.positive(key+".max_read_timeout", b.MaxReadTimeout)
	if b.SchemaType != "" {
		k.oneOf(key+".schema_type", b.SchemaType, []string{"experience", "sft", "dpo", "cpt"})
	}
	k.selector(b.DataSelector, key+".data_selector")
	if b.ReplayBuffer.Enable {
		k.oneOf(key+".replay_buffer.priority_fn", b.ReplayBuffer.PriorityFn,
			[]string{"linear_decay", "decay_limit_randomization"})
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
