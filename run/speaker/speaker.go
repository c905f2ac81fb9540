// Package speaker opens a model, a job's newest checkpoint or an adapter on the local engine, to talk to it. It writes
// only into a folder of its own, so it does not disturb a running job.
package speaker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options say what is opened, and how models are found.
type Options struct {
	Model    string                       // a folder, file or name of a model; a job, checkpoint or adapter
	Base     string                       // the base model, if it is not where the checkpoint says; may be ""
	Template string                       // a file with a chat template; "" is the job's, or the model's own
	Threads  int                          // of the engine; 0 is all
	Memory   int64                        // of the machine, in bytes; 0 is not known
	Find     func(path string) string     // leads to the files that the program carries
	Folder   func(string) (string, error) // of a model by its name
	Note     io.Writer                    // hears which checkpoint or adapter is opened
}

// Speaker is an open model. The caller of Open closes its engine.
type Speaker struct {
	Engine    *engine.Engine
	Client    tinker.SamplingClient
	Context   int // tokens
	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template // nil if the model has none
}

// Open opens the model of the options with the chat template of job, a folder that a job is or is in, and with the
// engine's own files in dir. notes are the job's, nil if there is none.
func Open(ctx context.Context, o Options, dir, job string) (s *Speaker, notes *run.JobNotes, err error) {
	sub, err := o.subject()
	if err != nil {
		return nil, nil, err
	}
	if notes, err = run.ReadJobNotes(job); err != nil {
		return nil, nil, err
	}
	folder, err := o.folder(sub, notes)
	if err != nil {
		return nil, nil, err
	}
	s = &Speaker{}
	if err := s.read(folder, job, o.Template); err != nil {
		return nil, nil, err
	}
	var ends []int32
	if s.Template != nil {
		if ends, err = s.Template.StopIDs(s.Tokenizer); err != nil {
			return nil, nil, err
		}
	}
	eo := engine.Options{Dir: dir, Threads: o.Threads,
		Models: map[string]engine.Model{sub.base: {Dir: folder, Tokens: s.Tokenizer, EndTokens: ends}}}
	eo.Fit(o.Memory)
	if s.Engine, err = engine.Open(eo); err != nil {
		return nil, nil, err
	}
	if err := s.sample(ctx, sub, dir, o.Note); err != nil {
		return nil, nil, errors.Join(err, s.Engine.Close())
	}
	return s, notes, nil
}

// folder is the folder of the subject's base model.
func (o Options) folder(sub subject, notes *run.JobNotes) (string, error) {
	if o.Base != "" {
		return o.Folder(o.Base)
	}
	dir, err := o.Folder(notes.Find(sub.base))
	if sub.checkpoint == "" && sub.adapter == "" {
		if err == nil && !disk.Exists(filepath.Join(dir, "tokenizer.json")) {
			err = notModel(dir)
		}
		return dir, err
	}
	if err != nil {
		err = fmt.Errorf("the base model %q of %s was not found; name its folder with --base-model-dir: %w", sub.base,
			o.Model, err)
	}
	return dir, err
}

// read loads tokenizer and chat template. The template is the given one, else the job's, else the model's, if it
// has one.
func (s *Speaker) read(folder, job, template string) (err error) {
	if s.Tokenizer, err = tokenizer.Load(folder); err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(folder)
	if err != nil {
		return err
	}
	text, date, err := run.JobTemplate(job)
	if err != nil {
		return err
	}
	if text == "" {
		text, date = conf.ChatTemplate, time.Now()
	}
	if template != "" {
		data, err := disk.ReadFile(template, disk.SmallFile)
		if err != nil {
			return err
		}
		text = string(data)
	}
	if text == "" {
		return nil
	}
	s.Template, err = chat.New(text, conf, date)
	return err
}

// sample opens the subject's weights. The engine's folder gets a link to a checkpoint.
func (s *Speaker) sample(ctx context.Context, sub subject, dir string, note io.Writer) error {
	req := tinker.SamplingClientRequest{BaseModel: sub.base}
	switch {
	case sub.checkpoint != "":
		from, err := filepath.Abs(sub.checkpoint)
		if err != nil {
			return err
		}
		p := tinker.Path{ModelID: "chat", Kind: tinker.KindSampler, Name: "weights"}
		if err := os.MkdirAll(filepath.Join(dir, p.ModelID, string(p.Kind)), 0o755); err != nil {
			return err
		}
		if err := disk.LinkFolder(from, filepath.Join(dir, p.ModelID, string(p.Kind), p.Name)); err != nil {
			return err
		}
		req = tinker.SamplingClientRequest{ModelPath: p.String()}
		fmt.Fprintf(note, "checkpoint %s of base model %s\n", sub.checkpoint, sub.base)
	case sub.adapter != "":
		path, err := s.Engine.ImportPEFT(sub.base, sub.adapter, "chat", "adapter")
		if err != nil {
			return err
		}
		req = tinker.SamplingClientRequest{ModelPath: path}
		fmt.Fprintf(note, "adapter %s of base model %s\n", sub.adapter, sub.base)
	}
	models, err := s.Engine.Capabilities(ctx)
	if err != nil {
		return err
	}
	s.Context = models.Models[0].ContextLength
	s.Client, err = s.Engine.SamplingClient(ctx, req)
	return err
}
