package trinity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// public are the rooms whose packages other programs build on. Packages below a folder internal are not public, and
// neither is the engine: programs use it through the interfaces of package tinker, or run the binary.
var public = []string{"config", "hf", "monitor", "rl", "run", "tinker"}

// exposed are the places that name a type of an internal package nevertheless, each with its reason.
var exposed = map[string]string{
	"monitor/OpenOn": "run puts the file system of crash tests in",
}

// TestPublicTypes refuses exported declarations that name a type which another module cannot name.
func TestPublicTypes(t *testing.T) {
	walkGo(t, func(file string) {
		room, _, _ := strings.Cut(filepath.ToSlash(file), "/")
		internal := strings.Contains(filepath.ToSlash(file), "/internal/") ||
			strings.HasPrefix(filepath.ToSlash(file), "tinker/server/") || // compatibility.md does not promise these
			strings.HasPrefix(filepath.ToSlash(file), "tinker/endpoint/")
		if strings.HasSuffix(file, "_test.go") || internal || !slices.Contains(public, room) {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		hidden := hiddenImports(t, f)
		if f.Name.Name == "main" || len(hidden) == 0 {
			return
		}
		for _, decl := range f.Decls {
			for _, name := range exposes(decl, hidden) {
				if place := path.Join(filepath.ToSlash(filepath.Dir(file)), name); exposed[place] == "" {
					t.Errorf("%s: %s is exported and names a type of an internal package", file, name)
				}
			}
		}
	})
}

// hiddenImports are the names under which a file knows internal packages.
func hiddenImports(t *testing.T, f *ast.File) map[string]bool {
	hidden := map[string]bool{}
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(imp, "/internal/") {
			continue
		}
		name := path.Base(imp)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		hidden[name] = true
	}
	return hidden
}

// exposes names the exported things of a declaration whose types mention a hidden package.
func exposes(decl ast.Decl, hidden map[string]bool) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverIsExported(d.Recv)) && mentions(d.Type, hidden) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && mentions(s.Type, hidden) {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Type != nil && mentions(s.Type, hidden) {
					names = append(names, s.Names[0].Name)
				}
			}
		}
	}
	return names
}

func receiverIsExported(recv *ast.FieldList) bool {
	exported := false
	ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = exported || id.IsExported()
		}
		return true
	})
	return exported
}

// mentions reports whether a type names a hidden package, fields and methods that are not exported aside.
func mentions(x ast.Node, hidden map[string]bool) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if len(n.Names) > 0 && !anyExported(n.Names) && isMember(x, n) {
				return false
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && hidden[id.Name] {
				found = true
			}
		}
		return !found
	})
	return found
}

// isMember reports whether a field belongs to a struct or an interface, not to a function's parameters.
func isMember(x ast.Node, field *ast.Field) bool {
	member := false
	ast.Inspect(x, func(n ast.Node) bool {
		var list *ast.FieldList
		switch n := n.(type) {
		case *ast.StructType:
			list = n.Fields
		case *ast.InterfaceType:
			list = n.Methods
		}
		if list != nil && slices.Contains(list.List, field) {
			member = true
		}
		return !member
	})
	return member
}

func anyExported(names []*ast.Ident) bool {
	for _, n := range names {
		if n.IsExported() {
			return true
		}
	}
	return false
}
