package modeldir

// Way is how a byte-level tokenizer cuts a text into words, in the terms of tokenizer.json.
type Way struct {
	PreTokenizer map[string]any // its "pre_tokenizer"
	IgnoreMerges bool           // a word that is a token becomes it at once
}

// Ways returns the ways of tokenizer.ggml.pre that are read, by their names. Several names may have one way.
func Ways() map[string]Way {
	table := map[string]Way{}
	for name, p := range preTokenizers() {
		table[name] = Way{PreTokenizer: p.json(), IgnoreMerges: p.ignoreMerges}
	}
	return table
}
