package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
)

// TestPush runs testdata/push.txtar beside a hub. hubfile takes a file from there.
func TestPush(t *testing.T) {
	s := hubtest.New(t, map[string]hubtest.Repo{})
	t.Run("script", func(t *testing.T) {
		testscript.Run(t, testscript.Params{Files: []string{filepath.Join("testdata", "push.txtar")},
			Setup: func(e *testscript.Env) error {
				for name, value := range map[string]string{"HOME": e.WorkDir, "HF_ENDPOINT": s.URL,
					"HF_TOKEN": hubtest.Token, "XDG_CACHE_HOME": filepath.Join(e.WorkDir, "cache")} {
					e.Setenv(name, value)
				}
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"hubfile": func(ts *testscript.TestScript, _ bool, args []string) {
					content, there := s.Repos["models/"+args[0]].Files[args[1]]
					if !there {
						ts.Fatalf("the hub has no %s in %s", args[1], args[0])
					}
					ts.Check(os.WriteFile(ts.MkAbs(args[2]), content, 0o644))
				},
			}})
	})
}
