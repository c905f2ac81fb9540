package main

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// started waits until a background server has created its files.
func started(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	eventually(ts.Fatalf, path+" is there", func() bool { _, err := os.Stat(path); return err == nil })
}
