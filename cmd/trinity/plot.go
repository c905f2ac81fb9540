package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/seed-d9ad8ee0/trinity/monitor/plot"
)

type plotCmd struct {
	Runs   []string `arg:"" name:"run" help:"Job directories, or their metrics.jsonl files."`
	Output string   `short:"o" default:"reward.svg" help:"The picture to write; its name ends in .svg or .png."`
	Key    string   `short:"k" default:"critic/rewards/mean" help:"The metric to draw."`
	Title  string   `help:"The picture's title."`
}

// Run implements the command.
func (c *plotCmd) Run(s *surroundings) error {
	format, err := plot.FormatOf(c.Output)
	if err != nil {
		return usageError{err}
	}
	curves := plot.Curves{Title: c.Title, Key: c.Key, Window: 10}
	for _, path := range c.Runs {
		r, err := plot.Load(path, c.Key)
		if err != nil {
			return err
		}
		curves.Runs = append(curves.Runs, r)
	}
	f, err := os.Create(c.Output)
	if err != nil {
		return err
	}
	if err := errors.Join(curves.Draw(f, format), f.Close()); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "drew", c.Output)
	return nil
}
