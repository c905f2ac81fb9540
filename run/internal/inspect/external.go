package inspect

import "github.com/seed-d9ad8ee0/trinity/run/internal/job"

// External reaches the model that mode bench evaluates behind OpenAI's interface.
func External(j *job.Job) (*job.External, *job.Model, error) {
	e := j.Config.Model.ExternalModel
	x, err := job.ReachExternal(j.LookupEnv, e.ModelName, e.BaseURLEnv, e.APIKeyEnv)
	return x, &job.Model{Name: e.ModelName}, err
}
