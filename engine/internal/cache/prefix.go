package cache

import (
	"container/list"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// prefixTable finds pages by the tokens up to their end. An entry's key has the id of the previous page's entry, so
// the table is a tree and needs no hashes of prefixes, which could collide.
type prefixTable struct {
	entries map[prefixKey]*list.Element
	order   *list.List // of *entry, most recently used first; an entry is before its continuations
	last    uint64     // the newest entry's id
}

type prefixKey struct {
	version uint64 // the weights, for the first page; 0 for the others
	room    string // of Scope, for the first page; "" for the others
	parent  uint64 // id of the entry before it; 0 for the first page
	tokens  [PageLen]int32
}

type prefixEntry struct {
	key     prefixKey
	version uint64
	id      uint64 // never used again
	page    *Page
	memory  *nn.Memory // after the page; nil if it was not kept
	users   []string   // who kept it, of Scope; at most maxUsers
}

// Scope says whose prefixes are looked for and kept.
type Scope struct {
	Version uint64 // of the weights; never 0
	Room    string // only pages that were kept in the same room are found
	User    string // who asks; hits are counted on pages that the same user has kept
}

// maxUsers limits the users of a page that are remembered; hits of others are not counted.
const maxUsers = 32

func (e *prefixEntry) use(user string) {
	if len(e.users) < maxUsers && !slices.Contains(e.users, user) {
		e.users = append(e.users, user)
	}
}

func (t *prefixTable) init() { t.entries, t.order = map[prefixKey]*list.Element{}, list.New() }

// walk calls f with the known entries along tokens, from the first page on, and returns their number.
func (t *prefixTable) walk(s Scope, tokens []int32, f func(i int, e *list.Element)) int {
	k, n := prefixKey{version: s.Version, room: s.Room}, 0
	for ; len(tokens) >= PageLen; tokens = tokens[PageLen:] {
		copy(k.tokens[:], tokens)
		e, ok := t.entries[k]
		if !ok {
			break
		}
		f(n, e)
		n++
		k = prefixKey{parent: e.Value.(*prefixEntry).id}
	}
	return n
}

// touch makes a path the most recently used, its first page the most recent.
func (t *prefixTable) touch(path []*list.Element) {
	for i := len(path) - 1; i >= 0; i-- {
		t.order.MoveToFront(path[i])
	}
}

// evict removes the least recently used memory, or page that only the table holds, and reports whether there was one;
// c.mu is held.
func (c *Cache) evict() bool {
	for e := c.prefix.order.Back(); e != nil; e = e.Prev() {
		en := e.Value.(*prefixEntry)
		if en.memory != nil {
			c.forgotten(en.memory)
			en.memory = nil
			return true
		}
		if en.page.refs == 1 {
			c.remove(e)
			return true
		}
	}
	return false
}

// remove removes an entry; c.mu is held.
func (c *Cache) remove(e *list.Element) {
	en := c.prefix.order.Remove(e).(*prefixEntry)
	delete(c.prefix.entries, en.key)
	if en.memory != nil {
		c.forgotten(en.memory)
	}
	c.drop(en.page)
}

// Prefix is what the cache has of a sequence. The pages have one more reference each, and the memory, if sequences
// have some, is the caller's.
type Prefix struct {
	Pages  []*Page
	Memory *nn.Memory // after the pages; nil without any
	Own    int        // the first of the pages, which the user kept
}

// Lookup returns the longest known prefix of tokens in a scope. It has only full pages, and never all tokens: the last
// one must be computed.
func (c *Cache) Lookup(s Scope, tokens []int32) (p Prefix) {
	if len(tokens) <= PageLen {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var path []*list.Element
	deepest := 0 // pages up to the last memory
	c.prefix.walk(s, tokens[:len(tokens)-1], func(i int, e *list.Element) {
		path = append(path, e)
		if e.Value.(*prefixEntry).memory != nil {
			deepest = i + 1
		}
	})
	c.prefix.touch(path)
	if c.Remembers() {
		path = path[:deepest]
		if p.Memory = c.copied(path); p.Memory == nil {
			return p
		}
	}
	for _, e := range path {
		en := e.Value.(*prefixEntry)
		if p.Own == len(p.Pages) && slices.Contains(en.users, s.User) {
			p.Own++
		}
		en.use(s.User)
		en.page.refs++
		p.Pages = append(p.Pages, en.page)
	}
	return p
}

// copied returns a copy of the memory at the end of a path, nil if there is none or no room; c.mu is held.
func (c *Cache) copied(path []*list.Element) *nn.Memory {
	if len(path) == 0 {
		return nil
	}
	m, end := c.remember(false), path[len(path)-1].Value.(*prefixEntry)
	switch {
	case m == nil:
	case end.memory == nil: // evicted to make room
		c.forgotten(m)
		return nil
	default:
		m.Copy(end.memory)
	}
	return m
}

// Keep adds the full pages of tokens to the cache. pages are the caller's. If the cache has another page with the same
// content, Keep replaces the caller's page in pages by that one. m, if sequences have memories, is the one after the
// tokens, which end with a page; without room for a copy of it nothing is kept.
func (c *Cache) Keep(s Scope, tokens []int32, pages []*Page, m *nn.Memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var own *nn.Memory
	if m != nil {
		if own = c.remember(false); own == nil {
			return
		}
		own.Copy(m)
	}
	t := &c.prefix
	k := prefixKey{version: s.Version, room: s.Room}
	path := make([]*list.Element, 0, len(tokens)/PageLen)
	for i := 0; (i+1)*PageLen <= len(tokens); i++ {
		copy(k.tokens[:], tokens[i*PageLen:])
		e, ok := t.entries[k]
		if !ok {
			t.last++
			e = t.order.PushFront(&prefixEntry{key: k, version: s.Version, id: t.last, page: pages[i]})
			t.entries[k] = e
			pages[i].refs++
		}
		known := e.Value.(*prefixEntry)
		known.use(s.User)
		if known.page != pages[i] {
			known.page.refs++
			c.drop(pages[i])
			pages[i] = known.page
		}
		path = append(path, e)
		k = prefixKey{parent: e.Value.(*prefixEntry).id}
	}
	t.touch(path)
	if own == nil {
		return
	}
	if end := path[len(path)-1].Value.(*prefixEntry); end.memory == nil {
		end.memory = own
	} else {
		c.forgotten(own)
	}
}

// Forget removes the cached prefixes of a version of the weights, which has no sampler any more.
func (c *Cache) Forget(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.prefix.order.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*prefixEntry).version == version {
			c.remove(e)
		}
		e = next
	}
}
