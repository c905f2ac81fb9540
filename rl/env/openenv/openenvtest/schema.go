package openenvtest

// schema is what the real server answers to /schema.
const schema = `{"action":{"additionalProperties":false,"properties":{"metadata":{"additionalProperties":true,` +
	`"description":"Additional metadata for the action","title":"Metadata","type":"object"},"message":{"title":"Message",` +
	`"type":"string"}},"required":["message"],"title":"Guess","type":"object"},"observation":{"additionalProperties":false,` +
	`"properties":{"done":{"default":false,"description":"Whether the episode has terminated","title":"Done",` +
	`"type":"boolean"},"reward":{"anyOf":[{"type":"boolean"},{"type":"integer"},{"type":"number"},` +
	`{"type":"null"}],"default":null,"description":"Reward signal from the last action","title":"Reward"},` +
	`"metadata":{"additionalProperties":true,"description":"Additional metadata for the observation",` +
	`"title":"Metadata","type":"object"},"text":{"title":"Text","type":"string"},"turn":{"title":"Turn",` +
	`"type":"integer"}},"required":["text","turn"],"title":"Hint","type":"object"},"state":{"additionalProperties":true,` +
	`"description":"Base class for environment state.\n\nRepresents internal environment state, separate from observations.",` +
	`"properties":{"episode_id":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"Unique identifier for the current episode",` +
	`"title":"Episode Id"},"step_count":{"default":0,"description":"Number of steps taken in the current episode",` +
	`"minimum":0,"title":"Step Count","type":"integer"}},"title":"State","type":"object"},"reset_observation":{"additionalProperties":false,` +
	`"properties":{"done":{"default":false,"description":"Whether the episode has terminated","title":"Done",` +
	`"type":"boolean"},"reward":{"anyOf":[{"type":"boolean"},{"type":"integer"},{"type":"number"},` +
	`{"type":"null"}],"default":null,"description":"Reward signal from the last action","title":"Reward"},` +
	`"metadata":{"additionalProperties":true,"description":"Additional metadata for the observation",` +
	`"title":"Metadata","type":"object"},"text":{"title":"Text","type":"string"},"turn":{"title":"Turn",` +
	`"type":"integer"}},"required":["text","turn"],"title":"Hint","type":"object"}}`
