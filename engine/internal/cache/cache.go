// Package cache holds the KV pages of one model shape. Pages are pooled and reference-counted, and full pages are
// cached by their tokens, so that requests with a common prefix compute it once.
//
// Pages without users stay while they fit into the budget; the least recently used are evicted first. Sharing never
// changes a result, since a page's content is a function of the weights and of the tokens up to its end.
package cache

import (
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// PageLen is the number of positions of a page.
const PageLen = kernel.PageLen

// PagesFor is the number of pages that so many positions need.
func PagesFor(positions int) int { return (positions + PageLen - 1) / PageLen }

// Page is a KV page with a count of its users. Each use must be released.
type Page struct {
	nn.Page
	refs int // guarded by the Cache's mutex; a prefix entry counts as one
}

// Cache is the pages of one shape. It is safe for concurrent use; the users of a page synchronize access to its
// content.
type Cache struct {
	floats int
	limit  int            // pages
	memory nn.MemoryShape // of a sequence, beside its pages

	mu     sync.Mutex
	free   []*Page // unused pages whose memory is reused
	used   int     // pages with a user or in the prefix table, and those that memories count as
	prefix prefixTable

	memories []*nn.Memory // unused, whose space is used again
}

// New returns a cache for that many bytes of pages and memories of those shapes, at least one page.
func New(shape nn.PageShape, memory nn.MemoryShape, bytes int64) *Cache {
	n := shape.Floats()
	c := &Cache{floats: n, memory: memory, limit: int(max(1, bytes/int64(4*n)))}
	c.prefix.init()
	return c
}

// Limit is the number of pages that fit into the budget.
func (c *Cache) Limit() int { return c.limit }

// InUse is the number of pages with a user or in the prefix table, and of those that memories count as.
func (c *Cache) InUse() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// Alloc returns n zeroed pages, each with one user. If they do not fit, it evicts cached prefixes; if that is not
// enough and force is not set, it returns nil.
func (c *Cache) Alloc(n int, force bool) []*Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fits(n) && !force {
		return nil
	}
	pages := make([]*Page, n)
	for i := range pages {
		pages[i] = c.take()
	}
	return pages
}

// fits evicts cached prefixes until n more pages fit, and reports whether they do; c.mu is held.
func (c *Cache) fits(n int) bool {
	for c.used+n > c.limit && c.evict() {
	}
	return c.used+n <= c.limit
}

// take returns a zeroed page; c.mu is held.
func (c *Cache) take() *Page {
	c.used++
	if n := len(c.free); n > 0 {
		p := c.free[n-1]
		c.free = c.free[:n-1]
		clear(p.Data)
		p.refs = 1
		return p
	}
	return &Page{Page: nn.Page{Data: kernel.Aligned(c.floats)}, refs: 1}
}

// Release ends one use of each page.
func (c *Cache) Release(pages []*Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range pages {
		c.drop(p)
	}
}

// drop ends one use of a page; c.mu is held. Memory beyond the budget is freed.
func (c *Cache) drop(p *Page) {
	if p.refs--; p.refs > 0 {
		return
	}
	c.used--
	if c.used+len(c.free)+len(c.memories)*c.memoryPages() < c.limit {
		c.free = append(c.free, p)
	}
}

// Share adds a user to each page.
func (c *Cache) Share(pages []*Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range pages {
		p.refs++
	}
}
