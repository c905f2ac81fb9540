package edge

import (
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Page reads limit and offset of a list.
func Page(c *Call, limit int) (wire.Cursor, error) {
	p := wire.Cursor{Limit: limit}
	for name, to := range map[string]*int{"limit": &p.Limit, "offset": &p.Offset} {
		text := c.R.URL.Query().Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return p, tinker.Userf("%s is %q; it must be a number of 0 or more", name, text)
		}
		*to = n
	}
	if q := c.R.URL.Query(); q.Get("project_id") != "" {
		return p, tinker.Userf("project_id is %q; this server has no projects", q.Get("project_id"))
	}
	return p, nil
}

// Cut returns the page of a list.
func Cut[T any](p *wire.Cursor, list []T) []T {
	p.TotalCount = len(list)
	from := min(p.Offset, len(list))
	return list[from : from+min(p.Limit, len(list)-from)] // not from+Limit, which may overflow
}
