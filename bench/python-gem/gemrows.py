"""Writes math.jsonl, qa.jsonl and code.jsonl into a folder: rows of GSM8K if a file is given, else rows of our own.

    python gemrows.py FOLDER [test.jsonl]
"""
import json
import random
import sys


def main():
    folder, r = sys.argv[1], random.Random(0)
    if len(sys.argv) > 2:
        with open(sys.argv[2]) as f:
            rows = [json.loads(line) for line in f]
        math = [{"problem": x["question"], "answer": x["answer"].split("####")[1].strip()} for x in rows]
    else:
        pairs = [(r.randint(2, 99), r.randint(2, 99)) for _ in range(50)]
        math = [{"problem": f"A shelf has {a} books, another {b}. How many are there?", "answer": str(a + b)} for a, b in pairs]
    words = "river mountain lantern copper violin harbour meadow compass".split()
    qa = [{"problem": f"Which word of the list is number {i + 1}? {' '.join(words)}", "answer": [w, f"the {w}"]}
          for i, w in enumerate(words)]
    for row in qa:
        row["question"] = row["problem"]
    code = []
    for _ in range(20):
        tests = [(r.randint(0, 9), r.randint(0, 9)) for _ in range(3)]
        code.append({"problem": "Read two numbers of a line and print their sum.",
                     "tests": json.dumps({"inputs": [f"{a} {b}" for a, b in tests], "outputs": [str(a + b) for a, b in tests]})})
    for name, rows in (("math", math), ("qa", qa), ("code", code)):
        with open(f"{folder}/{name}.jsonl", "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)


main()
