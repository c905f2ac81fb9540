package executor

import "context"

// Answer computes an encoded task with the executor that open returns for its arithmetic, and encodes the result.
func Answer(ctx context.Context, payload []byte, open func(numerics string) (Executor, error)) ([]byte, error) {
	t, err := DecodeTask(payload)
	if err != nil {
		return nil, err
	}
	e, err := open(t.Version.Numerics)
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case KindSample:
		out, err := e.Sample(ctx, t.Version, t.Sample)
		if err != nil {
			return nil, err
		}
		return EncodeSamples(out), nil
	case KindForward:
		out, err := e.Forward(ctx, t.Version, t.Batch)
		if err != nil {
			return nil, err
		}
		return EncodeOutputs(t.Kind, out, nil), nil
	}
	out, g, err := e.Gradient(ctx, t.Version, t.Batch)
	if err != nil {
		return nil, err
	}
	return EncodeOutputs(t.Kind, out, g), nil
}
