//go:build !unix

package main

import "math"

// lockFolder does nothing: folders are not locked on this system.
func lockFolder(string, func(string)) (unlock func(), err error) { return func() {}, nil }

// freeBytes does not look: the disk budget is not kept on this system.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }
