// Package ownserver runs this program's server in a process of its own, for trinity bench, and measures it there.
package ownserver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// Server is this program's server in a process of its own.
type Server struct {
	URL   string
	cmd   *exec.Cmd
	begun time.Time // exec
}

// Start starts a server of these models with its data below dir and returns when it is ready.
func Start(dir string, models ...string) (*Server, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(exe)
	cmd.Args = []string{"trinity", "serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data")}
	cmd.Stderr = log
	for _, folder := range models {
		cmd.Args = append(cmd.Args, "--models", folder)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o := &Server{cmd: cmd, begun: time.Now()}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "serves the Tinker API at "); ok {
			o.URL = at
			return o, nil
		}
	}
	err = cmd.Wait()
	said, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("bench: the server ended (%v) before it was ready:\n%s", err, said)
}

// FirstSample draws one token and returns the time since exec.
func (o *Server) FirstSample(ctx context.Context, t *client.Client) (time.Duration, error) {
	caps, err := t.Capabilities(ctx)
	if err != nil {
		return 0, err
	}
	c, err := t.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: caps.Models[0].Name})
	if err != nil {
		return 0, err
	}
	p := tinker.DefaultSampling()
	p.MaxTokens = 1
	req := tinker.SampleRequest{Prompt: tinker.Text([]int32{40, 41, 42}), NumSamples: 1, Params: p}
	_, err = tinker.Sample(ctx, c, req)
	return time.Since(o.begun), err
}

// Peak is the server's peak memory.
func (o *Server) Peak() string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		return "unknown on this system"
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return "unknown on this system"
	}
	return fmt.Sprintf("%d MiB", kib>>10)
}

// End stops the server as Ctrl-C does.
func (o *Server) End() {
	o.cmd.Process.Signal(os.Interrupt)
	o.cmd.Wait()
}
