package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

var (
	fleetKills = flag.Int("fleet.kills", 0, "TestFleetKills: random schedules of kill -9 (make fleet-kills)")
	fleetLog   = flag.String("fleet.log", "",
		"TestFleetKills: file of results; schedules that are in it are not played again")
)

// natsServer is a program of its own: an outside server with JetStream. Its arguments are host:port and a folder.
func natsServer() {
	host, text, err := net.SplitHostPort(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	port, _ := strconv.Atoi(text) // SplitHostPort's
	s, err := server.NewServer(&server.Options{Host: host, Port: port, JetStream: true, StoreDir: os.Args[2],
		NoSigs: true, NoLog: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	s.Shutdown()
}

// TestFleetKills plays random schedules of kill -9 of workers, of a separate nats-server and of the head while a run
// trains. Each run must have the metrics and the weights of the run alone, to the bit.
func TestFleetKills(t *testing.T) {
	if *fleetKills == 0 {
		t.Skip("-fleet.kills is 0; make fleet-kills sets it")
	}
	played := playedSchedules(t)
	m := &matrixRun{t: t, name: "gsm8k", args: fleetOptions, home: t.TempDir()}
	m.alone()
	for seed := range *fleetKills {
		if played[seed] {
			continue
		}
		k := &killRun{matrixRun: m, seed: seed, addr: freeAddress(t)}
		k.rand = rand.New(rand.NewPCG(uint64(seed), 20))
		k.play()
		recordSchedule(t, k.row())
	}
}

// killRun is one schedule.
type killRun struct {
	*matrixRun
	seed int
	addr string
	nats *exec.Cmd
	crew *crew

	workers, servers, wiped, heads int // kills
	tasks                          int
	same                           bool
}

func (k *killRun) row() string {
	return fmt.Sprintf("| %d | %d | %d | %d | %d | %d | %v |\n", k.seed, k.workers, k.servers, k.wiped, k.heads,
		k.tasks, k.same)
}

// mostFaults are the kills in a schedule, so that it ends.
const mostFaults = 8

func (k *killRun) play() {
	variant := fmt.Sprint("s", k.seed)
	k.startServer()
	defer func() {
		k.nats.Process.Kill()
		k.nats.Wait()
		os.RemoveAll(k.root(variant))
	}()
	k.crew = newCrew(k.t, k.home, "")
	local := k.rand.IntN(2) == 0
	for {
		said := &lockedBuffer{}
		cmd := k.command(variant, "fleet.url=nats://"+k.addr, "fleet.verify=0.1", fmt.Sprint("fleet.local=", local))
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			k.t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if k.crew.creds == "" || k.crew.made == 0 {
			k.crew.creds = k.credentials(variant, ended)
			k.join(k.crew)
			k.join(k.crew)
		}
		err, killed := k.disturb(cmd, ended)
		if killed {
			continue
		}
		if err != nil {
			k.t.Fatalf("schedule %d: %v\n%s\nthe workers said:\n%s", k.seed, err, said, k.crew.said)
		}
		break
	}
	k.tasks = k.crew.leave()
	got := k.outcome(variant)
	if k.same = reflect.DeepEqual(got, k.want); !k.same {
		k.t.Errorf("schedule %d: other bits: %s", k.seed, k.want.differs(got))
	}
}

// disturb kills something at random times until the run ends or its head was killed.
func (k *killRun) disturb(cmd *exec.Cmd, ended <-chan error) (err error, killed bool) {
	for {
		select {
		case err := <-ended:
			return err, false
		case <-time.After(time.Duration(200+k.rand.IntN(2500)) * time.Millisecond):
		}
		if k.workers+k.servers+k.heads >= mostFaults {
			continue
		}
		switch k.rand.IntN(5) {
		case 0:
			cmd.Process.Kill()
			if err := <-ended; err == nil {
				return nil, false // it had ended
			}
			k.heads++
			return nil, true
		case 1, 2:
			k.killServer()
		default:
			k.crew.kill()
			k.workers++
			k.join(k.crew)
		}
	}
}

func (k *killRun) store() string { return filepath.Join(k.home, fmt.Sprint("nats", k.seed)) }

func (k *killRun) startServer() {
	k.nats = trinity(k.home, k.addr, k.store())
	k.nats.Args[0] = "nats-server"
	k.nats.Stderr = os.Stderr
	if err := k.nats.Start(); err != nil {
		k.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", k.addr)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			k.t.Fatalf("nats-server: %v", err)
		}
	}
}

// killServer kills nats-server and starts it anew, sometimes with an empty store.
func (k *killRun) killServer() {
	k.nats.Process.Kill()
	k.nats.Wait()
	k.servers++
	if k.rand.IntN(2) == 0 {
		k.wiped++
		if err := os.RemoveAll(k.store()); err != nil {
			k.t.Fatal(err)
		}
	}
	k.startServer()
}

const killsHead = "| schedule | kills of workers | kills of nats-server | of these, store deleted | " +
	"kills of the head | tasks of workers at the end | same bits |\n|---|---|---|---|---|---|---|\n"

// playedSchedules reads the schedules that the log has.
func playedSchedules(t *testing.T) map[int]bool {
	played := map[int]bool{}
	f, err := os.Open(*fleetLog)
	if err != nil {
		recordSchedule(t, killsHead)
		return played
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if cells := strings.Split(lines.Text(), "|"); len(cells) > 1 {
			if seed, err := strconv.Atoi(strings.TrimSpace(cells[1])); err == nil {
				played[seed] = true
			}
		}
	}
	return played
}

// recordSchedule appends to the log.
func recordSchedule(t *testing.T, text string) {
	t.Helper()
	fmt.Print(text)
	if *fleetLog == "" {
		return
	}
	f, err := os.OpenFile(*fleetLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
