"""Makes a large mixed corpus, tokenizers of full size and their ids, for TestBig and BenchmarkBig.

    python big.py DIR

DIR gets corpus.bin (pieces of text), small.bin (every tenth piece), NAME.json (a tokenizer of 128,000
tokens) and NAME.ids (the ids that Hugging Face tokenizers gives for every piece of corpus.bin, or of
small.bin for the small tokenizers of this folder). A piece is a little-endian uint32 length and its
UTF-8; its ids are a uint32 count and uint32 values. The corpus is Python's standard library (code, and
prose in its documentation) and text made from Unicode's tables with a fixed seed. small.bin lacks what
came after Unicode 3.2: parts of the library that those tokenizers use (NFKC, StripAccents,
Punctuation) go by tables of older versions than the patterns do. What lies in DIR already is kept.
"""
import json, os, random, struct, sys, sysconfig, unicodedata
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers as pre, processors, trainers

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../hf/tokenizer/testdata")
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u0085", "\x0b", "\x0c", "\x1c", "\x1f", "\u200b", "\ufeff", "    ", "\t\t", " \n"]


def sources():
    """The text files of the standard library, in order of path."""
    root = sysconfig.get_paths()["stdlib"]
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("site-packages", "dist-packages", "__pycache__"))
        for name in sorted(files):
            if name.endswith((".py", ".txt", ".html", ".rst", ".md", ".xml")):
                try:
                    with open(os.path.join(folder, name), encoding="utf-8", newline="") as f:
                        yield name, f.read()
                except UnicodeDecodeError:
                    pass


def zipf(rnd, items, n):
    return rnd.choices(items, weights=[1 / (i + 3) for i in range(len(items))], k=n)


def block(first, last):
    return [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c))[0] in "LMN"]


def scripts(rnd):
    """Paragraphs in many scripts: words drawn by Zipf's law, so that merges pay."""
    for first, last, spaced, size in [
        (0x4E00, 0x9FA5, False, 900), (0x3041, 0x30FE, False, 200), (0xAC00, 0xD7A3, True, 300), (0x0400, 0x045F, True, 200), (0x0370, 0x03FF, True, 100),
        (0x0620, 0x064A, True, 100), (0x05D0, 0x05EA, True, 60), (0x0904, 0x0963, True, 100), (0x0E01, 0x0E4D, False, 100), (0x00C0, 0x024F, True, 100),
        (0x1E00, 0x1EFF, True, 60), (0x10A0, 0x10FF, True, 40), (0x1D400, 0x1D7FF, True, 40), (0x20000, 0x20100, False, 20),
    ]:
        letters = block(first, last)
        rnd.shuffle(letters)
        words = ["".join(zipf(rnd, letters, rnd.randint(1, 4 if not spaced else 9))) for _ in range(4000)]
        for _ in range(size):
            text = (" " if spaced else "").join(zipf(rnd, words, 150))
            if not spaced:
                text = "".join(c + rnd.choice(["", "", "", "", "", "", "，", "。", "、", " ", "\n"]) for c in text)
            yield text


def emoji(rnd):
    faces = [chr(c) for c in list(range(0x1F300, 0x1F650)) + list(range(0x1F680, 0x1F6FC)) + list(range(0x2600, 0x27BF))]
    joins = ["", "", "", " ", "\u200d", "\ufe0f", "\U0001F3FD", "\ufe0f\u20e3", "!", " ok ", "\n"]
    for _ in range(300):
        yield "".join(rnd.choice(faces) + rnd.choice(joins) for _ in range(120))


def odd_spaces(rnd):
    words = ["a", "the", "x1", "12345", "'s", "'LL", "it's", "can't", "Ǆ", "é", "e\u0301", "文", "!!!", "--", "(", "/", "_", "٣", "½", "ſ", "'ſ", "\x00", "\u0301", "🙂"]
    for _ in range(800):
        yield "".join(rnd.choice(words) + rnd.choice(SPACES) * rnd.choice([0, 1, 1, 1, 2, 3]) for _ in range(200))


def unicode_data(rnd):
    """Every character that is assigned, in order with its name and in no order by itself."""
    chars = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    for i in range(0, len(chars), 100):
        yield "\n".join(f"{ord(c):04X};{c};{unicodedata.name(c, '<none>')};{unicodedata.category(c)}" for c in chars[i:i + 100])
    rnd.shuffle(chars)
    for i in range(0, len(chars), 200):
        yield "".join(chars[i:i + 200])


def corpus():
    rnd = random.Random(11)
    pieces = [p for make in (scripts, emoji, odd_spaces, unicode_data) for p in make(rnd)]
    code = list(sources())
    pieces += [text for name, text in code if name in ("topics.py", "LICENSE.txt", "help.html", "typing.py", "datetime.py", "_pydecimal.py", "turtle.py") or "codec" in name or "cjk" in name]
    pieces += [text for name, text in code if rnd.random() < 0.12]
    return pieces, [text for _, text in code]


def put(path, items):
    with open(path + ".part", "wb") as f:
        for n, data in items:
            f.write(struct.pack("<I", n) + data)
    os.rename(path + ".part", path)


def bytelevel(regex):
    return pre.ByteLevel(add_prefix_space=False, use_regex=regex)


def train(more):
    """A tokenizer of 128,000 tokens; what Llama 3's file has, a rule for every way to cut a token in two tokens, is added."""
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre.Sequence([pre.Split(Regex(LLAMA3), "isolated"), bytelevel(False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(more, trainers.BpeTrainer(vocab_size=128_000, initial_alphabet=sorted(pre.ByteLevel.alphabet()), show_progress=False))
    return json.loads(t.to_str())


def all_cuts(vocab):
    rules = []
    for token in sorted(vocab, key=vocab.get):
        cuts = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in vocab and token[i:] in vocab]
        rules += sorted(cuts, key=lambda c: (vocab[c[0]], vocab[c[1]]))
    return rules


def full_size(folder, more):
    data = train(more)
    vocab = data["model"]["vocab"]
    print(len(vocab), "tokens,", len(data["model"]["merges"]), "merges,", len(all_cuts(vocab)), "cuts")

    def save(name, pretok, normalizer=None, **model):
        data["model"].update(model)
        t = Tokenizer.from_str(json.dumps(data))
        t.pre_tokenizer = pretok
        if normalizer:
            t.normalizer = normalizer
        t.add_tokens([AddedToken(f"<|special_{i}|>", special=True, normalized=False) for i in range(256)])
        t.post_processor = processors.ByteLevel(trim_offsets=False)
        t.save(os.path.join(folder, name + ".json.part"))
        os.rename(os.path.join(folder, name + ".json.part"), os.path.join(folder, name + ".json"))

    save("big-gpt2", bytelevel(True), ignore_merges=False)
    save("big-qwen2", pre.Sequence([pre.Split(Regex(QWEN2), "isolated"), bytelevel(False)]), normalizers.NFC())
    save("big-llama3", pre.Sequence([pre.Split(Regex(LLAMA3), "isolated"), bytelevel(False)]), ignore_merges=True, merges=[list(c) for c in all_cuts(vocab)])


def main(folder):
    os.makedirs(folder, exist_ok=True)
    pieces, more = corpus()
    path = os.path.join(folder, "corpus.bin")
    if not os.path.exists(path):
        put(path, ((len(b), b) for b in (p.encode() for p in pieces)))
    small = ["".join(c for c in p if unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)) for p in pieces[::10]]
    path = os.path.join(folder, "small.bin")
    if not os.path.exists(path):
        put(path, ((len(b), b) for b in (p.encode() for p in small)))
    if not os.path.exists(os.path.join(folder, "big-llama3.json")):
        full_size(folder, pieces + more)
    files = {n[:-5]: os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".json")}
    files |= {n[:-5]: os.path.join(HERE, n) for n in os.listdir(HERE) if n.endswith(".json") and not n.endswith(".golden.json")}
    for name, path in sorted(files.items()):
        ids = os.path.join(folder, name + ".ids")
        if os.path.exists(ids):
            continue
        t = Tokenizer.from_file(path)
        some = pieces if name.startswith("big-") else small
        encoded = (t.encode(p, add_special_tokens=False).ids for p in some)
        put(ids, ((len(e), struct.pack(f"<{len(e)}I", *e)) for e in encoded))
        print(name)


main(sys.argv[1])
