// Command steps times a step with 256 open episodes, one step at a time and all episodes at once. bare is the same
// messages over sockets that do nothing else: the time of the server and of the network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

// open is how many episodes are open at once.
const open = 256

// played is an episode on a server: the arguments of the environment, what a player says, and that as a message.
type played struct{ args, say, message string }

// The game of the server in Go and of examples/openenv, and OpenEnv's echo environment, whose actions are calls of
// tools.
var (
	game = played{"show=text&suffix=Enter+your+next+guess.&fill=message", `\boxed{1}`,
		`{"type":"step","data":{"message":"\\boxed{1}"}}`}
	echo = played{"", `<tool_call>{"name": "echo_message", "arguments": {"message": "hi"}}</tool_call>`,
		`{"type":"step","data":{"type":"call_tool","tool_name":"echo_message","arguments":{"message":"hi"}}}`}
)

func main() {
	url := flag.String("url", "", "the URL of a server; without one a server in Go is started")
	isEcho := flag.Bool("echo", false, "the server runs OpenEnv's echo environment")
	n := flag.Int("n", 20000, "steps of a row")
	rounds := flag.Int("rounds", 3, "of every row")
	flag.Parse()
	if *url == "" {
		server := openenvtest.New(openenvtest.Options{})
		server.Server = httptest.NewServer(server)
		defer server.Stop()
		*url = server.URL
	}
	p := game
	if *isEcho {
		p = echo
	}
	for range *rounds {
		if err := rows(context.Background(), *url, p, *n); err != nil {
			fmt.Fprintln(os.Stderr, "steps:", err)
			os.Exit(1)
		}
	}
}

// episode is one that is open, as a run has it or as a bare socket.
type episode struct{ step, reset func() error }

// rows times every kind of episode, one at a time and all at once.
func rows(ctx context.Context, url string, p played, n int) error {
	source := openenv.New(ctx, openenv.Options{})
	defer source.Close()
	none, err := env.NewRegistry()
	if err != nil {
		return err
	}
	registry := none.With(openenv.Prefix, source.Spec)
	of := map[string]func() (episode, func(), error){
		"bare": func() (episode, func(), error) { return bare(ctx, url, p.message) },
		"env": func() (episode, func(), error) {
			e, err := registry.Make(openenv.Prefix+url+"?"+p.args, nil)
			if err != nil {
				return episode{}, nil, err
			}
			return episode{func() error { _, err := e.Step(p.say); return err },
				func() error { _, err := e.Reset(1); return err }}, func() {}, nil
		},
	}
	for _, atOnce := range []int{1, open} {
		for _, kind := range []string{"bare", "env"} {
			took, err := steps(of[kind], atOnce, n)
			if err != nil {
				return fmt.Errorf("%s, %d at once: %w", kind, atOnce, err)
			}
			slices.Sort(took)
			fmt.Printf("%3d at once, %-4s  p50 %7.1f µs  p99 %8.1f µs\n", atOnce, kind,
				float64(took[len(took)/2].Nanoseconds())/1e3, float64(took[len(took)*99/100].Nanoseconds())/1e3)
		}
	}
	return nil
}

// bare opens a socket and sends the messages of such an episode over it.
func bare(ctx context.Context, url, message string) (episode, func(), error) {
	c, _, err := websocket.Dial(ctx, "ws"+url[4:]+"/ws", nil)
	if err != nil {
		return episode{}, nil, err
	}
	ask := func(m string) func() error {
		return func() error {
			if err := c.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
				return err
			}
			_, _, err := c.Read(ctx)
			return err
		}
	}
	return episode{ask(message), ask(`{"type":"reset","data":{"seed":1}}`)}, func() { c.CloseNow() }, nil
}

// steps plays n steps with some of the open episodes at a time, and returns how long each took.
func steps(begin func() (episode, func(), error), atOnce, n int) ([]time.Duration, error) {
	all := make([]episode, open)
	for i := range all {
		e, end, err := begin()
		if err != nil {
			return nil, err
		}
		defer end()
		if err := e.reset(); err != nil {
			return nil, err
		}
		all[i] = e
	}
	times, errs := make([][]time.Duration, atOnce), make([]error, atOnce)
	var wait sync.WaitGroup
	for w := range atOnce {
		wait.Go(func() {
			for i := w; i < n && errs[w] == nil; i += 2 * atOnce {
				times[w], errs[w] = all[i%open].twice(times[w])
			}
		})
	}
	wait.Wait()
	return slices.Concat(times...), errors.Join(errs...)
}

// twice plays two of the three steps of an episode and begins it again.
func (e episode) twice(took []time.Duration) ([]time.Duration, error) {
	for range 2 {
		begin := time.Now()
		if err := e.step(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, e.reset()
}
