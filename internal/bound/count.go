package bound

// The counts of a list and of an object follow their memory.
const (
	List   = 2
	Object = 8
)

// Count counts the values of a message while it is decoded.
type Count struct {
	limits        Limits
	values, depth int
}

// Count begins to count.
func (l Limits) Count() *Count { return &Count{limits: l} }

// Add counts n values.
func (c *Count) Add(n int) error {
	if c.values += n; c.values > c.limits.Values {
		return &Error{"values", int64(c.limits.Values)}
	}
	return nil
}

// Enter begins a list or an object.
func (c *Count) Enter(weight int) error {
	if c.depth++; c.depth > c.limits.Depth {
		return &Error{"levels of nesting", int64(c.limits.Depth)}
	}
	return c.Add(weight)
}

// Leave ends it.
func (c *Count) Leave() { c.depth-- }

// Scan counts the values of JSON texts that come in pieces, each on a line or several of its own.
type Scan struct {
	Count
	text, escaped bool // within a text, and behind a backslash in it
}

// Scan begins to count.
func (l Limits) Scan() *Scan { return &Scan{Count: *l.Count()} }

// Feed counts the next piece. A line that ends outside of all lists and objects ends a message.
func (s *Scan) Feed(piece []byte) (err error) {
	for _, c := range piece {
		switch {
		case c == '\n': // no text of JSON has one
			s.text, s.escaped = false, false
			if s.depth <= 0 {
				s.values, s.depth = 0, 0
			}
		case s.text:
			s.text = s.escaped || c != '"'
			s.escaped = !s.escaped && c == '\\'
		case c == '"':
			s.text = true
		case c == ',' || c == ':':
			err = s.Add(1)
		case c == '[':
			err = s.Enter(List)
		case c == '{':
			err = s.Enter(Object)
		case c == ']' || c == '}':
			s.Leave()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
