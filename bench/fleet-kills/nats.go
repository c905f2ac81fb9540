package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// nats is a nats-server with JetStream in a process of its own.
type nats struct {
	address, store string
	process        *program.Process
}

func newNATS(store string) (*nats, error) {
	address, err := program.FreeAddress()
	if err != nil {
		return nil, err
	}
	n := &nats{address: address, store: store}
	return n, n.start()
}

func (n *nats) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if n.process, err = program.Start(exec.Command(self, serverRole, n.address, n.store)); err != nil {
		return err
	}
	_, err = n.process.Await(regexp.MustCompile(ready))
	return err
}

// close kills the server and removes its store.
func (n *nats) close() {
	n.process.Kill()
	n.process.Wait() // it was killed
	os.RemoveAll(n.store)
}

// restart kills the server and starts it again, with an empty store if wipe is set.
func (n *nats) restart(wipe bool) error {
	n.process.Kill()
	n.process.Wait() // it was killed
	if wipe {
		if err := os.RemoveAll(n.store); err != nil {
			return err
		}
	}
	return n.start()
}

// serverRole is the argument of a process that is a nats-server; its address and the folder of its store follow.
const serverRole = "nats-server"

// ready is printed when the server accepts connections.
const ready = "nats-server is ready"

// serveNATS is that process. It serves until it is killed.
func serveNATS(address, store string) error {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: port, JetStream: true, StoreDir: store, NoSigs: true,
		NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return fmt.Errorf("nats-server on %s is not ready after a minute", address)
	}
	fmt.Println(ready)
	s.WaitForShutdown()
	return nil
}
