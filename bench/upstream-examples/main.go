// Command upstream-examples validates and runs each example of Trinity-RFT, as it stands and with stand-ins.
// Needs: git and a network, or -examples with the folder of a checkout.
// Takes: about twenty minutes; two with -steps of the newer examples; seconds with -validate, which runs nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// commit is Trinity-RFT 0.5.2.
const commit = "eedef4b5a1f9ce205b12c6fdc64b9467fce98013"

func main() {
	examples := flag.String("examples", "", "the `folder` examples of Trinity-RFT; \"\" is fetched to bin/upstream")
	upstream := flag.String("upstream", "https://github.com/modelscope/Trinity-RFT", "where it is fetched from")
	validate := flag.Bool("validate", false, "only say of each file whether it is accepted as it stands")
	steps := flag.Bool("steps", false, "run each file that is accepted for two steps, and print a row of each")
	only := flag.String("only", "", "the examples whose path contains this")
	flag.Parse()
	job.Main("upstream-examples", func(ctx context.Context) error {
		if *examples == "" {
			*examples = "bin/upstream/examples"
			if err := fetch(ctx, *upstream); err != nil {
				return err
			}
		}
		if *steps {
			return table(ctx, *examples, *only)
		}
		if *validate {
			return list(ctx, *examples, *only)
		}
		return compare(ctx, *examples, *only)
	})
}

// fetch gets the examples, once.
func fetch(ctx context.Context, upstream string) error {
	const dir = "bin/upstream"
	if _, err := os.Stat(filepath.Join(dir, "examples")); err == nil {
		return nil
	}
	for _, args := range [][]string{
		{"init", "-q", dir},
		{"-C", dir, "fetch", "-q", "--depth", "1", upstream, commit},
		{"-C", dir, "checkout", "-q", "FETCH_HEAD", "--", "examples"},
	} {
		if err := job.Exec(ctx, "git", args...); err != nil {
			return fmt.Errorf("%w\nwithout a network name a copy of the examples by -examples", err)
		}
	}
	return nil
}

// compare holds that of each example validate and run say the same: as it stands, when what is not downloaded is not
// known, and with the shipped model and made rows in place of what it names, when what validate accepts makes its first
// step.
func compare(ctx context.Context, folder, only string) error {
	files, err := yamlBelow(folder)
	if err != nil {
		return err
	}
	b, err := newBed()
	if err != nil {
		return err
	}
	defer b.close()
	var problems []error
	refused, ran := 0, 0
	for i, file := range files {
		name, _ := filepath.Rel(folder, file)
		if deeper := strings.Count(filepath.ToSlash(name), "/") > 1; deeper || !strings.Contains(name, only) {
			continue // what lies deeper is no example
		}
		x := b.example(i, 1)
		x.file = file
		if err := x.writeRows(); err != nil {
			return err
		}
		stands, err := x.verdict(ctx, nil, offline(b.root), 0)
		if err != nil {
			return err
		}
		if strings.Contains(stands.validate, "project_name: unknown key") {
			fmt.Printf("%s\n  no configuration of Trinity-RFT but a recipe of Data-Juicer's: %s\n", name,
				stands.validate)
			continue
		}
		in, err := x.verdict(ctx, x.overrides(), run.Options{}, 40*time.Second)
		if err != nil {
			return err
		}
		x.print(name, stands, in)
		if !stands.agree() || !in.agree() {
			problems = append(problems, fmt.Errorf("%s: validate and run disagree", name))
		}
		if in.refused {
			refused++
		} else {
			ran++
		}
	}
	fmt.Printf("%d examples: %d make their first step, %d are refused by validate and run alike\n", refused+ran, ran,
		refused)
	return errors.Join(problems...)
}

func (x *example) print(name string, stands, in verdict) {
	agree := "agree"
	if !stands.agree() || !in.agree() {
		agree = "DISAGREE"
	}
	fmt.Printf("%s\n  as it stands   validate: %s\n                 run:      %s\n  with stand-ins validate: %s\n    "+
		"             run:      %s\n  %s\n", name, stands.validate, stands.run, in.validate, in.run, agree)
}

func yamlBelow(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no YAML files below %s; name Trinity-RFT's folder examples by -examples", dir)
	}
	return files, nil // in lexical order
}

// longContext is the shipped model with room for conversations.
func longContext(dir string) (string, error) {
	if err := os.CopyFS(dir, os.DirFS("examples/tiny/model")); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	const was, is = `"max_position_embeddings": 512`, `"max_position_embeddings": 2048`
	if !strings.Contains(string(text), was) {
		return "", fmt.Errorf("%s does not have %s", path, was)
	}
	return dir, os.WriteFile(path, []byte(strings.Replace(string(text), was, is, 1)), 0o644)
}
