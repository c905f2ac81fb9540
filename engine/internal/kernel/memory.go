package kernel

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Memory is a stretch of zeros outside the Go heap, in huge pages if the system has them, from which panels are
// allocated. It is returned to the system when neither it nor any of its panels is reachable.
type Memory struct {
	data []byte
	used int
}

// NewMemory reserves memory for panels of that many bytes: the sum of PanelBytes.
func NewMemory(bytes int) (*Memory, error) {
	if bytes == 0 {
		return &Memory{}, nil
	}
	data, free, err := reserve(bytes)
	if err != nil {
		return nil, fmt.Errorf("kernel: %d MiB of memory for weights: %w", bytes>>20, err)
	}
	m := &Memory{data: data}
	if free != nil {
		runtime.AddCleanup(m, func(data []byte) { free(data) }, data)
	}
	return m, nil
}

// PanelBytes returns the bytes of the panels of a matrix [N,K].
func PanelBytes(N, K int, bf16 bool) int {
	p := Panels{N: N, K: K, BF16: bf16}
	return p.words() * 4
}

// Panels returns panels of zeros for a matrix [N,K]. It panics if the memory is too small for them.
func (m *Memory) Panels(N, K int, bf16 bool) *Panels {
	p := &Panels{N: N, K: K, BF16: bf16, mem: m}
	n := p.words()
	if n == 0 {
		return p
	}
	part := m.data[m.used : m.used+4*n]
	m.used += 4 * n
	if bf16 {
		p.Pairs = unsafe.Slice((*uint32)(unsafe.Pointer(&part[0])), n)
	} else {
		p.F32 = unsafe.Slice((*float32)(unsafe.Pointer(&part[0])), n)
	}
	return p
}
