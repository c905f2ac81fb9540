package openenv

import (
	"context"
	"flag"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

var (
	openenvURL  = flag.String("openenv.url", "", "the URL of a server of examples/openenv; \"\" is the server in Go")
	openenvEcho = flag.Bool("openenv.echo", false, "the server is that of OpenEnv's echo environment, whose actions "+
		"are calls of tools")
)

// played is what is played on a server: the arguments of the environment, what a player says, and that as a message.
type played struct{ args, say, message string }

// playedOn is what the server plays.
func playedOn() played {
	if *openenvEcho {
		return played{"", `<tool_call>{"name": "echo_message", "arguments": {"message": "hi"}}</tool_call>`,
			`{"type":"step","data":{"type":"call_tool","tool_name":"echo_message","arguments":{"message":"hi"}}}`}
	}
	return played{game, `\boxed{1}`, `{"type":"step","data":{"message":"\\boxed{1}"}}`}
}

// episodesOpen is how many episodes are open at once in BenchmarkSteps.
const episodesOpen = 256

// BenchmarkSteps times a step with 256 open episodes, one step at a time and all episodes at once. bare is the same
// messages over sockets that do nothing else: the time of the server and of the network. p50 is the median in
// microseconds.
func BenchmarkSteps(b *testing.B) {
	url := *openenvURL
	if url == "" {
		url = openenvtest.Start(b, openenvtest.Options{}).URL
	}
	for _, c := range []struct {
		name   string
		open   func(b *testing.B, url string) (step, reset func() error)
		atOnce int
	}{
		{"one/bare", bareEpisode, 1}, {"one/env", envEpisode(b), 1},
		{"all/bare", bareEpisode, episodesOpen}, {"all/env", envEpisode(b), episodesOpen},
	} {
		b.Run(c.name, func(b *testing.B) { steps(b, url, c.open, c.atOnce) })
	}
}

// steps plays b.N steps with some of the open episodes at a time.
func steps(b *testing.B, url string, open func(*testing.B, string) (step, reset func() error), atOnce int) {
	type episode struct{ step, reset func() error }
	all := make([]episode, episodesOpen)
	for i := range all {
		all[i].step, all[i].reset = open(b, url)
		if err := all[i].reset(); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var mu sync.Mutex
	var took []time.Duration
	var wait sync.WaitGroup
	for w := range atOnce {
		wait.Go(func() {
			for n := w; n < b.N; n += 2 * atOnce {
				e := all[n%episodesOpen]
				for range 2 { // of the three steps of an episode
					begin := time.Now()
					err := e.step()
					d := time.Since(begin)
					if err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					took = append(took, d)
					mu.Unlock()
				}
				if err := e.reset(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
	slices.Sort(took)
	if len(took) > 0 {
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
	}
}

// envEpisode opens an episode as a run does.
func envEpisode(b *testing.B) func(*testing.B, string) (step, reset func() error) {
	s, _ := sourceFor(b)
	return func(b *testing.B, url string) (step, reset func() error) {
		p := playedOn()
		e := makeEnv(b, s, Prefix+url+"?"+p.args)
		step = func() error { _, err := e.Step(p.say); return err }
		return step, func() error { _, err := e.Reset(1); return err }
	}
}

// bareEpisode opens a socket and sends the messages of such an episode over it.
func bareEpisode(b *testing.B, url string) (step, reset func() error) {
	ctx := context.Background()
	c, _, err := websocket.Dial(ctx, "ws"+url[4:]+"/ws", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.CloseNow() })
	ask := func(m string) func() error {
		return func() error {
			if err := c.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
				return err
			}
			_, _, err := c.Read(ctx)
			return err
		}
	}
	return ask(playedOn().message), ask(`{"type":"reset","data":{"seed":1}}`)
}
