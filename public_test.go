package trinity

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// promised are the names that docs/reference/compatibility.md promises to programs with parts of their own, beside all
// names that these mention: in the types of parameters, results and exported fields, and as methods. `go test . -run
// Promised -update` writes the whole list to docs/reference/promised.txt.
var promised = []string{
	// load a configuration and run it with one's own parts
	"config.Load config.Names",
	"run.Run run.Options run.ErrInterrupted",
	"rl/tool.Stage",
	// write an environment
	"rl/env.Env rl/env.Wrap rl/env.Wrapper rl/env.NewHistory rl/env.NewRegistry",
	"rl/env/envtest.Run rl/env/game.Registry",
	// write a workflow, a reward, an advantage, a loss, an operator, a selector
	"rl/workflow.Workflow rl/workflow.Preparer rl/workflow.Simple",
	"rl/experience.Turn rl/experience.Group rl/experience.GroupBy",
	"rl/reward.Funcs rl/reward.Math",
	"rl/algorithm.PolicyLosses rl/algorithm.Advantages",
	"rl/pipeline.Drop rl/pipeline.Operator rl/dataset.ErrEnd",
	"hf/tokenizer.Load hf/chat.Template hf/hub.New",
	// train and sample without a configuration; bring a service
	"tinker/tinkertest.Run",
	"tinker.Service tinker.NewFuture tinker.CustomLoss",
	"tinker.DefaultSampling tinker.DefaultAdam tinker.DefaultDimuon tinker.AdamW tinker.Dimuon",
	"tinker.Ints tinker.Floats tinker.Text",
	"tinker.CrossEntropy tinker.ImportanceSampling tinker.PPO tinker.CISPO tinker.DRO",
	"tinker.StopStop tinker.StopLength",
	"tinker.ErrBusy tinker.ErrClosed tinker.ErrExists tinker.ErrLost tinker.ErrNotFound tinker.ErrUnloaded",
	"tinker.Userf tinker.Serverf tinker.CategoryOf tinker.User tinker.Server",
}

var update = flag.Bool("update", false, "write llms.txt and docs/reference/promised.txt anew")

// mostPromised is the most names that may be promised.
const mostPromised = 350

// TestPromised holds the list of promised names, refuses those that name a type which another module cannot name, and
// checks that the example of a program needs no others.
func TestPromised(t *testing.T) {
	p := &promises{t: t, packages: map[string]*goPackage{}, names: map[string]bool{}}
	for _, line := range promised {
		for _, name := range strings.Fields(line) {
			pkg, id, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
			p.visit(path.Join(path.Dir(name), pkg), id)
		}
	}
	names := slices.Sorted(maps.Keys(p.names))
	if len(names) > mostPromised {
		t.Errorf("%d names are promised, and at most %d may be", len(names), mostPromised)
	}
	const file = "docs/reference/promised.txt"
	text := strings.Join(names, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(file); err != nil || string(was) != text {
		t.Errorf("%s is not the list of promised names; see docs/reference/compatibility.md, and use -update: %v", file,
			err)
	}
	for name, where := range uses(t, p.load("examples/plugin")) {
		if !p.names[name] {
			t.Errorf("%s: examples/plugin needs %s, which is not promised", where, name)
		}
	}
}

// promises gathers names.
type promises struct {
	t        *testing.T
	packages map[string]*goPackage
	names    map[string]bool
	seen     map[string]bool
}

// goPackage is what the top level of a package declares.
type goPackage struct {
	path    string
	decls   map[string]declared
	methods map[string][]declared // by type
}

type declared struct {
	name string
	node ast.Node // the type that is mentioned; nil: none is
	file *ast.File

	alias bool
}

// visit adds a name with all that it mentions. Names that are not exported lead to others only.
func (p *promises) visit(pkg, name string) {
	full := pkg + "." + name
	if p.seen[full] {
		return
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[full] = true
	if full == "run/internal/job.Tests" {
		return // a field for tests of this module
	}
	alias := strings.HasPrefix(full, "run/internal/job.") // run.Options and its parts are aliases
	if strings.Contains("/"+pkg+"/", "/internal/") && !alias {
		p.t.Errorf("%s is mentioned by a promised name, and another module cannot name it", full)
	}
	g := p.load(pkg)
	d, ok := g.decls[name]
	if !ok {
		p.t.Errorf("there is no %s", full)
		return
	}
	if alias {
		full = "run." + name
	}
	if ast.IsExported(name) {
		p.names[full] = true
	}
	if of := p.aliased(d); of != nil { // of an internal type, which the alias makes a public one
		g, d, name = of, of.decls[d.node.(*ast.SelectorExpr).Sel.Name], d.node.(*ast.SelectorExpr).Sel.Name
	}
	p.mention(g, d)
	for _, m := range g.methods[name] {
		if ast.IsExported(name) {
			p.names[full+"."+m.name] = true
		}
		p.mention(g, m)
	}
}

// aliased is the internal package whose type a declaration is an alias of; nil: it is none.
func (p *promises) aliased(d declared) *goPackage {
	sel, ok := d.node.(*ast.SelectorExpr)
	if !ok || !d.alias {
		return nil
	}
	imp, ours := strings.CutPrefix(importOf(d.file, sel.X.(*ast.Ident).Name), module)
	if !ours || !strings.Contains("/"+imp+"/", "/internal/") {
		return nil
	}
	return p.load(imp)
}

// mention visits the names that a type mentions. Fields that are not exported do not count.
func (p *promises) mention(g *goPackage, d declared) {
	if d.node == nil {
		return
	}
	ast.Inspect(d.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
					p.mention(g, declared{node: f.Type, file: d.file})
				}
			}
			return false
		case *ast.Field: // its name is no type
			p.mention(g, declared{node: n.Type, file: d.file})
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if imp, ours := strings.CutPrefix(importOf(d.file, x.Name), module); ours {
					p.visit(imp, n.Sel.Name)
				}
			}
			return false
		case *ast.Ident:
			if _, ok := g.decls[n.Name]; ok {
				p.visit(g.path, n.Name)
			}
		}
		return true
	})
}

// load reads the declarations of a package.
func (p *promises) load(pkg string) *goPackage {
	if g := p.packages[pkg]; g != nil {
		return g
	}
	g := &goPackage{path: pkg, decls: map[string]declared{}, methods: map[string][]declared{}}
	p.packages[pkg] = g
	files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	if err != nil || len(files) == 0 {
		p.t.Fatalf("package %s: %d files, %v", pkg, len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f := parse(p.t, file)
		for _, decl := range f.Decls {
			g.add(f, decl)
		}
	}
	return g
}

func (g *goPackage) add(f *ast.File, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			g.decls[d.Name.Name] = declared{name: d.Name.Name, node: d.Type, file: f}
		} else if of := receiver(d.Recv); d.Name.IsExported() {
			g.methods[of] = append(g.methods[of], declared{name: d.Name.Name, node: d.Type, file: f})
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				g.decls[s.Name.Name] = declared{s.Name.Name, s.Type, f, s.Assign.IsValid()}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					g.decls[name.Name] = declared{name: name.Name, file: f}
					if s.Type != nil {
						g.decls[name.Name] = declared{name: name.Name, node: s.Type, file: f}
					}
				}
			}
		}
	}
}

// receiver is the name of a method's type.
func receiver(recv *ast.FieldList) (name string) {
	ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// uses are the names of this module that a package's functions and types mention, each with a file that does.
func uses(t *testing.T, g *goPackage) map[string]string {
	t.Helper()
	found := map[string]string{}
	files, err := filepath.Glob(filepath.Join(g.path, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f := parse(t, file)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && !strings.HasSuffix(file, "_test.go") {
					if imp, ours := strings.CutPrefix(importOf(f, x.Name), module); ours {
						found[imp+"."+s.Sel.Name] = file
					}
				}
			}
			return true
		})
	}
	return found
}

// importOf is the package that a file knows by a name, "" if there is none.
func importOf(f *ast.File, name string) string {
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		known := path.Base(imp)
		if spec.Name != nil {
			known = spec.Name.Name
		}
		if known == name {
			return imp
		}
	}
	return ""
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
