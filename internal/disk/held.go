package disk

// Held reads who holds a lock, from its file alone, so that no process notices. ok is false if nobody does. gone means
// that the process ended without releasing the lock; a process on another host counts as alive.
func Held(path string) (h Holder, gone, ok bool) {
	h = readHolder(path)
	if h.PID == 0 {
		return h, false, false
	}
	return h, here(h) && ending(h.PID), true
}
