//go:build !unix

package hub

import "context"

// lock does nothing here: two processes that fetch one repository at a time may make each other fail, and the same command
// goes on.
func (h *Hub) lock(context.Context, repo) (unlock func(), err error) { return func() {}, nil }
