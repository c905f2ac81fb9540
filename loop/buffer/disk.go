package buffer

// Hook is called before every transaction of a database, with what is about to happen and where. An error stops it and
// is returned to the caller. With it a test can end a run between any two of them; it is nil otherwise.
type Hook func(op, path string) error
