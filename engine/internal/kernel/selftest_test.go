package kernel

import (
	"strings"
	"testing"
)

func TestPathsPassTheSelfTest(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		if err := s.SelfTest(); err != nil {
			t.Error(err)
		}
	})
}

func TestBest(t *testing.T) {
	s, err := Best(Native())
	if err != nil {
		t.Errorf("a path of this processor was refused: %v", err)
	}
	if Detect() > Portable && s.Path() == Portable {
		t.Errorf("best path is portable, the processor offers %v", Detect())
	}
}

func TestNewRefusesWhatTheProcessorLacks(t *testing.T) {
	if _, err := New(Detect()+1, Native()); err == nil {
		t.Errorf("New(%v) succeeded, the processor offers %v", Detect()+1, Detect())
	}
}

// evenFirst multiplies bf16 even element first, as a wrong processor might.
type evenFirst struct{ portable }

func (evenFirst) matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if w.BF16 {
		swapped := *w
		swapped.Pairs = make([]uint32, len(w.Pairs))
		for i, b := range w.Pairs {
			swapped.Pairs[i] = b<<16 | b>>16
		}
		y := make([]float32, M*ldx+1)
		for m := range M {
			for k := range w.K {
				y[m*ldx+k^1] = x[m*ldx+k]
			}
		}
		w, x = &swapped, y
	}
	portable{}.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
}

func TestSelfTestNamesTheKernelThatDiffers(t *testing.T) {
	s := &Set{path: AVX512BF16, ops: evenFirst{}}
	err := s.SelfTest()
	if err == nil || !strings.Contains(err.Error(), "bf16 MatMul") || !strings.Contains(err.Error(), "avx512-bf16") {
		t.Errorf("SelfTest = %v, want an error naming bf16 MatMul and the path", err)
	}
}

// A path that fails the self-test is passed over, and the warning names it.
func TestBestFallsBack(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		wrong := &Set{path: s.path, order: s.order, ops: evenFirst{portable{s.order}}}
		got, warning := firstRight([]*Set{wrong, s}, s.order)
		if lower, ok := rival(s.path); got != s && !(ok && got.path == lower) {
			t.Errorf("beside a wrong set: %v, want %v", got.path, s.path)
		}
		if warning == nil || !strings.Contains(warning.Error(), s.path.String()) {
			t.Errorf("the warning is %v, want one that names %v", warning, s.path)
		}
		got, warning = firstRight([]*Set{wrong, wrong}, s.order)
		if got.path != Portable || got.order != s.order || warning == nil {
			t.Errorf("of wrong sets only: %v %v and %v, want portable %v and a warning", got.path, got.order, warning,
				s.order)
		}
	})
}
