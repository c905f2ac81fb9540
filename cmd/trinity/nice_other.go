//go:build !linux

package main

import "errors"

// lowerPriority sets the priority of this process.
func lowerPriority(nice int) error {
	if nice == 0 {
		return nil
	}
	return errors.New("not available on this system; start the worker with the system's own nice")
}
