"""Makes graders.jsonl, what Trinity-RFT's graders say of mixed LaTeX answers, and detex.jsonl, LaTeX as pylatexenc's text.

The answers and truths are this file's own, drawn with a fixed seed. The verdicts are those of the published packages:
Trinity-RFT 0.6.0 (trinity.common.rewards) over verl 0.7.1 (prime_math), math_verify, latex2sympy2_extended, sympy and
pylatexenc as pip resolves them (graders.txt). Nothing of them is written but the verdicts.

    pip install -r graders.txt && pip install --no-deps trinity-rft==0.6.0 verl==0.7.1
    python graders.py graders.jsonl detex.jsonl
"""

import importlib
import importlib.metadata
import importlib.util
import json
import logging
import os
import random
import sys
import types

from pylatexenc import latex2text

ROWS = 4000
TEXTS = 3000
SEED = 15
GRADERS = ("math_reward", "math_boxed_reward", "accuracy_reward", "math_dapo_reward")

# Spellings of one value are a line; the answer to a truth comes from its line, or from another one.
VALUES = [
    [r"72", r"72.0", r"72.", r"+72", r"072", r"144/2", r"\frac{144}{2}", r"7.2\times 10^{1}", r"72\%", r"72 \%", r"72\ \%", r"72%", r"72\,", r"72\;", r"72\!", r"72\ ",
     r"72\text{ cm}", r"72 \text{ clips}", r"72\mathrm{cm}", r"72^\circ", r"72^{\circ}", r"\$72", r"72\$", r"$72", r"72 dollars", r"72 cm", r"72 cm^2", r"72\,\text{m}^2", r"{72}", r"(72)", r"\text{72}",
     r"\mathbf{72}", r"\textbf{72}", r"x=72", r"x = 72", r"n=72", r"abc=72", r"8\cdot 9", r"8*9", r"8\times9", r"70+2", r"2^3\cdot 3^2", r"\sqrt{5184}", r"72_{10}", r"72_8", r"seventy-two", r"72 hours", r"72 degrees",
     r"72 minutes", r"72 feet", r"72 inches", r"72 miles", r"72 meters", r"\left(72\right)", r"\approx 72", r"72~", r"~72", r"\mbox{72}", r"\displaystyle 72", r"72\\"],
    [r"-3", r"- 3", r"-3.0", r"−3", r"(-3)", r"-\frac{6}{2}", r"\frac{-6}{2}", r"-6/2", r"0-3", r"-3\%", r"-3^\circ", r"{-3}", r"--3", r"\minus 3", r"-3\text{ }", r"x=-3", r"-\sqrt{9}", r"-\$3", r"\$-3"],
    [r"\frac{1}{2}", r"\frac12", r"\dfrac{1}{2}", r"\tfrac12", r"1/2", r"1 / 2", r"0.5", r".5", r"0.50", r"50\%", r"50%", r"\frac{2}{4}", r"2/4", r"\frac 12", r"\frac 1 2", r"2^{-1}", r"1\over 2", r"{1\over2}",
     r"\left(\frac{1}{2}\right)", r"\frac{1}{2}\text{ cm}", r"x=\frac{1}{2}", r"x=.5", r"x=\frac12", r"\frac{ 1 }{ 2 }", r"\frac{1}{2} ", r"\frac{-1}{-2}", r"\cfrac{1}{2}", r"1\div 2", r"0{,}5", r"\$0.50", r"\$.50", r"{.5}"],
    [r"\frac{3}{4}", r"3/4", r"0.75", r".75", r"75\%", r"\frac34", r"\dfrac34", r"6/8", r"\frac{6}{8}", r"0.750", r"0.7500001", r"\frac{\frac{3}{2}}{2}", r"1-\frac14"],
    [r"3\frac{1}{2}", r"3 \frac{1}{2}", r"3 1/2", r"\frac{7}{2}", r"7/2", r"3.5", r"3\frac12", r"3+\frac{1}{2}", r"3 \frac12\text{ hours}", r"3.50", r"\$3.50", r"350\%", r"3~\frac{1}{2}"],
    [r"1234567", r"1,234,567", r"1{,}234{,}567", r"1\,234\,567", r"1 234 567", r"1,\!234,\!567", r"\$1,234,567", r"1,234,567.00", r"1,\! 234,\! 567", r"1.234567\times 10^6", r"1234567\text{ people}", r"1,234567"],
    [r"1000000", r"1 million", r"10^6", r"10^{6}", r"1,000,000", r"1{,}000{,}000", r"1e6", r"1\times10^6", r"1 million dollars", r"\$1 million", r"1000^2", r"1.0e6", r"1E6"],
    [r"2500000000", r"2.5 billion", r"2.5\times 10^9", r"2.5\cdot10^{9}", r"2,500,000,000", r"2.5*10^9"],
    [r"\sqrt{2}", r"\sqrt2", r"\sqrt 2", r"2^{1/2}", r"2^{\frac{1}{2}}", r"\frac{2}{\sqrt{2}}", r"1.41421356", r"1.4142", r"\sqrt[2]{2}", r"sqrt(2)", r"sqrt2", r"√2", r"\sqrt{ 2 }", r"\frac{\sqrt{8}}{2}", r"\sqrt{(2)}"],
    [r"5\sqrt{3}", r"5\sqrt3", r"5 \sqrt{3}", r"\sqrt{75}", r"5\cdot\sqrt{3}", r"5 * \sqrt{3}", r"\sqrt{3}\cdot 5", r"5√3", r"5\sqrt{3}\text{ cm}", r"5\sqrt{3}\,\text{cm}"],
    [r"\frac{\sqrt{3}}{2}", r"\frac{\sqrt3}{2}", r"\frac{\sqrt3}2", r"\sqrt{3}/2", r"\dfrac{\sqrt{3}}{2}", r"\sqrt{\frac{3}{4}}", r"\frac{1}{2}\sqrt{3}", r"0.8660254", r"\frac{3}{2\sqrt{3}}"],
    [r"\pi", r"π", r"3.14159", r"3.14", r"\frac{2\pi}{2}", r"1\pi", r"\pi ", r"{\pi}", r"pi", r"3.14159265"],
    [r"4\pi", r"4 \pi", r"4π", r"4\cdot\pi", r"12.566", r"12.56", r"4*\pi", r"4\pi\text{ cm}^2", r"2\cdot 2\pi"],
    [r"\frac{\pi}{6}", r"\pi/6", r"\frac{1}{6}\pi", r"30^\circ", r"\dfrac{\pi}{6}", r"0.5236"],
    [r"(1,2)", r"(1, 2)", r"\left(1,2\right)", r"(1.0,2)", r"[1,2]", r"\{1,2\}", r"1,2", r"1, 2", r"(2,1)", r"( 1 , 2 )", r"\left( 1, 2 \right)", r"(1;2)", r"\langle 1,2\rangle", r"(x,y)=(1,2)", r"(1,2.0)", r"\left[1,2\right]", r"1<x<2", r"Point(1,2)"],
    [r"(3,\frac{\pi}{2})", r"\left(3,\frac{\pi}{2}\right)", r"(3, \pi/2)", r"\left( 3, \frac{\pi}{2} \right)", r"(3,\pi/2)"],
    [r"(\frac{1}{2},-1)", r"\left(\frac{1}{2}, -1\right)", r"(1/2,-1)", r"(0.5,-1)", r"(\frac12,-1)", r"(-1,\frac12)"],
    [r"\{1,2,3\}", r"\{3,2,1\}", r"\left\{1,2,3\right\}", r"1,2,3", r"1, 2, 3", r"1,2,\text{ and }3", r"1, 2 and 3", r"\{1, 2, 3\}", r"1,2,\text{and}3", r"1 or 2 or 3", r"x=1,2,3", r"(1,2,3)", r"3,2,1"],
    [r"[0,1)", r"[0, 1)", r"\left[0,1\right)", r"0\le x<1", r"0 \leq x < 1", r"x\in[0,1)", r"[0.0,1)", r"(0,1)", r"[0,1]", r"[0,\frac{2}{2})", r"Interval.Ropen(0,1)"],
    [r"(-\infty,3]", r"(-\infty, 3]", r"\left(-\infty,3\right]", r"x\le 3", r"x \leq 3", r"(-\infty,3)", r"(-inf,3]", r"(-∞,3]"],
    [r"(-\infty,-1)\cup(1,\infty)", r"(-\infty, -1) \cup (1, \infty)", r"\left(-\infty,-1\right)\cup\left(1,\infty\right)", r"(-\infty,-1)\cup(1,+\infty)", r"(1,\infty)\cup(-\infty,-1)", r"(-∞,-1)∪(1,∞)", r"|x|>1"],
    [r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", r"[[1,2],[3,4]]", r"Matrix([[1,2],[3,4]])", r"\begin{pmatrix}1&2\\3&5\end{pmatrix}"],
    [r"\begin{pmatrix}-7\\5\end{pmatrix}", r"\begin{pmatrix} -7 \\ 5 \end{pmatrix}", r"[-7,5]", r"Matrix([-7,5])", r"\begin{bmatrix}-7\\5\end{bmatrix}", r"(-7,5)", r"\left[-7,5\right]", r"\begin{pmatrix} 5 \\ -7 \end{pmatrix}"],
    [r"10", r"\binom{5}{2}", r"{5 \choose 2}", r"{5\choose 2}", r"\dbinom{5}{2}", r"\tbinom52", r"C(5,2)", r"\frac{5!}{2!3!}", r"10.0", r"5\cdot 2", r"1010_2", r"1010_{2}", r"10_{10}", r"\binom52", r"{5\choose2}"],
    [r"120", r"5!", r"120.0", r"5\cdot4!", r"2\cdot 60", r"120^\circ", r"120 degrees", r"120^{\circ}", r"120\text{ degrees}", r"120°", r"120 ^\circ", r"120^\circ C"],
    [r"x^2+2x+1", r"(x+1)^2", r"x^{2}+2x+1", r"x^2 + 2x + 1", r"1+2x+x^2", r"x**2+2*x+1", r"y=x^2+2x+1", r"f(x)=x^2+2x+1", r"x^2+x+x+1", r"x²+2x+1", r"X^2+2X+1"],
    [r"2x+3y", r"3y+2x", r"2x + 3y", r"2*x+3*y", r"2x+3y=0", r"2\,x+3\,y", r"2\cdot x+3\cdot y", r"2X+3Y"],
    [r"y=2x+1", r"2x+1", r"y = 2x + 1", r"2x+1=y", r"y-2x-1=0", r"y=2x+2", r"y=1+2x", r"y=2\cdot x+1"],
    [r"x<3", r"x < 3", r"3>x", r"x\lt 3", r"x \le 3", r"(-\infty,3)", r"x-3<0"],
    [r"2+3i", r"3i+2", r"2 + 3i", r"2+3\cdot i", r"2-3i", r"2+3I", r"2+3\mathrm{i}"],
    [r"e^2", r"e^{2}", r"\exp(2)", r"7.389", r"e\cdot e", r"\mathrm{e}^2", r"7.3890561"],
    [r"\log_2 3", r"\log_{2}3", r"\log_2(3)", r"\frac{\ln 3}{\ln 2}", r"1.58496", r"\frac{\log 3}{\log 2}", r"\log_{2}{3}"],
    [r"\text{A}", r"A", r"(A)", r"\textbf{(A)}", r"\text{(A)}", r"\mathrm{A}", r"a", r"A.", r"\textbf{A}", r"\text{A }", r"\text{ A}", r"B", r"\textbf{(B)}", r"option A", r"\mathbf{A}"],
    [r"\text{Yes}", r"Yes", r"yes", r"\text{yes}", r"No", r"\text{no}", r"YES", r"\mathrm{yes}", r"True", r"\text{Yes.}"],
    [r"\text{Monday}", r"Monday", r"monday", r"\text{ Monday}", r"\mbox{Monday}", r"\textit{Monday}", r"Mon", r"Tuesday"],
    [r"\infty", r"∞", r"+\infty", r"infinity", r"-\infty", r"inf", r"\inf"],
    [r"\emptyset", r"\varnothing", r"\{\}", r"∅", r"\text{empty set}", r"\phi"],
    [r"\pm 2", r"\pm2", r"2,-2", r"-2,2", r"2 or -2", r"x=\pm 2", r"\{-2,2\}", r"\{2,-2\}", r"±2", r"2\text{ or }-2", r"2 and -2"],
    [r"3:30", r"3:30\text{ p.m.}", r"3.30", r"15:30", r"\text{3:30}", r"3 : 30"],
    [r"2:3", r"\frac{2}{3}", r"2/3", r"0.6667", r"0.666667", r"0.\overline{6}", r"66.67\%", r"66\frac{2}{3}\%", r"2 : 3", r"\frac23", r"0.66666666667", r"4/6"],
    [r"0", r"0.0", r"-0", r"00", r"\frac{0}{5}", r"0\%", r"1-1", r"0.000001", r"\text{zero}", r"zero", r"\{0\}", r"x=0", r"none", r".0"],
    [r"1.5\times 10^{-3}", r"0.0015", r"1.5e-3", r"1.5\cdot 10^{-3}", r".0015", r"\frac{3}{2000}", r"1.5\times10^{-3}", r"0.15\%", r"1.5 \times 10^{-3}"],
    [r"5.99", r"\$5.99", r"5.99\text{ dollars}", r"\$ 5.99", r"599\text{ cents}", r"€5.99", r"£5.99", r"5,99", r"5.990", r"5.9900001", r"5.9905", r"5.991", r"USD 5.99", r"5.99 dollars", r"\text{\$}5.99"],
    [r"x_1=1,x_2=2", r"1,2", r"x=1,x=2", r"x=1\text{ or }x=2", r"x_1 = 1, x_2 = 2", r"x=1 or x=2", r"x=1, 2"],
    [r"a^{n+1}", r"a^{1+n}", r"a^n\cdot a", r"a^{n}a", r"a^{n + 1}", r"a^(n+1)"],
    [r"\frac{a}{b}", r"a/b", r"\frac ab", r"\dfrac{a}{b}", r"ab^{-1}", r"\frac{a}{b+0}", r"{a\over b}"],
    [r"\sin x", r"\sin(x)", r"\sin{x}", r"sin(x)", r"sin x", r"\sin\left(x\right)", r"\cos x"],
    [r"2^{10}", r"1024", r"2^10", r"1,024", r"1{,}024", r"4^5", r"32^2", r"1024.0", r"2**10", r"1024\text{ ways}", r"1024 ways", r"1 024"],
    [r"F_{n+1}", r"F_{1+n}", r"F_n+1", r"f_{n+1}", r"F_{n + 1}"],
    [r"\overline{AB}", r"AB", r"\vec{v}", r"\hat{x}", r"\bar{x}", r"\widehat{ABC}", r"\angle ABC", r"\triangle ABC", r"\overrightarrow{AB}"],
    [r"\lfloor x\rfloor", r"\left\lfloor x\right\rfloor", r"\lceil x\rceil", r"|x|", r"\lvert x\rvert", r"\left|x\right|", r"\|x\|"],
    [r"\alpha+\beta", r"α+β", r"\beta+\alpha", r"\alpha + \beta", r"\Alpha+\beta", r"\theta", r"\varphi", r"\phi"],
    [r"x\ne 0", r"x\neq 0", r"x \neq 0", r"x≠0", r"x \not= 0", r"x\in\mathbb{R}", r"\mathbb{R}", r"ℝ", r"x\in \mathbb R", r"\mathbb{R}\setminus\{0\}"],
    [r"6\text{ hours}", r"6 hours", r"6", r"6\ \text{hours}", r"6\,\mathrm{h}", r"6 \text{ hours and } 0 \text{ minutes}", r"6hrs", r"360\text{ minutes}", r"6\text{hours}", r"6 h"],
    [r"25\text{ cm}^2", r"25", r"25 cm^2", r"25\,\text{cm}^{2}", r"25\ \text{cm}^2", r"25\mathrm{~cm}^2", r"25 square centimeters", r"25\text{ square units}", r"25 cm²", r"25 \text{ in}^2", r"25\text{ }"],
]

# What stands around an answer in a response, and around a truth.
AROUND = [
    r"\boxed{@}", r"\boxed{@}", r"\boxed{@}", r"So the answer is \boxed{@}.", r"$\boxed{@}$", r"$$\boxed{@}$$", r"\boxed{ @ }", r"\boxed{$@$}", r"\boxed{\text{@}}", r"\boxed{\boxed{@}}",
    r"\boxed{1} then \boxed{@}", r"\boxed{@} and \boxed{7}", r"\fbox{@}", r"$\fbox{@}$", r"\boxed{@", r"\boxed @", r"\boxed{}@", r"@", r"@", r"$@$", r"\(@\)", r"\[@\]", r"The answer is $@$.", r"The final answer is @",
    r"<think>We try 5.</think><answer>@</answer>", r"<think>\boxed{5}</think>\boxed{@}", r"<answer>$@$</answer>", r"#### @", r"**@**", r"Answer: @", r"\boxed{@\,}", r"\boxed{@\%}", r"\boxed{@.}", r"\boxed{x=@}", r"\boxed{@\text{ cm}}",
    r"\boxed{\$@}", r"\boxed {@}", r"\fbox{\boxed{@}}", r"\boxed{\fbox{@}}", r"We add 3 and 4 and get something, so the result must be @",
]
AROUND_TRUTH = ["@"] * 6 + ["$@$"] * 3 + [r"\boxed{@}", r"$\boxed{@}$", "#### @", "<answer>@</answer>"]


# Answers that stand for a rule each; the first is the truth.
NAMED = [
    (r"5", r"\fbox{5}"), (r"5", r"\boxed{5\%}"), (r"5", r"\boxed{5\,}"), (r"5", r"\boxed{5"), (r"5", r"\boxed{{5}}"), (r"5", r"\boxed} {5}"), (r"5", r"\boxed{}"), (r"5", r"a</think>b</think>\boxed{5}"),
    (r"10", r"\boxed{{5 \choose 2}}"), (r"$10\%$", r"$\binom{5}{2}$"), (r"$\frac{3}{2}$", r"${1+1\over 2}$"), (r"15%", r"\boxed{15\ \%}"), (r"$15\ \%$", r"\boxed{0.15}"), (r"15", r"\boxed{15\ \%}"), (r"$72$", r"$72_8$"),
    (r"2000000", r"\boxed{2 million}"), (r"2 million", r"\boxed{2 million}"), (r"$6/8$", r"$\text{3/4}$"), (r"0.75", r"\boxed{\text{3/4}}"), (r"(1/2,3/4)", r"\boxed{(\frac12, \frac34)}"), (r"1,000/3", r"\boxed{1000/3}"),
    (r"a_b", r"\boxed{a_c}"), (r"12_8", r"\boxed{12_9}"), (r"12.7_8", r"\boxed{12}"), (r"$5", r"\boxed{5.0001}"), (r"5", r"\boxed{5.0004}"), (r"5", r"\boxed{5.0006}"), (r"5", r"\boxed{500}"), (r"500", r"\boxed{5}"), (r"inf", r"\boxed{1e999}"), (r"nan", r"\boxed{NaN}"),
    (r"1{,}000", r"\boxed{1000}"), (r"1{,}000", r"\boxed{1,000}"), (r"(1,2)", r"\boxed{Point(1,2)}"), (r"[1,2)", r"\boxed{Interval.Ropen(1,2)}"), (r"(1,2)", r"\boxed{Interval.open(1, 2)}"), (r"(1,2]", r"\boxed{Interval.Lopen(1, 2)}"), (r"[1,2]", r"\boxed{Interval(1, 2)}"),
    (r"[x_1,2]", r"\boxed{[3,2]}"), (r"\pi", r"\boxed{\pi\text{ }}"), (r"2\pi", r"\boxed{6.2832}"), (r"an apple", r"\boxed{An Apple}"), (r"x or y", r"\boxed{x , y}"), (r"5 1/2", r"\boxed{5+1/2}"), (r"- 5", r"\boxed{-5}"), (r"90^\circ", r"\boxed{90^ \circ}"),
    (r"5\text{ a}\text{ b}", r"\boxed{5\text{ a}\text{ b}}"), (r"\frac", r"\boxed{\frac}"), (r"\sqrt", r"\boxed{\sqrt}"), (r"\frac1", r"\boxed{\frac{1}}"), (r"3 degrees", r"\boxed{3}"), (r"3 feet^2", r"\boxed{3}"), (r"12,345,678", r"\boxed{12345678}"), (r"", r"\boxed{}"), (r"", r""), (r"x=y=5", r"\boxed{5}"),
]


def pairs():
    yield from NAMED
    rnd = random.Random(SEED)
    seen = set(NAMED)
    while len(seen) < ROWS + len(NAMED):
        line = rnd.choice(VALUES)
        truth = rnd.choice(line if rnd.random() < 0.5 else line[:3])
        answer = rnd.choice(line if rnd.random() < 0.9 else rnd.choice(VALUES))
        row = rnd.choice(AROUND_TRUTH).replace("@", truth), rnd.choice(AROUND).replace("@", answer)
        if row not in seen:
            seen.add(row)
            yield row


# What LaTeX is made of, for texts that are no answers.
PIECES = r"""\frac \frac{1} \frac{1}{2} \sqrt \sqrt[3] \sqrt{2} \text{a b} \text \mathrm{d} \mathbb{R} \mathbb \mathbf{x} \mathcal{L} \mathfrak{g} \mathsf{s} \mathtt{t} \mathit{h} \hat{x} \hat \bar{ab} \vec \dot{\imath} \'{e} \"o
\overline{AB} \overline \underbrace{x} \left( \right) \pi \alpha \Gamma \infty \cup \cdot \times \le \neq \in \sum \int \ldots \quad \, \; \! \: \\ \\* \\[2mm] \% \$ \{ \} \_ \# \& & ~ -- --- `` '' ?` !` { } { } [ ] ( ) $ $$ \( \) \[ \] ^ _
\begin{pmatrix} \end{pmatrix} \begin{array}{cc} \end{array} \begin{cases} \end{cases} \begin{align*} \end{align*} \begin \end \unknown \mbox{cm} \textcolor{red}{x} \hspace{1cm} \hspace* \phantom{x} \hphantom{x} \xrightarrow[a]{b} \binom{5}{2} \ensuremath{x} \not= \operatorname{tr} \emph{x} \circ \prime
\langle \rangle \lfloor \lceil | a b x 1 2 34 5.6 - + = , . ; : / * é 日""".split() + [" ", " ", "  ", "\n", "\n\n", "\\", "\\ "]


def texts():
    rnd = random.Random(SEED)
    for _ in range(TEXTS):
        yield "".join(rnd.choice(PIECES) for _ in range(rnd.randint(1, 12))).replace("%", "")  # as the reward does before


def as_text(latex):
    """pylatexenc's text, None where it raises an error."""
    try:
        return latex2text.LatexNodes2Text().latex_to_text(latex)
    except Exception:
        return None


def stand_in(name, path, **names):
    """A package whose __init__ is not run, since it would import what no grader needs (torch, ray)."""
    module = types.ModuleType(name)
    module.__path__ = [path]
    vars(module).update(names)
    sys.modules[name] = module


def upstream():
    for package, parts in (("trinity", ["common", "common.rewards", "utils"]), ("verl", ["utils", "utils.metric", "utils.reward_score", "utils.reward_score.prime_math"])):
        root = importlib.util.find_spec(package).submodule_search_locations[0]
        stand_in(package, root)
        for part in parts:
            stand_in(package + "." + part, os.path.join(root, *part.split(".")))
    sys.modules["verl.utils.metric"].Metric = object
    stand_in("torch", "", Tensor=object)
    stand_in("trinity.utils.log", "", get_logger=lambda *a, **k: logging.getLogger("graders"))
    stand_in("trinity.common.rewards.reward_fn", "", RewardFn=object)
    rewards = "trinity.common.rewards."
    math = importlib.import_module(rewards + "math_reward")
    graders = {
        "math_reward": math.MathRewardFn(),
        "math_boxed_reward": math.MathBoxedRewardFn(),
        "accuracy_reward": importlib.import_module(rewards + "accuracy_reward").AccuracyReward(),
        "math_dapo_reward": importlib.import_module(rewards + "dapo_reward").MathDAPORewardFn(),
    }
    assert tuple(graders) == GRADERS
    return graders


def verdict(grade, truth, response):
    """Accuracy, or None where upstream raises an error."""
    try:
        return grade(response=response, truth=truth, **({"response_token": ()} if "DAPO" in type(grade).__name__ else {}))["accuracy"]
    except Exception:
        return None


def main():
    logging.disable(logging.CRITICAL)
    graders = upstream()
    ones = dict.fromkeys(GRADERS, 0)
    with open(sys.argv[1], "w") as out:
        for truth, response in pairs():
            said = {name: verdict(grade, truth, response) for name, grade in graders.items()}
            row = {"truth": truth, "response": response, "accepted": [name for name in GRADERS if said[name] == 1]}
            if None in said.values():
                row["raised"] = [name for name in GRADERS if said[name] is None]
            for name in row["accepted"]:
                ones[name] += 1
            print(json.dumps(row, ensure_ascii=False), file=out)
    with open(sys.argv[2], "w") as out:
        for latex in texts():
            print(json.dumps({"latex": latex, "text": as_text(latex)}, ensure_ascii=False), file=out)
    names = ("trinity-rft", "verl", "math-verify", "latex2sympy2-extended", "sympy", "antlr4-python3-runtime", "pylatexenc")
    print("verdicts of " + ", ".join(f"{n} {importlib.metadata.version(n)}" for n in names))
    print(f"{ROWS + len(NAMED)} pairs, {TEXTS} texts, seed {SEED}: " + ", ".join(f"{n} accepts {v}" for n, v in ones.items()))


main()
