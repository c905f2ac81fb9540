package main

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// place is where a job runs and what of it is killed.
type place struct {
	name, killed string
	apart        bool // explorer and trainer are two processes
	remote       bool // the weights are a server's
	// lives are the processes, in the order in which they start; closing ends what they leave
	lives func(job program.Job, variant string) (lives []*life, closing func())
}

func places() []place {
	return []place{
		{name: "one process", killed: "it", lives: alone},
		{name: "two processes over a table", killed: "either", apart: true, lives: apart},
		{name: "trinity serve", killed: "the server or the run", remote: true, lives: served},
		{name: "a worker", killed: "the worker", lives: worked},
	}
}

// of is the life of a command that ends when the job is done.
func of(job program.Job, variant string, more ...string) *life {
	return &life{ends: true, start: func() (*program.Process, error) {
		return program.Start(job.Command(variant, more...))
	}}
}

func alone(job program.Job, variant string) ([]*life, func()) {
	return []*life{of(job, variant)}, func() {}
}

func apart(job program.Job, variant string) ([]*life, func()) {
	return []*life{of(job, variant, "mode=explore"), of(job, variant, "mode=train")}, func() {}
}

func served(job program.Job, variant string) ([]*life, func()) {
	server := job.Server("--data", filepath.Join(job.Home, "data-"+variant))
	run := &life{ends: true, start: func() (*program.Process, error) {
		return program.Start(job.Command(variant, "model.tinker.base_url="+server.URL))
	}}
	return []*life{{start: func() (*program.Process, error) {
		err := server.Start()
		return server.Process(), err
	}}, run}, server.Close
}

// worked is a job that computes on one worker alone.
func worked(job program.Job, variant string) ([]*life, func()) {
	head := of(job, variant, "fleet.listen=127.0.0.1:0", "fleet.local=false")
	head.spared = true
	crew := &program.Crew{Program: job.Program, Prefix: "worker-" + variant + "-"}
	worker := &life{start: func() (*program.Process, error) {
		crew.Kill()
		if crew.Creds == "" {
			creds, err := head.now.Await(regexp.MustCompile(program.Credentials))
			if err != nil {
				return nil, fmt.Errorf("the head: %w", err)
			}
			crew.Creds = creds[1]
		}
		err := crew.Join()
		return crew.Worker(), err
	}}
	return []*life{head, worker}, crew.Close
}
