package modeldir

import "strings"

// The patterns of words, as the models' own tokenizer.json have them; llama.cpp's comments quote them
// (llama-vocab.cpp).
const (
	wordsGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	wordsLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}` + wordsTail
	wordsQwen2  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}` + wordsTail
	wordsQwen35 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	wordsSeed = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	wordsMini = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+` + wordsTail
	wordsPoro = ` ?[^(\s|.,!?…。，、।۔،)]+`
	wordsTail = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	wordsTekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}` + wordsSlash
	wordsGPT4o = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + contractions + `|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + contractions + `|` +
		`\p{N}{1,3}` + wordsSlash
	wordsSlash   = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`

	wordsV3 = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|" +
		`[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

func wordsDeepSeekV3() []string {
	return []string{`\p{N}{1,3}`, class("4E00-9FA5 3040-309F 30A0-30FF") + "+", wordsV3}
}

func wordsDeepSeekCoder() []string {
	return []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, class("4E00-9FA5 0800-4E00 AC00-D7FF") + "+", `\p{N}`}
}

func wordsDeepSeekLLM() []string {
	return []string{`[\r\n]`, `\s?` + class(lettersDeepSeek) + "+",
		`\s?` + class("0021-002F 003A-007E FF01-FF0F FF1A-FF5E 2018-201F 3000-3002") + "+", `\s+$`,
		class("4E00-9FA5 0800-4E00 AC00-D7FF") + "+", `\p{N}+`}
}

// class is a class of characters in a pattern, made of ranges of code points in hex.
func class(ranges string) string {
	var b strings.Builder
	for _, r := range strings.Fields(ranges) {
		low, high, both := strings.Cut(r, "-")
		b.WriteString(`\x{` + low + `}`)
		if both {
			b.WriteString(`-\x{` + high + `}`)
		}
	}
	return "[" + b.String() + "]"
}

// lettersDeepSeek are the letters that deepseek-llm takes for parts of one word.
const lettersDeepSeek = "0041-005A 0061-007A 00B5 00C0-00D6 00D8-00F6 00F8-01BA 01BC-01BF 01C4-0293 0295-02AF " +
	"0370-0373 0376 0377 037B-037D 037F 0386 0388-038A 038C 038E-03A1 03A3-03F5 03F7-0481 048A-052F 0531-0556 " +
	"10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45 " +
	"1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 " +
	"1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D " +
	"212F-2134 2139 213C-213F 2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D " +
	"A680-A69B A722-A76F A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A " +
	"10400-1044F 104B0-104D3 104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943"
