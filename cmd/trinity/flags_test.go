package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// A struct of flags that is made by hand lacks the defaults that the command line gives it: it sets each flag that has
// one, or kong.ApplyDefaults does.
func TestFlagsMadeByHand(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	set := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	defaults := flagDefaults(files)
	if len(defaults["serveStart"]) < 5 {
		t.Fatalf("trinity serve has the defaults %v", defaults["serveStart"])
	}
	for _, f := range files {
		for _, d := range f.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				lit, ok := n.(*ast.CompositeLit)
				if !ok || appliesDefaults(d) {
					return true
				}
				name, _ := lit.Type.(*ast.Ident)
				for _, field := range defaults[nameOf(name)] {
					if !sets(lit, field) {
						t.Errorf("%v: %s is made without its flag %s", set.Position(lit.Pos()), name, field)
					}
				}
				return true
			})
		}
	}
}

// flagDefaults are the fields of each struct whose flags have a default other than the zero value, those of the structs
// in it too.
func flagDefaults(files []*ast.File) map[string][]string {
	own, inside := map[string][]string{}, map[string][]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range body.Fields.List {
				if embedded, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 {
					inside[spec.Name.Name] = append(inside[spec.Name.Name], embedded.Name)
				}
				if field.Tag == nil {
					continue
				}
				tag, _ := strconv.Unquote(field.Tag.Value)
				if v := reflect.StructTag(tag).Get("default"); v != "" && v != "0" && v != "withargs" {
					own[spec.Name.Name] = append(own[spec.Name.Name], field.Names[0].Name)
				}
			}
			return true
		})
	}
	for name, list := range inside {
		for _, other := range list {
			if len(own[other]) > 0 {
				own[name] = append(own[name], other)
			}
		}
	}
	return own
}

func nameOf(id *ast.Ident) string {
	if id == nil {
		return ""
	}
	return id.Name
}

// sets reports whether a literal gives a field.
func sets(lit *ast.CompositeLit, field string) bool {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == field {
				return true
			}
		}
	}
	return false
}

// appliesDefaults reports whether a function calls kong.ApplyDefaults.
func appliesDefaults(d ast.Decl) bool {
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "ApplyDefaults" {
			found = true
		}
		return true
	})
	return found
}
