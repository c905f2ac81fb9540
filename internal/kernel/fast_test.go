package kernel

import "testing"

func TestFastPathsPassTheSelfTest(t *testing.T) {
	for p := Portable; p <= Detect(); p++ {
		s, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SelfTest(); err != nil {
			t.Error(err)
		}
	}
	s, err := Best()
	if err != nil {
		t.Error(err)
	}
	t.Logf("best path here: %v of %v", s.Path(), Detect())
}
