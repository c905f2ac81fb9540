"""Asks llama.cpp, and Hugging Face's tokenizers, about a GGUF file's vocabulary alone.

tokens.py FILE.gguf LINES.jsonl writes {"text", "ids"}: some 20,000 lines as llama.cpp tokenises them, special tokens parsed; the
    first also with what it puts in front of a text ("begun").
tokens.py --hf TOKENIZER.json LINES.jsonl adds Hugging Face's ids ("hf") where they differ, and says where they do.
"""
import json, random, sys
import real

TAGS = ["<table>", "</table>", "<tr>", "<td>", "<h1>", "</h1>", "<b>", "<i>", "</i>", "<code>", "</code>", "<a>", "</a>", "<div>", "<div class=\"x\">", "</div>", "<ul>", "<li>", "<br/>",
        "<p>", "</p>", "<!-- c -->", "&nbsp;", "<img src='a.png'>", "<s>", "</s>", "<H1>", "< b >", "<strong>", "</strong", "<em", "<sup>2</sup>", "<html><body>", "</body></html>", "<span>", "</span>"]
MARKS = ["<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<unk>", "<pad>", "<mask>", "[multimodal]", "<unused7>", "<unused99>", "<start_of_image>", "<0x0A>", "▁", "▁▁", "user\n", "model\n"]
SPACES = [" ", "\n", "\t", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\ufeff", "\x0b", "\x00"]


def more(words):
    """Lines of HTML, runs of white space, emoji, turns of a chat, and long words without a space."""
    draw = random.Random(19)
    pick = lambda *lists: draw.choice(draw.choice(lists))
    faces = [chr(c) for c in [*range(0x1F300, 0x1F650), *range(0x1F680, 0x1F6FC), *range(0x2600, 0x27BF)]]
    joins = ["", "", " ", "\u200d", "\ufe0f", "\U0001F3FD", "\u20e3", "!", " ok "]
    out = []
    for _ in range(2000):
        out.append("".join(pick(TAGS, TAGS, words) + draw.choice(["", "", " ", "\n", "  ", "\n  ", "\t"]) for _ in range(draw.randint(1, 12))))
        out.append("".join(draw.choice(SPACES[:3]) * draw.choice([1, 2, 3, 4, 8, draw.randint(1, 80)]) + pick([""], words, TAGS, ["x", "1", "}"]) for _ in range(draw.randint(1, 6))))
        out.append("".join(draw.choice(faces) + draw.choice(joins) for _ in range(draw.randint(1, 15))))
    for _ in range(1000):
        out.append("".join(pick(SPACES, words) * draw.randint(1, 3) for _ in range(draw.randint(1, 12))))
        out.append("".join(pick(MARKS, words, SPACES) for _ in range(draw.randint(1, 10))))
        out.append("".join(chr(draw.choice([draw.randrange(0x20, 0xD800), draw.randrange(0xE000, 0x110000)])) for _ in range(draw.randint(1, 30))))
    out += ["".join(draw.choice(words) for _ in range(600)) for _ in range(50)] + [w * k for w in ["a", "ab", "世", "🙂", "1", "=", "-", " ", "\n", "\t", "<b>"] for k in (31, 32, 33, 100, 3000)]
    return out


def ask(file, to):
    import llama_cpp

    words = [w for sentence in real.PROSE for w in sentence.split(" ")]
    texts = real.lines("") + more(words)
    llama = llama_cpp.Llama(file, vocab_only=True, verbose=False)
    print(f"llama-cpp-python {llama_cpp.__version__}: {len(texts):,} lines, {sum(len(s.encode()) for s in texts):,} bytes")
    with open(to, "w", encoding="utf-8") as f:
        for i, s in enumerate(texts):
            row = {"text": s, "ids": llama.tokenize(s.encode(), add_bos=False, special=True)}
            if i < 100:
                row["begun"] = llama.tokenize(s.encode(), add_bos=True, special=True)
            f.write(json.dumps(row, ensure_ascii=False) + "\n")


def hugging_face(tokenizer, lines):
    import tokenizers

    real.hugging_face(tokenizer, lines)
    differ = [row for row in map(json.loads, open(lines, encoding="utf-8")) if "hf" in row]
    print(f"tokenizers {tokenizers.__version__} with the tokenizer.json made of the file: {len(differ)} lines differ from llama.cpp's")


hugging_face(*sys.argv[2:]) if sys.argv[1] == "--hf" else ask(*sys.argv[1:])
