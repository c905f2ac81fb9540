package verifiers

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/msgpack"
)

// router is an env server of the tests: a ROUTER whose answers a function gives.
type router struct {
	address string
	mu      sync.Mutex
	heard   []string // methods
}

// message is one that a client sent, with what answers it.
type message struct {
	frames [][]byte
	conn   net.Conn
}

// send sends a message to the client.
func (m message) send(frames ...[]byte) {
	var out []byte
	for i, f := range frames {
		flags := byte(2)
		if i < len(frames)-1 {
			flags |= 1
		}
		out = append(binary.BigEndian.AppendUint64(append(out, flags), uint64(len(f))), f...)
	}
	m.conn.Write(out)
}

// answer packs a value as an answer of verifiers 0.4.
func (m message) answer(t *testing.T, v any) {
	data, err := msgpack.Encode(v)
	if err != nil {
		t.Error(err)
	}
	m.send(m.frames[0], []byte("reply"), data)
}

// serve starts a router.
func serve(t *testing.T, each func(m message)) *router {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &router{address: "tcp://" + l.Addr().String()}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { defer conn.Close(); r.talk(conn, each) })
		}
	})
	t.Cleanup(func() { l.Close(); wait.Wait() })
	return r
}

// talk shakes hands and hears messages.
func (r *router) talk(conn net.Conn, each func(m message)) {
	io.WriteString(conn, "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01NULL"+strings.Repeat("\x00", 48)+
		"\x04\x29\x05READY\x0bSocket-Type\x00\x00\x00\x06ROUTER\x08Identity\x00\x00\x00\x00")
	in := bufio.NewReader(conn)
	if _, err := io.ReadFull(in, make([]byte, 64+2+0x29)); err != nil {
		return
	}
	for {
		m := message{conn: conn}
		for more := true; more; {
			flags, err := in.ReadByte()
			if err != nil {
				return
			}
			size := make([]byte, 8)
			if flags&2 == 0 {
				_, err = io.ReadFull(in, size[7:])
			} else {
				_, err = io.ReadFull(in, size)
			}
			body := make([]byte, binary.BigEndian.Uint64(size))
			if err == nil {
				_, err = io.ReadFull(in, body)
			}
			if err != nil {
				return
			}
			m.frames = append(m.frames, body)
			more = flags&1 != 0
		}
		r.mu.Lock()
		r.heard = append(r.heard, string(m.frames[1]))
		r.mu.Unlock()
		each(m)
	}
}

// methods are those that clients have asked.
func (r *router) methods() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.heard, " ")
}

// recorded are the frames of the package's own server, by what was asked.
func recorded(t testing.TB) map[string][][][]byte {
	t.Helper()
	f, err := os.Open("testdata/frames-0.4.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][][][]byte{}
	d := json.NewDecoder(f)
	for {
		var line struct {
			Run    string
			Frames []string
		}
		if err := d.Decode(&line); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if line.Run == "" {
			continue
		}
		var frames [][]byte
		for _, text := range line.Frames {
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, raw)
		}
		out[line.Run] = append(out[line.Run], frames)
	}
}

// replay sends what was recorded.
func (m message) replay(all [][][]byte) {
	for _, frames := range all {
		m.send(append([][]byte{m.frames[0]}, frames...)...)
	}
}
