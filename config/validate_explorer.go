package config

import "github.com/seed-d9ad8ee0/trinity/config/internal/document"

func (k *checker) explorer() {
	e := &k.c.Explorer
	k.stateName("explorer.name", e.Name)
	atLeast(k, "explorer.runner_per_model", e.RunnerPerModel, 1)
	k.positive("explorer.max_timeout", e.MaxTimeout)
	atLeast(k, "explorer.max_retry_times", e.MaxRetryTimes, 0)
	atLeast(k, "explorer.eval_interval", e.EvalInterval, 1)
	k.optional("explorer.max_repeat_times_per_runner", e.MaxRepeatTimesPerRunner)
	if e.DBURL != "" {
		k.database("explorer.db_url", e.DBURL)
	}
	k.oneOf("explorer.concurrent_mode", e.ConcurrentMode, concurrentModes())
	atLeast(k, "explorer.max_inflight_batches", e.MaxInflightBatches, 1)
	if r := e.OverRollout.Ratio; !(r >= 0 && r < 1) {
		k.bad("explorer.over_rollout.ratio", "is %v; it must be at least 0 and below 1", r)
	} else if r > 0 && k.c.Synchronizer.SyncStyle == Fixed {
		k.bad("explorer.over_rollout.ratio", "is %v, but synchronizer.sync_style is fixed; choose explorer_driven, "+
			"trainer_driven, fully_async or newest, or ratio 0", r)
	}
	if e.OverRollout.ReturnPartialTasks && k.c.Synchronizer.SyncStyle == Fixed {
		k.bad("explorer.over_rollout.return_partial_tasks", "is true, but synchronizer.sync_style is fixed; choose "+
			"another style, or false")
	}
	atLeast(k, "explorer.over_rollout.wait_after_min", e.OverRollout.WaitAfterMin, 0)
	if e.DynamicTimeout.Enable {
		k.positive("explorer.dynamic_timeout.ratio", e.DynamicTimeout.Ratio)
		atLeast(k, "explorer.dynamic_timeout.warmup_min_steps", e.DynamicTimeout.WarmupMinSteps, 0)
	}
	atLeast(k, "explorer.python_processes", e.PythonProcesses, 1)
	atLeast(k, "explorer.python_memory", e.PythonMemory, 0)
	atLeast(k, "explorer.python_threads", e.PythonThreads, 1)
	k.positive("explorer.reward_timeout", e.RewardTimeout)
	atLeast(k, "explorer.reward_concurrency", e.RewardConcurrency, 1)
	k.between("explorer.proxy_port", float64(e.ProxyPort), 0, 65535)
}

// inference checks the rollout model and the auxiliary ones.
func (k *checker) inference() {
	e := &k.c.Explorer
	k.inferenceModel("explorer.rollout_model", &e.RolloutModel)
	for i := range e.AuxiliaryModels {
		key := document.Index("explorer.auxiliary_models", i)
		if e.AuxiliaryModels[i].ModelPath == "" {
			k.bad(key+".model_path", "is missing; name the auxiliary model")
		}
		k.inferenceModel(key, &e.AuxiliaryModels[i])
	}
}

func (k *checker) inferenceModel(key string, m *InferenceModel) {
	atLeast(k, key+".engine_num", m.EngineNum, 1)
	k.layout(key, m)
	if m.Temperature != nil && m.TopP != nil && m.TopK != nil && k.c.given(key) {
		k.ownSampling(key, *m.Temperature, *m.TopP, *m.TopK)
	}
}

// layout checks how an engine is laid out over GPUs, which does not apply here. Files that upstream saved have 0 where
// it has no engine of its own.
func (k *checker) layout(key string, m *InferenceModel) {
	if m.EngineType == "tinker" || m.EngineType == "external" || k.c.Model.Tinker.Enable ||
		k.c.Model.ExternalModel.Enable {
		return
	}
	atLeast(k, key+".tensor_parallel_size", m.TensorParallelSize, 1)
	atLeast(k, key+".data_parallel_size", m.DataParallelSize, 1)
	atLeast(k, key+".pipeline_parallel_size", m.PipelineParallelSize, 1)
}

// ownSampling checks parameters only where they are the section's own, so that a mistake is reported once.
func (k *checker) ownSampling(key string, temperature, topP float64, topK int) {
	if !k.c.given(key + ".temperature") {
		temperature = 1
	}
	if !k.c.given(key + ".top_p") {
		topP = 1
	}
	if !k.c.given(key + ".top_k") {
		topK = -1
	}
	k.sampling(key, temperature, topP, topK)
}
