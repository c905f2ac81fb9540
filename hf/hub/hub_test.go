package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// noise is n bytes that repeat nowhere.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// llama is a model repository as they are: weights in two formats, shards with an index, things that are not needed.
func llama() hubtest.Repo {
	return hubtest.Repo{Files: map[string][]byte{
		"config.json":           []byte(`{"architectures":["LlamaForCausalLM"]}`),
		"tokenizer.json":        noise(5000),
		"tokenizer_config.json": []byte(`{}`),
		"chat_template.jinja":   []byte(`{{ bos_token }}`),
		"model.safetensors.index.json": []byte(
			`{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`),
		"model-00001-of-00002.safetensors": noise(100_000),
		"model-00002-of-00002.safetensors": noise(70_001),
		"consolidated.safetensors":         noise(3000),
		"pytorch_model.bin":                noise(3001),
		"pytorch_model.bin.index.json":     []byte(`{}`),
		"original/params.json":             []byte(`{}`),
		"empty.txt":                        {},
		"README.md":                        []byte("# a model"),
		"generation_config.json":           []byte(`{"a":1}`),
		"special_tokens_map.json":          []byte(`{"a":1}`), // the same content, so the same blob
	}}
}

const llamaName = "meta-llama/Llama-3.2-3B"

var wanted = []string{"chat_template.jinja", "config.json", "empty.txt", "generation_config.json",
	"model-00001-of-00002.safetensors",
	"model-00002-of-00002.safetensors", "model.safetensors.index.json", "special_tokens_map.json", "tokenizer.json",
	"tokenizer_config.json"}

func server(t testing.TB, r hubtest.Repo) *hubtest.Server {
	return hubtest.New(t, map[string]hubtest.Repo{"models/" + llamaName: r})
}

func client(t testing.TB, s *hubtest.Server, change ...func(*Options)) *Hub {
	o := Options{Cache: t.TempDir(), Endpoint: s.URL, PartSize: 16 << 10, Pause: time.Millisecond,
		fs: disktest.Held{FS: disk.OS()}}
	for _, f := range change {
		f(&o)
	}
	return New(o)
}

// holds compares a folder with the files of a repository.
func holds(t testing.TB, dir string, repo hubtest.Repo, names []string) {
	t.Helper()
	l, err := listFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(l.Names, names) {
		t.Errorf("the folder has %q, want %q", l.Names, names)
	}
	for _, n := range names {
		if got, err := os.ReadFile(filepath.Join(dir, n)); err != nil || !bytes.Equal(got, repo.Files[n]) {
			t.Errorf("%s: %d bytes, %v, want %d bytes", n, len(got), err, len(repo.Files[n]))
		}
	}
}

func TestModel(t *testing.T) {
	repo := llama()
	s := server(t, repo)
	var last Progress
	h := client(t, s, func(o *Options) { o.Progress = func(p Progress) { last = p } })
	dir, err := h.Model(context.Background(), llamaName)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(h.Cache, "models--meta-llama--Llama-3.2-3B", "snapshots", repo.Commit()); dir != want {
		t.Errorf("folder %s, want %s", dir, want)
	}
	holds(t, dir, repo, wanted)
	if last.Name != llamaName || last.Files != len(wanted) || last.Done != last.Bytes || last.Bytes < 175_000 {
		t.Errorf("the last progress was %+v", last)
	}
	// The layout is Python's: blobs named by ETag, links to them, the commit in refs/main, nothing else.
	root := filepath.Join(h.Cache, "models--meta-llama--Llama-3.2-3B")
	if ref, _ := os.ReadFile(filepath.Join(root, "refs", "main")); string(ref) != repo.Commit() {
		t.Errorf("refs/main is %q", ref)
	}
	if to, err := os.Readlink(filepath.Join(dir, "config.json")); err != nil || to != "../../blobs/"+
		hubtest.ETag(repo.Files["config.json"]) {
		t.Errorf("config.json leads to %q, %v", to, err)
	}
	blobs, err := os.ReadDir(filepath.Join(root, "blobs"))
	if err != nil || len(blobs) != len(wanted)-1 {
		t.Errorf("%d blobs, %v; want one for each content", len(blobs), err)
	}
	// The second time nothing is asked.
	before := len(s.Requests())
	if again, err := h.Model(context.Background(), llamaName); err != nil || again != dir {
		t.Errorf("again: %s, %v", again, err)
	}
	if n := len(s.Requests()) - before; n != 0 {
		t.Errorf("%d requests for what is in the cache", n)
	}
}

func TestRevision(t *testing.T) {
	repo := llama()
	h := client(t, server(t, repo))
	byCommit, err := h.Model(context.Background(), llamaName+"@"+repo.Commit())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(h.Cache, "models--meta-llama--Llama-3.2-3B", "refs")); err == nil {
		t.Error("a commit needs no ref")
	}
	if dir, err := h.Model(context.Background(), llamaName); err != nil || dir != byCommit {
		t.Errorf("main: %s, %v, want %s", dir, err, byCommit)
	}
}

func TestDataset(t *testing.T) {
	repo := hubtest.Repo{Files: map[string][]byte{"README.md": []byte("x"), "main/train-00000-of-00001.parquet": noise(
		40_000), "main/test-00000-of-00001.parquet": noise(20_000), "a b/ü.json": []byte("{}")}}
	s := hubtest.New(t, map[string]hubtest.Repo{"datasets/openai/gsm8k": repo})
	h := client(t, s)
	pick := func(names ...string) Choose {
		return func(_ context.Context, l Listing) ([]string, error) {
			for _, n := range names {
				if !slices.Contains(l.Names, n) {
					return nil, errors.New("no " + n)
				}
			}
			return names, nil
		}
	}
	dir, err := h.Dataset(context.Background(), "openai/gsm8k", pick("main/train-00000-of-00001.parquet", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, repo, []string{"README.md", "main/train-00000-of-00001.parquet"})
	if _, err = h.Dataset(context.Background(), "openai/gsm8k", pick("main/test-00000-of-00001.parquet",
		"a b/ü.json")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, repo, []string{"README.md", "a b/ü.json", "main/test-00000-of-00001.parquet",
		"main/train-00000-of-00001.parquet"})
	if _, err = h.Dataset(context.Background(), "openai/gsm8k", pick("other")); err == nil ||
		!strings.Contains(err.Error(), "no other") {
		t.Errorf("a file that is nowhere: %v", err)
	}
}

// A file that is read to choose the others is refused by its size, before it is fetched and in the cache.
func TestReadIsBounded(t *testing.T) {
	repo := hubtest.Repo{Files: map[string][]byte{"README.md": noise(40_000)}}
	s := hubtest.New(t, map[string]hubtest.Repo{"datasets/a/b": repo})
	read := func(ctx context.Context, l Listing) ([]string, error) {
		_, err := l.Read(ctx, "README.md")
		return l.Names, err
	}
	h := client(t, s)
	tell := *h.Client
	tell.Transport = huge{}
	h.Client = &tell
	_, err := h.Dataset(context.Background(), "a/b", read)
	if err == nil || !strings.Contains(err.Error(), "README.md has 536870913 bytes, and the limit") {
		t.Errorf("a huge file: %v", err)
	}
	for _, r := range s.Requests() {
		if strings.HasPrefix(r, http.MethodGet) && strings.Contains(r, "README.md") {
			t.Errorf("it was fetched: %s", r)
		}
	}
	h = client(t, s)
	dir, err := h.Dataset(context.Background(), "a/b", read)
	if err == nil {
		err = os.Truncate(filepath.Join(dir, "README.md"), disk.BigFile+1)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.Offline = true
	if _, err := h.Dataset(context.Background(), "a/b", read); err == nil ||
		!strings.Contains(err.Error(), "README.md has more than 536870912 bytes") {
		t.Errorf("a huge file in the cache: %v", err)
	}
}

// The hub's list of files is bounded, and its errors are short.
func TestListingIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		`{"siblings":[` + strings.Repeat("{},", 1<<19) + "{}]}": "a message of more than 4194304 values",
		strings.Repeat(" ", mostListing+1):                      "a message of more than 64 MiB",
	} {
		if _, err := parseRevision(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

// huge says of large files that they are larger.
type huge struct{}

func (huge) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && resp.Header.Get("X-Linked-Size") != "" {
		resp.Header.Set("X-Linked-Size", strconv.Itoa(disk.BigFile+1))
	}
	return resp, err
}

// Each refusal says what happened and what to do.
func TestRefusals(t *testing.T) {
	gated, private := llama(), llama()
	gated.Gated, private.Private = true, true
	bare := hubtest.Repo{Files: map[string][]byte{"config.json": []byte("{}"), "pytorch_model.bin": noise(2000)}}
	mute := llama()
	delete(mute.Files, "tokenizer.json")
	s := hubtest.New(t, map[string]hubtest.Repo{"models/a/gated": gated, "models/a/private": private,
		"models/a/bin": bare, "models/a/b": llama(), "models/a/mute": mute})
	refuse := func(o *Options) {
		o.Check = func(c []byte) error { return fmt.Errorf("refused with %d bytes", len(c)) }
	}
	for _, tt := range []struct {
		name  string
		model string
		set   func(*Options)
		want  []string
	}{
		{"gated", "a/gated", nil, []string{"model a/gated is gated", s.URL + "/a/gated", "accept its terms",
			"HF_TOKEN"}},
		{"gated, a token without access", "a/gated", func(o *Options) { o.Token = "hf_other" },
			[]string{"is gated", "no access", "accept its terms"}},
		{"private or missing", "a/private", nil, []string{"no model a/private", "check the name",
			"set HF_TOKEN if it is private"}},
		{"missing", "a/nothing", func(o *Options) { o.Token = hubtest.Token },
			[]string{"no model a/nothing", "may have no access"}},
		{"no such revision", "a/b@v9", nil, []string{`no revision "v9"`, "/tree/main"}},
		{"weights of another format", "a/bin", nil, []string{"neither model.safetensors", "converted"}},
		{"no tokenizer", "a/mute", nil, []string{"there is no tokenizer.json", "choose a repository"}},
		{"refused by the check", "a/b", refuse, []string{"model a/b at", "refused with 38 bytes"}},
		{"offline", "a/b", func(o *Options) { o.Offline = true },
			[]string{"HF_HUB_OFFLINE is set", "model a/b is not in it", "models--a--b", "unset"}},
		{"unreachable", "a/b", func(o *Options) { o.Endpoint = "http://127.0.0.1:1" },
			[]string{"cannot reach http://127.0.0.1:1", "HF_ENDPOINT", "is not in it"}},
		{"no name", "../x", nil, []string{`"../x" is not a name`}},
		{"no revision", "a/b@../x", nil, []string{"is not a revision"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := client(t, s)
			if tt.set != nil {
				h = client(t, s, tt.set)
			}
			_, err := h.Model(context.Background(), tt.model)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the message lacks %q:\n%v", w, err)
				}
			}
		})
	}
	for _, r := range s.Requests() {
		if strings.HasPrefix(r, http.MethodGet) && strings.Contains(r, "00001-of-00002") {
			t.Errorf("weights of a refused model were fetched: %s", r)
		}
	}
	if dir, err := client(t, s).Weights(context.Background(), "a/mute"); err != nil {
		t.Errorf("weights without a tokenizer: %v", err)
	} else if _, err := os.Stat(filepath.Join(dir, "model-00001-of-00002.safetensors")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a/gated", "a/private"} {
		h := client(t, s, func(o *Options) { o.Token = hubtest.Token })
		if _, err := h.Model(context.Background(), name); err != nil {
			t.Errorf("%s with the right token: %v", name, err)
		}
	}
}

// Connections break, addresses expire, servers are busy: the download resumes where it was. Every stretch of bytes is
// spoilt the first time that it is asked for.
func TestUnreliableServer(t *testing.T) {
	repo := llama()
	for name, spoil := range map[string]func(w http.ResponseWriter, content []byte){
		"breaks after a while": brokenOff,
		"busy":                 func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusServiceUnavailable) },
		"addresses expire":     func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusForbidden) },
		"knows no ranges":      func(w http.ResponseWriter, content []byte) { w.Write(content) },
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, repo)
			var seen sync.Map
			s.Spoil = func(w http.ResponseWriter, r *http.Request, file string, content []byte) bool {
				if _, again := seen.LoadOrStore(file+r.Header.Get("Range"), true); again {
					return false
				}
				spoil(w, content)
				return true
			}
			dir, err := client(t, s, func(o *Options) { o.Parallel = 2 }).Model(context.Background(), llamaName)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, dir, repo, wanted)
		})
	}
}

// brokenOff promises all of content and sends a few bytes of it, as if from its start.
func brokenOff(w http.ResponseWriter, content []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content[:len(content)/3])
}

// A download that was interrupted resumes with the parts that are missing.
func TestResume(t *testing.T) {
	repo := llama()
	s := server(t, repo)
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	h := client(t, s, func(o *Options) {
		o.Parallel = 1
		o.Progress = func(p Progress) {
			if p.Done > p.Bytes/2 {
				once.Do(cancel)
			}
		}
	})
	if _, err := h.Model(ctx, llamaName); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first time: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.Cache, "models--meta-llama--Llama-3.2-3B", "snapshots")); err == nil {
		t.Error("an unfinished download has a snapshot")
	}
	parts := func() (n int) {
		for _, r := range s.Requests() {
			if strings.HasPrefix(r, "GET") && strings.Contains(r, "00001-of-00002") || strings.Contains(r, "GET") &&
				strings.Contains(r, "00002-of-00002") {
				n++
			}
		}
		return n
	}
	before := parts()
	dir, err := h.Model(context.Background(), llamaName)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, repo, wanted)
	if all, most := parts(), 12+1; before == 0 || all > most { // 12 parts, and one that was under way
		t.Errorf("%d requests for parts, then %d in all; want at most %d", before, all, most)
	}
}

// Wrong bytes never get a name in the cache, and parts that went bad on the disk are fetched again.
func TestChecksum(t *testing.T) {
	repo := llama()
	s := server(t, repo)
	var mended atomic.Bool
	s.Spoil = func(w http.ResponseWriter, _ *http.Request, name string, content []byte) bool {
		if name != "config.json" || mended.Load() {
			return false
		}
		w.Write(bytes.ToUpper(content))
		return true
	}
	h := client(t, s)
	_, err := h.Model(context.Background(), llamaName)
	if err == nil || !strings.Contains(err.Error(), "config.json came with checksum") {
		t.Fatalf("wrong bytes: %v", err)
	}
	mended.Store(true)
	large := h.blob(repo0(), hubtest.ETag(repo.Files["model-00001-of-00002.safetensors"]))
	if err := errors.Join(os.Remove(large), os.WriteFile(large+".trinity", make([]byte, 100_000), 0o644),
		os.WriteFile(large+".trinity.json", []byte(`{"size":100000,"part_size":16384,"done":[0,3]}`),
			0o644)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	dir, err := h.Model(context.Background(), llamaName)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, repo, wanted)
}

func repo0() repo { return repo{models, llamaName, "main"} }

// Stopped at any operation, a fetch leaves no model or a whole one; the next fetch ends with the whole model, which a
// power loss does not take.
func TestSurvivesEveryKill(t *testing.T) {
	repo := llama()
	repo.Files["model-00001-of-00002.safetensors"] = noise(1000)
	repo.Files["model-00002-of-00002.safetensors"] = noise(701)
	s := server(t, repo)
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		t.Parallel()
		cache, fetched := filepath.Join(work, "cache", "hub"), false
		job := func(fs disk.FS) error {
			c := client(t, s, func(o *Options) { // few parts, so few operations
				o.fs, o.Cache, o.Parallel, o.PartSize, o.Offline = fs, cache, 1, 640, fetched
			})
			_, lacks := c.cached(t.Context(), repo0(), c.chooseModel)
			dir, err := c.Model(t.Context(), llamaName)
			if err == nil {
				holds(t, dir, repo, wanted)
				fetched = fetched || lacks != nil // what a killed process fetched was not promised
			}
			return err
		}
		return job, func() {}
	})
}

// Two programs that fetch one model into one cache do not harm each other.
func TestTwoAtOnce(t *testing.T) {
	repo := llama()
	s := server(t, repo)
	cache := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			dir, err := client(t, s, func(o *Options) { o.Cache = cache }).Model(context.Background(), llamaName)
			if err != nil {
				t.Error(err)
				return
			}
			holds(t, dir, repo, wanted)
		})
	}
	wg.Wait()
}
