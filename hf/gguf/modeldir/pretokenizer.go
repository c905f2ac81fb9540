package modeldir

// preTokenizer is how a text is cut into words before merges: by the names of tokenizer.ggml.pre.
type preTokenizer struct {
	digits       bool     // each digit is a word
	patterns     []string // of words, each cuts the words of the one before; none: GPT-2's
	ignoreMerges bool     // a word that is a token becomes it at once
	begins       bool     // the first token is added unless the file says otherwise
}

// preTokenizers are the names that are supported. They are llama.cpp's (llama-vocab.cpp); several have one way.
func preTokenizers() map[string]preTokenizer {
	table := map[string]preTokenizer{
		"tekken":         {patterns: []string{wordsTekken}, ignoreMerges: true, begins: true},
		"qwen35":         {patterns: []string{wordsQwen35}},
		"glm4":           {patterns: []string{wordsLlama3}, ignoreMerges: true},
		"seed-coder":     {patterns: []string{wordsSeed}},
		"minicpm5":       {patterns: []string{`\p{N}{1,3}`, wordsMini}, ignoreMerges: true},
		"superbpe":       {patterns: []string{`\p{N}+`, `(?=(\d{3})+(?!\d))`}},
		"poro-chat":      {patterns: []string{wordsPoro}},
		"bloom":          {patterns: []string{wordsPoro}},
		"gpt3-finnish":   {patterns: []string{wordsPoro}},
		"viking":         {patterns: []string{wordsPoro, `\p{N}`}},
		"deepseek-llm":   {patterns: wordsDeepSeekLLM()},
		"deepseek-coder": {patterns: wordsDeepSeekCoder()},
		"falcon":         {patterns: []string{"[\\p{P}\\$\\+<=>\\^~\\|`]+", wordsGPT2, `[0-9][0-9][0-9]`}},
	}
	for _, name := range []string{"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de",
		"mellum", "modern-bert", "a.x-4.0", "gigachat", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4",
		"roberta-bpe"} {
		table[name] = preTokenizer{}
	}
	for _, name := range []string{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b",
		"mellum2"} {
		table[name] = preTokenizer{digits: true}
	}
	for _, name := range []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
		"lfm2"} {
		table[name] = preTokenizer{patterns: []string{wordsLlama3}, ignoreMerges: true, begins: true}
	}
	for _, name := range []string{"smaug-bpe", "dbrx", "chatglm-bpe"} {
		table[name] = preTokenizer{patterns: []string{wordsLlama3}}
	}
	for _, name := range []string{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "hunyuan", "megrez",
		"solar-open", "grok-2"} {
		table[name] = preTokenizer{patterns: []string{wordsQwen2}}
	}
	for _, name := range []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"} {
		table[name] = preTokenizer{patterns: []string{wordsGPT4o}}
	}
	for _, name := range []string{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"} {
		table[name] = preTokenizer{patterns: wordsDeepSeekV3()}
	}
	return table
}

// json is the "pre_tokenizer" of tokenizer.json.
func (p preTokenizer) json() map[string]any {
	var list []any
	if p.digits {
		list = append(list, map[string]any{"type": "Digits", "individual_digits": true})
	}
	for _, pattern := range p.patterns {
		list = append(list, map[string]any{"type": "Split", "pattern": map[string]any{"Regex": pattern},
			"behavior": "Isolated", "invert": false})
	}
	list = append(list, map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
		"use_regex": len(p.patterns) == 0})
	return map[string]any{"type": "Sequence", "pretokenizers": list}
}
