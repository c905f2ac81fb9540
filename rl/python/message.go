package python

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// protocol is the version that hello names.
const protocol = 1

// message is a line from Python. Exactly one of its forms is filled: an answer (ID with Result or Error), a call back
// (Up with Of, Call and Args), Waits, Begins, Log, Where or Hello.
type message struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
	Up     uint64          `json:"up"`
	Of     uint64          `json:"of"`
	Call   string          `json:"call"`
	Args   json.RawMessage `json:"args"`
	Waits  uint64          `json:"waits"`
	Begins uint64          `json:"begins"`
	Log    *wireLog        `json:"log"`
	Where  *where          `json:"where"`
	Hello  *hello          `json:"hello"`
}

type wireError struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback,omitempty"`
}

type wireLog struct {
	Of    uint64 `json:"of"` // 0 is outside of calls
	Level string `json:"level"`
	Text  string `json:"text"`
}

type where struct {
	Of    uint64 `json:"of"`
	Stack string `json:"stack"`
}

type hello struct {
	Protocol   int    `json:"protocol"`
	Python     string `json:"python"`
	Executable string `json:"executable"`
	PID        int    `json:"pid"`
}

// parse reads a line. It refuses any other form, so that stray text on the pipe is not taken for an answer.
func parse(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("a line that is no message: %.200q: %w", line, err)
	}
	forms := 0
	for _, is := range []bool{m.ID != 0, m.Up != 0, m.Waits != 0, m.Begins != 0, m.Log != nil, m.Where != nil,
		m.Hello != nil} {
		if is {
			forms++
		}
	}
	switch {
	case forms != 1, m.ID != 0 && (m.Result == nil) == (m.Error == nil), m.Up != 0 && (m.Of == 0 || m.Call == ""):
		return message{}, fmt.Errorf("a line that is no message: %.200q", line)
	}
	return m, nil
}

// readLine reads a line of at most limit bytes, without its newline. The slice is the caller's.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit+1 {
			return nil, fmt.Errorf("a message of more than %d bytes", limit)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return nil, fmt.Errorf("the output ends within a message: %.200q", line)
		default:
			return nil, err
		}
	}
}

// callLine is the line that begins a call.
func callLine(id uint64, name string, args any) ([]byte, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(data)+len(quoted)+40)
	line = append(line, `{"id":`...)
	line = strconv.AppendUint(line, id, 10)
	line = append(line, `,"call":`...)
	line = append(line, quoted...)
	line = append(line, `,"args":`...)
	line = append(line, data...)
	return append(line, "}\n"...), nil
}

// cancelLine is the line that gives a call up.
func cancelLine(id uint64) []byte { return fmt.Appendf(nil, "{\"cancel\":%d}\n", id) }

// replyLine is the answer to a call back.
func replyLine(up uint64, result any, err error) []byte {
	if err == nil {
		data, merr := json.Marshal(result)
		if merr == nil {
			return fmt.Appendf(nil, "{\"up\":%d,\"result\":%s}\n", up, data)
		}
		err = merr
	}
	kind := "Error"
	var named interface{ ErrorType() string }
	if errors.As(err, &named) {
		kind = named.ErrorType()
	}
	data, _ := json.Marshal(wireError{Type: kind, Message: err.Error()})
	return fmt.Appendf(nil, "{\"up\":%d,\"error\":%s}\n", up, data)
}
