package run

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// front stands before a server and can be made to fail as networks and servers do.
type front struct {
	*httptest.Server
	state            atomic.Int32
	stepped, failing chan struct{} // a step was asked for; a request came that is not passed on
	over             chan struct{}
}

// tell makes an event known, once or more often.
func tell(event chan struct{}) {
	select {
	case event <- struct{}{}:
	default:
	}
}

// eventually waits until something is true that another process or a server does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

const (
	passing int32 = iota
	refusing
	hanging
)

func newFront(t *testing.T, server string) *front {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	next := httputil.NewSingleHostReverseProxy(address)
	next.ErrorLog = log.New(io.Discard, "", 0)
	f := &front{stepped: make(chan struct{}, 1), failing: make(chan struct{}, 1), over: make(chan struct{})}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/optim_step") {
			tell(f.stepped)
		}
		if f.state.Load() != passing {
			tell(f.failing)
		}
		switch f.state.Load() {
		case passing:
			next.ServeHTTP(w, r)
		case refusing:
			if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
				c.Close()
			}
		case hanging:
			io.Copy(io.Discard, r.Body) // or the client's end would not be seen
			select {
			case <-r.Context().Done():
			case <-f.over:
			}
		}
	}))
	t.Cleanup(func() {
		close(f.over)
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// Ctrl-C ends a run while its server cannot be reached, or takes requests and answers none. When the
// server is back the same command finishes the job.
func TestStopWithoutServer(t *testing.T) {
	t.Parallel()
	server := serve(t)
	for name, state := range map[string]int32{"refusing": refusing, "hanging": hanging} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, server)
			dir := t.TempDir()
			args := and(tiny, "model.tinker.base_url="+f.URL)
			stop := make(chan struct{})
			o := options()
			o.LookupEnv, o.Stop = withKey, stop
			ended := make(chan error, 1)
			go func() {
				_, err := Run(t.Context(), load(t, dir, args...), o)
				ended <- err
			}()
			select {
			case err := <-ended:
				t.Fatalf("the run ended: %v", err)
			case <-f.stepped:
			}
			f.state.Store(state)
			f.CloseClientConnections()
			<-f.failing
			stopped(t, stop, ended)
			f.state.Store(passing)
			o.Stop = nil
			if sum, err := Run(t.Context(), load(t, dir, args...), o); err != nil || sum.Steps != 3 {
				t.Errorf("when the server is back: %v", err)
			}
		})
	}
}

// stopped presses Ctrl-C and expects the run to end.
func stopped(t *testing.T, stop chan struct{}, ended chan error) {
	t.Helper()
	close(stop)
	if err := <-ended; !errors.Is(err, ErrInterrupted) {
		t.Errorf("the run ended with %v; want ErrInterrupted", err)
	}
}

// Ctrl-C ends at once what has nothing to finish: the wait for a server at the start.
func TestStopBeforeServerIsThere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hanging", "refusing"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			asked := make(chan struct{}, 1)
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					tell(asked)
					if name == "refusing" {
						c.Close()
					} else {
						defer c.Close() // nobody answers
					}
				}
			}()
			stop := make(chan struct{})
			o := options()
			o.LookupEnv, o.Stop = withKey, stop
			ended := make(chan error, 1)
			go func() {
				args := and(tiny, "model.tinker.base_url=http://"+l.Addr().String())
				_, err := Run(t.Context(), load(t, t.TempDir(), args...), o)
				ended <- err
			}()
			<-asked
			stopped(t, stop, ended)
		})
	}
}

// slowEnv is an environment whose constructor makes a file and then takes a minute.
const slowEnv = `import time

class Slow:
    def __init__(self):
        open(%q, "w").close()
        time.sleep(60)
`

// Ctrl-C while an environment in Python is tried is no mistake in the configuration, with stages and without.
func TestStopDuringATrial(t *testing.T) {
	t.Parallel()
	for name, stages := range map[string]string{"one": "stages=[]", "stages": "stages=[{stage_name: first}]"} {
		o := withPython3(t)
		dir, stop := t.TempDir(), make(chan struct{})
		o.Stop = stop
		file, begun := filepath.Join(dir, "slow.py"), filepath.Join(dir, "begun")
		if err := os.WriteFile(file, fmt.Appendf(nil, slowEnv, begun), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load("../examples/tiny/guess/workflow.yaml", []string{"checkpoint_root_dir=" + dir, stages,
			"buffer.explorer_input.taskset.workflow_args.env_id=python:" + file + ":Slow"}, noEnv)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := Run(t.Context(), cfg, o)
			ended <- err
		}()
		eventually(t, name+": the environment is tried", func() bool {
			select {
			case err := <-ended:
				t.Fatalf("%s: the run ended: %v", name, err)
			default:
			}
			return there(begun)
		})
		stopped(t, stop, ended)
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
