package fleet

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
)

// serveMetrics answers GET /metrics until the head is closed. Anybody who reaches the address may read them.
func (l *line) serveMetrics(status func() Status) (net.Addr, error) {
	at, err := net.Listen("tcp", l.o.Metrics)
	if err != nil {
		return nil, fmt.Errorf("fleet: cannot serve metrics on %s: %w", l.o.Metrics, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		status().WriteMetrics(w) // a reader that went away
	})
	l.work.Start(func() { web.Edge{Guard: &web.Guard{}}.Serve(l.ctx, nil, at, mux) })
	return at.Addr(), nil
}

// WriteMetrics writes a fleet's numbers in the text format of Prometheus.
//
// See https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
func (s Status) WriteMetrics(w io.Writer) error {
	var b bytes.Buffer
	one := func(name, kind, help string, value float64) {
		fmt.Fprintf(&b, "# HELP trinity_fleet_%s %s\n# TYPE trinity_fleet_%s %s\ntrinity_fleet_%s %g\n", name, help,
			name, kind, name, value)
	}
	one("tasks_open", "gauge", "Tasks that somebody waits for.", float64(s.Open))
	one("tasks_pending", "gauge", "Tasks that no worker has.", float64(s.Pending))
	one("tasks_done_total", "counter", "Tasks answered.", float64(s.Done))
	one("tasks_checked_total", "counter", "Tasks computed twice and compared.", float64(s.Checked))
	one("tasks_unchecked_total", "counter", "Tasks chosen to be compared with nobody to do it.", float64(s.Unchecked))
	one("tasks_disputed_total", "counter", "Tasks with different answers.", float64(s.Disputes))
	one("answers_audited_total", "counter", "Used answers of workers found to be wrong, computed again.",
		float64(s.Audited))
	one("answers_used_wrong_total", "counter", "Used answers that were wrong.", float64(s.UsedWrong))
	one("tasks_copied_total", "counter", "Tasks given out a second time because of slow workers.", float64(s.Copies))
	one("messages_resent_total", "counter", "Tasks sent to the same worker again.", float64(s.Resent))
	one("messages_refused_total", "counter", "Messages that NATS did not take.", float64(s.Refused))
	one("messages_stray_total", "counter", "Messages of workers that broke the rules.", float64(s.Strays))
	one("task_bytes_total", "counter", "Bytes of the payloads of tasks.", float64(s.TaskBytes))
	one("answer_bytes_total", "counter", "Bytes of the payloads of answers.", float64(s.AnswerBytes))
	one("blob_bytes_total", "counter", "Bytes of blobs stored for workers.", float64(s.BlobBytes))
	for _, m := range []struct {
		name, kind, help string
		value            func(WorkerStatus) float64
	}{
		{"worker_here", "gauge", "1 if the worker is there and takes tasks.", here},
		{"worker_tasks_given", "gauge", "Tasks in the worker's queue.",
			func(w WorkerStatus) float64 { return float64(w.Given) }},
		{"worker_tasks_done_total", "counter", "Answers of the worker.",
			func(w WorkerStatus) float64 { return float64(w.Done) }},
		{"worker_speed", "gauge", "Tokens of forward pass per second of computing.",
			func(w WorkerStatus) float64 { return w.Speed }},
		{"worker_share", "gauge", "Share of all work, 0 to 1.",
			func(w WorkerStatus) float64 { return w.Share }},
		{"worker_lag_seconds", "gauge", "Since the worker was heard of.",
			func(w WorkerStatus) float64 { return w.Lag.Seconds() }},
		{"worker_trip_seconds", "gauge", "To the worker's server and back.",
			func(w WorkerStatus) float64 { return w.Trip.Seconds() }},
		{"worker_failures_total", "counter", "Failed tasks and refused messages.",
			func(w WorkerStatus) float64 { return float64(w.Failures + w.Bad) }},
		{"worker_lost_total", "counter", "Times that the worker went away with tasks.",
			func(w WorkerStatus) float64 { return float64(w.Lost) }},
	} {
		fmt.Fprintf(&b, "# HELP trinity_fleet_%s %s\n# TYPE trinity_fleet_%s %s\n", m.name, m.help, m.name, m.kind)
		for _, k := range s.Workers {
			fmt.Fprintf(&b, "trinity_fleet_%s{worker=%s,id=%s} %g\n", m.name, label(k.About.Name), label(k.ID),
				m.value(k))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// label is a label's value: only these three characters have an escape.
func label(value string) string {
	value = strings.ToValidUTF8(value, "\ufffd")
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

func here(w WorkerStatus) float64 {
	if w.State == "here" {
		return 1
	}
	return 0
}
