package tinker

import "context"

// Mover is an in-flight sampler: a SamplingClient whose weights can be exchanged while it samples, as asynchronous
// training does after each step.
//
// The prompt of a request and the first token of each of its samples are computed with the weights that the client has
// when the request begins. Each later token is drawn with the weights that the client has by then. They change between
// two tokens. The keys and values of the tokens before stay as they were computed, so the logprob of a token is a
// function of the tokens before it and of the versions that computed them: those of SampledSequence.Versions.
type Mover interface {
	SamplingClient
	// Move replaces the weights by those saved at path by the same training run. When it returns, every token that is
	// not being computed yet is drawn with them.
	Move(ctx context.Context, path string) error
}

// Version says which weights drew the tokens of a sample from index From on, until the next Version. The first has
// From 0 and also computed the prompt.
type Version struct {
	From int    `json:"from"`
	Path string `json:"path"` // of the saved weights
}

// CheckVersions refuses a request with Versions that no answer has.
func CheckVersions(r SampleRequest) error {
	if len(r.Versions) > max(1, r.NumSamples) {
		return Userf("versions are of %d samples; the request is for %d", len(r.Versions), max(1, r.NumSamples))
	}
	first := ""
	for i, list := range r.Versions {
		for j, v := range list {
			switch {
			case j == 0 && v.From != 0, j > 0 && v.From <= list[j-1].From:
				return Userf("versions[%d][%d] begins at token %d; the first begins at 0, and each later one after "+
					"the one before", i, j, v.From)
			case j == 0 && first != "" && v.Path != first:
				return Userf("versions[%d] begins with %s and an earlier sample with %s; all samples of a request "+
					"begin with the same weights", i, v.Path, first)
			case j == 0:
				first = v.Path
			}
		}
	}
	return nil
}
