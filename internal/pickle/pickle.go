// Package pickle reads and writes the data in Python's pickles, of protocols 2 to 5: None, booleans, numbers, texts,
// bytes, lists, tuples, sets and dictionaries. Nothing is executed: an object is its class's name, its arguments are
// looked at only where it is a number of NumPy, and anything else of it is left out.
//
// The format is described in Python's Lib/pickletools.py.
package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Decode reads a pickle: nil, bool, int64, float64, string, []byte, []any or map[string]any, and these within each
// other. Texts are made valid UTF-8, and keys of dictionaries texts. Objects that are neither numbers nor containers,
// and integers of more than 64 bits, are nil.
func Decode(data []byte) (any, error) {
	m := machine{data: data}
	top, err := m.run()
	if err != nil {
		return nil, fmt.Errorf("pickle: at byte %d of %d: %w", m.at, len(data), err)
	}
	p := plainer{left: maxValues}
	v, err := p.plain(top, 0)
	if err != nil {
		return nil, fmt.Errorf("pickle: %w", err)
	}
	return v, nil
}

var (
	errShort = errors.New("it ends too soon")
	errStack = errors.New("an instruction finds too little on the stack")
	errKind  = errors.New("an instruction finds another kind of value than it needs")
)

// machine is the stack machine that a pickle is a program for.
type machine struct {
	data  []byte
	at    int
	stack []any
	marks []int
	memo  map[uint64]any
}

// list, dict and object are shared through the memo, so they are pointers on the stack.
type list struct{ items []any }

type dict struct{ keys, values []any }

// object is something of a class, with what is put into it.
type object struct {
	name string
	args any
	list
	dict
}

func (m *machine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.data)-m.at) {
		return nil, errShort
	}
	b := m.data[m.at : m.at+int(n)]
	m.at += int(n)
	return b, nil
}

// number is an unsigned number of n bytes, the least first.
func (m *machine) number(n uint64) (uint64, error) {
	b, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var all [8]byte
	copy(all[:], b)
	return binary.LittleEndian.Uint64(all[:]), nil
}

// counted is bytes after their length, which has n bytes.
func (m *machine) counted(n uint64) ([]byte, error) {
	size, err := m.number(n)
	if err != nil {
		return nil, err
	}
	return m.take(size)
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// pop takes n values off the stack, above the last mark.
func (m *machine) pop(n int) ([]any, error) {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	if len(m.stack)-n < floor {
		return nil, errStack
	}
	at := len(m.stack) - n
	taken := append([]any(nil), m.stack[at:]...)
	m.stack = m.stack[:at]
	return taken, nil
}

// top is the value on the stack that the next instruction would take.
func (m *machine) top() (any, error) {
	v, err := m.pop(1)
	if err != nil {
		return nil, err
	}
	m.push(v[0])
	return v[0], nil
}

// marked takes all values above the last mark, and the mark.
func (m *machine) marked() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errStack
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	taken := append([]any(nil), m.stack[at:]...)
	m.stack = m.stack[:at]
	return taken, nil
}

// run executes up to STOP and returns what is on top then.
func (m *machine) run() (any, error) {
	m.memo = map[uint64]any{}
	for {
		b, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if b[0] == '.' {
			return m.top()
		}
		for _, step := range []func(byte) (bool, error){m.scalar, m.collect, m.remember, m.make} {
			known, err := step(b[0])
			if err != nil {
				return nil, err
			}
			if known {
				b = nil
				break
			}
		}
		if b != nil {
			return nil, fmt.Errorf("the instruction %#02x is not read here", b[0])
		}
	}
}

// scalar pushes a value of the pickle.
func (m *machine) scalar(op byte) (known bool, err error) {
	switch op {
	case 'N':
		m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		m.push(op == 0x88)
	case 'K': // BININT1
		return true, m.integer(1)
	case 'M': // BININT2
		return true, m.integer(2)
	case 'J': // BININT
		v, err := m.number(4)
		m.push(int64(int32(v)))
		return true, err
	case 0x8a: // LONG1
		return true, m.long(1)
	case 0x8b: // LONG4
		return true, m.long(4)
	case 'G': // BINFLOAT
		b, err := m.take(8)
		if err == nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return true, err
	case 0x8c: // SHORT_BINUNICODE
		return true, m.text(1)
	case 'X': // BINUNICODE
		return true, m.text(4)
	case 0x8d: // BINUNICODE8
		return true, m.text(8)
	case 'C': // SHORT_BINBYTES
		return true, m.bytes(1)
	case 'B': // BINBYTES
		return true, m.bytes(4)
	case 0x8e, 0x96: // BINBYTES8, BYTEARRAY8
		return true, m.bytes(8)
	default:
		return false, nil
	}
	return true, nil
}

func (m *machine) integer(n uint64) error {
	v, err := m.number(n)
	m.push(int64(v))
	return err
}

func (m *machine) long(n uint64) error {
	b, err := m.counted(n)
	m.push(long(b))
	return err
}

func (m *machine) text(n uint64) error {
	b, err := m.counted(n)
	m.push(strings.ToValidUTF8(string(b), "\ufffd"))
	return err
}

func (m *machine) bytes(n uint64) error {
	b, err := m.counted(n)
	m.push(b)
	return err
}

// long is a number in two's complement, the least byte first; nil if it has more than 64 bits.
func long(b []byte) any {
	if len(b) > 8 {
		return nil
	}
	if len(b) == 0 {
		return int64(0)
	}
	var all [8]byte
	copy(all[:], b)
	if b[len(b)-1] >= 0x80 {
		for i := len(b); i < 8; i++ {
			all[i] = 0xff
		}
	}
	return int64(binary.LittleEndian.Uint64(all[:]))
}
