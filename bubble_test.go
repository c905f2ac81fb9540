package trinity

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A folder has the declarations of the test files of one folder, and knows which of them run in bubbles of
// testing/synctest.
type folder struct {
	set       *token.FileSet
	constants map[string]ast.Expr // of all files
	decls     []declaration
	bubbles   []ast.Node      // functions that are run in bubbles
	inside    map[string]bool // the declarations that are used in bubbles only
}

// A declaration is a function, a type, a variable or a constant at the top level.
type declaration struct {
	name, receiver string // of a method, the type
	node           ast.Node
}

func parseFolder(t *testing.T, files map[string]string) *folder {
	t.Helper()
	f := &folder{set: token.NewFileSet(), constants: map[string]ast.Expr{}, inside: map[string]bool{}}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		file, err := parser.ParseFile(f.set, path, files[path], parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f.addConstants(file)
		if strings.HasSuffix(path, "_test.go") {
			f.addDeclarations(file)
		}
	}
	f.findBubbles()
	f.findInside()
	return f
}

func (f *folder) addConstants(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				for i, id := range s.(*ast.ValueSpec).Names {
					if values := s.(*ast.ValueSpec).Values; i < len(values) {
						f.constants[id.Name] = values[i]
					}
				}
			}
		}
		return true
	})
}

func (f *folder) addDeclarations(file *ast.File) {
	add := func(name, receiver string, n ast.Node) {
		f.decls = append(f.decls, declaration{name, receiver, n})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			receiver := ""
			if d.Recv != nil {
				receiver = typeOf(d.Recv.List[0].Type)
			}
			add(d.Name.Name, receiver, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name, "", s)
				case *ast.ValueSpec:
					add(s.Names[0].Name, "", s)
				}
			}
		}
	}
}

// findBubbles finds the functions that are given to synctest.Test, and those that are given to a function of the
// folder that uses them in bubbles only.
func (f *folder) findBubbles() {
	openers := map[string][]int{"synctest.Test": {1}} // the arguments that run in bubbles
	for known := 0; known < len(openers); {
		known, f.bubbles = len(openers), nil
		for _, d := range f.decls {
			ast.Inspect(d.node, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					for _, i := range openers[nameOf(call.Fun)] {
						if i < len(call.Args) {
							f.bubbles = append(f.bubbles, call.Args[i])
						}
					}
				}
				return true
			})
		}
		for _, d := range f.decls {
			if inside := f.parameters(d); len(inside) > 0 {
				openers[d.name] = inside
			}
		}
	}
}

// parameters returns the places of the parameters that a function uses, and in bubbles only.
func (f *folder) parameters(d declaration) (inside []int) {
	fun, ok := d.node.(*ast.FuncDecl)
	if !ok || fun.Recv != nil || fun.Body == nil {
		return nil
	}
	i := 0
	for _, field := range fun.Type.Params.List {
		for _, id := range field.Names {
			uses, outside := 0, 0
			ast.Inspect(fun.Body, func(n ast.Node) bool {
				if use, ok := n.(*ast.Ident); ok && use.Name == id.Name {
					if uses++; !f.inBubble(d, use.Pos()) {
						outside++
					}
				}
				return true
			})
			if uses > 0 && outside == 0 {
				inside = append(inside, i)
			}
			i++
		}
	}
	return inside
}

// findInside finds the declarations that are used in bubbles only. It begins with all that are used at all, and drops
// those that are used elsewhere, until nothing changes. A method goes with its type. It compares names alone, and so
// may drop more than it must.
func (f *folder) findInside() {
	for _, d := range f.decls {
		d.uses(func(id *ast.Ident) { f.inside[id.Name] = true })
	}
	for changed := true; changed; {
		changed = false
		for _, d := range f.decls {
			d.uses(func(id *ast.Ident) {
				if f.inside[id.Name] && !f.inBubble(d, id.Pos()) {
					f.inside[id.Name], changed = false, true
				}
			})
		}
	}
}

// uses calls do for the identifiers in d but its own name and its receiver's type.
func (d declaration) uses(do func(*ast.Ident)) {
	ast.Inspect(d.node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name != d.name && id.Name != d.receiver {
			do(id)
		}
		return true
	})
}

// inBubble reports whether the code at pos in d runs in bubbles only.
func (f *folder) inBubble(d declaration, pos token.Pos) bool {
	owner := d.name
	if d.receiver != "" {
		owner = d.receiver
	}
	return f.inside[owner] ||
		slices.ContainsFunc(f.bubbles, func(b ast.Node) bool { return b.Pos() <= pos && pos < b.End() })
}

// duration evaluates a constant expression of type time.Duration.
func (f *folder) duration(e ast.Expr) (d time.Duration, ok bool) {
	v := f.value(e, 0)
	if !isNumber(v) {
		return 0, false
	}
	ns, _ := constant.Float64Val(v)
	return time.Duration(ns), true
}

// names reports whether a constant in n is a duration of at least that much.
func (f *folder) names(n ast.Node, least time.Duration) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			d, ok := f.duration(e)
			found = found || ok && d >= least
		}
		return true
	})
	return found
}

// units are the constants of package time.
var units = map[string]time.Duration{"time.Nanosecond": time.Nanosecond, "time.Microsecond": time.Microsecond,
	"time.Millisecond": time.Millisecond, "time.Second": time.Second, "time.Minute": time.Minute,
	"time.Hour": time.Hour}

// value evaluates a constant expression of numbers, units of time and constants of the folder; others are unknown. A
// constant may use others, depth of them in a row.
func (f *folder) value(e ast.Expr, depth int) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.ParenExpr:
		return f.value(e.X, depth)
	case *ast.SelectorExpr:
		if d, ok := units[nameOf(e)]; ok {
			return constant.MakeInt64(int64(d))
		}
	case *ast.Ident:
		if c, ok := f.constants[e.Name]; ok && depth < 10 {
			return f.value(c, depth+1)
		}
	case *ast.CallExpr: // time.Duration(x)
		if len(e.Args) == 1 && nameOf(e.Fun) == "time.Duration" {
			return f.value(e.Args[0], depth)
		}
	case *ast.BinaryExpr:
		x, y := f.value(e.X, depth), f.value(e.Y, depth)
		arithmetic := slices.Contains([]token.Token{token.ADD, token.SUB, token.MUL, token.QUO}, e.Op)
		if arithmetic && isNumber(x) && isNumber(y) && (e.Op != token.QUO || constant.Sign(y) != 0) {
			return constant.BinaryOp(x, e.Op, y)
		}
	}
	return constant.MakeUnknown()
}

func isNumber(v constant.Value) bool { return v.Kind() == constant.Int || v.Kind() == constant.Float }

// nameOf is a function as a call names it: "f", "time.Sleep", "time.Now().Add"; a part that has no name is "".
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return nameOf(e.Fun) + "()"
	}
	return ""
}

// typeOf is the name of a receiver's type.
func typeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeOf(e.X)
	case *ast.IndexExpr:
		return typeOf(e.X)
	case *ast.IndexListExpr:
		return typeOf(e.X)
	}
	return nameOf(e)
}
