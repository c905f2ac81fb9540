// Package client is a tinker.Service over HTTP: its models train and sample on the hosted service or on any other
// server of the Tinker protocol.
//
// It sends the bytes that the Python SDK 0.25 sends for the same calls (testdata has recordings of the SDK) and waits
// by the SDK's rules. A call is repeated under one idempotency key while the server is unreachable, busy or
// restarting, up to limits. Promises are long-polled while the server reports them as pending. A sample whose promise
// the server lost is requested again.
//
// # Sessions, and continuing after a restart
//
// A server chooses the ids of its sessions. The SessionID of a CreateModelRequest is therefore the caller's own name
// for a session. The client opens a server session for each name, reports the pair through Options.OnSession before it
// uses it, and takes known pairs from Options.Sessions. A process that stores the pairs and passes them again finds
// its models: the same CreateModelRequest has the same (session, number) key, and a server that keeps models returns
// the existing model and reports its next seq_id in get_info. If the server does not report it, the model cannot be
// continued and CreateModel fails. Requests without a SessionID, and all sampling, belong to a session of this
// process.
package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// hostedURL is the base address of the hosted service.
const hostedURL = "https://tinker.thinkingmachines.dev/services/tinker-prod"

// sdkVersion is the release of the Python SDK whose requests the client sends. Servers refuse versions that are too
// old.
const sdkVersion = "0.25.0"

// Options are the address of the service and the settings of the connection.
type Options struct {
	BaseURL string // without /api/v1; empty is HostedURL
	APIKey  string // begins with tml-, or is a JWT
	KeyName string // the source of the key, for error messages: for example TINKER_API_KEY
	HTTP    *http.Client

	// Credential returns a credential in place of the key, as the SDK's TINKER_CREDENTIAL_CMD does: if no server would
	// accept APIKey and, if the server requires it, at every exchange. Command makes one from a shell command. It may
	// be nil.
	Credential func(ctx context.Context) (string, error)

	// Sessions are the server's session ids of an earlier process, by the caller's names. OnSession is called with
	// every new pair before the session is used; an error ends the call. Both may be nil.
	Sessions  map[string]string
	OnSession func(name, id string) error

	// OnModel is called with the server's id of every new model, before any request to it; an error ends the call. It
	// may be nil. Spare are such ids of earlier processes, the oldest first: when the server has no room for another
	// model, they are unloaded, one at a time, until it has.
	OnModel func(id string) error
	Spare   []string

	// Paused is called when requests begin to be held up, when the reason changes, and with State Active when no
	// request is held up any more. Calls do not overlap. It may be nil.
	Paused func(Pause)
	// Log gets the server's messages to the user and warnings of the client. It may be nil.
	Log func(msg string)
}

// Client is a tinker.Service over HTTP.
type Client struct {
	Options
	base   string
	config serverConfig
	zstd   *zstd.Encoder // nil: batches are not compressed
	auth   *credential
	holds  pauses

	billing billingPause
	kind    atomic.Int32 // a kind
	breaks  atomic.Int64 // number of broken and refused connections

	ctx    context.Context
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	closed bool
	tasks  sync.WaitGroup

	opening  sync.Mutex // held while a session is opened
	sessions map[string]*session
	models   map[string]*trainingClient // by model id
}

// Open asks the server for its settings and, if those say so, exchanges the key for a token. It waits up to five
// minutes for a server that cannot be reached.
func Open(ctx context.Context, o Options) (*Client, error) {
	auth, err := newCredential(ctx, o)
	if err != nil {
		return nil, err
	}
	h := http.Client{Transport: transport()}
	if o.HTTP != nil {
		h = *o.HTTP
	}
	// the key must not be sent to another server
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.HTTP = &h
	if o.Log == nil {
		o.Log = func(string) {}
	}
	c := &Client{Options: o, base: strings.TrimRight(o.BaseURL, "/"), auth: auth,
		sessions: map[string]*session{}, models: map[string]*trainingClient{}}
	c.base = cmp.Or(c.base, hostedURL)
	c.holds.notify = o.Paused
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	err = c.readConfig(ctx)
	if err == nil && c.config.Compress {
		c.zstd, err = zstd.NewWriter(nil)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// transport is the default transport with enough idle connections to reuse one for each of many long polls.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1<<14
	return t
}

// Close implements tinker.Service. Models stay on the server.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(tinker.ErrClosed)
	c.tasks.Wait()
	c.HTTP.CloseIdleConnections()
	return nil
}

// spawn runs f until it returns or the client is closed; false means that the client is closed already.
func (c *Client) spawn(f func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tasks.Go(func() { f(c.ctx) })
	return true
}

// within returns a copy of ctx that also ends when the client is closed.
func (c *Client) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(tinker.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// Capabilities implements tinker.Service. A server may report two capabilities beyond the protocol: exact_logprobs and
// exact_entropy.
func (c *Client) Capabilities(ctx context.Context) (tinker.Capabilities, error) {
	var caps struct {
		tinker.Capabilities
		Models []struct {
			tinker.SupportedModel
			Roles []string `json:"capabilities"` // sent by TuFT only
		} `json:"supported_models"`
	}
	err := c.getJSON(ctx, "/get_server_capabilities", &caps)
	for _, m := range caps.Models {
		caps.Capabilities.Models = append(caps.Capabilities.Models, m.SupportedModel)
		if len(m.Roles) > 0 {
			c.kind.Store(int32(tuft))
		}
	}
	return caps.Capabilities, err
}
