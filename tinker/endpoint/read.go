package endpoint

import (
	"encoding/json"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

// ReadMessages reads the messages of a chat as clients send them: a list of objects with role and content.
func ReadMessages(raw json.RawMessage) ([]chat.Message, error) { return readMessages(raw) }
