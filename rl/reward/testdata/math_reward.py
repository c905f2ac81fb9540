"""Makes math_reward.jsonl: what Trinity-RFT's math reward gives to (truth, response) pairs.

The rules of the reward are restated here; parsing and comparing is done by the real
math_verify 0.9.0 (with latex2sympy2_extended 1.11.0 and sympy 1.13.1).

    pip install math-verify==0.9.0 latex2sympy2_extended==1.11.0 sympy==1.13.1
    python math_reward.py > math_reward.jsonl
"""

import json
import logging
import re

from math_verify import parse, verify

logging.disable(logging.CRITICAL)
FORMAT = re.compile(r".*?<think>.*?</think>\s*<answer>.*?</answer>\s*$", re.DOTALL | re.MULTILINE)


def extract(text):
    tag = re.search(r"<answer>(.*?)</answer>", text)
    return parse(tag.group(1) if tag else text)


def score(truth, response):
    try:
        accuracy = float(verify(extract(response), extract(truth)))
    except Exception:
        accuracy = 0.0
    return accuracy, 0.1 if FORMAT.match(response) else -0.1


def tagged(answer, think="6 + 30 = 36 and so on"):
    return f"<think>{think}</think>\n<answer>{answer}</answer>"


def pairs():
    # Grade-school prose truths: the number after #### has to be found among the others.
    prose = [
        ("Natalia sold 48/2 = <<48/2=24>>24 clips in May.\nNatalia sold 48+24 = <<48+24=72>>72 clips altogether.\n#### 72", "72", "24"),
        ("Weng earns 12/60 = $<<12/60=0.2>>0.2 per minute.\nWorking 50 minutes, she earned 0.2 x 50 = $<<0.2*50=10>>10.\n#### 10", "10", "0.2"),
        ("Betty has only 100 / 2 = $<<100/2=50>>50.\nShe needs 100 - 50 - 15 - 30 = $5 more.\n#### 5", "5", "50"),
        ("Tom has 12 apples, buys 30 and gives away 6, so 12 + 30 - 6 = 36.\n#### 36", "36", "6"),
        ("The total is 1,200 + 34 = 1,234.\n#### 1,234", "1234", "1200"),
        ("He loses 5 and then 8 more: 10 - 13 = -3.\n#### -3", "-3", "3"),
        ("Half of 25 is 12.5 liters.\n#### 12.5", "12.5", "25"),
        ("The answer is 7 because 3 + 4 = 7.\n#### 7", "7", "4"),
        ("Each box holds 8 pens.\n3 boxes hold 3 * 8 = 24 pens.\nAfter giving 5 pens away, 24 - 5 = 19 are left.\n#### 19", "19", "24"),
        ("She pays $3 for tea and $4 for cake, $7 in all.\n#### 7", "7", "3"),
        ("25% of 80 is 20.\n#### 20", "20", "80"),
        ("He ran 3 km on Monday, twice that on Tuesday: 2 x 3 = 6 km. Altogether 9 km.\n#### 9", "9", "6"),
    ]
    for truth, right, wrong in prose:
        for response in (
            tagged(right), tagged(wrong), tagged(f" {right} "), tagged(right + ".0"), tagged(f"${right}$"),
            tagged(f"\\boxed{{{right}}}"), tagged(f"The answer is {right}."), f"<answer>{right}</answer>",
            f"<think>hm</think><answer>\n{right}\n</answer>", f"So we get {right}", f"#### {right}",
            f"The final answer is $\\boxed{{{wrong}}}$", tagged(f"{wrong}, no, {right}"), truth,
            f"<think>a</think> <answer>{right}</answer> and more", f"<think>a</think> <answer>{right}</answer>\nand more",
            tagged("so " + truth.split("\n")[0]),
        ):
            yield truth, response

    # The acceptance cases of Trinity-RFT's own tests, in our words.
    for response in (
        "\\boxed{2}", "\\boxd{3}", "2", tagged("3"), tagged("\\boxed{2}"), "<think>\nx</think>\n<answer>\n\\boxed{2}",
        "<answer>no number here</answer>", "<think>no number here</think>", "<answer>words</answer> <answer>1", "",
    ):
        yield "2", response
    for response in ("\\boxed{\\frac{40}{400}}", "\\boxed{\\frac{1}{10}}", "\\boxed{0.1}", "\\boxed{0.1000}",
                     "\\boxed{\\frac{40} {400}}", "Thus the ratio is \\boxed{\\frac{40}{400}}.", "\\boxed{0.2}", "\\boxed{10\\%}"):
        yield "\\frac{40}{400}", response
    roots = "$x_1 = -\\frac{1}{2} + \\sqrt{3}$ and $x_2 = -\\frac{1}{2} - \\sqrt{3}$"
    yield roots, "$\\boxed{-\\frac{1}{2} + \\sqrt{3}}$ and $\\boxed{-\\frac{1}{2} - \\sqrt{3}}$"
    yield "$-1+\\sqrt{2}$ and $-1-\\sqrt{2}$", "$\\boxed{-1+\\sqrt{2}}$ and $\\boxed{-1-\\sqrt{2}}$"
    for truth in ("36", "35", "... 6 + 29 = 35\n#### 35"):
        for response in (tagged("36"), "<answer> 36.0 </answer>", "<answer>Kim's total is 6 + 30 = 36</answer>", tagged("35.00")):
            yield truth, response

    # One truth, many ways to write the answer.
    plain = {
        "72": ["72", "72.", "72.0", "72.000001", "72.0000001", "+72", "072", "72 clips", "$72", "72 dollars", "72%", "7 2", "72,", "72!",
               "**72**", "=72", "x=72", "x = 72", "144/2", "144 / 2", "(144)/(2)", "36*2", "36 * 2", "70+2", "9*8", "9 \\times 8", "9×8", "2^3*9",
               "8 * 9 = 72", "71 + 1 = 73", "\\frac{144}{2}", "$\\frac{144}{2}$", "\\dfrac{144}{2}", "\\boxed{72}", "\\boxed{ 72 }", "\\fbox{72}",
               "$72$", "$$72$$", "\\(72\\)", "\\[72\\]", "$\\boxed{72}$", "$72\\text{ clips}$", "$72 \\mathrm{cm}$", "$72^\\circ$", "$\\$72$",
               "\\$72", "72 and 73", "73 and 72", "$72$ and $73$", "$73$ or $72$", "72 or 73", "the answer is 72", "answer: 72", "Answer: 73, I mean 72",
               "final answer is 72", "The final answer is $72$. I hope it is correct.", "The final answer is 72. I hope 73", "７２", "seventy-two", "-72", "--72", "- 72",
               "72/1", "7.2e1", "$7.2\\times 10^{1}$", "$7.2 \\cdot 10$", "72x", "x72", "a72", "72 = x", "$72 = x$", "72\n", "72 73", "73 72", "1,72", "0,72", "72.5",
               "about 72", "~72", "≈72", "72;", "(72)", "[72]", "{72}", "$(72)$", "$[72]$", "$\\{72\\}$", "\\text{72}", "$\\text{72}$", "72 cm^2", "72°", "€72", "£72.00",
               "sqrt(5184)", "\\sqrt{5184}", "$\\sqrt{5184}$", "$\\sqrt5184$", "6!/10", "$6!/10$", "#### 72", "<72>", "72</answer", "$72", "$72.00", "72.00$", "\\boxed{72", "boxed{72}",
               "72 = 72", "70 + 2 = 72 clips", "I think 72 is right because 70 + 2 is 72", "72 is the answer", "the answer, 72, is right", "Answer 72 or 73",
               "\\boxed{71}\\boxed{72}", "\\boxed{71} then \\boxed{72}", "$71$ then $72$", "\\boxed{x=72}", "\\boxed{72\\text{ clips}}", "\\boxed{72~clips}", "\\boxed{72 clips}"],
        "0.5": ["0.5", ".5", "1/2", "0.50", "50%", "50 %", "50 percent", "\\frac12", "$\\frac12$", "$\\frac{1}{2}$", "1 / 2", "2/4", "5e-1", "0.5000001", "0.49", "$.5$", "$0.5$", "$50\\%$",
                "$\\dfrac{1}{2}$", "$1/2$", "one half", "½", "0,5", "-0.5", "$2^{-1}$", "$\\frac{3}{6}$", "$\\tfrac12$", "50", "half"],
        "9%": ["9", "9%", "0.09", "9 percent", "$9\\%$", "9/100", "$\\frac{9}{100}$", "0.9", "90%", "9.0%", "9 pct", "9 percentage"],
        "1234567": ["1,234,567", "1 234 567", "1234567", "$1{,}234{,}567$", "$1,234,567$", "1.234.567", "1,234,567.00", "1,234,56", "$1\\,234\\,567$", "1_234_567"],
        "$\\frac{1}{3}$": ["1/3", "0.333333", "0.3333333", "0.33", "0.333333333", "$0.\\overline{3}$", "$\\frac{2}{6}$", "33.3333%", "33.33333333%", "$\\frac{1}{3}$", "$3^{-1}$", "-1/3", "$-\\frac{1}{3}$", "$\\frac{-1}{-3}$", "1:3"],
        "$\\sqrt{2}$": ["$\\sqrt{2}$", "$\\sqrt2$", "1.414214", "1.41421", "$2^{1/2}$", "$2^{\\frac12}$", "$\\frac{2}{\\sqrt{2}}$", "sqrt(2)", "$\\sqrt{3}$", "$\\sqrt[2]{2}$", "$\\sqrt[3]{2}$", "$\\frac{\\sqrt{8}}{2}$", "√2"],
        "$\\pi$": ["$\\pi$", "π", "3.14159265", "3.14159", "pi", "$\\frac{2\\pi}{2}$", "$2\\pi$", "$180^\\circ$", "\\boxed{\\pi}", "$\\Pi$", "$\\frac{22}{7}$"],
        "$x=5$": ["5", "x=5", "$x=5$", "$y=5$", "$5=x$", "$x = 10/2$", "6", "\\boxed{5}", "\\boxed{x=5}", "$x=y=5$", "$2x=10$", "$x-5=0$", "$x=6$", "$x\\approx5$"],
        "$(1,2)$": ["$(1,2)$", "$(1, 2)$", "(1,2)", "$[1,2]$", "$\\{1,2\\}$", "$1,2$", "$(2,1)$", "1, 2", "$\\left(1,2\\right)$", "$(1.0,2)$", "\\boxed{(1,2)}", "$1<x<2$", "$[1,2)$"],
        "$\\{1,2,3\\}$": ["$\\{1,2,3\\}$", "$\\{3,2,1\\}$", "$1,2,3$", "$3,1,2$", "$(1,2,3)$", "1,2,3", "$1$, $2$, and $3$", "$1$ and $2$", "$\\{1,2\\}$", "$\\{1,2,3,3\\}$", "$\\boxed{1,2,3}$", "$\\boxed{1}$, $\\boxed{2}$, $\\boxed{3}$"],
        "$[0,1)$": ["$[0,1)$", "$[0, 1)$", "$[0,1]$", "$(0,1)$", "$0\\le x<1$", "$0 \\leq x < 1$", "$x \\in [0,1)$", "[0,1)"],
        "$(-\\infty, 3]$": ["$(-\\infty, 3]$", "$(-\\infty,3)$", "$x\\le 3$", "$x\\leq3$", "$(-infinity,3]$", "$(-\\infty,4]$"],
        "$x<3$": ["$x<3$", "$3>x$", "$x>3$", "$x\\le3$", "$2x<6$", "$x-3<0$", "$(-\\infty,3)$", "x<3"],
        "$2x+1$": ["$2x+1$", "$1+2x$", "2x+1", "$2y+1$", "$x+x+1$", "$2(x+\\frac12)$", "$2x$", "$2X+1$", "\\boxed{2x+1}", "$y=2x+1$", "$2\\cdot x+1$", "$f(x)=2x+1$"],
        "$x^2-1$": ["$x^2-1$", "$(x-1)(x+1)$", "$x^{2}-1$", "$x^2+1$", "$-1+x^2$", "$\\frac{x^3-x}{x}$", "$x*x-1$"],
        "$y=2x+1$": ["$y=2x+1$", "$2x+1$", "$2x+1=y$", "$y-2x=1$", "$y-2x-1=0$", "$y=2x+2$", "$y=1+2x$"],
        "$\\pm 2$": ["$\\pm 2$", "$2,-2$", "$-2, 2$", "$2$ and $-2$", "$\\{-2,2\\}$", "2", "$x=\\pm2$"],
        "$3 \\frac{1}{2}$": ["3.5", "$\\frac{7}{2}$", "$3\\frac12$", "7/2", "3 1/2", "$3 \\frac{1}{2}$", "3.5 hours", "$-3\\frac12$"],
        "$\\text{A}$": ["A", "$A$", "$\\text{A}$", "$B$", "\\boxed{A}", "$a$", "(A)", "$\\textbf{(A)}$", "\\boxed{\\text{(A)}}"],
        "$10^{3}$": ["1000", "1,000", "$10^3$", "10^3", "$1000$", "$10^4$", "10**3", "$10\\cdot10\\cdot10$"],
        "$\\frac{\\sqrt{3}}{2}$": ["$\\frac{\\sqrt{3}}{2}$", "$\\frac{\\sqrt3}2$", "$\\sqrt{3}/2$", "$\\sqrt{\\frac34}$", "$\\sin(60)$", "0.866025", "0.8660254", "$\\frac{3}{2\\sqrt3}$", "$\\sin\\frac{\\pi}{3}$", "$\\frac12\\sqrt3$"],
        "$5!$": ["120", "$120$", "$5!$", "$5\\cdot4!$", "$5\\cdot4\\cdot3\\cdot2$", "$\\binom{10}{3}$", "$\\binom{5}{2}$"],
        "$2i$": ["$2i$", "$i\\cdot 2$", "$-2i$", "2i", "$\\sqrt{-4}$"],
        "$\\log 100$": ["2", "$2$", "$\\log_{10} 100$", "$\\log_2 4$", "$\\ln 100$", "$\\log(100)$"],
        "$e^2$": ["$e^2$", "$e^{2}$", "$\\exp(2)$", "7.389056", "7.39", "$e\\cdot e$", "$e^3$"],
        "$|x|$": ["$|x|$", "$\\lvert x\\rvert$", "$x$", "$\\sqrt{x^2}$", "$|-x|$"],
        "$\\begin{pmatrix}1\\\\2\\end{pmatrix}$": ["$\\begin{pmatrix}1\\\\2\\end{pmatrix}$", "$\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}$", "$\\begin{bmatrix}1\\\\2\\end{bmatrix}$", "$\\begin{pmatrix}2\\\\1\\end{pmatrix}$", "$\\begin{pmatrix}1&2\\end{pmatrix}$"],
        "$\\emptyset$": ["$\\emptyset$", "$\\{\\}$", "$\\varnothing$", "$0$", "none"],
        "$\\infty$": ["$\\infty$", "infinity", "$-\\infty$", "∞"],
        "12 km/h": ["12", "12 km/h", "$12\\text{ km/h}$", "$12$ km/h", "13 km/h", "$12 \\frac{km}{h}$"],
        "100 cm^2": ["100", "$100\\text{ cm}^2$", "$100\\,\\text{cm}^2$", "$100 cm^2$", "2", "$100$"],
        "no": ["no", "yes", "0", ""],
        "": ["", "1", "<answer></answer>"],
        "0": ["0", "-0", "0.0", "00", "0%", "$0$", "0/5", "5-5", "$-0$", "zero", ".0", "1/0", "$\\frac{1}{0}$", "0.0000001"],
        "-3": ["-3", "−3", "$-3$", "3", "(-3)", "- 3", "−3.0", "$−3$", "$-3.0$", "0-3", "-6/2", "$-\\frac{6}{2}$", "$\\frac{-6}{2}$", "$-(3)$", "minus 3", "negative 3"],
        "3:30": ["3:30", "$3:30$", "3", "30", "3.30"],
        "2023-01-05": ["2023-01-05", "2023", "5", "05", "2023 - 01 - 05"],
        "48 + 24 = 72": ["72", "24", "48", "48 + 24", "48+24=72", "$48+24$"],
    }
    for truth, answers in plain.items():
        for i, answer in enumerate(answers):
            yield truth, (tagged(answer), f"<answer>{answer}</answer>", answer)[i % 3]
            if "\n" not in answer and i % 2:
                yield truth, "We work it out step by step. The final answer is " + answer

    # Tags around several lines, LaTeX over several lines, equations without unknowns.
    for response in ("<answer>6 apples\n cost $\\frac{1}{2}$ and\n#### 5</answer>", "The answer\nis $5$\n or 6", "$$\n5\n$$", "\\[\n5\n\\]", "\\boxed{5\n}", "\\boxed{\n5}\n}",
                     "final answer\nis $4$ and 5", "answer:\n5", "answer:\n\n$5$ 6", "the answer is\n5 and 6"):
        yield "5", response
    equations = ["6+30=36", "5+30=34", "2+2=4", "x+y=3", "2x+2y=6", "x+y=4", "36", "1+2=3", "x=3", "1<2", "3<4", "x\\ne 2", "2x=6"]
    for a in equations:
        for b in equations:
            yield f"${a}$", f"${b}$"

    # Shapes that look like the format and are not, and the other way round.
    for response in (
        "<think></think><answer>5</answer>", "<think>5<answer>5</answer>", "<answer>5</answer><think>x</think>", "<THINK>x</THINK><ANSWER>5</ANSWER>",
        "<think>x</think>\n\n \t<answer>5</answer> \n", "<think>x</think> so <answer>5</answer>", "pre <think>x</think><answer>5</answer>",
        "<think>x</think><answer>4</answer><answer>5</answer>", "<think>x</think><answer>5</answer><answer>4</answer>", "<think>a</think><think>b</think><answer>5</answer>",
        "<think>x</think><answer>five\n5</answer>", "<think>x</think><answer>4\n</answer> <answer>5</answer>", "<think>x</think><answer>5</answer>\nThe end 6",
        "<think>x</think><answer></answer>", "<think>x</think><answer> </answer>", "<answer>5", "5</answer>", "<answer>5</answer", "< answer >5</ answer >",
        "<think>5</think>", "\n\n<think>\n5\n</think>\n<answer>\n5\n</answer>\n\n", "<think>the answer is 6</think><answer>\n5\n</answer>", "日本語 5", "答案是5", "The answer is: 5 🎉", "5\u00a0", "٥",
        "x" * 3000 + " 5", "5 " * 500, "1+" * 200 + "1", "$" * 50 + "5", "(" * 40 + "5" + ")" * 40, "\\boxed{" * 20 + "5" + "}" * 20,
    ):
        yield "5", response


def main():
    seen = set()
    for truth, response in pairs():
        if (truth, response) in seen:
            continue
        seen.add((truth, response))
        accuracy, form = score(truth, response)
        print(json.dumps({"truth": truth, "response": response, "accuracy": accuracy, "format_score": form}, ensure_ascii=False))


main()
