package main

import (
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// started waits until a background server has created its files.
func started(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for range 500 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s never came", path)
}
