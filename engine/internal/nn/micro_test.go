package nn

import (
	"fmt"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// A matrix in MXFP4 has the products of its bf16 panels, forth and back, with an addition and a bias, for any number of
// rows, on every path and in every order, also if workers share them.
func TestMicroIsBF16(t *testing.T) {
	const N, K, rank = 1100, 288, 3 // more rows than are transposed at once
	raw := kernel.Rows{Data: make([]byte, N*K/32*17), Element: kernel.ElementMXFP4, K: K}
	for i, v := range normal(1, len(raw.Data)) {
		if raw.Data[i] = byte(int(v * 1000)); i%17 == 0 {
			raw.Data[i] = 120 + raw.Data[i]%8
		}
	}
	wide := make([]float32, N*K)
	raw.Widen(wide)
	memory, err := kernel.NewMemory(kernel.MicroBytes(N, K))
	if err != nil {
		t.Fatal(err)
	}
	q := memory.Micro(N, K)
	q.Write(0, raw)
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, k := range sets(t) {
		bias := normal(2, N)
		both := []*Linear{{W: k.Pack(wide, N, K, true), Bias: bias}, {M: q, Bias: bias}}
		lora := NewLoRA(k, rank, 0.5, K, true, []int{32}, [][]float32{normal(3, rank*K)},
			[][]float32{normal(4, 500*rank)})
		for _, M := range []int{1, 3, 40, 130} {
			for _, p := range []*kernel.Pool{nil, pool} {
				on := Products{K: k, SC: kernel.NewScratch(), P: p}
				x, dy := Rows{normal(5, M*K), K}, Rows{normal(6, M*N), N}
				var y, dx [2]Rows
				for i, l := range both {
					y[i], dx[i] = Rows{make([]float32, M*N), N}, Rows{make([]float32, M*K), K}
					mid, in := Rows{make([]float32, M*rank), rank}, on.Pack(0, x, K, l.BF16())
					l.Forward(on, y[i], x, in, lora.Down(on, nil, mid, in, 0, M))
					in = on.Pack(0, dy, N, l.BF16())
					l.Backward(on, dx[i], dy, in, lora.Up(on, nil, mid, dy, in, 0, M))
				}
				what := fmt.Sprintf("%v %v, %d rows, pool %v", k.Path(), k.Order(), M, p != nil)
				sameResult(t, what+": y", y[1], y[0])
				sameResult(t, what+": dx", dx[1], dx[0])
			}
		}
	}
}
