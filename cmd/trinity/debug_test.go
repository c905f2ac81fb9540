package main

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/alecthomas/kong"
)

// The server of trinity debug has the flags that trinity serve has.
func TestDebugServesAsServe(t *testing.T) {
	var all commands
	parser, err := kong.New(&all, kong.Vars{"debugHelp": debugHelp})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "serve")
	if _, err := parser.Parse([]string{"serve", "--data", data, "--addr", "127.0.0.1:1", "--models", "m"}); err != nil {
		t.Fatal(err)
	}
	got, err := (&debugCmd{OutputDir: dir, Addr: "127.0.0.1:1"}).server("m")
	if err != nil {
		t.Fatal(err)
	}
	if want := &all.Serve.Start; !reflect.DeepEqual(got, want) {
		t.Errorf("debug serves with %+v, serve with %+v", got, want)
	}
	if err := got.checkLimits(); err != nil {
		t.Error(err)
	}
}
