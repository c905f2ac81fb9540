"""Prints what each character is to the installed Hugging Face tokenizers, as JSON: sets of characters as ranges, and mappings.

The names of categories and scripts are the arguments. Oniguruma, the Rust standard library and three crates answer in the library, each
with a Unicode version of its own, so that asking is the only way to know.
"""

import json
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CHARS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BLOCK = 4096


def matched(expression):
    """The characters that Oniguruma has in a class; a name that it does not know is an empty one."""
    try:
        splitter = pre_tokenizers.Split(Regex(expression), "removed")
    except Exception:
        return set()
    kept = set()
    for at in range(0, len(CHARS), BLOCK):
        kept.update("".join(piece for piece, _ in splitter.pre_tokenize_str("".join(CHARS[at : at + BLOCK]))))
    return set(CHARS) - kept


def glued(splitter):
    """The characters that stay in one piece with the letters around them."""
    return {c for c in CHARS if len(splitter.pre_tokenize_str(f"a{c}a")) == 1}


def cut_out(splitter):
    return {c for c in CHARS if len(splitter.pre_tokenize_str(f"a{c}a")) == 3}


def keeps_out():
    """The characters beside which a token that is a single word is not found."""
    t = Tokenizer(models.BPE())
    t.add_tokens([AddedToken("a", single_word=True)])
    return {c for c in CHARS if not t.encode(f"a{c}").ids}


def ranges(chars):
    out = []
    for c in sorted(map(ord, chars)):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def changed(normalizer, before="", after=""):
    """What a normalizer makes of each character between two others, where it changes something."""
    out = {}
    for c in CHARS:
        text = before + c + after
        if (now := normalizer.normalize_str(text)) != text:
            out[ord(c)] = now
    return out


def main():
    sets = {name: matched(r"\p{%s}" % name) for name in sys.argv[1:]}
    sets["word"] = matched(r"\w")
    sets["wordset"] = matched(r"[\w]")
    sets["alphanumeric"] = glued(pre_tokenizers.Whitespace())
    sets["single"] = keeps_out()
    sets["numeric"] = cut_out(pre_tokenizers.Digits(individual_digits=True))
    sets["punctuation"] = cut_out(pre_tokenizers.Punctuation())
    accents = normalizers.StripAccents()
    sets["accent"] = {c for c in CHARS if accents.normalize_str(c) == ""}
    forms = {}
    for name in ("NFC", "NFD", "NFKC", "NFKD"):
        form = getattr(normalizers, name)()
        forms[name] = [changed(form), changed(form, before="a\u0315"), changed(form, before="a", after="\u0334")]
    json.dump({"version": tokenizers.__version__, "sets": {k: ranges(v) for k, v in sets.items()}, "lower": changed(normalizers.Lowercase()), "forms": forms}, sys.stdout)


main()
