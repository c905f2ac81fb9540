package endpoints

import (
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// modelTexts are the tokenizers and chat templates of base models, read at first use. The zero value is ready.
type modelTexts struct {
	mu sync.Mutex
	of map[string]*endpoint.Text
}

// text returns the text side of a base model.
func (s *Endpoints) text(base string) (*endpoint.Text, error) {
	m := &s.texts
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.of[base]; t != nil {
		return t, nil
	}
	dir := s.Names.Tokenizers[base]
	if dir == "" {
		return nil, tinker.Userf("base model %q has no tokenizer on this server; sample with token ids over the "+
			"Tinker API", s.Names.Told(base))
	}
	var ends []int32
	if b, ok := s.Store.(interface {
		EndTokens(baseModel string) ([]int32, error)
	}); ok {
		var err error
		if ends, err = b.EndTokens(base); err != nil {
			return nil, err
		}
	}
	t, err := endpoint.LoadText(dir, ends, s.Life.Now())
	if err != nil {
		return nil, fmt.Errorf("server: the tokenizer of base model %q: %w", base, err)
	}
	if m.of == nil {
		m.of = map[string]*endpoint.Text{}
	}
	m.of[base] = t
	return t, nil
}
