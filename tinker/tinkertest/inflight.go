package tinkertest

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// inflight: a Mover's answers say which weights drew them, and the request with that record gives them again, while
// other samplers of the same weights stay as they are.
func (s *suite) inflight() {
	m := s.model(0)
	var paths []string
	for i := range 3 {
		paths = append(paths, s.save(m, string(rune('a'+i))))
		s.train(m, 3e-2, some...)
	}
	client, err := s.svc.SamplingClient(s.ctx, tinker.SamplingClientRequest{ModelPath: paths[0], Inflight: true})
	c, ok := client.(tinker.Mover)
	if !ok {
		s.wantUser("an in-flight sampler of a service without", err)
		s.Skip("the service has no in-flight samplers")
	}
	still := s.sampler(tinker.SamplingClientRequest{ModelPath: paths[0]})
	r := request(3, 40, 8, some...)
	r.Params.StopTokens, r.Params.NoStop = nil, true
	want := s.draw(still, r)
	s.movedAnswer(c, r, paths)
	if got := s.draw(still, r); !slices.EqualFunc(got.Sequences, want.Sequences, alike) {
		s.Errorf("a snapshot drew %+v, and after another sampler moved %+v", want.Sequences, got.Sequences)
	}
	last, now := s.draw(s.sampler(tinker.SamplingClientRequest{ModelPath: paths[2]}), r), s.draw(c, r)
	if !slices.EqualFunc(now.Sequences, last.Sequences, alike) {
		s.Errorf("after the change %+v, a snapshot of these weights %+v", now.Sequences, last.Sequences)
	}
	s.wantUser("Move to another run", c.Move(s.ctx, s.save(s.model(1), "other")))
	s.wantUser("Move to nothing", c.Move(s.ctx, paths[0]+"x"))
	r.Versions = [][]tinker.Version{{{Path: paths[0]}, {From: 4, Path: paths[2]}}}
	got := s.draw(c, r).Sequences[0]
	if !slices.Equal(got.Versions, r.Versions[0]) ||
		!slices.Equal(got.Tokens[:4], want.Sequences[0].Tokens[:4]) ||
		!sameBits(got.Logprobs[:4], want.Sequences[0].Logprobs[:4]) {
		s.Errorf("versions %v gave %+v; its beginning should be that of %+v", r.Versions, got, want.Sequences[0])
	}
	f, err := still.Sample(s.ctx, r)
	_, err = result(s, f, err)
	s.wantUser("versions for a snapshot", err)
}

// movedAnswer samples while the weights change from each path to the next, and repeats the answer.
func (s *suite) movedAnswer(c tinker.Mover, r tinker.SampleRequest, paths []string) {
	stream, err := tinker.OpenStream(s.ctx, c, r)
	if err != nil {
		s.Fatal(err)
	}
	var told [][]tinker.Version
	drawn, rest := make([]int, r.NumSamples), paths[1:]
	told = make([][]tinker.Version, r.NumSamples)
	stream.Follow(func(d tinker.Drawn) {
		if d.Version != "" {
			told[d.Sample] = append(told[d.Sample], tinker.Version{From: drawn[d.Sample], Path: d.Version})
		}
		if drawn[d.Sample]++; drawn[d.Sample]%12 == 0 && len(rest) > 0 {
			if err := c.Move(s.ctx, rest[0]); err != nil {
				s.Error(err)
			}
			rest = rest[1:]
		}
	})
	got := wait(s, stream.Result(), nil)
	for i, q := range got.Sequences {
		if !slices.Equal(q.Versions, told[i]) || q.Versions[0] != (tinker.Version{Path: paths[0]}) {
			s.Errorf("sample %d: the stream said %v, the result %v; the first is %s", i, told[i], q.Versions, paths[0])
		}
	}
	r.Versions = told
	again := s.draw(c, r)
	for i, q := range again.Sequences {
		if !alike(q, got.Sequences[i]) || !slices.Equal(q.Versions, told[i]) {
			s.Errorf("repeated with %v, sample %d is %+v; it was %+v", told[i], i, q, got.Sequences[i])
		}
	}
}

func alike(a, b tinker.SampledSequence) bool { return sameSequence(a, b) == nil }
