package trackio

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/monitortest"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

func TestTrackio(t *testing.T) {
	c := monitor.Config{Dir: t.TempDir(), Open: Open, Keep: -1, Project: "my project!", Name: "job", Group: "g",
		Roles: []string{"explorer", "trainer"}, Args: map[string]any{"rollouts_per_step": 4}}
	monitortest.RecordSteps(t, c, 1, 3)
	c.Keep = 2
	monitortest.RecordSteps(t, c, 3, 4) // step 3 again
	db := sqlite.Open(filepath.Join(Dir(c.Dir), "myproject.db"), nil)
	defer db.Close()
	const ordered = "FROM (SELECT * FROM metrics WHERE run_name = 'job_trainer' ORDER BY id)"
	for query, want := range map[string]string{
		"SELECT group_concat(step) " + ordered: "1,2,3,4",
		"SELECT group_concat(run_name) FROM (SELECT run_name FROM configs ORDER BY run_name)": "job_explorer," +
			"job_trainer",
		`SELECT count(*) FROM traces`:                                             "16",
		`SELECT count(DISTINCT json_extract(metadata, '$.id')) FROM traces`:       "16",
		`SELECT metrics FROM metrics WHERE step = 4 AND run_name = 'job_trainer'`: `{"grad_norm":4}`,
		`SELECT json_extract(messages, '$[1].tool_calls[0].function.arguments') FROM traces WHERE trace_index = 0
			AND step = 4`: `{"a":1}`,
		`SELECT json_array_length(messages) FROM traces WHERE trace_index = 0 AND step = 4`:            "4",
		`SELECT json_extract(messages, '$[1].content') FROM traces WHERE trace_index = 1 AND step = 4`: "<b>10",
		`SELECT json_array_length(messages) FROM traces WHERE trace_index = 1 AND step = 4`:            "2",
	} {
		var got string
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", query, got, err, want)
		}
	}
}

// A file that cannot be written any more is told of once, and the run goes on.
func TestTrackioFails(t *testing.T) {
	var told []string
	c := monitor.Config{Dir: t.TempDir(), Open: Open, Keep: -1, Project: "p", Name: "job", Roles: []string{"explorer"},
		Now: time.Now, Warn: func(text string) { told = append(told, text) }}
	sink, err := Open(c, "explorer")
	if err != nil {
		t.Fatal(err)
	}
	s := sink.(*project)
	if _, err := s.db.Exec("DROP TABLE metrics; DROP TABLE traces"); err != nil {
		t.Fatal(err)
	}
	for step := range 2 {
		if err := s.Samples(time.Now(), step, []*rollout.Record{{ID: "1/0/0/0/a"}}); err != nil {
			t.Error(err)
		}
		if err := s.Write(time.Now(), step, monitor.Metrics{"a": 1}); err != nil {
			t.Error(err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "no such table") {
		t.Errorf("it was told: %q", told)
	}
	if err := s.Close(true); err != nil {
		t.Error(err)
	}
}
