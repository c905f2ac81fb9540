package openenv

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

// asServer is the variable that makes the test's program a server: what openenv:FOLDER starts in place of Python.
const asServer = "TRINITY_TEST_OPENENV"

func TestMain(m *testing.M) {
	if how := os.Getenv(asServer); how != "" {
		serve(how)
	}
	http.DefaultTransport.(*http.Transport).DisableKeepAlives = true
	goleak.VerifyTestMain(m)
}

// serve is python3 -m uvicorn APP … --port PORT for the game, which behaves as how says.
func serve(how string) {
	fmt.Println("starting", strings.Join(os.Args[1:], " "), os.Getenv("MAX_CONCURRENT_ENVS"), os.Getenv("PYTHONPATH"))
	if how == "missing" {
		fmt.Println("/usr/bin/python3: No module named uvicorn")
		os.Exit(1)
	}
	var o openenvtest.Options
	switch how {
	case "dies": // in the second step of its life
		n := 0
		o.Alter = func(_, _ int, asked, answer string) (string, openenvtest.Fate) {
			if strings.Contains(asked, `{1}`) || strings.Contains(asked, `{2}`) { // not the trial's
				if n++; n > 1 {
					os.Exit(3)
				}
			}
			return answer, openenvtest.Send
		}
	case "hangs":
		<-time.After(time.Hour)
	}
	port := os.Args[slices.Index(os.Args, "--port")+1]
	fmt.Println(http.ListenAndServe("127.0.0.1:"+port, openenvtest.New(o)))
	os.Exit(1)
}

// told is what a source says and records.
type told struct {
	mu       sync.Mutex
	notes    []string
	failed   []string
	episodes []Episode
}

// sourceFor makes a source that ends with the test and gives lost sessions up soon.
func sourceFor(t testing.TB, change ...func(*Options)) (*Source, *told) {
	t.Helper()
	heard := &told{}
	o := Options{
		Note: func(text string) {
			heard.mu.Lock()
			defer heard.mu.Unlock()
			heard.notes = append(heard.notes, text)
		},
		Failed: func(err error) {
			heard.mu.Lock()
			defer heard.mu.Unlock()
			heard.failed = append(heard.failed, err.Error())
		},
		Record: func(e *Episode) {
			heard.mu.Lock()
			defer heard.mu.Unlock()
			heard.episodes = append(heard.episodes, *e)
		},
	}
	for _, f := range change {
		f(&o)
	}
	s := New(context.Background(), o)
	s.pause = []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, heard
}

// makeEnv makes an environment of an id.
func makeEnv(t testing.TB, s *Source, id string, given ...env.Params) env.Env {
	t.Helper()
	e, err := try(s, id, given...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func try(s *Source, id string, given ...env.Params) (env.Env, error) {
	registry, err := env.NewRegistry()
	if err != nil {
		return nil, err
	}
	var p env.Params
	if len(given) > 0 {
		p = given[0]
	}
	return registry.With(Prefix, s.Spec).Make(id, p)
}
