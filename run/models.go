package run

import (
	"context"
	"errors"

	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
)

// openModels makes the folder of a job and draws its identity, and opens the models and their service. read is the
// model as it was read before, nil if it was not.
func openModels(ctx context.Context, j *job.Job, read *job.Model) (err error) {
	if j.Config.Model.ExternalModel.Enable {
		return openExternal(ctx, j)
	}
	need := j.Method.Needs()
	j.Start, err = jobdir.StartOf(j.Config, j.Stage, j.Local(), j.Config.Mode.Explores() || need.Ref)
	if err != nil {
		return err
	}
	if j.Model, err = service.FindModel(ctx, j, read); err != nil {
		return err
	}
	if err := openFolder(ctx, j); err != nil {
		return err
	}
	j.Site.In(j, j.Config.Log.Level)
	if need.Teacher {
		if j.Teacher, err = service.FindTeacher(ctx, j); err != nil {
			return err
		}
	}
	if j.Judge, err = j.FindJudge(ctx, j.ID.Date); err != nil {
		return err
	}
	if err := j.OpenProgress(); err != nil {
		return err
	}
	if err := service.Open(ctx, j); err != nil {
		return err
	}
	j.Ask()
	j.Context, err = service.Context(ctx, j)
	return err
}

// openFolder makes the folder of a job, and reads the model's template, which may ask for the date of its identity.
func openFolder(ctx context.Context, j *job.Job) error {
	if err := j.Dir.Make(); err != nil {
		return err
	}
	if err := j.Lock(ctx, jobdir.Roles(j.Config)...); err != nil {
		return err
	}
	if err := j.Identify(); err != nil {
		return err
	}
	text, err := j.Model.Configure(j.Config, j.ID.Date)
	if err != nil {
		return err
	}
	err = errors.Join(j.Dir.KeepTemplate(text), j.Dir.KeepNotes(j.ModelNotes()))
	if err != nil || j.Local() { // the engine knows the stops
		return err
	}
	return j.Model.NameStops()
}

// openExternal reaches the model that mode bench evaluates behind OpenAI's interface.
func openExternal(ctx context.Context, j *job.Job) (err error) {
	if j.External, j.Model, err = inspect.External(j); err != nil {
		return err
	}
	j.API = j.External
	j.ID = jobdir.Draw(j.Config, "", j.Now())
	if err := j.Dir.Make(); err != nil {
		return err
	}
	if err := j.Lock(ctx, jobdir.Roles(j.Config)...); err != nil {
		return err
	}
	return j.OpenProgress()
}
