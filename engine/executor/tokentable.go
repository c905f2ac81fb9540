package executor

import (
	"fmt"
	"math"
)

// TokenTable is the bytes of every token of a vocabulary, as stop strings need them.
type TokenTable struct {
	ends []uint32 // [V] end of each token in text
	text []byte
}

// NewTokenTable lists the bytes of tokens 0 to vocab-1.
func NewTokenTable(vocab int, bytes func(id int32) []byte) TokenTable {
	t := TokenTable{ends: make([]uint32, vocab)}
	for id := range t.ends {
		t.text = append(t.text, bytes(int32(id))...)
		t.ends[id] = uint32(len(t.text))
	}
	return t
}

// Bytes returns the bytes of a token, nil for one outside the vocabulary.
func (t TokenTable) Bytes(id int32) []byte {
	if id < 0 || int(id) >= len(t.ends) {
		return nil
	}
	from := uint32(0)
	if id > 0 {
		from = t.ends[id-1]
	}
	return t.text[from:t.ends[id]]
}

// Encode returns the table as a blob's content: the number of tokens, the length of each, and their bytes.
func (t TokenTable) Encode() []byte {
	var w writer
	w.count(len(t.ends))
	from := uint32(0)
	for _, end := range t.ends {
		w.uint(uint64(end - from))
		from = end
	}
	w.raw(t.text)
	return w.b
}

// ParseTokenTable reads what Encode wrote.
func ParseTokenTable(raw []byte) (TokenTable, error) {
	r := reader{b: raw}
	n := r.count(1, "tokens")
	t := TokenTable{ends: make([]uint32, n)}
	end := uint64(0)
	for i := range t.ends {
		if end += min(r.uint(), math.MaxUint32); end > math.MaxUint32 {
			r.fail("a table of more than 4 GiB")
		}
		t.ends[i] = uint32(end)
	}
	t.text = r.bytes(int(end), "text")
	if err := r.end(); err != nil {
		return TokenTable{}, fmt.Errorf("executor: table of tokens: %w", err)
	}
	return t, nil
}
