package tokenizer

import "math"

// Encode returns the ids of text. Added tokens written in the text are
// recognised. With addSpecial the tokens that the post-processor puts around a
// text (most often a BOS) are added; rendered chat templates already hold
// theirs, so they are encoded without.
func (t *Tokenizer) Encode(text string, addSpecial bool) []int32 {
	return t.EncodeMost(text, addSpecial, math.MaxInt)
}

// EncodeMost is Encode that ends when there are more than most ids, since the
// rest of such a text is of no use. The ids of a text that has at most so many
// are Encode's.
func (t *Tokenizer) EncodeMost(text string, addSpecial bool, most int) []int32 {
	w := t.work.Get().(*workspace)
	w.most = most
	out := w.ids[:0]
	if addSpecial {
		out = append(out, t.prefix...)
	}
	w.outer = t.raw.cut(w.outer[:0], text, most)
	for i, s := range w.outer {
		if len(out) > most {
			break
		}
		if s.token != nil {
			out = append(out, s.token.ID)
			continue
		}
		out = t.encodeNormal(w, out, s.text, i == 0)
	}
	if addSpecial {
		out = append(out, t.suffix...)
	}
	result := append(make([]int32, 0, len(out)), out...)
	w.ids = out
	w.release()
	t.work.Put(w)
	return result
}

// encodeNormal encodes text that holds no raw added token; start tells whether
// it begins the whole text.
func (t *Tokenizer) encodeNormal(w *workspace, out []int32, text string, start bool) []int32 {
	if t.normalize != nil {
		text = t.normalize(text)
	}
	w.inner = t.norm.cut(w.inner[:0], text, w.most)
	for i, s := range w.inner {
		if s.token != nil {
			out = append(out, s.token.ID)
			continue
		}
		text := s.text
		if t.pieces != nil {
			text = t.pieces.spell(text, start && i == 0)
		}
		out = t.encodeWords(w, out, text)
	}
	return out
}

// encodeWords splits text and encodes each word. When the last splitter scans,
// words go straight from it to the model, which halves the time.
func (t *Tokenizer) encodeWords(w *workspace, out []int32, text string) []int32 {
	last := len(t.splitters) - 1
	next := t.splitters[last].next
	if next == nil {
		for _, word := range w.split(text, t.splitters) {
			if out = w.encodeWord(t.model, out, word); len(out) > w.most {
				break
			}
		}
		return out
	}
	for _, s := range w.split(text, t.splitters[:last]) {
		for len(s) > 0 && len(out) <= w.most {
			n := next(s)
			out = w.encodeWord(t.model, out, s[:n])
			s = s[n:]
		}
	}
	return out
}

// workspace has the memory of one Encode. Each is used by one
// goroutine at a time, so the words it remembers need no lock.
type workspace struct {
	outer, inner []section
	words, spare []string
	ids          []int32
	most         int // ids after which a text is not encoded further

	known memory
}

// keepIDs is the capacity up to which a workspace keeps its buffers.
const keepIDs = 1 << 14

func newWorkspace() *workspace {
	return &workspace{known: newMemory()}
}

// split cuts text by each splitter in turn. The result lasts until the next call.
func (w *workspace) split(text string, all []splitter) []string {
	w.words = append(w.words[:0], text)
	for _, step := range all {
		w.spare = w.spare[:0]
		for _, piece := range w.words {
			w.spare = step.split(w.spare, piece)
		}
		w.words, w.spare = w.spare, w.words
	}
	return w.words
}

// encodeWord encodes a word or remembers it.
func (w *workspace) encodeWord(model *bpe, out []int32, word string) []int32 {
	place := w.known.place(word)
	if place == nil {
		return model.encode(out, word)
	}
	if place.holds(word) {
		return append(out, place.ids[:place.n]...)
	}
	start := len(out)
	out = model.encode(out, word)
	place.set(word, out[start:])
	return out
}

// release lets go of the text and of buffers that grew large.
func (w *workspace) release() {
	clear(w.outer[:cap(w.outer)])
	clear(w.inner[:cap(w.inner)])
	if cap(w.ids) > keepIDs || cap(w.words) > keepIDs || cap(w.spare) > keepIDs {
		w.ids, w.words, w.spare = nil, nil, nil
		return
	}
	clear(w.words[:cap(w.words)])
	clear(w.spare[:cap(w.spare)])
}
