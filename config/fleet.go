package config

import (
	"net"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// Fleet is the section `fleet` (ours): other machines that compute beside this one (trinity worker --join). Without
// listen and url there is no fleet, and the other keys do nothing.
type Fleet struct {
	Listen    string  `yaml:"listen"`    // host:port where workers connect, to a NATS server in this process
	Advertise string  `yaml:"advertise"` // host:port that workers are told to connect to; "": the address of listen
	URL       string  `yaml:"url"`       // of a NATS cluster, instead of listen
	Creds     string  `yaml:"creds"`     // file with this process's credentials there
	Signer    string  `yaml:"signer"`    // file with the seed of its account's signing key: workers get own rights
	Metrics   string  `yaml:"metrics"`   // host:port where Prometheus reads /metrics; "": nowhere
	Cert      string  `yaml:"cert"`      // PEM file of listen's certificate; "": one is made
	Key       string  `yaml:"key"`       // PEM file of its key
	Verify    float64 `yaml:"verify"`    // share of the tasks that is computed twice
	// this process computes too; false: while there are workers, only what they cannot
	Local     bool `yaml:"local"`
	MaxAnswer int  `yaml:"max_answer_mib"` // largest answer of a worker: a part's gradient
	Buffer    int  `yaml:"gradient_mib"`   // gradients of parts that wait for an earlier part, or are on their way
	Store     int  `yaml:"store_mib"`      // disk that the server in this process may use for what is on its way
}

func (f *Fleet) defaults() {
	f.Verify, f.Local = 0.01, true
	f.MaxAnswer, f.Buffer, f.Store = 4096, 1024, 4096
}

// On reports whether the configuration asks for a fleet.
func (f *Fleet) On() bool { return f.Listen != "" || f.URL != "" }

func (k *checker) fleet() {
	f := &k.c.Fleet
	k.between("fleet.verify", f.Verify, 0, 1)
	atLeast(k, "fleet.max_answer_mib", f.MaxAnswer, 1)
	atLeast(k, "fleet.gradient_mib", f.Buffer, 1)
	atLeast(k, "fleet.store_mib", f.Store, 64)
	for _, a := range []struct{ key, value string }{{"fleet.listen", f.Listen}, {"fleet.advertise", f.Advertise},
		{"fleet.metrics", f.Metrics}} {
		if a.value != "" && !isAddress(a.value) {
			k.bad(a.key, "is %s; give host:port, such as 0.0.0.0:4222", document.Quote(a.value))
		}
	}
	switch {
	case f.Listen != "" && f.URL != "":
		k.bad("fleet.url", "is given beside fleet.listen; workers connect either to this process (listen) or to a "+
			"NATS cluster (url)")
	case f.URL != "" && !strings.Contains(f.URL, "://"):
		k.bad("fleet.url", "is %s; give the URL of a NATS server, such as nats://host:4222", document.Quote(f.URL))
	}
	if f.Signer != "" && (f.URL == "" || f.Creds == "") {
		k.bad("fleet.signer", "is %s without fleet.url and fleet.creds; it is the signing key of a NATS cluster's "+
			"account", document.Quote(f.Signer))
	}
	if (f.Cert == "") != (f.Key == "") {
		k.bad("fleet.cert", "is %s and fleet.key is %s; give both, or neither", document.Quote(f.Cert),
			document.Quote(f.Key))
	}
}

// isAddress reports whether a text is host:port.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n < 1<<16
}
