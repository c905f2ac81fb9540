package main

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/ownmodel"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

type trainCmd struct {
	Model    string  `short:"m" required:"" help:"A folder, a GGUF file, or a name on the hub or in Ollama."`
	Data     string  `short:"d" required:"" help:"Your rows: .jsonl, .json, .csv or .parquet." placeholder:"FILE"`
	Reward   string  `short:"r" required:"" help:"exact, contains, math, json, or your FILE.py[:function]."`
	SFT      bool    `name:"sft" help:"Learn the answers of the data only."`
	Minutes  float64 `help:"The time to fit into." default:"30"`
	Out      string  `short:"o" help:"The folder to make; default: trained/DATA." placeholder:"DIR"`
	Prompt   string  `name:"prompt-column" help:"The column of prompts; else one with a usual name."`
	Answer   string  `name:"answer-column" help:"The column of answers; else one with a usual name."`
	Template string  `name:"chat-template" help:"A file with a chat template to use." placeholder:"FILE"`
	Rank     int     `help:"Of the adapter that is trained." default:"16"`
	engineFlags
	pythonFlags
}

// Run implements the command: a small model for one job, from a file of examples.
func (c *trainCmd) Run(s *surroundings) error {
	py := c.python(s)
	o := s.options(c.Threads)
	o.Order, o.Python = c.Order, py
	t := &ownmodel.Trainer{Out: s.out, Run: o, Folder: s.model, Free: budget.FreeMemory, Space: machine.FreeBytes,
		Now: time.Now, Load: func(file string) (*config.Config, error) {
			return config.Load(file, nil, s.env, py.Names(), run.Plugins{}.Names())
		}}
	out := c.Out
	if out == "" {
		base := filepath.Base(c.Data)
		out = filepath.Join("trained", strings.TrimSuffix(base, filepath.Ext(base)))
	}
	return t.Train(s.ctx, ownmodel.Request{Model: c.Model, Data: s.find(c.Data), Reward: c.Reward, Prompt: c.Prompt,
		Answer: c.Answer, Template: c.Template, SFT: c.SFT, Minutes: c.Minutes, Rank: c.Rank}, out)
}
