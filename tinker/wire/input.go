package wire

import (
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// modelInput is model_input and prompt in JSON.
type modelInput struct {
	Chunks []chunk `json:"chunks"`
}

// chunk is one of the kinds that Type names: encoded_text, image, image_asset_pointer, dmel.
type chunk struct {
	Type           string  `json:"type"`
	Tokens         []int32 `json:"tokens,omitempty"`
	Data           []byte  `json:"data,omitempty"` // base64
	Format         string  `json:"format,omitempty"`
	ExpectedTokens int     `json:"expected_tokens,omitempty"`
	Location       string  `json:"location,omitempty"`
	DMel           []byte  `json:"dmel,omitempty"`
}

// Tinker converts to package tinker's type. Kinds that no service here reads are User errors that name the chunk.
func (m modelInput) Tinker() (tinker.ModelInput, error) {
	out := tinker.ModelInput{}
	for i, c := range m.Chunks {
		switch c.Type {
		case "encoded_text", "":
			out.Chunks = append(out.Chunks, tinker.Chunk{Tokens: c.Tokens})
		case "image":
			out.Chunks = append(out.Chunks, tinker.Chunk{Image: &tinker.Image{Data: c.Data, Format: c.Format,
				ExpectedTokens: c.ExpectedTokens}})
		case "image_asset_pointer":
			return out, tinker.Userf("chunk %d is an image_asset_pointer (%q); this service does not download images, "+
				"send the image itself", i, c.Location)
		case "dmel":
			return out, tinker.Userf("chunk %d is dmel audio, which no model here reads; send encoded_text", i)
		default:
			return out, tinker.Userf("chunk %d has type %q; use encoded_text or image", i, c.Type)
		}
	}
	return out, nil
}

// FromInput is the inverse of Tinker.
func FromInput(in tinker.ModelInput) modelInput {
	m := modelInput{Chunks: make([]chunk, 0, len(in.Chunks))}
	for _, c := range in.Chunks {
		if c.Image != nil {
			m.Chunks = append(m.Chunks, chunk{Type: "image", Data: c.Image.Data, Format: c.Image.Format,
				ExpectedTokens: c.Image.ExpectedTokens})
		} else {
			m.Chunks = append(m.Chunks, chunk{Type: "encoded_text", Tokens: c.Tokens})
		}
	}
	return m
}
