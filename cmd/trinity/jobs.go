package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// jobsIn are the folders of jobs at most three levels below dir, where runs put them: <project>/<group>/<name>.
func jobsIn(dir string) (jobs []string) {
	for _, pattern := range []string{"run.json", "*/run.json", "*/*/run.json", "*/*/*/run.json"} {
		files, err := disk.Glob(dir, pattern)
		if err != nil {
			continue
		}
		for _, f := range files {
			jobs = append(jobs, filepath.Dir(f))
		}
	}
	return jobs
}

// jobList names jobs, the first five of them.
func jobList(jobs []string) string {
	const most = 5
	if len(jobs) <= most {
		return strings.Join(jobs, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(jobs[:most], ", "), len(jobs)-most)
}

// notModel says what a folder without a tokenizer may be.
func notModel(dir string) error {
	if has(dir, "run.json") {
		return fmt.Errorf("the job %s has no checkpoint here", dir)
	}
	if jobs := jobsIn(dir); len(jobs) > 0 {
		return fmt.Errorf("%s is a folder of jobs; name one of them: %s", dir, jobList(jobs))
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	return fmt.Errorf("%s is no model's folder (it has no tokenizer.json), and no job, checkpoint or adapter", dir)
}
