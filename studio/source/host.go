package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// host is a server itself: its queues, its engine and its sessions, as often as it was asked. What it said lately is
// kept in a log of metrics, which begins anew with each studio.
type host struct {
	server *Tinker
	log    string // "": none is kept

	mu       sync.Mutex
	begun    bool
	step     int   // of the next line of the log
	size     int64 // of the log
	asked    time.Time
	failed   error
	settings []Setting
	sessions int
	models   int
	tenants  []tenant // as far as the key may see them
	last     map[string]float64
	read     time.Time // when last was
	times    map[int]time.Time
}

// hostEvery is the time between two questions.
const hostEvery = 2 * time.Second

// Path implements Run: the server's address.
func (h *host) Path() string                { return strings.TrimRight(h.server.URL, "/") }
func (h *host) Kind() Kind                  { return Server }
func (h *host) Metrics() (path, key string) { return h.log, "step" }
func (h *host) Rollouts() rollout.Folder    { return nil }
func (h *host) Checkpoints() []Checkpoint   { return nil }

// Clock implements Run.
func (h *host) Clock() map[int]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.times)
}

// Look implements Run.
func (h *host) Look() Look {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := Look{Name: h.Path(), Project: "server", Mode: "server", Step: -1, State: Running, Updated: h.asked,
		Why: fmt.Sprintf("it answers; this key sees %d training runs and %d sessions", h.models, h.sessions)}
	if n := len(h.tenants); n > 0 {
		l.Why += fmt.Sprintf(", and all tenants, of which there are %d", n)
	}
	if h.failed != nil {
		l.State, l.Why = Unknown, "it does not answer: "+h.failed.Error()
	}
	return l
}

// Settings implements Run: what the server says that it can do.
func (h *host) Settings() []Setting {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := slices.Clone(h.settings)
	for _, t := range h.tenants {
		list = append(list, Setting{"tenants." + t.name(), t.String(), "the server"})
	}
	return list
}

// Refresh implements Live.
func (h *host) Refresh(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.asked) < hostEvery {
		return nil
	}
	h.asked = time.Now()
	h.failed = h.describe(ctx)
	text, err := h.server.text(ctx, "/metrics")
	if err != nil {
		return errors.Join(h.failed, err) // other servers have none, or the key may not see them
	}
	now := readings(text)
	h.tenants = h.server.tenants(ctx)
	for _, t := range h.tenants {
		t.readings(now)
	}
	return errors.Join(h.failed, h.note(now))
}

// describe asks for what changes seldom.
func (h *host) describe(ctx context.Context) error {
	var can any
	if err := h.server.get(ctx, "/api/v1/get_server_capabilities", &can); err != nil {
		return err
	}
	var list []Setting
	flatten("", can, "the server", &list)
	var sessions struct {
		Sessions []any `json:"sessions"`
	}
	if err := h.server.get(ctx, "/api/v1/sessions?limit=1000", &sessions); err == nil {
		h.sessions = len(sessions.Sessions)
	}
	if text, err := h.server.text(ctx, "/version"); err == nil {
		list = append(list, Setting{"version", strings.TrimSpace(text), "the server"})
	}
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	h.settings = list
	return nil
}

// note adds a line to the log: the values, and the change of totals per second since the last answer.
func (h *host) note(now map[string]float64) error {
	since := h.asked.Sub(h.read)
	line := map[string]float64{}
	for name, v := range now {
		before, _, counts := strings.Cut(name, "_total")
		if !counts {
			line[name] = v
		} else if was, ok := h.last[name]; ok && v >= was {
			line[before+"_per_second"+strings.TrimPrefix(name, before+"_total")] = (v - was) / since.Seconds()
		}
	}
	if v, ok := line["engine/tokens_per_second/decode"]; ok {
		line["sample/tokens_per_second"] = v
	}
	h.last, h.read = now, h.asked
	if h.log == "" {
		return nil
	}
	if !h.begun {
		h.begun, h.times = true, map[int]time.Time{}
		if err := h.begin(); err != nil {
			return err
		}
	}
	line["step"], h.times[h.step] = float64(h.step), h.asked
	h.step++
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return h.add(append(data, '\n'))
}

// readings are trinity's numbers in Prometheus' text format, but for histograms. trinity_engine_queue_requests with
// work="sampling" is engine/queue_requests/sampling.
func readings(text string) map[string]float64 {
	m := map[string]float64{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		name, trinity := strings.CutPrefix(name, "trinity_")
		name, labels, _ := strings.Cut(name, "{")
		if !ok || !trinity || strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_sum") ||
			strings.HasSuffix(name, "_count") {
			continue
		}
		v, err := strconv.ParseFloat(rest, 64)
		if err != nil || v != v || v-v != 0 {
			continue
		}
		name = strings.Replace(name, "_", "/", 1)
		for _, label := range strings.Split(strings.TrimSuffix(labels, "}"), ",") {
			if _, value, ok := strings.Cut(label, "="); ok {
				name += "/" + strings.Trim(value, `"`)
			}
		}
		m[name] = v
	}
	return m
}
