package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// HeadOptions say how a head works. Dir and Listen or URL are required.
type HeadOptions struct {
	Dir string // of keys, credentials and the embedded server's store: JOB/fleet
	Job string // a readable name, and the beginning of the subjects

	Listen    string // host:port of the embedded server
	Advertise string // host:port that workers are told; "": Listen's
	Metrics   string // host:port of an HTTP server whose /metrics Prometheus reads; "": none
	Monitor   string // host:port of NATS's own monitoring; "": none
	Cert, Key string // PEM files of the server's certificate; "": one is made
	CA        string // PEM file that vouches for Cert; "": the system's authorities
	Store     int64  // bytes of disk for the embedded server; 0: 4 GiB

	URL      string // of an outside cluster, instead of Listen
	Creds    string // of the head there
	Signer   string // file with the seed of the account's key, or of one of its signing keys; "": workers share a user
	Replicas int    // of streams on an outside cluster; 0: 1

	Version  string            // of the program; workers of another are refused
	Numerics string            // arithmetic; workers with another are refused
	Admit    func(About) error // refuses workers for other reasons; nil: none

	Local      Function // computes in this process: decides when answers differ, and everything while nobody is there
	LocalSlots int      // tasks that Local computes beside the workers; 0: none
	Verify     float64  // share of the tasks that is computed twice, from 0 to 1

	MaxAnswer int64         // bytes of the largest answer; 0: 1 GiB
	Beat      time.Duration // between two signs of life of a worker; 0: 2 s
	Prefetch  time.Duration // work that waits with a worker; 0: 300 ms
	Log       func(string)  // nil: silent
}

const (
	defaultStore     = 4 << 30
	defaultMaxAnswer = 1 << 30
	defaultBeat      = 2 * time.Second
	defaultPrefetch  = 300 * time.Millisecond
)

func (o HeadOptions) withDefaults() HeadOptions {
	o.Job = cmp.Or(o.Job, "job")
	o.Store = cmp.Or(o.Store, defaultStore)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, defaultMaxAnswer)
	o.Beat = cmp.Or(o.Beat, defaultBeat)
	o.Prefetch = cmp.Or(o.Prefetch, defaultPrefetch)
	o.Replicas = cmp.Or(o.Replicas, 1)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}

func (o HeadOptions) check() error {
	switch {
	case o.Dir == "":
		return errors.New("fleet: the head needs a folder for its keys")
	case (o.Listen == "") == (o.URL == ""):
		return fmt.Errorf("fleet: give either an address to listen on (%q) or the URL of a NATS cluster (%q)",
			o.Listen, o.URL)
	case o.Signer != "" && (o.URL == "" || o.Creds == ""):
		return fmt.Errorf("fleet: the signing key %s is for an outside cluster; give its URL (%q) and the head's "+
			"credentials there (%q)", o.Signer, o.URL, o.Creds)
	case (o.Cert == "") != (o.Key == ""):
		return fmt.Errorf("fleet: certificate %q and key %q belong together", o.Cert, o.Key)
	case !(o.Verify >= 0 && o.Verify <= 1):
		return fmt.Errorf("fleet: the share to verify, %g, must be from 0 to 1", o.Verify)
	case o.LocalSlots < 0 || o.LocalSlots > 0 && o.Local == nil:
		return fmt.Errorf("fleet: the head cannot compute %d tasks without a function", o.LocalSlots)
	}
	return nil
}

// refusal returns why a worker that is as it says may not take part, or "".
func (o HeadOptions) refusal(a About) string {
	if o.Version != "" && a.Version != o.Version {
		return fmt.Sprintf("it is version %s and the head is %s; install trinity %s there",
			cmp.Or(a.Version, "unknown"), o.Version, o.Version)
	}
	if o.Numerics != "" && a.Numerics != o.Numerics {
		return fmt.Sprintf("its numerics are %q and the head's %q; answers would differ", a.Numerics, o.Numerics)
	}
	if o.Admit != nil {
		if err := o.Admit(a); err != nil {
			return err.Error()
		}
	}
	return ""
}

// JoinOptions say how a worker works.
type JoinOptions struct {
	URL        string          // of the head, such as nats://head:4222; "": the credentials'
	Creds      string          // file that the head made
	About      About           // what the head is told
	Cache      string          // folder for blobs and the worker's key
	CacheBytes int64           // its limit; 0: none
	Drain      <-chan struct{} // closed: finish what has begun and leave
	Paused     func() string   // why the worker takes no tasks now; "" if it does; nil: never
	Log        func(string)    // nil: silent
	Dial       Dialer          // nil: TCP
}
