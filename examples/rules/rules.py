"""The checker: does the answer keep the rule that the request states?

    python3 examples/rules/rules.py examples/rules/data

writes the requests again: 600 for training, and 250 for tests about other topics.
"""

import json
import pathlib
import random
import re
import sys

LEARN = """a bicycle, the river, winter, the market, a train, the teacher, bread, a garden, the sea, coffee, the city, a doctor,
rain, a kitchen, the mountain, a horse, the farmer, a library, the bridge, summer, a guitar, the village, an apple, the bus,
a museum, the baker, snow, a boat, the airport, a chair, the forest, a phone, the painter, cheese, a window, the hospital, a camera,
the island, a blanket, the song""".replace("\n", " ").split(", ")
TEST = """a dog, the moon, football, a letter, the nurse, a hotel, autumn, the lake, a computer, tea, the soldier, a hammer, the theatre,
a cloud, the desert, an engine, the pilot, a basket, soup, the castle""".replace("\n", " ").split(", ")
WORDS = "blue, old, three, never, slowly, small, always, new, early, quiet".split(", ")

REQUESTS = {
    "exactly": "Write one sentence about {topic} with exactly {limit} words.",
    "most": "Write one sentence about {topic}. Use at most {limit} words.",
    "word": 'Write one sentence of at most {limit} words about {topic} that contains the word "{word}".',
    "question": "Ask one short question about {topic}, at most {limit} words.",
    "three": "Name three things that go with {topic}. Answer with three words separated by commas.",
}
LIMITS = {"exactly": (5, 8), "most": (6, 10), "word": (10, 12), "question": (7, 10), "three": (3, 3)}


def parts(text, kind, topic, limit, word):
    """What must hold, part by part. A rule is not kept by an answer that is about words and sentences."""
    words = re.findall(r"[a-z]+", text.lower())
    noun, once = topic.split()[-1], [w for w in words if w not in ("a", "the")]
    clean = len(set(once)) == len(once) and not {"word", "words", "sentence", "question", "exactly"} & set(words)
    if kind == "three":
        return [re.fullmatch(r"[A-Za-z]+, [A-Za-z]+, [A-Za-z]+\.?", text) is not None, len(words) == 3, noun not in words, clean]
    end = "[?]" if kind == "question" else "[.!]"
    return [
        re.fullmatch(f"[A-Z][^.!?\\n]*{end}", text) is not None,
        len(words) == limit if kind == "exactly" else 4 <= len(words) <= limit,
        noun in words and (kind != "word" or word in words),
        clean,
    ]


def reward(completion, kind, topic, limit, word):
    """1 for an answer that keeps the rule whole; else a fifth at most, for the share of its parts that hold."""
    text = completion.strip()
    held = parts(text, kind, topic, int(limit), word) if text else [False]
    return {"kept": 0.8 * all(held), "parts": 0.2 * sum(held) / len(held)}


def requests(topics, count, seed):
    """Draws rows: as many of each kind of rule."""
    draw = random.Random(seed)
    for i in range(count):
        kind = list(REQUESTS)[i % len(REQUESTS)]
        row = {"kind": kind, "topic": draw.choice(topics), "limit": draw.randint(*LIMITS[kind]), "word": draw.choice(WORDS)}
        yield {"request": REQUESTS[kind].format(**row), **row}


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for split, topics, count, seed in ("train", LEARN, 600, 1), ("test", TEST, 250, 2):
        with open(folder / f"{split}.jsonl", "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in requests(topics, count, seed))
