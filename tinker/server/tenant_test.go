package server

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/future"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// keyList allows the keys with these hashes.
type keyList []string

func (k keyList) Allowed(hash string) bool { return slices.Contains(k, hash) }
func (k keyList) Demanded() bool           { return true }

// Owner implements Keys: tml-ops is an operator's, and other keys have no name.
func (k keyList) Owner(tenant string) (string, bool) {
	if tenant == TenantOf("tml-ops") {
		return "ops", true
	}
	return "", false
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name string
		keys edge.Keys
		key  string
		want int
	}{
		{"loopback, any key", nil, "tml-x", 200},
		{"loopback, no key", nil, "", 401},
		{"loopback, not a key", nil, "sk-x", 401},
		{"a known key", keyList{HashKey("tml-known")}, "tml-known", 200},
		{"an unknown key", keyList{HashKey("tml-known")}, "tml-x", 401},
		{"no key at all", keyList{HashKey("tml-known")}, "", 401},
	} {
		r := newRig(t, Options{Access: Access{Keys: c.keys}}).as(c.key)
		if code, _, raw := r.send("GET", wire.Prefix+"/get_server_capabilities", nil); code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, code, raw, c.want)
		}
		if c.key != "" {
			r.key = ""
			if code, _, _ := r.send("GET", wire.Prefix+"/get_server_capabilities", nil, "Authorization",
				"Bearer "+c.key); code != c.want {
				t.Errorf("%s as bearer: %d, want %d", c.name, code, c.want)
			}
		}
	}
}

// Another tenant's resources return 404.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	trained := r.promise("/forward_backward", batch(m, 1, false))
	path := r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "a",
		"seq_id": 2}))["path"].(string)
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "b", "seq_id": 3}))
	sampler := r.sampler(session, 0, map[string]any{"model_path": strings.Replace(path, "weights/a",
		"sampler_weights/b", 1)})
	drawn := r.promise("/asample", asample(sampler, 0, nil))
	bob := r.as("tml-bob")
	own := bob.session()
	run := wire.Prefix + "/training_runs/" + m
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"POST", wire.Prefix + "/session_heartbeat", wire.Heartbeat{SessionID: session}},
		{"POST", wire.Prefix + "/create_model", createModel(session, 9)},
		{"POST", wire.Prefix + "/get_info", map[string]any{"model_id": m}},
		{"POST", wire.Prefix + "/forward_backward", batch(m, 4, false)},
		{"POST", wire.Prefix + "/optim_step", step(m, 4)},
		{"POST", wire.Prefix + "/save_weights", map[string]any{"model_id": m, "path": "z", "seq_id": 4}},
		{"POST", wire.Prefix + "/load_weights", map[string]any{"model_id": m, "path": path, "seq_id": 4}},
		{"POST", wire.Prefix + "/load_weights", map[string]any{"session_id": own, "model_seq_id": 0, "path": path}},
		{"POST", wire.Prefix + "/create_sampling_session",
			map[string]any{"session_id": session, "sampling_session_seq_id": 5, "base_model": "tiny"}},
		{"POST", wire.Prefix + "/create_sampling_session",
			map[string]any{"session_id": own, "sampling_session_seq_id": 0, "model_path": path}},
		{"POST", wire.Prefix + "/asample", asample(sampler, 1, nil)},
		{"POST", wire.Prefix + "/asample", asample(sampler, 0, nil)},
		{"POST", wire.Prefix + "/retrieve_future", wire.RetrieveRequest{RequestID: trained}},
		{"POST", wire.Prefix + "/retrieve_future", wire.RetrieveRequest{RequestID: drawn}},
		{"POST", wire.Prefix + "/cancel_future", wire.RetrieveRequest{RequestID: drawn}},
		{"POST", wire.Prefix + "/retrieve_futures",
			map[string]any{"target": map[string]any{"sampling_session_id": sampler}}},
		{"POST", wire.Prefix + "/join_sampling_session", map[string]any{"sampling_session_id": sampler}},
		{"POST", wire.Prefix + "/weights_info", map[string]any{"tinker_path": path}},
		{"GET", wire.Prefix + "/samplers/" + sampler, nil},
		{"GET", wire.Prefix + "/sessions/" + session, nil},
		{"POST", wire.Prefix + "/sessions/" + session + "/finish", map[string]any{}},
		{"GET", run, nil}, {"GET", run + "/checkpoints", nil}, {"GET", run + "/checkpoints/weights/a/archive", nil},
		{"DELETE", run + "/checkpoints/weights/a", nil}, {"POST", run + "/checkpoints/weights/a/publish", nil},
		{"PUT", run + "/checkpoints/weights/a/ttl", map[string]any{"ttl_seconds": nil}},
	} {
		if code, _, raw := bob.send(c.method, c.path, c.body); code != http.StatusNotFound {
			t.Errorf("%s %s: %d %s, want 404", c.method, c.path, code, raw)
		}
	}
	for _, list := range []string{"/training_runs", "/checkpoints", "/sessions"} {
		var got map[string]any
		bob.get(list, &got)
		raw, _ := json.Marshal(got)
		if strings.Contains(string(raw), m) || strings.Contains(string(raw), session) {
			t.Errorf("%s shows %s", list, raw)
		}
	}
	r.samples(drawn) // and the tenant's own sample is not affected
	r.output(trained)
}

func TestRequestIDsCannotBeMade(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	id := r.promise("/forward_backward", batch(m, 1, false))
	for _, forged := range []string{"", "1", id + "x", id[1:], strings.ToUpper(id), "\x00",
		r.server.tickets.Ticket(ticket.Train, m, 99), r.server.tickets.Ticket(ticket.Archive, m, 1)} {
		if code, _, raw := r.send("POST", wire.Prefix+"/retrieve_future",
			wire.RetrieveRequest{RequestID: forged}); code != http.StatusNotFound {
			t.Errorf("%q: %d %s, want 404", forged, code, raw)
		}
	}
}

func TestBackpressure(t *testing.T) {
	r := newRig(t, Options{Queues: Queues{MaxSamples: 4, Crowd: 1}, Hold: time.Millisecond})
	session := r.session()
	sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	long := map[string]any{"sampling_params": map[string]any{"max_tokens": 500, "stop": []int{127}}, "num_samples": 200}
	ids := []string{r.promise("/asample", asample(sampler, 0, long)), r.promise("/asample", asample(sampler, 1, long))}
	for _, c := range []struct {
		header string
		want   int
	}{{"1", http.StatusTooManyRequests}, {"", http.StatusServiceUnavailable}} {
		if code, h, raw := r.send("POST", wire.Prefix+"/asample", asample(sampler, 2, nil), wire.HeaderBackpressure,
			c.header); code != c.want || h.Get("Retry-After") == "" {
			t.Errorf("header %q: %d %s, Retry-After %q; want %d", c.header, code, raw, h.Get("Retry-After"), c.want)
		}
	}
	var later wire.TryAgain
	if r.post("/retrieve_future", wire.RetrieveRequest{RequestID: ids[1]},
		&later); later.QueueState != wire.QueuePausedCapacity || later.QueueStateReason == "" {
		t.Errorf("while many wait: %+v", later)
	}
	if again := r.promise("/asample", asample(sampler, 0, long)); again != ids[0] {
		t.Error("a pending request was refused when it was repeated")
	}
	r.post("/cancel_future", wire.RetrieveRequest{RequestID: ids[1]}, nil)
	if text, category := r.failure(ids[1]); category != "user" || !strings.Contains(text, "cancelled") {
		t.Errorf("a cancelled sample: %q %q", text, category)
	}
	r.post("/sessions/"+session+"/finish", map[string]any{"reason": map[string]any{"type": "success"}}, nil)
	r.failure(ids[0])
	if code, _, raw := r.send("POST", wire.Prefix+"/asample",
		asample(sampler, 3, nil)); code != http.StatusBadRequest || !strings.Contains(string(raw), "finished") {
		t.Errorf("after the session's end: %d %s", code, raw)
	}
}

func TestDiskBudget(t *testing.T) {
	free := int64(1 << 40)
	r := newRig(t, Options{Queues: Queues{Free: func() (int64, error) { return free, nil }, MinFree: 1 << 30}})
	m := r.model(r.session(), 0)
	free = 1 << 20
	r.clock.Add(int64(2 * time.Second))
	code, _, raw := r.send("POST", wire.Prefix+"/forward_backward", batch(m, 1, false))
	if code != http.StatusInsufficientStorage || !strings.Contains(string(raw), "1 MiB left") {
		t.Errorf("a full disk: %d %s", code, raw)
	}
	free = 1 << 40
	r.clock.Add(int64(2 * time.Second))
	r.output(r.promise("/forward_backward", batch(m, 1, false)))
	free, r.server.capacity.At = 0, time.Time{}
	r.server.capacity.Limits.Free = func() (int64, error) { return 0, errors.New("no such disk") }
	if code, _, _ := r.send("POST", wire.Prefix+"/optim_step", step(m, 2)); code != http.StatusInternalServerError {
		t.Errorf("a disk that cannot be asked: %d", code)
	}
}

func TestCheckpoints(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	save := func(path, name string, seq int64, more map[string]any) string {
		b := map[string]any{"model_id": m, "path": name, "seq_id": seq}
		for k, v := range more {
			b[k] = v
		}
		return r.result(r.promise(path, b))["path"].(string)
	}
	save("/save_weights", "a", 1, nil)
	brief := save("/save_weights_for_sampler", "brief", 2,
		map[string]any{"ttl_seconds": 60, "user_metadata": map[string]string{"k": "v"}})
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "seq_id": 3,
		"sampling_session_seq_id": 0}))
	text, category := r.failure(r.promise("/save_weights", map[string]any{"model_id": m, "path": "a", "seq_id": 4}))
	if category != "user" || !strings.Contains(text, "exists already") {
		t.Errorf("a name that is taken: %q %q", text, category)
	}
	var list wire.Checkpoints
	r.get("/training_runs/"+m+"/checkpoints", &list)
	if len(list.Checkpoints) != 2 {
		t.Fatalf("checkpoints are %+v; the unnamed one is not listed", list.Checkpoints)
	}
	byID := map[string]wire.Checkpoint{}
	for _, c := range list.Checkpoints {
		byID[c.CheckpointID] = c
	}
	if c := byID["sampler_weights/brief"]; c.TinkerPath != brief || c.CheckpointType != "sampler" ||
		c.ExpiresAt == nil || *c.SizeBytes == 0 || c.UserMetadata["k"] != "v" {
		t.Errorf("brief is %+v", c)
	}
	one := "/training_runs/" + m + "/checkpoints/"
	var info wire.WeightsInfo
	r.post("/weights_info", map[string]any{"tinker_path": brief}, &info)
	if info.BaseModel != "small" || !info.IsLoRA || *info.LoRARank != 4 || !*info.TrainMLP {
		t.Errorf("weights_info says %+v", info)
	}
	// Other tenants may use a published checkpoint.
	bob := r.as("tml-bob")
	for range 2 { // publishing it twice is no error
		r.post(one+"weights/a/publish", nil, nil)
	}
	state := "tinker://" + m + "/weights/a"
	bobs := bob.result(bob.promise("/load_weights", map[string]any{"session_id": bob.session(), "model_seq_id": 0,
		"path": state}))["model_id"].(string)
	bob.output(bob.promise("/forward_backward", batch(bobs, 1, false)))
	if code, _, _ := r.send("DELETE", wire.Prefix+one+"weights/a/publish", nil); code != 200 {
		t.Errorf("unpublish: %d", code)
	}
	if code, _, _ := bob.send("POST", wire.Prefix+"/weights_info", map[string]any{"tinker_path": state}); code != 404 {
		t.Errorf("an unpublished checkpoint: %d", code)
	}
	// The time to live can be removed and set; the checkpoint ends with it.
	put := func(v any, want int) {
		if code, _, raw := r.send("PUT", wire.Prefix+one+"sampler_weights/brief/ttl",
			map[string]any{"ttl_seconds": v}); code != want {
			t.Errorf("ttl %v: %d %s", v, code, raw)
		}
	}
	put(nil, 200)
	r.clock.Add(int64(time.Hour))
	r.post("/weights_info", map[string]any{"tinker_path": brief}, nil)
	put(0, 400)
	put(10, 200)
	r.restart()
	r.clock.Add(int64(11 * time.Second))
	if code, _, _ := r.send("POST", wire.Prefix+"/weights_info", map[string]any{"tinker_path": brief}); code != 404 {
		t.Errorf("an expired checkpoint: %d", code)
	}
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.server.opts.Store.Checkpoint(brief); !errors.Is(err, tinker.ErrNotFound) {
		t.Errorf("an expired checkpoint is still on the disk (%v)", err)
	}
	for _, bad := range []string{"a", "other/a", "weights/..", "weights/%2e%2e%2fsecret"} {
		if code, _, _ := r.send("DELETE", wire.Prefix+one+bad, nil); code != 400 && code != 404 {
			t.Errorf("DELETE %s: %d", bad, code)
		}
	}
	if code, _, _ := r.send("DELETE", wire.Prefix+one+"weights/a", nil); code != 200 {
		t.Errorf("DELETE: %d", code)
	}
	var runs wire.TrainingRuns
	r.get("/training_runs?limit=1", &runs)
	if len(runs.TrainingRuns) != 1 || runs.TrainingRuns[0].LastCheckpoint != nil || runs.Cursor.TotalCount != 1 ||
		*runs.TrainingRuns[0].LoRARank != 4 {
		t.Errorf("training_runs says %+v", runs)
	}
}

func TestArchive(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "w", "seq_id": 1}))
	var u wire.ArchiveURL
	r.get("/training_runs/"+m+"/checkpoints/sampler_weights/w/archive", &u)
	resp, err := http.Get(u.URL) // without a key
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || resp.ContentLength != int64(len(raw)) {
		t.Fatalf("%d, %d of %d bytes, %v", resp.StatusCode, len(raw), resp.ContentLength, err)
	}
	var names []string
	for tr := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	for _, want := range []string{"adapter_config.json", "adapter_model.safetensors", checkpoint.Marker} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive has %q, not %s", names, want)
		}
	}
	r.clock.Add(int64(time.Hour))
	resp, err = http.Get(u.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("an address that has expired: %d", resp.StatusCode)
	}
}

// The newest SDK downloads through external checkpoints; an old one must not see them in lists.
func TestExternalWeights(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	path := r.result(r.promise("/save_weights_external",
		map[string]any{"model_id": m, "path": "x", "seq_id": 1, "ttl_seconds": 3600}))["path"]
	if want := "tinker://" + m + "/external_weights/x"; path != want {
		t.Fatalf("path %v, want %s", path, want)
	}
	var out struct{ URLs map[string]string }
	r.get("/training_runs/"+m+"/checkpoints/external_weights/x/external_weights_urls", &out)
	resp, err := http.Get(out.URLs["adapter_config.json"])
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.ContentLength != int64(len(raw)) || !json.Valid(raw) ||
		out.URLs["adapter_model.safetensors"] == "" {
		t.Errorf("files %v; adapter_config.json is %s (%v)", out.URLs, raw, err)
	}
	for version, want := range map[string]int{"0.25.0": 0, "0.38.0": 1, "": 1} {
		var list wire.Checkpoints
		_, _, raw := r.send("GET", wire.Prefix+"/checkpoints", nil, "X-Stainless-Package-Version", version)
		if err := json.Unmarshal(raw, &list); err != nil || len(list.Checkpoints) != want {
			t.Errorf("SDK %q sees %s", version, raw)
		} else if want == 1 && (list.Checkpoints[0].TinkerPath != path ||
			list.Checkpoints[0].CheckpointType != "external") {
			t.Errorf("listed as %+v", list.Checkpoints[0])
		}
	}
	if code, _, _ := r.send("DELETE", wire.Prefix+"/training_runs/"+m+"/checkpoints/external_weights/x",
		nil); code != 200 {
		t.Errorf("DELETE: %d", code)
	}
}

// Fetched results and unused unnamed samplers are deleted.
func TestCollect(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	sampler := r.result(r.promise("/save_weights_for_sampler",
		map[string]any{"model_id": m, "seq_id": 1, "sampling_session_seq_id": 0}))["sampling_session_id"].(string)
	fetched, left := r.promise("/asample", asample(sampler, 0, nil)), r.promise("/asample", asample(sampler, 1, nil))
	r.samples(fetched)
	r.clock.Add(int64(time.Hour))
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := r.send("POST", wire.Prefix+"/retrieve_future",
		wire.RetrieveRequest{RequestID: fetched}); code != http.StatusGone {
		t.Errorf("a result that is no longer kept: %d, want 410", code)
	}
	r.samples(left)
	r.samples(r.promise("/asample", asample(sampler, 2, nil))) // its weights are read again
	r.clock.Add(int64(7 * time.Hour))
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := r.send("POST", wire.Prefix+"/asample", asample(sampler, 3, nil)); code != 404 {
		t.Errorf("an unused unnamed sampler: %d, want 404", code)
	}
	list, err := r.server.opts.Store.Checkpoints(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("its weights are still there: %+v, %v", list, err)
	}
}

func TestSessionPolling(t *testing.T) {
	r := newRig(t, Options{Hold: 5 * time.Second})
	sampler := r.sampler(r.session(), 0, map[string]any{"base_model": "tiny"})
	var join struct {
		N int64 `json:"client_counter"`
	}
	r.post("/join_sampling_session", map[string]any{"sampling_session_id": sampler}, &join)
	want := map[string]bool{}
	for i := range int64(3) {
		want[r.promise("/asample", asample(sampler, join.N*future.Clones+i, nil))] = true
	}
	r.promise("/asample", asample(sampler, 0, nil)) // the original's own
	cursor := int64(0)
	poll := func() {
		var out struct {
			Completions []future.Completion `json:"completions"`
			Cursor      int64               `json:"cursor"`
		}
		r.post("/retrieve_futures", map[string]any{"target": map[string]any{"type": "sampling_session",
			"sampling_session_id": sampler, "cloned_sampler_id": join.N}, "prev_cursor": cursor}, &out)
		if len(out.Completions) == 0 {
			t.Fatalf("nothing came, %d are left", len(want))
		}
		for _, c := range out.Completions {
			if !want[c.RequestID] || c.State != "finished" {
				t.Errorf("unexpected %+v", c)
			}
			delete(want, c.RequestID)
		}
		cursor = out.Cursor
	}
	for len(want) > 0 {
		poll()
	}
	// another copy joins, and the server restarts: what ends then comes after the cursor
	for i, change := range []func(){
		func() { r.post("/join_sampling_session", map[string]any{"sampling_session_id": sampler}, nil) }, r.restart} {
		change()
		want[r.promise("/asample", asample(sampler, join.N*future.Clones+3+int64(i), nil))] = true
		for len(want) > 0 {
			poll()
		}
	}
}
