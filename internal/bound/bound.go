// Package bound limits messages of others: servers beside a run, programs it starts, anybody. An answer is
// bounded in bytes before it is read, and in values and depth before it is decoded: a list of empty objects takes 30
// times its bytes as Go values.
package bound

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Limits bound one message.
type Limits struct {
	Bytes  int64
	Values int // null, truth, number and text count one, a list two and an object or map eight
	Depth  int // of lists and objects within each other
}

// perValue is how many bytes of a message at the limit a value has at least. A decoded value takes up to 40 bytes for
// each that it counts, so a message decodes to at most about four times Limits.Bytes.
const perValue = 16

// maxDepth is the default of Limits.Depth.
const maxDepth = 256

// Of are the limits of a message of so many bytes.
func Of(bytes int64) Limits {
	return Limits{Bytes: bytes, Values: int(bytes / perValue), Depth: maxDepth}
}

// Error is the error of a message beyond a limit.
type Error struct {
	What string // bytes, values or levels of nesting
	Most int64
}

func (e *Error) Error() string {
	if e.What == "bytes" && e.Most >= 1<<20 {
		return fmt.Sprintf("a message of more than %d MiB", (e.Most+1<<19)>>20)
	}
	return fmt.Sprintf("a message of more than %d %s", e.Most, e.What)
}

// TooLong is the error of a message with too many bytes.
func (l Limits) TooLong() error { return &Error{"bytes", l.Bytes} }

// Read reads all of r.
func (l Limits) Read(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, l.Bytes+1))
	if err == nil && int64(len(data)) > l.Bytes {
		return nil, l.TooLong()
	}
	return data, err
}

// Do sends a request and reads the whole answer.
func (l Limits) Do(c *http.Client, req *http.Request) (*http.Response, []byte, error) {
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := l.Read(resp.Body)
	return resp, data, err
}

// Check counts the bytes, values and levels of a JSON text. It does not check that it is JSON.
func (l Limits) Check(data []byte) error {
	if int64(len(data)) > l.Bytes {
		return l.TooLong()
	}
	return l.Scan().Feed(data)
}

// Unmarshal is json.Unmarshal within the limits.
func (l Limits) Unmarshal(data []byte, to any) error {
	if err := l.Check(data); err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// Decode reads all of r as one JSON value.
func (l Limits) Decode(r io.Reader, to any) error {
	data, err := l.Read(r)
	if err != nil {
		return err
	}
	return l.Unmarshal(data, to)
}
