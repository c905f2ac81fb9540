"""Makes the tokenizer files and goldens of this folder with Hugging Face tokenizers 0.23.

    python make.py [NAME...]

Each NAME.json is a small byte-level BPE, or one of characters, trained here; NAME.golden.json holds, for every text of
the corpus below, the ids that the library gives without and with special tokens, and how it
decodes them.
"""
import heapq, inspect, json, random, sys, textwrap
from tokenizers import Tokenizer, AddedToken, Regex, models, pre_tokenizers as pre, decoders, normalizers as norm, processors as post, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

SENTENCES = [
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May.",
    "How many clips did Natalia sell altogether in April and May? She sold 48/2 = 24 clips in May. #### 72",
    "It's what they've said: we'll see, I'm sure you're right, he'd know. IT'S, WE'LL, YOU'RE.",
    "The quick brown fox jumps over the lazy dog; the dog doesn't mind.",
    "Zürich, Škofja Loka, naïve café, Ærøskøbing, Łódź, São Tomé, Ελλάδα, Привет, мир!",
    "今天天气很好，我们去公园散步吧。日本語のテキストもあります。한국어 문장도 있습니다.",
    "let x = [1, 2, 3].map(|n| n * 2); // 0x1F, 3.14159, 1_000_000, 1e-9",
    "<|im_start|>user\nWhat is 12 * 12?<|im_end|>\n<|im_start|>assistant\n<think>\n144\n</think>\n\nIt is 144.<|im_end|>\n",
]

NASTY = [
    "", " ", "  ", "   a", "a   ", "\n", "\r\n", "\n\n\n", " \n \n a", "\t\tx = 1\n\t\ty", "a \n", "a\n b", " k 1   2", "a   b\n\n  c",
    "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'Ve 'M 'lL 'D 'x ''s 'ſ it'ſ 're'll", "can't won't I'LL they'Ve", "'", "a'", "'1", "' s",
    "1", "12", "123", "1234", "12345678", "a1b2c3", "3.14", "1,000,000", "٣٤٥", "²³¹", "Ⅷ", "½", "x²+y²=z²", "一二三", "１２３",
    "é", "e\u0301", "ﬁ", "Å", "\u212b", "ǆ", "n\u0303o", "각", "\u1100\u1161\u11a8", "İstanbul", "ẞß", "ΑΣ ΟΔΟΣ",
    "🙂", "👩‍👩‍👧‍👦", "🇨🇭 flag", "👍🏽 ok", "a🙂b", "🙂🙂🙂", "\ufe0f", "\u200d", "\u200b", "\ufeff", "\ufffd",
    "\u00a0", "a\u00a0b", "\u2003\u2003x", "\u3000全角", "a\u2028b\u2029c", "\u0085", "\u180e", "\x1c\x1d\x1e\x1f", "\x00", "\x7f", "a\u00adb",
    "!!!", " !!!", "  !!!", "!!!\n\n", " ...\r\nx", "a.b", "a .b", "$100", "#include <stdio.h>\n", "{{}}", "->", "==", "\"quoted\"", "(a)", "_x_", "a_b",
    "<|im_start|>", "<|im_end|><|im_end|>", "x<|im_end|>y", " <|im_end|> ", "<|im_end", "<|im_<|im_end|>", "<|im_start|>user\nhi<|im_end|>\n",
    "<think>a</think>", " <think> ", "<|endoftext|>", "<lstrip>", "a  <lstrip>  b", "a \n <lstrip>", "<rstrip>", "a  <rstrip>  b", "<rstrip> <lstrip>",
    "<rstrip>  <rstrip>", "<lstrip><lstrip>", "word", "a word here", "sword words", "word.word", "word_", "éword", "WORD", "Norm é norm É", "norm e\u0301",
    "<a><ab><abc><abcd>", "<ab", "<abcé>", "é✓", "tok✓en", "tok ✓en",
    "supercalifragilisticexpialidocious" * 5, "a" * 200, "ab" * 100, "=" * 100, " " * 100, "\n" * 50, "1" * 60, "的" * 40, "🙂" * 30,
    "http://example.com/a?b=c&d=%20#frag", "user@example.com", "C:\\path\\file.txt", "for i in range(10):\n    print(i)\n\n\n",
    "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "ქართული", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𝟙𝟚𝟛", "ᚠᚢᚦ", "́", "a\u0308\u0304", "Z\u0351\u036b\u0343\u036aalgo",
    "中文,中文。English中文123", "３月１４日", "第1章", "\u0e33", "กำ",
]


def corpus():
    code = [inspect.getsource(m) for m in (textwrap, heapq)]
    return SENTENCES * 20 + [line for text in code for line in text.splitlines(keepends=True)]


def nasty():
    texts = SENTENCES + NASTY + [inspect.getsource(heapq.merge), inspect.getsource(textwrap.TextWrapper._wrap_chunks)]
    rnd = random.Random(7)
    for _ in range(80):
        texts.append("".join(rnd.choice(NASTY)[:12] + rnd.choice(["", "", " ", "  ", "\n"]) for _ in range(rnd.randint(2, 8))))
    for _ in range(60):  # single characters from everywhere
        texts.append("".join(chr(rnd.choice([rnd.randrange(0x20, 0x250), rnd.randrange(0x2000, 0x2C00), rnd.randrange(0x3000, 0x3100), rnd.randrange(0x1F000, 0x1FA00), 32, 48, 97, 10])) for _ in range(20)))
    return texts


def entry(t, ids, text=None):
    """One golden. What equals the member it follows is left out: special = before and ids, decoded = text, skipped = decoded."""
    g = {"ids": ids}
    decoded, skipped = t.decode(ids, skip_special_tokens=False), t.decode(ids, skip_special_tokens=True)
    if text is not None:
        g = {"text": text, "ids": ids}
        special = t.encode(text, add_special_tokens=True).ids
        n = len(special) - len(ids)
        if n and special[n:] == ids:
            g["before"] = special[:n]
        elif special != ids:
            g["special"] = special
    if decoded != text:
        g["decoded"] = decoded
    if skipped != decoded:
        g["skipped"] = skipped
    return g


def special(text, **flags):
    return AddedToken(text, special=True, normalized=False, **flags)


def make(name, vocab, pretok, normalizer=None, processor=None, added=(), ignore_merges=False, edit=None, prefix_space=False):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    t.pre_tokenizer = pretok
    if normalizer:
        t.normalizer = normalizer
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab, initial_alphabet=sorted(pre.ByteLevel.alphabet()), show_progress=False)
    t.train_from_iterator(corpus(), trainer)
    t.add_tokens(list(added))
    if processor:
        t.post_processor = processor(t)
    if edit:
        data = json.loads(t.to_str())
        edit(data)
        t = Tokenizer.from_str(json.dumps(data))
    save(t, name)


def save(t, name, texts=None):
    """Writes the file and its goldens, of the texts above if no others are given."""
    if len(sys.argv) > 1 and name not in sys.argv:
        return
    data = json.loads(t.to_str())
    with open(name + ".json", "w") as f:
        json.dump(data, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")
    golden = []
    for text in texts or nasty():
        ids = t.encode(text, add_special_tokens=False).ids
        golden.append(entry(t, ids, text))
    rnd = random.Random(3)  # ids in an order that no text gives, so that characters break
    for _ in range(40):
        ids = [rnd.randrange(t.get_vocab_size()) for _ in range(12)]
        golden.append(entry(t, ids))
    with open(name + ".golden.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(g, ensure_ascii=False, separators=(",", ":")) for g in golden) + "\n]\n")


def seq(*parts):
    return pre.Sequence(list(parts))


def bytelevel(prefix=False, regex=False):
    return pre.ByteLevel(add_prefix_space=prefix, use_regex=regex)


CHAT = [special("<|endoftext|>"), special("<|im_start|>"), special("<|im_end|>"), AddedToken("<think>", special=False, normalized=False), AddedToken("</think>", special=False, normalized=False)]


def bos(t):
    t.add_tokens([special("<|begin|>")])
    return post.Sequence([post.ByteLevel(trim_offsets=False), post.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B", special_tokens=[("<|begin|>", t.token_to_id("<|begin|>"))])])


def roberta(t):
    return post.RobertaProcessing(("<|im_end|>", t.token_to_id("<|im_end|>")), ("<|im_start|>", t.token_to_id("<|im_start|>")), trim_offsets=True, add_prefix_space=True)


def without_high_bytes(unk, fuse, fallback):
    """Drops most non-ASCII bytes from the vocabulary, so that fallback or unk must stand in."""
    def edit(data):
        m = data["model"]
        keep = set(chr(c) for c in range(33, 127)) | {"Ġ", "Ċ"}
        ok = lambda s: all(c in keep for c in s)
        names = [n for n in m["vocab"] if ok(n)] + (["<unk>"] if unk else []) + ([f"<0x{b:02X}>" for b in range(0xC4, 0x100)] + [f"<0x{b:02X}>" for b in range(0x80, 0xC0)] if fallback else [])
        m["vocab"] = {n: i for i, n in enumerate(names)}
        m["merges"] = [x for x in m["merges"] if ok(x[0]) and ok(x[1])]
        m["unk_token"], m["fuse_unk"], m["byte_fallback"] = ("<unk>" if unk else None), fuse, fallback
        for i, a in enumerate(data["added_tokens"]):
            a["id"] = len(names) + i
    return edit


ODD = CHAT + [
    special("<lstrip>", lstrip=True), special("<rstrip>", rstrip=True), AddedToken("word", single_word=True, normalized=False), AddedToken("Norm É", normalized=True),
    special("<a>"), special("<ab"), special("<abc>"), special("<abcé>"), AddedToken("tok ✓en", normalized=False), AddedToken("é✓", normalized=True),
]

DEEPSEEK = [r"[\r\n]", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", r"[一-龥ࠀ-一가-퟿]+"]

make("qwen2", 900, seq(pre.Split(Regex(QWEN2), "isolated"), bytelevel()), norm.NFC(), lambda t: post.ByteLevel(trim_offsets=False), CHAT)
make("llama3", 900, seq(pre.Split(Regex(LLAMA3), "isolated"), bytelevel()), None, bos, CHAT, ignore_merges=True)
make("gpt2", 700, bytelevel(regex=True), None, None, CHAT)
make("roberta", 400, bytelevel(prefix=True, regex=True), None, roberta, CHAT)
make("digits", 400, seq(pre.Digits(individual_digits=True), bytelevel(regex=True)), norm.Sequence([norm.NFKC(), norm.Lowercase()]), None, ODD)
make("odd", 400, seq(pre.Split(Regex(QWEN2), "removed", invert=True), bytelevel()), norm.Sequence([norm.NFD(), norm.StripAccents(), norm.Replace(Regex("o+"), "0"), norm.Replace("ll", "LL")]), None, ODD)
make("falcon", 400, seq(pre.Punctuation("contiguous"), bytelevel(regex=True), pre.Digits(individual_digits=False), pre.Split(Regex("[0-9][0-9][0-9]"), "isolated")), None, None, CHAT)
make("deepseek", 400, seq(*[pre.Split(Regex(p), "isolated") for p in DEEPSEEK], pre.Digits(individual_digits=True), bytelevel()), None, None, CHAT)
make("split", 400, seq(pre.Split(" ", "merged_with_next"), pre.Split(Regex(r"\p{P}"), "merged_with_previous"), pre.Split("e", "contiguous"), pre.Split("x", "removed"), bytelevel()), norm.Strip(), None, CHAT)
make("white", 400, seq(pre.WhitespaceSplit(), pre.Punctuation("isolated"), bytelevel(prefix=True)), norm.Prepend("_"), None, CHAT)
make("whitespace", 300, seq(pre.Whitespace(), bytelevel()), norm.NFKD(), None, CHAT)
make("unk", 400, bytelevel(regex=True), None, None, CHAT, edit=without_high_bytes(True, False, False))
make("fuse", 400, bytelevel(regex=True), None, None, CHAT, edit=without_high_bytes(True, True, False))
make("fallback", 400, bytelevel(regex=True), None, None, CHAT, edit=without_high_bytes(True, True, True))
make("drop", 400, bytelevel(regex=True), None, None, CHAT, edit=without_high_bytes(False, False, False))


def make_pieces(name, pretok, normalizer, unk=True, fuse=True, fallback=True, strip=True):
    """A BPE of characters as files converted from SentencePiece have it, trained on ASCII and a few characters more."""
    t = Tokenizer(models.BPE(unk_token="<unk>" if unk else None, fuse_unk=fuse, byte_fallback=fallback))
    t.pre_tokenizer = pre.Metaspace()
    bytes_ = [f"<0x{b:02X}>" for b in range(256)] if fallback else []
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=700, special_tokens=["<unk>", "<s>", "</s>"] + bytes_, limit_alphabet=110, show_progress=False))
    data = json.loads(t.to_str())
    data["added_tokens"] = [{**a, "normalized": False} for a in data["added_tokens"] if a["id"] < 3]
    t = Tokenizer.from_str(json.dumps(data))
    t.pre_tokenizer = pretok
    if normalizer:
        t.normalizer = normalizer
    t.add_tokens(CHAT)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + ([decoders.Strip(" ", 1, 0)] if strip else []))
    t.post_processor = post.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    save(t, name)


make_pieces("llama2", None, norm.Sequence([norm.Prepend("▁"), norm.Replace(" ", "▁")]))
make_pieces("mistral", pre.Metaspace(prepend_scheme="first", split=False), None)
make_pieces("metaspace", pre.Metaspace(prepend_scheme="always", split=True), norm.NFKC(), fuse=False)
make_pieces("never", pre.Metaspace(prepend_scheme="never", split=True), None, fallback=False, fuse=False, strip=False)


HTML = ["<table>", "</table>", "<tr>", "<td>", "<h1>", "</h1>", "<b>", "<i>", "<s>", "</s>", "<sub>", "<code>", "</code>", "<a>", "</a>", "<div>", "</div>", "<ul>", "<li>"]
TURNS = ["<start_of_turn>", "<end_of_turn>"]


def gemma_texts(n, size):
    """Short texts of everything that Gemma's file treats in a way of its own."""
    rnd = random.Random(11)
    words = [w for s in SENTENCES for w in s.split()] + NASTY[-17:] + ["d the", "> </b", "▁", "▁▁", "a▁b", "<unk>", "<0x0A>", "<bos>", "<eos>", "[multimodal]", "<unused1>"]
    gaps = ["", " ", " ", " ", " ", " ", "  ", "\n", "\t", "\n\n", " \n", "\r\n", "\u00a0"]
    out = SENTENCES[::2] + [x for x in NASTY if len(x) < 30] + [c * k for c in " \n\t▁" for k in (2, 3, 7, 8, 16, 17, 33, 70)]
    out += ["x" + " " * k + "x" for k in range(2, 40)] + ["\n" * k + "d" for k in range(2, 36, 3)] + ["  <h1>  Title\n\n</h1>  \n", "<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n"]
    while len(out) < n:
        kind = rnd.randrange(8)
        if kind == 0:
            out.append("".join(chr(rnd.choice([rnd.randrange(0x20, 0x250), rnd.randrange(0x2000, 0x2C00), rnd.randrange(0x3000, 0x3100), rnd.randrange(0x1F000, 0x1FA00), rnd.randrange(0x10FFFF - 99, 0x10FFFF), 32, 97, 10])) for _ in range(rnd.randint(1, 8))))
        elif kind == 1:
            out.append("".join(rnd.choice(" \n\t▁a") * rnd.choice([1, 2, 3, rnd.randint(1, 24)]) for _ in range(rnd.randint(1, 3))))
        elif kind == 2:
            out.append("".join(rnd.choice(HTML + TURNS + words) + rnd.choice(gaps) for _ in range(rnd.randint(1, size))))
        else:
            out.append("".join(rnd.choice(words)[:14] + rnd.choice(gaps) for _ in range(rnd.randint(1, size))))
    return out


def make_gemma(name, normalized, n, size, more=()):
    """A file of the shape of Gemma 2's and 3's: one word to the model, spaces as ▁, bytes for characters without a
    token, every way to make a token a merge, and added tokens for runs and for HTML. normalized is the flag of the
    runs of spaces: without it a text's own spaces are no such token, and the merges make them. more splits further."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre.Metaspace(prepend_scheme="never")
    t.train_from_iterator((s for s in corpus() if s.isascii()), trainers.BpeTrainer(vocab_size=600, show_progress=False))
    learnt = sorted(t.get_vocab().items(), key=lambda kv: kv[1])
    control = ["<pad>", "<eos>", "<bos>", "<unk>"]
    user = ["<mask>", "[multimodal]", "<unused0>", "<unused1>"] + TURNS
    lines, spaces, tabs = (["\n" * k for k in range(1, 8)], ["▁" * k for k in range(2, 17)], ["\t" * k for k in range(1, 4)])
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    words = [w for w, _ in learnt] + list("éüαпри的今天。🙂") + ["今天", "▁</", ">▁</", "d▁the"]
    vocab = {w: i for i, w in enumerate(dict.fromkeys(control + user + lines + spaces + HTML + bytes_ + words + tabs))}
    merges = [(w[:k], w[k:]) for w in lines + spaces + tabs + words for k in range(1, len(w)) if w[:k] in vocab and w[k:] in vocab]
    special = set(control + ["<unused0>", "<unused1>"] + TURNS)
    added = [{"id": vocab[w], "content": w, "single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized and w in spaces, "special": w in special}
             for w in control + user + lines[1:] + spaces + HTML]
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    t = Tokenizer.from_str(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, *more]} if more else split,
        "post_processor": json.loads(Tokenizer.to_str(with_bos(vocab["<bos>"])))["post_processor"],
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
                  "byte_fallback": True, "ignore_merges": False, "vocab": vocab, "merges": list(dict.fromkeys(merges))}}))
    save(t, name, gemma_texts(n, size))


def with_bos(id):
    t = Tokenizer(models.BPE())
    t.post_processor = post.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", id)])
    return t


make_gemma("gemma", False, 2010, 3)
make_gemma("gemmaruns", True, 320, 6, [{"type": "Digits", "individual_digits": True}, {"type": "Split", "pattern": {"Regex": "▁+(?!▁)"}, "behavior": "MergedWithNext", "invert": False}])
