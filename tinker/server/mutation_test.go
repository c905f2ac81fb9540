package server

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// mutations is how many damaged data folders are tried, evenly spread over the files.
const mutations = 45

// TestMutations damages one file of a data folder: a bit flips, the end is cut, a piece is missing, the file is gone.
// Either the start or a request names the damage, or every answer is that of an undamaged folder.
func TestMutations(t *testing.T) {
	t.Parallel()
	whole, recorded := mutationFolders(t)
	var files []string // of all folders
	for _, dir := range whole {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("the seed of the damage is %d", seed)
	draw := rand.New(rand.NewPCG(seed, 2))
	type tally struct{ refused, equal int }
	kinds, first := map[string]*tally{}, draw.IntN(len(files))
	for i := range mutations {
		path := files[(first+i*len(files)/mutations)%len(files)]
		kind := strings.NewReplacer(".mark", " (mark)").Replace(kindOf(path))
		if kinds[kind] == nil {
			kinds[kind] = &tally{}
		}
		dir := whole[slices.IndexFunc(whole, func(d string) bool { return strings.HasPrefix(path, d) })]
		scratch := t.TempDir()
		if err := os.CopyFS(scratch, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		what := mutate(t, draw, filepath.Join(scratch, rel))
		switch err := tryFolder(t, scratch, recorded[dir]); {
		case err == nil:
			kinds[kind].equal++
		case named(err, rel):
			kinds[kind].refused++
		default:
			t.Errorf("%s, %s: %v", rel, what, err)
		}
		os.RemoveAll(scratch)
	}
	for _, kind := range slices.Sorted(func(yield func(string) bool) {
		for k := range kinds {
			if !yield(k) {
				return
			}
		}
	}) {
		t.Logf("%-40s %5d refused by name, %5d with equal answers", kind, kinds[kind].refused, kinds[kind].equal)
	}
}

// recordedScript is a client's requests to a folder's server, and their answers.
type recordedScript struct {
	session, model, sampler string
	answers                 []string
}

// mutationFolders makes data folders as a stop and as a kill leave them, with and without snapshots, and records the
// answers to their client.
func mutationFolders(t *testing.T) (dirs []string, recorded map[string]recordedScript) {
	t.Helper()
	recorded = map[string]recordedScript{}
	for _, after := range []time.Duration{time.Hour, 1} {
		for _, killed := range []bool{true, false} {
			power := &disktest.Crash{FS: disk.OS()}
			r := &rig{t: t, modelDir: tinyModel(t), dir: t.TempDir(), fs: power, key: "tml-alice",
				log: journal.Options{SnapshotAfter: after}}
			if err := r.start(); err != nil {
				t.Fatal(err)
			}
			s := &script{r: r}
			var answers []string
			for i := range scriptSteps {
				a, err := s.do(i)
				if err != nil {
					t.Fatal(err)
				}
				answers = append(answers, a)
			}
			other := r.model(r.session(), 0) // an unloaded one
			r.result(r.promise("/unload_model", map[string]any{"model_id": other}))
			snapshots := filepath.Join(r.dir, "journal", "model-*.snap")
			eventually(t, func() string {
				found, _ := filepath.Glob(snapshots)
				return unless(len(found) > 0 || after > 1, "no snapshot")
			})
			if killed {
				power.Now()
			}
			r.stop()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(r.dir)); err != nil {
				t.Fatal(err)
			}
			dirs, recorded[dir] = append(dirs, dir), recordedScript{s.session, s.model, s.sampler, answers}
		}
	}
	return dirs, recorded
}

// kindOf names the kind of a file: its name without the parts that differ between folders.
func kindOf(path string) string {
	name := filepath.Base(path)
	switch {
	case strings.HasSuffix(name, ".snap"), strings.HasSuffix(name, ".gone"):
		return "journal/model-*" + filepath.Ext(name)
	case strings.HasPrefix(name, "log-"):
		return "journal/log-*" + name[len("log-00000000"):]
	case strings.Contains(path, "checkpoints"):
		return "checkpoints/" + name
	}
	return filepath.Base(filepath.Dir(path)) + "/" + name
}

// mutate damages a file and describes the damage.
func mutate(t *testing.T, draw *rand.Rand, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	how, at := draw.IntN(10), 0
	if len(data) > 0 {
		at = draw.IntN(len(data))
	}
	what := ""
	switch {
	case how == 0 || len(data) == 0:
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return "removed"
	case how < 3:
		what, data = fmt.Sprintf("cut at byte %d of %d", at, len(data)), data[:at]
	case how < 5:
		n := min(1+draw.IntN(64), len(data)-at)
		what, data = fmt.Sprintf("without %d bytes at %d", n, at), slices.Delete(data, at, at+n)
	default:
		data[at] ^= 1 << draw.IntN(8)
		what = fmt.Sprintf("a flipped bit in byte %d of %d", at, len(data))
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return what
}

// tryFolder starts a server on a folder and repeats every request. nil means that every answer was equal.
func tryFolder(t *testing.T, dir string, want recordedScript) error {
	t.Helper()
	r := &rig{t: t, modelDir: tinyModel(t), dir: dir, fs: disk.OS(), key: "tml-alice",
		opts: Options{Hold: 2 * time.Second}}
	if err := r.start(); err != nil {
		return err
	}
	defer r.stop()
	s := &script{r: r, session: want.session, model: want.model, sampler: want.sampler}
	for i, answer := range want.answers {
		got, err := s.do(i)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if got != answer {
			return fmt.Errorf("request %d was answered with\n%s, and before the damage with\n%s", i, got, answer)
		}
	}
	again := asample(want.sampler, 1, map[string]any{"sampling_params": map[string]any{"max_tokens": 4, "seed": 3}})
	id, err := s.promise("/asample", again) // with the saved weights
	if err == nil {
		_, err = s.fetch(8, id)
	}
	if errors.Is(err, errDown) {
		return errors.New("a sample was not answered")
	}
	return err
}

// named reports whether an error names the damage.
func named(err error, rel string) bool {
	text := err.Error()
	for _, name := range []string{rel, filepath.Base(strings.TrimSuffix(rel, ".mark")), "damaged",
		"is missing from the data folder", "no longer exists", ": not found"} {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}
