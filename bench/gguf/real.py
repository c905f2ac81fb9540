"""Asks other programs about a GGUF file: transformers for the folder that it makes of it, llama.cpp for the ids of many lines.

real.py --hf tokenizer.json lines.jsonl adds Hugging Face's ids to lines.
real.py FILE.gguf OUT [GSM8K folder] writes below OUT:
  folder/            the model as transformers reads it, in bf16
  lines.jsonl        {"text", "ids"}: lines as llama.cpp tokenises them with FILE's vocabulary
  pieces.gguf        a SentencePiece vocabulary trained here, without weights
  pieces.jsonl       the same lines with that one
  pre-NAME.gguf      FILE's vocabulary with another way to cut words
  pre-NAME.jsonl     the same lines with that one
"""
import json, pathlib, random, sys

# Article 1 of the Universal Declaration of Human Rights, or its first sentence.
PROSE = """
All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.
Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen.
Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.
Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.
Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.
Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.
Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.
Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.
Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.
Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.
Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση.
Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.
Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю.
כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.
يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.
تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند.
सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।
সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।
மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்.
มนุษย์ทั้งปวงเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ
人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。
すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。
모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.
ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.
Բոլոր մարդիկ ծնվում են ազատ ու հավասար՝ իրենց արժանապատվությամբ և իրավունքներով։
ሰዎች ሁሉ ነጻ ሆነው ይወለዳሉ፤ በክብርና በመብት እኩል ናቸው።
""".strip().split("\n")


def lines(gsm8k):
    """Some thousand lines of each kind, the same in each run over the same files; the made ones in every run."""
    draw = random.Random(17)
    out = []
    if gsm8k:
        for name in ("train", "test"):
            for row in open(pathlib.Path(gsm8k) / f"{name}.jsonl", encoding="utf-8"):
                row = json.loads(row)
                out.append(row["question"] if len(out) % 2 else row["answer"])
    code = []
    for path in sorted(pathlib.Path(".").rglob("*.go")):
        if not any(p.startswith(".") or p in ("bin", "checkpoints") for p in path.parts):
            code += [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    out += draw.sample(code, 4000)
    out += ["\n".join(code[i : i + 8]) for i in draw.sample(range(len(code) - 8), 500)]
    for path in sorted(pathlib.Path("docs").glob("*.md")):
        out += path.read_text(encoding="utf-8").split("\n\n")
    draw = random.Random(18)
    words = [w for sentence in PROSE for w in sentence.split(" ")]
    out += PROSE + PROSE
    for _ in range(2000):
        out.append("".join(draw.choice(words) + draw.choice([" ", " ", " ", "  ", "\n", "\t", ", ", "。", " 12 ", " 3.5%"])
                           for _ in range(draw.randint(1, 20))))
    marks = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "<unk>", "user\n", "assistant\n", " "]
    for _ in range(500):
        out.append("".join(draw.choice(marks + words) for _ in range(draw.randint(1, 12))))
    ranges = [(0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x5FF), (0x600, 0x97F), (0xE00, 0xE7F), (0x1E00, 0x20CF), (0x3000, 0x30FF),
              (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1FAFF), (9, 13), (0x30, 0x39), (0x20, 0x20)]
    for _ in range(3000):
        r = [draw.choice(ranges) for _ in range(draw.randint(1, 3))]
        out.append("".join(chr(draw.randint(*draw.choice(r))) for _ in range(draw.randint(1, 60))))
    return [s for s in out if s]


def tokenise(file, texts, to):
    from llama_cpp import Llama

    llama = Llama(str(file), vocab_only=True, verbose=False)
    with open(to, "w", encoding="utf-8") as f:
        for s in texts:
            ids = llama.tokenize(s.encode(), add_bos=False, special=True)
            f.write(json.dumps({"text": s, "ids": ids}, ensure_ascii=False) + "\n")


def pieces(texts, out):
    """Trains a SentencePiece BPE with bytes and writes its vocabulary as convert_hf_to_gguf.py does."""
    import sentencepiece as spm
    from gguf import GGUFWriter

    (out / "corpus.txt").write_text("\n".join(s.replace("\n", " ") for s in texts), encoding="utf-8")
    spm.SentencePieceTrainer.train(input=str(out / "corpus.txt"), model_prefix=str(out / "spm"), vocab_size=8000,
        model_type="bpe", byte_fallback=True, character_coverage=0.98, split_digits=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, user_defined_symbols=["<|im_start|>", "<|im_end|>"],
        minloglevel=2)
    sp = spm.SentencePieceProcessor(model_file=str(out / "spm.model"))
    n = sp.get_piece_size()
    kinds = [2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else
             4 if sp.id_to_piece(i) in ("<|im_start|>", "<|im_end|>") else 1 for i in range(n)]
    w = GGUFWriter(str(out / "pieces.gguf"), "llama")
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list([sp.id_to_piece(i) for i in range(n)])
    w.add_token_scores([sp.get_score(i) for i in range(n)])
    w.add_token_types(kinds)
    w.add_bos_token_id(sp.bos_id())
    w.add_eos_token_id(sp.eos_id())
    w.add_unk_token_id(sp.unk_id())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


# One name of tokenizer.ggml.pre for each way to cut words.
PRES = ["gpt-2", "llama-bpe", "qwen2", "tekken", "gpt-4o", "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon"]


def pres(file, texts, out):
    """Gives the file's tokens and merges the other ways to cut words, if it has a byte-level BPE."""
    from gguf import GGUFReader, GGUFWriter

    fields = GGUFReader(str(file)).fields

    def read(key):
        return fields["tokenizer.ggml." + key].contents()

    if read("model") != "gpt2":
        return
    for pre in PRES:
        w = GGUFWriter(str(out / f"pre-{pre}.gguf"), "llama")
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(pre)
        w.add_token_list(read("tokens"))
        w.add_token_types(read("token_type"))
        w.add_token_merges(read("merges"))
        w.add_bos_token_id(read("bos_token_id"))
        w.add_eos_token_id(read("eos_token_id"))
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()
        tokenise(out / f"pre-{pre}.gguf", texts, out / f"pre-{pre}.jsonl")


def hugging_face(tokenizer, lines):
    """Adds Hugging Face's ids to the lines where they are not llama.cpp's."""
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(tokenizer)
    rows = [json.loads(line) for line in open(lines, encoding="utf-8")]
    with open(lines, "w", encoding="utf-8") as f:
        for row in rows:
            ids = tok.encode(row["text"], add_special_tokens=False).ids
            if ids != row["ids"]:
                row["hf"] = ids
            f.write(json.dumps(row, ensure_ascii=False) + "\n")


def folder(file, to):
    import torch, transformers
    from transformers import AutoModelForCausalLM, GgufConfig

    model = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.bfloat16,
        quantization_config=GgufConfig(gguf_file=file.name, dequantize=True))
    model.config.quantization_config = None
    del model.config.quantization_config
    model.save_pretrained(str(to))
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: {sum(p.numel() for p in model.parameters()):,} parameters")


def main():
    if sys.argv[1] == "--hf":
        hugging_face(*sys.argv[2:])
        return
    file, out = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    texts = lines(sys.argv[3] if len(sys.argv) > 3 else "")
    import llama_cpp

    print(f"llama-cpp-python {llama_cpp.__version__}: {len(texts):,} lines, {sum(len(s.encode()) for s in texts):,} bytes")
    tokenise(file, texts, out / "lines.jsonl")
    pieces(texts, out)
    tokenise(out / "pieces.gguf", texts, out / "pieces.jsonl")
    pres(file, texts, out)
    folder(file, out / "folder")


if __name__ == "__main__":
    main()
