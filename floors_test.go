package trinity

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/seed-d9ad8ee0/trinity/"

// rooms are the folders at the root. What follows a colon are the rooms whose packages one may import.
var rooms = []string{
	"internal:",
	"hf: internal",
	"tinker: hf internal",
	"monitor: hf internal",
	"studio: monitor hf internal",
	"config: internal",
	"rl: tinker hf internal",
	"engine: tinker hf internal",
	"loop: rl tinker hf monitor internal",
	"run: config loop engine rl tinker hf monitor studio internal",
	"examples: run config loop rl tinker hf monitor internal",
	"bench: run config loop engine rl tinker hf monitor studio examples internal",
	"cmd: run config loop engine rl tinker hf monitor studio examples internal",
	"docs:",
}

// floors are the packages: one imports only from floors below its own, except for the pairs in neighbours.
var floors = []string{
	"internal/foreign internal/charclass internal/float16 internal/moment internal/machine internal/pause " +
		"internal/recipe hf/gguf/internal/layout config/internal/document",
	"tinker internal/rng internal/rng/python internal/elementary internal/disk internal/numbered internal/logfile " +
		"internal/spell internal/web internal/pattern internal/sandbox internal/process " +
		"internal/bound internal/zmtp internal/sqlite hf/gguf engine/fleet/internal/message " +
		"engine/fleet/internal/schedule",
	"internal/arg internal/msgpack internal/wal internal/pickle internal/disk/disktest monitor/rollout " +
		"studio/web tinker/wire hf/tokenizer hf/jinja hf/safetensors hf/hub " +
		"rl/env/openenv/openenvtest hf/hub/hubtest hf/gguf/gguftest engine/internal/kernel engine/internal/loss " +
		"engine/internal/lifetime engine/internal/fair engine/internal/forest " +
		"engine/executor engine/fleet/internal/access engine/fleet/internal/blob " +
		"tinker/endpoint/internal/param tinker/server/internal/life",
	"rl/reward/internal/tex internal/trxp",
	"rl/reward/internal/expression rl/reward/internal/dapo",
	"rl/reward/internal/extract",
	"tinker/client tinker/load tinker/tinkertest hf/chat hf/gguf/modeldir " +
		"tinker/endpoint/internal/event tinker/endpoint/internal/translate tinker/endpoint/internal/grammar " +
		"tinker/server/internal/edge tinker/server/internal/state tinker/server/internal/ticket " +
		"rl/experience rl/reward rl/python engine/internal/nn " +
		"engine/fleet/internal/broker monitor studio/curve studio/source",
	"tinker/endpoint/internal/speech tinker/server/internal/basemodel tinker/server/internal/capacity " +
		"tinker/server/internal/checkpoint tinker/server/internal/stats " +
		"hf/modelname hf/gguf/modelfile rl/dataset rl/env rl/algorithm loop/synchronizer monitor/plot " +
		"monitor/tensorboard monitor/wandb monitor/mlflow monitor/trackio monitor/monitortest monitor/perf " +
		"rl/python/pythontest " +
		"studio engine/internal/optim engine/internal/cache engine/internal/model " +
		"engine/fleet",
	"rl/pipeline engine/internal/checkpoint engine/internal/queue engine/internal/merge",
	"engine/internal/weights",
	"engine/internal/compute engine/internal/sampler",
	"engine/internal/spread engine/internal/local",
	"engine/internal/training",
	"tinker/endpoint tinker/server/internal/future tinker/server/internal/session " +
		"rl/supervised monitor/console rl/taskprep rl/env/envtest rl/env/game rl/env/replay " +
		"rl/workflow engine engine/enginetest engine/journal engine/measure engine/dispatch " +
		"engine/fleet/simulate monitor/sink",
	"tinker/server/internal/sampling tinker/server/internal/training rl/outside rl/env/pythonenv rl/env/selfdriven",
	"loop/buffer rl/plugin rl/agent rl/verifiers rl/env/openenv rl/tool engine/worker engine/fake " +
		"engine/dispatch/dispatchtest",
	"tinker/server/internal/endpoints loop/explorer loop/trainer loop/proxy",
	"tinker/server loop/record loop/gem run/budget",
	"config",
	"run/internal/jobdir",
	"run/internal/job",
	"run/internal/plan run/internal/service run/internal/prepare",
	"run/internal/data",
	"run/internal/inspect",
	"run examples/tiny examples/tiny/gen",
	"run/catalog run/speaker",
	"cmd/trinity/internal/cmdline cmd/trinity/internal/ownserver cmd/trinity/internal/talk cmd/trinity/internal/play " +
		"cmd/trinity/internal/diagnosis cmd/trinity/internal/ownmodel cmd/trinity/internal/connect " +
		"cmd/trinity/internal/card",
	"cmd/trinity cmd/sbom cmd/release",
}

// neighbours are the imports within a floor, each with its reason.
var neighbours = map[string]string{}

// TestRooms holds the folders at the root and who imports whom among them.
func TestRooms(t *testing.T) {
	may := map[string]map[string]bool{}
	for _, line := range rooms {
		room, others, _ := strings.Cut(line, ":")
		may[room] = map[string]bool{room: true}
		for _, o := range strings.Fields(others) {
			may[room][o] = true
		}
	}
	ignored, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".") || strings.Contains("\n"+string(ignored), "\n/"+e.Name()+"/")
		if e.IsDir() && !hidden && may[e.Name()] == nil {
			t.Errorf("folder %s is no room; put it into one, see rooms here and in ARCHITECTURE.md", e.Name())
		}
	}
	walkGo(t, func(path string) {
		from, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		for _, imp := range imports(t, path) {
			if to, _, _ := strings.Cut(imp, "/"); !strings.HasSuffix(path, "_test.go") && !may[from][to] {
				t.Errorf("%s imports %s: room %s may not know room %s", path, imp, from, to)
			}
		}
	})
}

// TestFloors holds the packages.
func TestFloors(t *testing.T) {
	level := map[string]int{}
	for i, line := range floors {
		for _, p := range strings.Fields(line) {
			level[p] = i
		}
	}
	seen := map[string]bool{}
	walkGo(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		at, ok := level[pkg]
		if !ok {
			if !seen[pkg] && !isGenerator(pkg) {
				t.Errorf("package %s stands on no floor; add it to the drawing here and in ARCHITECTURE.md", pkg)
			}
			seen[pkg] = true
			return
		}
		for _, imp := range imports(t, path) {
			below, ok := level[imp]
			switch {
			case !ok:
				t.Errorf("%s imports %s, which stands on no floor", path, imp)
			case below > at || below == at && neighbours[pkg+" "+imp] == "":
				t.Errorf("%s (floor %d) imports %s (floor %d); imports go down only", path, at, imp, below)
			}
		}
	})
}

// isGenerator reports programs that write files of the project and are imported by nobody.
func isGenerator(pkg string) bool {
	return strings.HasSuffix(pkg, "/gen") || strings.HasPrefix(pkg, "bench")
}

// TestLoopsKnowOnlyTheSeam: whatever serves the API, the loops cannot tell.
func TestLoopsKnowOnlyTheSeam(t *testing.T) {
	walkGo(t, func(path string) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		loop := strings.HasPrefix(pkg, "loop/") && pkg != "loop/proxy" || pkg == "rl/workflow"
		if strings.HasSuffix(path, "_test.go") || !loop {
			return
		}
		for _, imp := range allImports(t, path) {
			if strings.HasPrefix(imp, module+"engine") || imp == "net/http" {
				t.Errorf("%s imports %s: loops speak package tinker only", path, imp)
			}
		}
	})
}

func TestPackageComments(t *testing.T) {
	has := map[string]bool{}
	walkGo(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		has[filepath.Dir(path)] = has[filepath.Dir(path)] || f.Doc != nil
	})
	for pkg, ok := range has {
		if !ok {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

func walkGo(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && other(path):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go") && filepath.Dir(path) != ".":
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// imports lists the packages of the project that a file imports.
func imports(t *testing.T, path string) []string {
	var own []string
	for _, imp := range allImports(t, path) {
		if p, ok := strings.CutPrefix(imp, module); ok {
			own = append(own, p)
		}
	}
	return own
}

func allImports(t *testing.T, path string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, imp)
	}
	return all
}

// other reports folders without code of this module: test data, hidden folders, and other modules.
func other(path string) bool {
	name := filepath.Base(path)
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return name == "testdata" || strings.HasPrefix(name, ".") || err == nil
}
