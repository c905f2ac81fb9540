"""Writes characters.jsonl: what Hugging Face's tokenizers makes of texts full of rare and new characters.

    python characters.py characters.jsonl

A row has a part of a tokenizer.json, a pre-tokenizer or a normalizer, a text, and the pieces of the text or what becomes of it.
"""

import json
import random
import sys

from tokenizers import Regex, normalizers, pre_tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
REGEXES = [GPT2, LLAMA3, LLAMA3.replace("{1,3}", ""), O200K, DEEPSEEK, r"\w+|[^\w\s]+", r"\W+", r"\P{L}+", r"\p{^N}+", r"[^\P{M}]+", r"[\p{Han}]+", r"[\P{Lu}\d]+", r"\D+", r"\bx|y\b", r"\p{Latin}+|\p{Cyrillic}+"]

# Blocks that Unicode 13 to 17 filled, and old ones of every kind.
BLOCKS = [(0x20, 0x7F), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x58F), (0x5D0, 0x6FF), (0x860, 0x980), (0x981, 0xA00), (0xC00, 0xD80), (0x1AB0, 0x1B80), (0x1C80, 0x1CD0), (0x1DC0, 0x1E00), (0x2000, 0x2070), (0x2070, 0x20D0), (0x2100, 0x2190), (0x2420, 0x24FF), (0x2C00, 0x2E60), (0x2FF0, 0x3100), (0x31E0, 0x3300), (0x4DB0, 0x4E20), (0xA640, 0xA7FF), (0xAB30, 0xAB70), (0xFB00, 0xFB50), (0xFF00, 0xFFEF), (0x10570, 0x107C0), (0x10D00, 0x10F90), (0x11000, 0x110F0), (0x11370, 0x113F0), (0x11660, 0x11750), (0x11900, 0x11950), (0x11B00, 0x11E00), (0x11F00, 0x11F60), (0x16100, 0x16140), (0x16D40, 0x16D80), (0x16E40, 0x16EE0), (0x16FE0, 0x17000), (0x1CC00, 0x1CEC0), (0x1D400, 0x1D420), (0x1E030, 0x1E300), (0x1E4D0, 0x1E600), (0x1F8B0, 0x1FAFF), (0x1FBC0, 0x1FC00), (0x2EBF0, 0x2EC00), (0x31350, 0x31360)]
PLAIN = ["a", "b", "A", "x", "y", " ", " ", "1", "23", "\n", ".", ",", "'s", "e", "\u0301", "\u0315", "\u0334", "가", "中", "п", "²", "½", "\u200d"]


def text(rnd):
    return "".join(rnd.choice(PLAIN) if rnd.random() < 0.45 else chr(rnd.randrange(*rnd.choice(BLOCKS))) for _ in range(rnd.randint(3, 24)))


def parts():
    for regex in REGEXES:
        yield {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}, pre_tokenizers.Split(Regex(regex), "isolated")
    yield {"type": "Whitespace"}, pre_tokenizers.Whitespace()
    yield {"type": "WhitespaceSplit"}, pre_tokenizers.WhitespaceSplit()
    yield {"type": "Digits", "individual_digits": True}, pre_tokenizers.Digits(individual_digits=True)
    yield {"type": "Punctuation", "behavior": "Isolated"}, pre_tokenizers.Punctuation()
    for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"):
        yield {"type": name}, getattr(normalizers, name)()


def main():
    rnd = random.Random(16)
    with open(sys.argv[1], "w") as out:
        for part, tool in parts():
            for _ in range(60):
                t = text(rnd)
                row = {"part": part, "text": t}
                if hasattr(tool, "normalize_str"):
                    row["normal"] = tool.normalize_str(t)
                else:
                    row["pieces"] = [piece for piece, _ in tool.pre_tokenize_str(t)]
                print(json.dumps(row), file=out)


main()
