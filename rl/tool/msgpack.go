package tool

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/internal/msgpack"
)

// readDocuments reads the contents of the documents of an answer.
func readDocuments(data []byte) ([]string, error) {
	v, err := msgpack.Decode(data, bound.Of(maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the answer is no MessagePack: %w", err)
	}
	answer, _ := v.(map[string]any)
	list, ok := answer["result"].([]any)
	if !ok {
		return nil, errors.New("the answer has no list named result")
	}
	documents := make([]string, len(list))
	for i, item := range list {
		found, _ := item.(map[string]any)
		document, _ := found["document"].(map[string]any)
		switch contents := document["contents"].(type) {
		case string:
			documents[i] = contents
		case []byte:
			documents[i] = string(contents)
		default:
			return nil, fmt.Errorf("result %d has no document with contents", i)
		}
	}
	return documents, nil
}
