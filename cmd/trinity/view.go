package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// viewCmd has Trinity-RFT's flags: a studio of one table of experiences.
type viewCmd struct {
	Config    string `short:"c" help:"A job's configuration; its input_save_path is shown." placeholder:"FILE"`
	URL       string `name:"url" help:"A database's URL, an SQLite or .jsonl file; overrides -c." placeholder:"FILE"`
	Table     string `help:"The table; overrides --config." placeholder:"NAME"`
	Tokenizer string `help:"The model whose tokens they are; overrides --config." placeholder:"MODEL"`
	Schema    string `help:"What the table has: experience or sft." default:"experience"`
	Port      int    `short:"p" help:"The port." default:"8502"`
}

// Run implements the command.
func (c *viewCmd) Run(s *surroundings) error {
	table, err := c.table(s)
	if err != nil {
		return usageError{fmt.Errorf("trinity: %w", err)}
	}
	if err := table.Check(); err != nil {
		return err
	}
	return showStudio(s, "127.0.0.1:"+strconv.Itoa(c.Port), nil, table)
}

// table is the one to show. What is missing or cannot be shown is an error of the command line, as in Trinity-RFT.
func (c *viewCmd) table(s *surroundings) (t source.Table, err error) {
	switch c.Schema = strings.ToLower(c.Schema); {
	case c.Schema != "experience" && c.Schema != "sft":
		return t, fmt.Errorf("--schema is %s; it must be experience or sft", c.Schema)
	case c.Port < 1 || c.Port > 65535:
		return t, fmt.Errorf("--port is %d; it must be 1 to 65535", c.Port)
	}
	if c.Config != "" {
		if t, err = c.configured(s); err != nil {
			return t, err
		}
	}
	t.File, t.Name, t.Model = cmp.Or(c.URL, t.File), cmp.Or(c.Table, t.Name), cmp.Or(c.Tokenizer, t.Model)
	if t.Lines() {
		t.Name = "" // its lines are all there is, and have no tokens
		return t, nil
	}
	for _, f := range []struct{ flag, value string }{{"url", t.File}, {"table", t.Name}, {"tokenizer", t.Model}} {
		if f.value == "" {
			return t, fmt.Errorf("--%s is required (or provide --config)", f.flag)
		}
	}
	scheme, path, isURL := strings.Cut(t.File, "://")
	switch kind, _, _ := strings.Cut(scheme, "+"); {
	case !isURL || kind == "postgresql" || kind == "postgres":
	case kind == "sqlite":
		t.File = strings.TrimPrefix(path, "/")
	default:
		return t, fmt.Errorf("cannot view a database of kind %s; SQLite, Postgres and .jsonl files can be viewed: "+
			"copy the table into one, or look at the job's samples with trinity studio FOLDER", kind)
	}
	return t, nil
}

// configured is what a run of a configuration keeps its experiences in: input_save_path, or else the buffer that the
// trainer reads.
func (c *viewCmd) configured(s *surroundings) (t source.Table, err error) {
	cfg, err := (&configFlags{Config: c.Config}).load(s, run.Python{}.Names())
	if err != nil {
		return t, err
	}
	const key = "data_processor.experience_pipeline."
	p := cfg.DataProcessor.ExperiencePipeline
	path := p.InputSavePath
	if own := filepath.Join(cfg.JobDir(), "buffer", "explorer_output.db"); !cfg.Given(key + "input_save_path") {
		if _, err := os.Stat(own); err == nil { // Trinity-RFT's default
			path = "sqlite:///" + own
		}
	}
	t = source.Table{File: path, Name: "pipeline_input", Model: cfg.Model.ModelPath}
	if b := cfg.Buffer.TrainerInput.ExperienceBuffer; !p.SaveInput {
		t.File, t.Name = b.Path, b.Name
	}
	switch {
	case !strings.Contains(t.File, "://") && !t.Lines():
		return t, fmt.Errorf("cannot view from %s: %q is neither a database URL, such as sqlite:///experiences.db, "+
			"nor a .jsonl file; look at the samples with trinity studio %s", c.Config, t.File, cfg.JobDir())
	case cfg.Model.ModelPath == "":
		return t, fmt.Errorf("cannot view from %s: model.model_path is not set", c.Config)
	}
	warnRenamed(s, cfg)
	return t, nil
}

// warnRenamed says that a run which did not continue the job in its folder has the time in its name.
func warnRenamed(s *surroundings, cfg *config.Config) {
	dir := cfg.JobDir()
	if list, err := os.ReadDir(dir); cfg.Continue || err != nil || len(list) == 0 {
		return
	}
	renamed, err := disk.Glob(filepath.Dir(dir), cfg.Name+"_*")
	if err != nil || len(renamed) == 0 {
		renamed = []string{dir + "_<time>"}
	}
	fmt.Fprintf(s.err, "warning: continue_from_checkpoint is false and %s existed: the run may have been renamed to "+
		"%s; name its database with --url\n", dir, strings.Join(renamed, ", "))
}

// showStudio serves a studio of folders or tables until Ctrl-C.
func showStudio(s *surroundings, addr string, dirs []string, tables ...source.Table) error {
	ctx, cancel := s.untilStop()
	defer cancel()
	c := studioCmd{Addr: addr, Dirs: dirs}
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if o.Tables = tables; len(dirs) == 0 {
		o.Dirs = nil
	}
	err = serveStudio(ctx, s, addr, o)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
