//go:build !linux

package machine

import "errors"

// LowerPriority sets the priority of this process.
func LowerPriority(nice int) error {
	if nice == 0 {
		return nil
	}
	return errors.New("not available on this system; start the worker with the system's own nice")
}
