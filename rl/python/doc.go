// Package python runs functions of the user's own Python.
package python
