package perf

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// shown are the metrics of steps that upstream's viewer draws.
var shown = []struct{ head, key string }{{"RUN s", "rollout/time/run_execution/mean"},
	{"TASK s", "rollout/time/task_execution/mean"}, {"PROMPT", promptKey}, {"RESPONSE", responseKey},
	{"EXPERIENCES", countKey}}

// String is a report as a table. Its texts are as the file has them.
func (r *Report) String() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s of %s on %s\n", r.Meta.Module, r.Meta.Config, r.Meta.Host)
	if !r.Status.Success && r.Status.Error != nil {
		fmt.Fprintf(w, "failed: %s\n", *r.Status.Error)
	}
	for _, line := range []struct {
		what string
		v    *float64
		unit string
	}{{"startup", r.Timing.Startup, "s"}, {"execution", r.Timing.Execution, "s"}, {"total", r.Timing.Total, "s"},
		{"prompt tokens", r.Timing.Prompt, "/s"}, {"response tokens", r.Timing.Response, "/s"}} {
		if line.v != nil {
			fmt.Fprintf(w, "%s\t%.4g %s\n", line.what, *line.v, line.unit)
		}
	}
	if n := len(r.Resources); n > 0 {
		cpu, memory := 0.0, 0.0
		for _, s := range r.Resources {
			cpu, memory = cpu+s.CPU/float64(max(1, n-1)), max(memory, s.Memory)
		}
		fmt.Fprintf(w, "processors\t%.0f %%\nmemory\t%.0f MiB at most\n", cpu, memory)
	}
	if len(r.Steps) > 0 {
		fmt.Fprint(w, "\nSTEP")
		for _, m := range shown {
			fmt.Fprintf(w, "\t%s", m.head)
		}
		fmt.Fprintln(w)
	}
	for _, step := range r.Steps {
		fmt.Fprint(w, step["step"])
		for _, m := range shown {
			if v, ok := step[m.key].(float64); ok {
				fmt.Fprintf(w, "\t%.4g", v)
			} else {
				fmt.Fprint(w, "\t-")
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush() // into memory
	return out.String()
}
