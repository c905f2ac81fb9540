package server

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Every route and /healthz report a full disk. When there is room the server continues without a restart: it promises
// repeated requests and still has the earlier results.
func TestFullDiskHeals(t *testing.T) {
	r := newRig(t, Options{})
	full := &disktest.Full{FS: disk.OS()}
	r.fs = full
	r.restart()
	session := r.session()
	m := r.model(session, 0)
	want := bits(r.output(r.promise("/forward_backward", batch(m, 1, false))))
	full.Now.Store(true)
	if code, _, raw := r.send("POST", wire.Prefix+"/create_model",
		createModel(session, 1)); code != http.StatusInsufficientStorage {
		t.Errorf("the first request on a full disk: %d %s", code, raw)
	}
	for path, body := range map[string]any{"/create_session": map[string]any{"tags": []string{}, "sdk_version": "x"},
		"/create_model": createModel(session, 2), "/forward_backward": batch(m, 2, false), "/optim_step": step(m, 2)} {
		code, _, raw := r.send("POST", wire.Prefix+path, body)
		if code != http.StatusInsufficientStorage || !strings.Contains(string(raw), syscall.ENOSPC.Error()) ||
			strings.Contains(string(raw), r.dir) {
			t.Errorf("%s on a full disk: %d %s", path, code, raw)
		}
	}
	if code, _, raw := r.send("GET", "/healthz", nil); code != http.StatusServiceUnavailable {
		t.Errorf("/healthz on a full disk: %d %s", code, raw)
	}
	full.Now.Store(false)
	if code, _, raw := r.send("GET", "/healthz", nil); code != http.StatusOK {
		t.Errorf("/healthz when there is room: %d %s", code, raw)
	}
	r.model(session, 1)
	r.model(session, 2)
	r.output(r.promise("/forward_backward", batch(m, 2, false)))
	r.restart()
	if got := bits(r.output(r.server.tickets.Ticket(ticket.Train, m, 1))); got != want {
		t.Errorf("the result from before is %s, was %s", got, want)
	}
	r.output(r.promise("/forward_backward", batch(m, 3, false)))
}

// The texts of clients that the server keeps are limited, and refused texts leave nothing behind.
func TestTextsAreBounded(t *testing.T) {
	r := newRig(t, Options{})
	long := strings.Repeat("<", state.MaxText+1)
	before := r.server.state.Log.Size()
	for _, body := range []map[string]any{
		{"tags": []string{}, "sdk_version": "x", "display_name": long},
		{"tags": []string{}, "sdk_version": long},
		{"tags": []string{long}, "sdk_version": "x"},
		{"tags": make([]string, state.MaxTags+1), "sdk_version": "x"},
		{"tags": []string{}, "sdk_version": "x", "user_metadata": map[string]any{"k": strings.Repeat("v",
			state.MaxMetadata)}},
	} {
		if code, _, raw := r.send("POST", wire.Prefix+"/create_session", body); code != http.StatusBadRequest ||
			!strings.Contains(string(raw), "at most") {
			t.Errorf("%d %.200s", code, raw)
		}
	}
	model := createModel(r.session(), 0)
	model["user_metadata"] = map[string]any{"k": strings.Repeat("v", state.MaxMetadata)}
	if code, _, raw := r.send("POST", wire.Prefix+"/create_model", model); code != http.StatusBadRequest {
		t.Errorf("metadata of a model: %d %.200s", code, raw)
	}
	if grown := r.server.state.Log.Size() - before; grown > 1<<10 {
		t.Errorf("the log has %d bytes more", grown)
	}
}
