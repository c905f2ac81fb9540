package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// list says of each file whether trinity validate accepts it as it stands: all that it refuses, or what it notes. What
// is not downloaded is not looked up.
func list(ctx context.Context, folder, only string) error {
	files, err := yamlBelow(folder)
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "trinity-upstream-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	s := stub()
	defer s.Close()
	refused, accepted := 0, 0
	for _, file := range files {
		name, err := filepath.Rel(folder, file)
		if err != nil || !strings.Contains(name, only) {
			continue
		}
		x := &example{file: file, root: root, dir: root, service: s.URL}
		cfg, in, refusal := x.inspect(ctx)
		if refusal != nil {
			refused++
			fmt.Printf("%s: refused\n", name)
			for _, problem := range problems(refusal) {
				fmt.Printf("  %s\n", x.line(problem))
			}
			continue
		}
		accepted++
		fmt.Printf("%s: accepted\n", name)
		for _, note := range cfg.Notes() {
			fmt.Printf("  note: %s\n", note)
		}
		if err := in.Close(); err != nil {
			return err
		}
	}
	fmt.Printf("%d files: %d accepted, %d refused\n", refused+accepted, accepted, refused)
	return nil
}

// inspect loads and checks a file as trinity validate does.
func (x *example) inspect(ctx context.Context) (*config.Config, *run.Inspection, error) {
	cfg, err := config.Load(x.file, nil, x.env, run.Plugins{}.Names())
	if err != nil {
		return nil, nil, err
	}
	o := offline(x.root)
	o.LookupEnv = x.env
	in, err := run.Inspect(ctx, cfg, o)
	return cfg, in, err
}

// problems are the errors that err joins, or itself.
func problems(err error) []error {
	list, joined := err.(interface{ Unwrap() []error })
	if !joined {
		return []error{err}
	}
	var all []error
	for _, e := range list.Unwrap() {
		if e == nil || errors.Is(e, context.Canceled) {
			continue
		}
		all = append(all, problems(e)...)
	}
	return all
}
