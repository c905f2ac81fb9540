package fleet

import (
	"sync"
	"time"
)

// meter divides the worker's time among the tasks that it computes at once. The zero value is ready to use.
type meter struct {
	mu      sync.Mutex
	running int
	at      time.Time
	clock   float64 // seconds that each running task has had since the start
}

// begin notes that a task begins and returns the clock.
func (m *meter) begin() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.running++
	return m.clock
}

// end notes that a task ends and returns its seconds.
func (m *meter) end(begun float64) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.running--
	return m.clock - begun
}

func (m *meter) advance() {
	now := time.Now()
	if m.running > 0 {
		m.clock += now.Sub(m.at).Seconds() / float64(m.running)
	}
	m.at = now
}

// stopwatch is the computing time of one task: the meter's, without the time in which the task waits for blobs.
type stopwatch struct {
	meter *meter

	mu      sync.Mutex
	waits   int     // calls of pause without resume
	begun   float64 // the meter's clock
	seconds float64
}

func (s *stopwatch) start() { s.begun = s.meter.begin() }

// pause and resume enclose a download; several may overlap.
func (s *stopwatch) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits++; s.waits == 1 {
		s.seconds += s.meter.end(s.begun)
	}
}

func (s *stopwatch) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits--; s.waits == 0 {
		s.begun = s.meter.begin()
	}
}

// stop returns the task's seconds.
func (s *stopwatch) stop() float64 {
	return s.seconds + s.meter.end(s.begun)
}
