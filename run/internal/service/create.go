package service

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// CreateRequest asks for the model that a run trains.
func CreateRequest(j *job.Job) tinker.CreateModelRequest {
	stream := j.ID.Stream("adapter")
	seed := int64(stream.Uint64() >> 1)
	lora := LoRA(j.Config)
	lora.Seed = &seed
	session := j.ID.Session
	if !j.Durable {
		session = "" // there is no coming back to this process's model
	}
	return tinker.CreateModelRequest{
		SessionID: session, BaseModel: j.Model.Name, RandomInit: j.Config.Model.RandomInit,
		LoRA: lora,
	}
}

// LoRA is the adapter that a run trains, without the seed of its first values.
func LoRA(cfg *config.Config) tinker.LoRA {
	l := cfg.LoRA()
	return tinker.LoRA{Rank: l.Rank, Alpha: l.Alpha, TrainAttn: l.TrainAttn, TrainMLP: l.TrainMLP,
		TrainUnembed: l.TrainUnembed, Modules: someModules(l)}
}

// someModules returns the linear layers that a configuration picks by name, "" where the flags say it all.
func someModules(l config.LoRA) string {
	if !l.Picked {
		return ""
	}
	return strings.Join(l.Modules, ",")
}

// Vocabulary is how many token ids a model has by its configuration, which may reserve some after the
// tokenizer's, if that is here.
func Vocabulary(m *job.Model) int {
	if c, err := engine.Describe(m.Dir); err == nil {
		return c.Vocab
	}
	return m.Tokenizer.VocabSize()
}
