package fleet_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

// families reads Prometheus text.
func families(t *testing.T, r io.Reader) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	f, err := p.TextToMetricFamilies(r)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMetricsAreReadAtAnAddress(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t, func(o *fleet.HeadOptions) { o.Metrics = "127.0.0.1:0" })
	join(t, h, "a", square)
	eventually(t, "a worker", func() bool { return here(h) == 1 })
	doAll(t, h, 0, 7)
	resp, err := http.Get(h.MetricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	page, err := http.NewRequest(http.MethodGet, h.MetricsURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	page.Host = "evil.example"
	if refused, err := http.DefaultClient.Do(page); err != nil || refused.StatusCode != http.StatusForbidden {
		t.Errorf("by a name pointed here: %v, %v", refused, err)
	} else {
		refused.Body.Close()
	}
	f := families(t, resp.Body)
	if got := f["trinity_fleet_tasks_done_total"].GetMetric()[0].GetCounter().GetValue(); got != 7 {
		t.Errorf("%g tasks done; want 7", got)
	}
	if got := f["trinity_fleet_worker_here"].GetMetric()[0].GetGauge().GetValue(); got != 1 {
		t.Errorf("worker_here is %g; want 1", got)
	}
}

// A worker chooses its name, which must not break the text.
func TestNamesOfWorkersInMetrics(t *testing.T) {
	for _, name := range []string{`a"b`, `a\b`, "a\nb", "a\tb", "ä \x00", "bad \xff"} {
		s := fleet.Status{Workers: []fleet.WorkerStatus{{ID: "U1", About: fleet.About{Name: name}, State: "here"}}}
		var b bytes.Buffer
		if err := s.WriteMetrics(&b); err != nil {
			t.Fatal(err)
		}
		labels := families(t, &b)["trinity_fleet_worker_lost_total"].GetMetric()[0].GetLabel()
		want := strings.ToValidUTF8(name, "\ufffd")
		if len(labels) != 2 || labels[0].GetValue() != want && labels[1].GetValue() != want {
			t.Errorf("%q: labels %v", name, labels)
		}
	}
}
