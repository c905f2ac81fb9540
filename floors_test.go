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

// floors is the drawing: a package imports only from floors below its own, except for the pairs in neighbours.
var floors = []string{
	"tinker tinker/wire rng rng/python tokenizer jinja safetensors loss reward hub hub/hubtest internal/kernel internal/elementary internal/disk internal/wal internal/logfile internal/spell internal/web internal/pattern internal/sbom",
	"experience chat dataset nn tinker/client tinker/server tinker/load tinker/tinkertest",
	"env buffer pipeline recipe monitor plot synchronizer algorithm optim model",
	"env/envtest env/game engine engine/cache journal workflow",
	"explorer trainer gem proxy",
	"config",
	"run examples/tiny examples/tiny/gen",
	"cmd/trinity",
}

// neighbours are the imports within a floor, each with its reason.
var neighbours = map[string]string{
	"plot monitor":                        "curves are drawn from metrics.jsonl",
	"engine engine/cache":                 "the engine's own part",
	"tinker/wire tinker":                  "the seam's types on the wire",
	"loss tinker":                         "losses read tensors by the seam's names",
	"safetensors internal/disk":           "files are replaced whole",
	"internal/wal internal/disk":          "the log's file operations",
	"tokenizer internal/disk":             "files of strangers are read up to a limit",
	"loss internal/elementary":            "exponentials with the same bits everywhere",
	"internal/kernel internal/elementary": "logarithms with the same bits everywhere",
	"tokenizer internal/pattern":          "split patterns of any file, in linear time",
	"reward internal/pattern":             "answers' LaTeX is tidied in linear time",
	"hub internal/disk":                   "the cache must survive a kill",
}

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
	return strings.HasSuffix(pkg, "/gen") || strings.HasPrefix(pkg, "internal/kernel/gen") || strings.HasPrefix(pkg, "bench")
}

// TestLoopsKnowOnlyTheSeam: whatever serves the API, the loops cannot tell.
func TestLoopsKnowOnlyTheSeam(t *testing.T) {
	walkGo(t, func(path string) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || pkg != "explorer" && pkg != "trainer" && pkg != "gem" && pkg != "workflow" {
			return
		}
		for _, imp := range allImports(t, path) {
			if strings.HasPrefix(imp, module+"engine") || strings.HasPrefix(imp, module+"journal") || imp == "net/http" {
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
		case d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".") || path != "." && exists(path+"/go.mod")):
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

// exists tells modules of their own, which are other programs.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
