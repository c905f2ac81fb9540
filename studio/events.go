package studio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// event tells pages what to ask for again.
type event struct {
	Type string   `json:"type"` // runs, run or index
	Run  string   `json:"run,omitempty"`
	Step int      `json:"step,omitempty"`
	Done *float64 `json:"done,omitempty"`
}

// hub hands events to all who listen. One who does not keep up misses some.
type hub struct {
	mu        sync.Mutex
	listeners map[chan event]bool
}

func newHub() *hub { return &hub{listeners: map[chan event]bool{}} }

func (h *hub) send(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.listeners {
		select {
		case c <- e:
		default:
		}
	}
}

func (h *hub) listen() (c chan event, leave func()) {
	c = make(chan event, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, c)
	}
}

// beat is how often a silent stream says that it lives.
const beat = 15 * time.Second

// stream is GET /api/events.
func (s *Studio) stream(w http.ResponseWriter, r *http.Request) error {
	events, leave := s.events.listen()
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	fmt.Fprint(w, ": hello\n\n")
	if err := out.Flush(); err != nil {
		return nil
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return nil
		case <-alive.C:
			_, err = fmt.Fprint(w, ": alive\n\n")
		case e := <-events:
			data, jerr := json.Marshal(e)
			if jerr != nil {
				return nil
			}
			_, err = fmt.Fprintf(w, "data: %s\n\n", data)
		}
		if err != nil || out.Flush() != nil {
			return nil // the client left
		}
	}
}
