package modeldir

// preTokenizer is how a text is cut into words before merges: by the names of tokenizer.ggml.pre.
type preTokenizer struct {
	digits       bool   // each digit is a word
	pattern      string // of words; "" is GPT-2's
	ignoreMerges bool   // a word that is a token becomes it at once
	begins       bool   // the first token is added unless the file says otherwise
}

// The patterns of words, as the models' own tokenizer.json have them.
const (
	wordsLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	wordsQwen2 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	wordsTekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ` +
		`?[^\s\p{L}\p{N}]+[\r\n/]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
)

// preTokenizers are the names that are supported: those of the families that the engine computes. The file's name is
// llama.cpp's (llama-vocab.cpp); several have one way.
func preTokenizers() map[string]preTokenizer {
	llama3 := preTokenizer{pattern: wordsLlama3, ignoreMerges: true, begins: true}
	qwen2 := preTokenizer{pattern: wordsQwen2}
	table := map[string]preTokenizer{"tekken": {pattern: wordsTekken, ignoreMerges: true, begins: true}}
	for _, name := range []string{"gpt-2", "phi-2", "jina-es", "jina-de", "mellum", "modern-bert", "olmo", "exaone4"} {
		table[name] = preTokenizer{}
	}
	for _, name := range []string{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"} {
		table[name] = preTokenizer{digits: true}
	}
	for _, name := range []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"} {
		table[name] = llama3
	}
	for _, name := range []string{"smaug-bpe", "dbrx"} {
		table[name] = preTokenizer{pattern: wordsLlama3}
	}
	for _, name := range []string{"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez"} {
		table[name] = qwen2
	}
	return table
}

// json is the "pre_tokenizer" of tokenizer.json.
func (p preTokenizer) json() map[string]any {
	bytes := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
		"use_regex": p.pattern == ""}
	switch {
	case p.digits:
		return map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Digits", "individual_digits": true}, bytes}}
	case p.pattern != "":
		return map[string]any{"type": "Sequence", "pretokenizers": []any{map[string]any{"type": "Split",
			"pattern": map[string]any{"Regex": p.pattern}, "behavior": "Isolated", "invert": false}, bytes}}
	}
	return bytes
}
