package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/logfile"
)

// logCmd has Trinity-RFT's flags.
type logCmd struct {
	LogDir  string `short:"d" help:"The folder of the log files; overrides --config." placeholder:"DIR"`
	Config  string `short:"c" help:"A job's configuration; its log folder is used." placeholder:"FILE"`
	Keyword string `short:"k" help:"Only files with this text in their names."`
	Level   string `short:"l" help:"Lowest level to show: DEBUG, INFO, WARNING, ERROR or CRITICAL." default:"INFO"`
	Last    int    `short:"n" name:"last-n-lines" help:"Lines of each file to show first." default:"0"`
	Search  string `short:"p" name:"search-pattern" help:"Search the existing lines for this text."`
	NoColor bool   `help:"Print without colours."`
}

// Run implements the command: it follows a job's log files until Ctrl-C.
func (c *logCmd) Run(s *surroundings) error {
	level, ok := logfile.Level(c.Level)
	if !ok {
		return usageError{fmt.Errorf("trinity: --level %s is not a level; "+
			"choose DEBUG, INFO, WARNING, ERROR or CRITICAL", c.Level)}
	}
	if c.Last < 0 {
		return usageError{fmt.Errorf("trinity: --last-n-lines is %d; it must be at least 0", c.Last)}
	}
	dir := c.LogDir
	switch {
	case dir != "":
	case c.Config != "":
		cfg, err := config.Load(s.find(c.Config), nil, s.env)
		if err != nil {
			return err
		}
		dir = filepath.Join(cfg.JobDir(), "log")
	default:
		return usageError{errors.New("trinity: give --config or --log-dir")}
	}
	ctx, cancel := s.untilStop()
	defer cancel()
	w := &logfile.Follower{Dir: dir, Keyword: c.Keyword, Level: level, Last: c.Last, Search: c.Search,
		Color: s.terminal && !c.NoColor, Out: s.out}
	return w.Run(ctx)
}
