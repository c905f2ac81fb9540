package wire

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// emptyLogprob and token 0 mark an empty cell of a top-k matrix.
const emptyLogprob = -99999.0

// versions is the field of message SampledSequence that this project adds: repeated {from = 1, path = 2}, the
// tinker.Versions of an in-flight sampler's answer. The SDK skips it.
const versions = 100

// EncodeSample writes message SampleResponse.
func EncodeSample(r tinker.SampleResponse) []byte {
	var b []byte
	for _, s := range r.Sequences {
		var m []byte
		if s.StopReason == tinker.StopLength {
			m = appendVarint(m, 1, 1)
		}
		if len(s.Tokens) > 0 {
			m = appendBytes(m, 2, writeTokens(nil, s.Tokens))
		}
		if s.Logprobs != nil {
			m = appendBytes(m, 3, writeFloats(nil, s.Logprobs))
		}
		if s.TopKLogprobs != nil {
			m = appendBytes(m, 4, appendTopK(nil, s.TopKLogprobs))
		}
		for _, v := range s.Versions {
			m = appendBytes(m, versions, appendString(appendVarint(nil, 1, uint64(v.From)), 2, v.Path))
		}
		b = appendBytes(b, 1, m)
	}
	if r.PromptLogprobs != nil {
		b = appendBytes(b, 2, writeFloats(nil, r.PromptLogprobs))
	}
	if r.TopKPromptLogprobs != nil {
		b = appendBytes(b, 3, appendTopK(nil, r.TopKPromptLogprobs))
	}
	b = appendVarint(b, 4, uint64(r.PromptCacheHitTokens))
	if r.TargetPromptLogprobs != nil {
		b = appendBytes(b, 5, appendMatrix(nil, r.TargetPromptLogprobs))
	}
	if r.PromptAltTokens != nil {
		b = appendBytes(b, 6, appendAlternatives(nil, r.PromptAltTokens))
	}
	return b
}

// appendTopK appends the fields of message TopkLogprobs: matrices of [positions, k], rows filled up with empty cells.
func appendTopK(b []byte, rows [][]tinker.TokenLogprob) []byte {
	k := 0
	for _, row := range rows {
		k = max(k, len(row))
	}
	ids, lps := make([]int32, len(rows)*k), make([]float32, len(rows)*k)
	for i := range lps {
		lps[i] = emptyLogprob
	}
	for i, row := range rows {
		for j, c := range row {
			ids[i*k+j], lps[i*k+j] = c.Token, c.Logprob
		}
	}
	b = appendBytes(b, 1, writeTokens(nil, ids))
	b = appendBytes(b, 2, writeFloats(nil, lps))
	b = appendVarint(b, 3, uint64(k))
	return appendVarint(b, 4, uint64(len(rows)))
}

// DecodeSample reads message SampleResponse.
func DecodeSample(b []byte) (tinker.SampleResponse, error) {
	var r tinker.SampleResponse
	err := fields("SampleResponse", b, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			s := tinker.SampledSequence{StopReason: tinker.StopStop}
			err = readSequence(&s, f.raw)
			if r.Sequences = append(r.Sequences, s); len(r.Sequences) > maxTensors {
				return malformed("SampleResponse.sequences: too many", nil)
			}
		case f.is(2, protowire.BytesType):
			r.PromptLogprobs = readFloats(f.raw, Float32)
		case f.is(3, protowire.BytesType):
			r.TopKPromptLogprobs, err = readTopK(f.raw)
		case f.is(4, protowire.VarintType):
			r.PromptCacheHitTokens = int(int32(f.num))
		case f.is(5, protowire.BytesType):
			r.TargetPromptLogprobs, err = readMatrix(f.raw)
		case f.is(6, protowire.BytesType):
			r.PromptAltTokens, err = readAlternatives(f.raw)
		}
		return err
	})
	return r, err
}

func readSequence(s *tinker.SampledSequence, b []byte) error {
	err := fields("SampledSequence", b, func(f field) (err error) {
		switch {
		case f.is(1, protowire.VarintType):
			switch f.num {
			case 0:
			case 1:
				s.StopReason = tinker.StopLength
			default:
				return malformed("SampledSequence.stop_reason", nil)
			}
		case f.is(2, protowire.BytesType):
			s.Tokens = readTokens(f.raw)
		case f.is(3, protowire.BytesType):
			s.Logprobs = readFloats(f.raw, Float32)
		case f.is(4, protowire.BytesType):
			s.TopKLogprobs, err = readTopK(f.raw)
		case f.is(versions, protowire.BytesType):
			var v tinker.Version
			v, err = readVersion(f.raw)
			if s.Versions = append(s.Versions, v); len(s.Versions) > maxTensors {
				err = malformed("SampledSequence.versions: too many", nil)
			}
		}
		return err
	})
	if err == nil && s.TopKLogprobs != nil && len(s.TopKLogprobs) != len(s.Tokens) {
		err = malformed("SampledSequence: topk_sampled_logprobs and tokens differ in number", nil)
	}
	if err == nil && s.Logprobs != nil && len(s.Logprobs) != len(s.Tokens) {
		err = malformed("SampledSequence: logprobs and tokens differ in number", nil)
	}
	return err
}

func readVersion(b []byte) (v tinker.Version, err error) {
	err = fields("Version", b, func(f field) error {
		switch {
		case f.is(1, protowire.VarintType):
			v.From = int(int32(f.num))
		case f.is(2, protowire.BytesType):
			v.Path = string(f.raw)
		}
		return nil
	})
	return v, err
}

func readTopK(b []byte) ([][]tinker.TokenLogprob, error) {
	var ids []int32
	var lps []float32
	var k, n uint64
	err := fields("TopkLogprobs", b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			ids = readTokens(f.raw)
		case f.is(2, protowire.BytesType):
			lps = readFloats(f.raw, Float32)
		case f.is(3, protowire.VarintType):
			k = f.num
		case f.is(4, protowire.VarintType):
			n = f.num
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if k > math.MaxInt32 || n > math.MaxInt32 || k*n != uint64(len(ids)) || len(ids) != len(lps) {
		return nil, malformed("TopkLogprobs", nil)
	}
	if k == 0 {
		return nil, nil
	}
	rows := make([][]tinker.TokenLogprob, n)
	for i := range rows {
		from, to := i*int(k), (i+1)*int(k)
		for to > from && ids[to-1] == 0 && lps[to-1] == emptyLogprob {
			to--
		}
		for j := from; j < to; j++ {
			rows[i] = append(rows[i], tinker.TokenLogprob{Token: ids[j], Logprob: lps[j]})
		}
	}
	return rows, nil
}
