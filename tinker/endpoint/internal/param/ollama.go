package param

import (
	"net/http"
	"strconv"
)

// Ollama is the error in Ollama's form.
func (e *Error) Ollama() Object { return Object{"error": e.Message} }

// WriteOllama sends the error as the answer in Ollama's form and returns its status.
func (e *Error) WriteOllama(w http.ResponseWriter) int {
	if e.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.After.Seconds())))
	}
	Reply(w, e.Status, e.Ollama())
	return e.Status
}
