package tokenizer

import "fmt"

// A tokenizer.json may come from a stranger. Its effect on a text is bounded
// when it is read, by counting, so that encoding needs no clock and
// gives the same ids on every machine: normalizers may not make a text longer
// than maxGrowth times, sections may not nest or list more parts than any
// tokenizer in use, and regular expressions run in time linear in the text
// (package pattern), so that no text makes them backtrack forever.
const (
	maxGrowth  = 256     // times the length; those in use make it 33 times at most (NFKC, then ▁ for spaces)
	maxParts   = 128     // of a normalizer, pre-tokenizer, decoder or post-processor, inner ones included
	maxDeep    = 16      // Sequences inside each other
	maxPrepend = 1024    // bytes put before a text
	maxAround  = 1024    // ids put around a text
	maxAdded   = 1024    // bytes of an added token
	maxTrie    = 1 << 20 // bytes of all added tokens
)

// Memory is an upper bound of the memory, in bytes, that one Encode takes for
// each byte of the text: a text that is one long word has a list of symbols and
// a heap of candidates.
const Memory = 64

// parts counts the parts of a section while it is read.
type parts struct {
	section string
	n       int
}

// deeper counts a part that lies in depth others.
func (p *parts) deeper(depth int) error {
	if p.n++; p.n > maxParts {
		return fmt.Errorf("tokenizer: %s has more than %d parts", p.section, maxParts)
	}
	if depth > maxDeep {
		return fmt.Errorf("tokenizer: %s nests more than %d deep", p.section, maxDeep)
	}
	return nil
}

// maxIDs is the number of ids that a file with so many tokens may have: a few
// stay without token in real ones, but a short file cannot ask for a huge table.
func maxIDs(tokens int) int { return min(1<<24, 1<<16+16*tokens) }
