package tokenizer

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/charclass"
)

// matcher finds added tokens in text, the leftmost and of those the longest.
// It is a trie over bytes.
type matcher struct {
	nodes []trieNode
	heads [256]bool // first bytes
	only  int       // the single first byte, or -1 when there are several
}

type trieNode struct {
	next  map[byte]int32
	token *addedToken
}

// section is a stretch of text: an added token, or text between (token nil).
type section struct {
	text  string
	token *addedToken
}

// add enters a token under the text it is recognised by.
func (m *matcher) add(text string, token *addedToken) {
	if text == "" {
		return
	}
	if m.nodes == nil {
		m.nodes = []trieNode{{}}
		m.only = int(text[0])
	}
	if m.only != int(text[0]) {
		m.only = -1
	}
	m.heads[text[0]] = true
	at := int32(0)
	for i := range len(text) {
		to, ok := m.nodes[at].next[text[i]]
		if !ok {
			to = int32(len(m.nodes))
			m.nodes = append(m.nodes, trieNode{})
			if m.nodes[at].next == nil {
				m.nodes[at].next = make(map[byte]int32)
			}
			m.nodes[at].next[text[i]] = to
		}
		at = to
	}
	m.nodes[at].token = token
}

// find returns the first match at or after from.
func (m *matcher) find(s string, from int) (start, end int, token *addedToken) {
	if m.nodes == nil {
		return 0, 0, nil
	}
	for i := m.candidate(s, from); i < len(s); i = m.candidate(s, i+1) {
		at := int32(0)
		for j := i; j < len(s); j++ {
			to, ok := m.nodes[at].next[s[j]]
			if !ok {
				break
			}
			at = to
			if found := m.nodes[at].token; found != nil {
				end, token = j+1, found
			}
		}
		if token != nil {
			return i, end, token
		}
	}
	return 0, 0, nil
}

// candidate returns the next place at or after from where a token may start,
// len(s) or more if there is none.
func (m *matcher) candidate(s string, from int) int {
	if m.only >= 0 {
		i := strings.IndexByte(s[from:], byte(m.only))
		if i < 0 {
			return len(s)
		}
		return from + i
	}
	for from < len(s) && !m.heads[s[from]] {
		from++
	}
	return from
}

// cut appends the sections of s to out. A token with lstrip or rstrip swallows
// the white space on that side; one with single_word counts only where no
// letter or digit touches it. It ends after more than most tokens.
func (m *matcher) cut(out []section, s string, most int) []section {
	done := 0 // s[:done] has been put out
	for from, tokens := 0, 0; tokens <= most; {
		start, end, token := m.find(s, from)
		if token == nil {
			break
		}
		from = end
		if token.SingleWord && (wordBefore(s[:start]) || wordAfter(s[end:])) {
			continue
		}
		if token.LStrip {
			start = len(strings.TrimRightFunc(s[:start], unicode.IsSpace))
		}
		start = max(start, done)
		if token.RStrip {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		}
		if done < start {
			out = append(out, section{text: s[done:start]})
		}
		out = append(out, section{text: s[start:max(start, end)], token: token})
		tokens++
		done = max(done, end)
		from = max(from, done)
	}
	if done < len(s) {
		out = append(out, section{text: s[done:]})
	}
	return out
}

func wordBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && wordRune(r)
}

func wordAfter(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && wordRune(r)
}

// wordRune is \w of Rust's regular expressions.
func wordRune(r rune) bool { return unicode.Is(wordTable(), r) }

var wordTable = sync.OnceValue(func() *unicode.RangeTable { return charclass.Table(charclass.Alphanumeric) })
