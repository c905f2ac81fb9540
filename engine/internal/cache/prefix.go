package cache

import (
	"container/list"
	"slices"
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
	users   []string // who kept it, of Scope; at most maxUsers
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

// evict removes the least recently used page that only the table holds and returns it, nil if there is none.
func (t *prefixTable) evict() *Page {
	for e := t.order.Back(); e != nil; e = e.Prev() {
		en := e.Value.(*prefixEntry)
		if en.page.refs == 1 {
			return t.remove(e)
		}
	}
	return nil
}

func (t *prefixTable) remove(e *list.Element) *Page {
	en := t.order.Remove(e).(*prefixEntry)
	delete(t.entries, en.key)
	return en.page
}

// Lookup returns the cached pages of the longest prefix of tokens in a scope, each with one more reference, and the
// number of the first of them that the user kept. It returns only full pages, and never all tokens: the last one must
// be computed.
func (c *Cache) Lookup(s Scope, tokens []int32) (pages []*Page, own int) {
	if len(tokens) <= PageLen {
		return nil, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var path []*list.Element
	c.prefix.walk(s, tokens[:len(tokens)-1], func(_ int, e *list.Element) {
		en := e.Value.(*prefixEntry)
		if own == len(pages) && slices.Contains(en.users, s.User) {
			own++
		}
		en.use(s.User)
		en.page.refs++
		pages, path = append(pages, en.page), append(path, e)
	})
	c.prefix.touch(path)
	return pages, own
}

// Keep adds the full pages of tokens to the cache. pages are the caller's. If the cache has another page with the same
// content, Keep replaces the caller's page in pages by that one.
func (c *Cache) Keep(s Scope, tokens []int32, pages []*Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
}

// Forget removes the cached prefixes of a version of the weights, which has no sampler any more.
func (c *Cache) Forget(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.prefix.order.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*prefixEntry).version == version {
			c.drop(c.prefix.remove(e))
		}
		e = next
	}
}
