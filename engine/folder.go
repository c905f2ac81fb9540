package engine

// Folder returns where on disk a checkpoint lies. It is for reading: the engine alone writes and removes there.
func (e *Engine) Folder(path string) (string, error) {
	_, _, dir, err := e.store.read(path)
	return dir, err
}
