package main

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// startPeer starts another server of OpenAI's interface, which takes --port, and waits until it lists its models.
func startPeer(name, model string, command ...string) (*endpoint, error) {
	address, err := program.FreeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	p, err := program.Start(exec.Command(command[0], append(command[1:], "--port", port)...))
	if err != nil {
		return nil, err
	}
	l := &endpoint{name: name, url: "http://" + address + "/v1", model: model, stop: func() {
		p.Signal(syscall.SIGINT) // it has processes of its own to end
		kill := time.AfterFunc(30*time.Second, p.Kill)
		defer kill.Stop()
		p.Wait()
	}}
	for {
		resp, err := http.Get(l.url + "/models")
		if err == nil {
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusOK {
			return l, nil
		}
		select {
		case <-p.Done():
			text := p.Said()
			return nil, fmt.Errorf("%s did not start: %v\n%s", name, p.Wait(), text[max(0, len(text)-2000):])
		case <-time.After(100 * time.Millisecond):
		}
	}
}
