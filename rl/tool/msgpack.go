package tool

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/internal/msgpack"
)

// encodeQuery writes a query of the search tool as MessagePack.
func encodeQuery(query string, topK int) []byte {
	b := []byte{0x83} // a map of three
	b = appendText(b, "query")
	b = appendText(b, query)
	b = appendText(b, "topk")
	b = binary.BigEndian.AppendUint32(append(b, 0xce), uint32(topK))
	b = appendText(b, "return_scores")
	return append(b, 0xc3)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(len(s))), s...)
}

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
