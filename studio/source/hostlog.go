package source

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// hostLogSize is how long the log of a server may become. It then loses its older half.
const hostLogSize = 32 << 20

// hostLogKept is how long the log of a studio that is gone stays.
const hostLogKept = time.Hour

// hostLog is the name of a log in a folder. Each studio has one of its own, since several may look at one server.
func hostLog(dir string) string { return filepath.Join(dir, "server-"+rand.Text()+".jsonl") }

// begin makes the folder of the log and removes logs that no studio writes to any more.
func (h *host) begin() error {
	dir := filepath.Dir(h.log)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	for _, path := range glob(dir, "server*.jsonl") {
		if st, err := os.Stat(path); err == nil && time.Since(st.ModTime()) > hostLogKept {
			os.Remove(path)
		}
	}
	return nil
}

// add appends a line to the log.
func (h *host) add(line []byte) error {
	f, err := os.OpenFile(h.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	_, err = f.Write(line)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if h.size += int64(len(line)); h.size > hostLogSize {
		return h.trim()
	}
	return nil
}

// trim drops the older half of the log.
func (h *host) trim() error {
	data, err := os.ReadFile(h.log)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	_, rest, _ := bytes.Cut(data[len(data)/2:], []byte("\n"))
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	var line struct {
		Step int `json:"step"`
	}
	if err := json.Unmarshal(first, &line); err != nil {
		line.Step = h.step // nothing is left
	}
	for step := range h.times {
		if step < line.Step {
			delete(h.times, step)
		}
	}
	h.size = int64(len(rest))
	return rollout.Replace(h.log, rest)
}
