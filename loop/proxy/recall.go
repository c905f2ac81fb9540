package proxy

import (
	"sync"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

// recallBytes bounds the texts and tokens of a recall together.
const recallBytes = 64 << 20

// recall remembers the sequences that were answered, the last ones up to recallBytes, so that a conversation
// that comes back as text continues with the tokens that were sampled. It is safe for concurrent use.
type recall struct {
	mu     sync.Mutex
	byText map[uint64][]*chat.Sequence // by the hash of the text, in order of recording
	length map[int]int                 // how many texts have so many bytes
	order  []*chat.Sequence
	size   int
}

func newRecall() *recall {
	return &recall{byText: map[uint64][]*chat.Sequence{}, length: map[int]int{}}
}

// hash continues FNV-1a, 64 bits, by a byte; it begins with 14695981039346656037 (Fowler, Noll, Vo).
func hash(h uint64, b byte) uint64 { return (h ^ uint64(b)) * 1099511628211 }

const noHash uint64 = 14695981039346656037

func hashOf(text string) uint64 {
	h := noHash
	for i := range len(text) {
		h = hash(h, text[i])
	}
	return h
}

func bytesOf(s *chat.Sequence) int { return len(s.Text) + 4*len(s.Tokens) }

// add remembers a sequence and forgets the oldest ones that there is no room for.
func (r *recall) add(s *chat.Sequence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := hashOf(s.Text)
	r.byText[key] = append(r.byText[key], s)
	r.length[len(s.Text)]++
	r.order = append(r.order, s)
	r.size += bytesOf(s)
	for r.size > recallBytes && len(r.order) > 1 {
		r.forget()
	}
}

// forget drops the oldest sequence. The caller holds mu.
func (r *recall) forget() {
	s := r.order[0]
	r.order[0], r.order = nil, r.order[1:]
	r.size -= bytesOf(s)
	if r.length[len(s.Text)]--; r.length[len(s.Text)] == 0 {
		delete(r.length, len(s.Text))
	}
	key := hashOf(s.Text)
	if r.byText[key] = r.byText[key][1:]; len(r.byText[key]) == 0 { // the oldest of its hash, too
		delete(r.byText, key)
	}
}

// find returns the sequence with the longest text that text begins with, the first recorded of several; an
// empty one if there is none.
func (r *recall) find(text string) chat.Sequence {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best chat.Sequence
	h := noHash
	for i := range len(text) {
		h = hash(h, text[i])
		if r.length[i+1] == 0 {
			continue
		}
		for _, s := range r.byText[h] {
			if s.Text == text[:i+1] {
				best = *s
				break
			}
		}
	}
	return best
}
