package pickle

import "errors"

// collect makes lists, tuples, sets and dictionaries, and puts values into them.
func (m *machine) collect(op byte) (known bool, err error) {
	switch op {
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
	case ']', ')', 0x8f: // EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET
		m.push(&list{})
	case '}': // EMPTY_DICT
		m.push(&dict{})
	case 'a': // APPEND
		v, err := m.pop(1)
		if err != nil {
			return true, err
		}
		return true, m.extend(v)
	case 'e', 0x90: // APPENDS, ADDITEMS
		v, err := m.marked()
		if err != nil {
			return true, err
		}
		return true, m.extend(v)
	case 's': // SETITEM
		v, err := m.pop(2)
		if err != nil {
			return true, err
		}
		return true, m.set(v)
	case 'u': // SETITEMS
		v, err := m.marked()
		if err != nil {
			return true, err
		}
		return true, m.set(v)
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		v, err := m.pop(int(op-0x85) + 1)
		m.push(&list{v})
		return true, err
	case 't', 'l', 0x91: // TUPLE, LIST, FROZENSET
		v, err := m.marked()
		m.push(&list{v})
		return true, err
	case 'd': // DICT
		v, err := m.marked()
		if err != nil {
			return true, err
		}
		m.push(&dict{})
		return true, m.set(v)
	default:
		return false, nil
	}
	return true, nil
}

// extend puts values into the list on top.
func (m *machine) extend(values []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	switch x := v.(type) {
	case *list:
		x.items = append(x.items, values...)
	case *object:
		x.items = append(x.items, values...)
	default:
		return errKind
	}
	return nil
}

// set puts keys with their values into the dictionary on top.
func (m *machine) set(values []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	if len(values)%2 != 0 {
		return errStack
	}
	var into *dict
	switch x := v.(type) {
	case *dict:
		into = x
	case *object:
		into = &x.dict
	default:
		return errKind
	}
	for i := 0; i < len(values); i += 2 {
		into.keys, into.values = append(into.keys, values[i]), append(into.values, values[i+1])
	}
	return nil
}

// remember is the memo, and what does nothing here.
func (m *machine) remember(op byte) (known bool, err error) {
	var at uint64
	switch op {
	case 0x80: // PROTO
		v, err := m.number(1)
		if err == nil && (v < 2 || v > 5) {
			err = errors.New("its protocol is none of 2 to 5")
		}
		return true, err
	case 0x95: // FRAME
		_, err := m.number(8)
		return true, err
	case '0': // POP
		_, err := m.pop(1)
		return true, err
	case '1': // POP_MARK
		_, err := m.marked()
		return true, err
	case '2': // DUP
		v, err := m.top()
		m.push(v)
		return true, err
	case 0x94: // MEMOIZE
		at = uint64(len(m.memo))
	case 'q', 'h': // BINPUT, BINGET
		at, err = m.number(1)
	case 'r', 'j': // LONG_BINPUT, LONG_BINGET
		at, err = m.number(4)
	default:
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if op == 'h' || op == 'j' {
		v, ok := m.memo[at]
		if !ok {
			return true, errors.New("it refers to a value that it does not have")
		}
		m.push(v)
		return true, nil
	}
	m.memo[at], err = m.top()
	return true, err
}

// make makes objects, which stay what they are made of.
func (m *machine) make(op byte) (known bool, err error) {
	switch op {
	case 'c': // GLOBAL: two lines
		module, err := m.line()
		if err != nil {
			return true, err
		}
		name, err := m.line()
		m.push(&object{name: module + "." + name})
		return true, err
	case 0x93: // STACK_GLOBAL
		v, err := m.pop(2)
		if err != nil {
			return true, err
		}
		module, ok1 := v[0].(string)
		name, ok2 := v[1].(string)
		if !ok1 || !ok2 {
			return true, errKind
		}
		m.push(&object{name: module + "." + name})
	case 'R', 0x81: // REDUCE, NEWOBJ: a class, its arguments
		return true, m.call(2)
	case 0x92: // NEWOBJ_EX: and named ones
		return true, m.call(3)
	case 'b': // BUILD: an object, its state
		_, err := m.pop(1)
		return true, err
	default:
		return false, nil
	}
	return true, nil
}

// call makes an object of a class and its arguments, which are the n values on top.
func (m *machine) call(n int) error {
	v, err := m.pop(n)
	if err != nil {
		return err
	}
	class, ok := v[0].(*object)
	if !ok {
		return errKind
	}
	m.push(&object{name: class.name, args: v[1]})
	return nil
}

func (m *machine) line() (string, error) {
	for i := m.at; i < len(m.data); i++ {
		if m.data[i] == '\n' {
			s := string(m.data[m.at:i])
			m.at = i + 1
			return s, nil
		}
	}
	return "", errShort
}
