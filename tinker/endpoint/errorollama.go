package endpoint

import (
	"net/http"
	"strconv"
)

// ollama is the error in Ollama's form.
func (e *Error) ollama() object { return object{"error": e.Message} }

// WriteOllama sends the error as the answer in Ollama's form and returns its status.
func (e *Error) WriteOllama(w http.ResponseWriter) int {
	if e.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.After.Seconds())))
	}
	reply(w, e.Status, e.ollama())
	return e.Status
}
