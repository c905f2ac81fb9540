package server

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// fetchURL gets an address without a key.
func fetchURL(t *testing.T, r *rig, url string) []byte {
	t.Helper()
	resp, err := r.web.Client().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || int64(len(raw)) != resp.ContentLength {
		t.Fatalf("%s: %s, %d bytes of %d, %v", url, resp.Status, len(raw), resp.ContentLength, err)
	}
	return raw
}

// members are the files of a tar by their names.
func members(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		raw, err2 := io.ReadAll(in)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		found[h.Name] = raw
	}
}

// An adapter on the head of a tied model is exported in the form that peft and tinker-cookbook load, in an archive and
// file by file. This program reads both forms, and the saved checkpoint does not change.
func TestTiedAdapterIsExported(t *testing.T) {
	r := newRig(t, Options{})
	id := r.model(r.session(), 0)
	r.output(r.promise("/forward_backward", batch(id, 1, false)))
	r.result(r.promise("/optim_step", step(id, 2)))
	path := r.result(r.promise("/save_weights_external",
		map[string]any{"model_id": id, "path": "one", "seq_id": 3}))["path"].(string)
	const at = "/checkpoints/external_weights/one/"
	var list struct{ URLs map[string]string }
	r.get("/training_runs/"+id+at+"external_weights_urls", &list)
	files, inTar := t.TempDir(), t.TempDir()
	for name, url := range list.URLs {
		if err := os.WriteFile(filepath.Join(files, name), fetchURL(t, r, url), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var archive wire.ArchiveURL
	r.get("/training_runs/"+id+at+"archive", &archive)
	for name, raw := range members(t, fetchURL(t, r, archive.URL)) {
		if err := os.WriteFile(filepath.Join(inTar, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := r.server.opts.Store.Folder(checkpoint.Inner(path))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dir  string
		tied bool
	}{"files": {files, true}, "archive": {inTar, true}, "kept": {kept, false}} {
		raw, err := os.ReadFile(filepath.Join(tt.dir, engine.AdapterWeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("model.unembed_tokens.lora_A")) != tt.tied ||
			bytes.Contains(raw, []byte("lm_head.lora_A")) == tt.tied {
			t.Errorf("%s: the names are %.300s", name, raw)
		}
		if a, err := engine.ReadAdapter(tt.dir); err != nil || !slices.Contains(a.Modules, "lm_head") || a.Rank != 4 {
			t.Errorf("%s: read here: %v, rank %d, %v", name, a.Modules, a.Rank, err)
		}
	}
}

// Encryption is refused by its name and with a remedy; an empty list is no error.
func TestRecipients(t *testing.T) {
	r := newRig(t, Options{})
	id := r.model(r.session(), 0)
	save := func(seq int, name string, recipients any) string {
		return r.promise("/save_weights_external",
			map[string]any{"model_id": id, "path": name, "seq_id": seq, "age_encryption_recipients": recipients})
	}
	for i, none := range []any{nil, []string{}} {
		if got := r.result(save(i+1, string(rune('a'+i)), none)); !strings.Contains(got["path"].(string),
			"/external_weights/") {
			t.Errorf("%v: %v", none, got)
		}
	}
	if text, category := r.failure(save(3, "c", []string{"age1xyz"})); category != "user" ||
		!strings.Contains(text, "age_encryption_recipients") ||
		!strings.Contains(text, "leave it out") {
		t.Errorf("%s: %s", category, text)
	}
}

// Files in a folder of a checkpoint, such as chat templates, are exported under their paths.
func TestFoldersAreExported(t *testing.T) {
	r := newRig(t, Options{})
	id := r.model(r.session(), 0)
	path := r.result(r.promise("/save_weights_external",
		map[string]any{"model_id": id, "path": "one", "seq_id": 1}))["path"].(string)
	folder, err := r.server.opts.Store.Folder(checkpoint.Inner(path))
	if err != nil {
		t.Fatal(err)
	}
	const name, text = "additional_chat_templates/tool_use.jinja", "tools"
	if err := errors.Join(os.Mkdir(filepath.Join(folder, filepath.Dir(name)), 0o755),
		os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	const at = "/checkpoints/external_weights/one/"
	var list struct{ URLs map[string]string }
	r.get("/training_runs/"+id+at+"external_weights_urls", &list)
	if got := fetchURL(t, r, list.URLs[name]); string(got) != text {
		t.Errorf("by its own address: %q", got)
	}
	var archive wire.ArchiveURL
	r.get("/training_runs/"+id+at+"archive", &archive)
	found := members(t, fetchURL(t, r, archive.URL))
	if string(found[name]) != text || len(found) != 5 {
		t.Errorf("in the archive: %q of %d files", found[name], len(found))
	}
}
