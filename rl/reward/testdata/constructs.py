"""Writes constructs.jsonl: verdicts of math_verify on constructs of LaTeX that few answers have, each written in several ways.

    PYTHONHASHSEED=0 python constructs.py constructs.jsonl

Without the seed sympy orders sets otherwise in each process, and a few verdicts change.

Every way of writing a value is compared with the others, with its value, and with each number that stands in it: an expression that
was not understood must not equal one of them.
"""

import importlib.metadata
import json
import logging
import multiprocessing
import re
import sys

from math_verify import parse, verify

# A kind, then lines: a value, and after it ways to write it or something near it.
CONSTRUCTS = {
    "sum": [
        [r"55", r"\sum_{i=1}^{10} i", r"\sum_{i=1}^{10}i", r"\sum_{k=1}^{10}k", r"\sum\limits_{i=1}^{10} i", r"\sum^{10}_{i=1} i", r"\displaystyle\sum_{i=1}^{10} i", r"\Sigma_{i=1}^{10} i", r"∑_{i=1}^{10} i", r"\sum_{i=1}^{10} (i)", r"1+2+\cdots+10", r"1+2+\ldots+10", r"1+2+...+10"],
        [r"30", r"\sum_{i=1}^4 i^2", r"\sum_{i=1}^{4} i^{2}", r"\sum_{i=1}^{4} i \cdot i", r"2\sum_{i=1}^{5} i", r"\sum_{i=1}^{5} 2i", r"\sum_{i=1}^{4}\left(i^2\right)", r"\sum_{i \in \{1,2,3,4\}} i^2", r"\sum_{i=0}^{3} (i+1)^2"],
        [r"2", r"\sum_{n=0}^{\infty} \frac{1}{2^n}", r"\sum_{n=0}^{\infty} 2^{-n}", r"\sum_{n=0}^\infty \left(\frac12\right)^n", r"\sum_{n=0}^{\infty}\frac{1}{n!}"],
        [r"\frac{n(n+1)}{2}", r"\sum_{i=1}^{n} i", r"\sum_{i=1}^n i", r"\frac{n^2+n}{2}", r"\sum_{k=1}^{n} k", r"\sum_{i=0}^{n} i"],
        [r"13", r"\sum_{i=1}^{3} i + 7", r"7 + \sum_{i=1}^{3} i", r"\sum_{i=1}^{3}(i) + 7", r"\sum_{i=1}^3 \sum_{j=1}^3 1", r"\frac{\sum_{i=1}^{3} i}{2}"],
    ],
    "product": [
        [r"120", r"\prod_{i=1}^{5} i", r"\prod_{k=1}^5 k", r"\prod\limits_{i=1}^{5} i", r"\prod^{5}_{i=1} i", r"\Pi_{i=1}^{5} i", r"∏_{i=1}^{5} i", r"1\cdot2\cdots5", r"\prod_{i=2}^{5} i", r"5!", r"(6-1)!"],
        [r"\frac{1}{2}", r"\prod_{k=2}^{2} \frac{1}{k}", r"\prod_{n=2}^{\infty}\left(1-\frac{1}{n^2}\right)", r"\prod_{k=1}^{3} \frac{k}{k+1}"],
        [r"n!", r"\prod_{i=1}^{n} i", r"\prod_{k=1}^n k", r"n\cdot(n-1)!", r"\Gamma(n+1)"],
    ],
    "limit": [
        [r"1", r"\lim_{x \to 0} \frac{\sin x}{x}", r"\lim_{x\to0}\frac{\sin x}{x}", r"\lim_{x \rightarrow 0} \frac{\sin(x)}{x}", r"\lim\limits_{x \to 0} \frac{\sin x}{x}", r"\lim_{x \to 0^+} \frac{\sin x}{x}", r"\lim_{x\to 0} x"],
        [r"0", r"\lim_{n \to \infty} \frac{1}{n}", r"\lim_{n\to\infty}\frac1n", r"\lim_{x \to 3} (x-3)", r"\lim_{x \to 1} (x-3)", r"\lim_{x\to 0} \frac{1}{x}"],
        [r"6", r"\lim_{x \to 3} 2x", r"\lim_{x\to3}\frac{x^2-9}{x-3}", r"\lim_{h \to 0} \frac{(3+h)^2-9}{h}", r"\lim_{x \to 3} x"],
        [r"e", r"\lim_{n \to \infty} \left(1+\frac{1}{n}\right)^n", r"\lim_{n\to\infty}(1+1/n)^n"],
    ],
    "integral": [
        [r"\frac{1}{3}", r"\int_0^1 x^2 dx", r"\int_{0}^{1} x^{2}\,dx", r"\int_0^1 x^2 \mathrm{d}x", r"\int\limits_0^1 x^2 dx", r"\int_0^1 t^2 dt", r"\displaystyle\int_0^1 x^2\,dx", r"∫_0^1 x^2 dx", r"\int_0^1 x^3 dx", r"\int_{0}^{1} \int_0^1 x^2 dx dy"],
        [r"2", r"\int_0^\pi \sin x\,dx", r"\int_{0}^{\pi}\sin(x)dx", r"\int_0^2 1 dx", r"\int_0^2 dx", r"\int_{1}^{2} 2 dx"],
        [r"\frac{x^3}{3}+C", r"\int x^2 dx", r"\int x^2\,dx", r"\frac{1}{3}x^3+C", r"\frac{x^3}{3}", r"\frac{x^{3}}{3}+c", r"\int t^2 dt"],
        [r"\pi", r"\int_{-1}^{1} \frac{2}{1+x^2} dx", r"\int_{-\infty}^{\infty} \frac{1}{1+x^2}\,dx", r"\iint_D 1\,dA", r"\oint_C f\,dz"],
    ],
    "derivative": [
        [r"2x", r"\frac{d}{dx} x^2", r"\frac{d}{dx}(x^2)", r"\frac{d}{dx}\left(x^2\right)", r"\frac{d(x^2)}{dx}", r"\frac{dx^2}{dx}", r"\frac{\partial}{\partial x} x^2", r"\dfrac{d}{dx}x^2", r"\frac{d}{dx} x^3", r"(x^2)'", r"\frac{\mathrm{d}}{\mathrm{d}x}x^2"],
        [r"0", r"\frac{d}{dx} 5", r"\frac{d}{dx}(3)", r"\frac{\partial}{\partial y} x"],
        [r"\frac{dy}{dx}", r"\frac{dy}{dt}", r"y'", r"y''", r"f'(x)", r"\frac{\partial f}{\partial x}", r"\frac{d^2y}{dx^2}", r"\dot{y}", r"\ddot{y}"],
        [r"6", r"f'(3)", r"f(3)", r"f''(3)", r"\frac{d}{dx} x^2 |_{x=3}", r"3", r"\left.\frac{d}{dx}x^2\right|_{x=3}"],
    ],
    "nabla": [
        [r"\nabla f", r"\nabla", r"\nabla\cdot F", r"\nabla\times F", r"\nabla^2 f", r"\Delta f", r"\nabla 5", r"\nabla \cdot 2", r"5", r"\mathrm{div} F", r"f", r"2"],
        [r"3", r"\nabla \cdot (x,y,z)", r"\nabla(3x)", r"\partial 3", r"\partial_x 3x"],
    ],
    "binomial": [
        [r"10", r"\binom{5}{2}", r"\binom 5 2", r"\binom52", r"\dbinom{5}{2}", r"\tbinom{5}{2}", r"{5 \choose 2}", r"5 \choose 2", r"C(5,2)", r"C_5^2", r"_5C_2", r"{}_5C_2", r"{}^5C_2", r"\left(\begin{array}{c}5\\2\end{array}\right)", r"\binom{5}{3}", r"\binom{5}{1}", r"{5\brack 2}", r"\genfrac{(}{)}{0pt}{}{5}{2}"],
        [r"20", r"P(5,2)", r"_5P_2", r"{}_5P_2", r"A_5^2", r"2\binom{5}{2}", r"\binom{5}{2}\cdot 2", r"\binom{6}{3}", r"5P2", r"\frac{5!}{3!}", r"(5)_2"],
        [r"\binom{n}{k}", r"\frac{n!}{k!(n-k)!}", r"{n\choose k}", r"\binom{n}{n-k}", r"C(n,k)", r"\binom nk", r"\dbinom nk"],
    ],
    "modulo": [
        [r"3", r"3 \pmod{7}", r"3\pmod 7", r"3 \bmod 7", r"3 \mod 7", r"10 \bmod 7", r"10 \mod 7", r"10\pmod{7}", r"3 \text{ mod } 7", r"3\ (\text{mod } 7)", r"3 (mod 7)", r"10 \% 7", r"7", r"3 \pmod{11}"],
        [r"x \equiv 3 \pmod{7}", r"x\equiv3\pmod7", r"x \equiv 3 \pmod 7", r"x \equiv 3 \mod 7", r"x \equiv 3 \bmod 7", r"x \equiv 3", r"x = 3", r"x \equiv 4 \pmod{7}", r"x \equiv 3 \pmod{11}", r"x \equiv 10 \pmod{7}", r"x ≡ 3 (mod 7)", r"3", r"7", r"x \cong 3", r"x \equiv -4 \pmod 7"],
        [r"2 \equiv 9", r"9 \equiv 2", r"2", r"9", r"2 \sim 9", r"2 \simeq 9", r"2\cong 9", r"2 \propto 9", r"9 \to 2", r"9 \mapsto 2", r"2 \approx 9", r"9 \Rightarrow 2", r"9 \iff 2", r"9 \implies 2", r"2 \mid 9", r"2 \nmid 9", r"2 \parallel 9", r"2 \perp 9", r"2 \ll 9", r"9 \gg 2", r"2 \prec 9", r"2 \subset 9"],
    ],
    "matrix": [
        [r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", r"\begin{matrix}1&2\\3&4\end{matrix}", r"\begin{Bmatrix}1&2\\3&4\end{Bmatrix}", r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", r"\begin{Vmatrix}1&2\\3&4\end{Vmatrix}", r"\begin{smallmatrix}1&2\\3&4\end{smallmatrix}", r"\begin{pmatrix}1&2\\3&4\\\end{pmatrix}", r"\left(\begin{matrix}1&2\\3&4\end{matrix}\right)", r"\left[\begin{array}{cc}1&2\\3&4\end{array}\right]", r"\left(\begin{array}{rr}1&2\\3&4\end{array}\right)", r"\begin{array}{cc}1&2\\3&4\end{array}", r"\left[\begin{array}{c|c}1&2\\3&4\end{array}\right]", r"\begin{array}{ll} 1 & 2 \\ 3 & 4 \end{array}", r"\begin{pmatrix}1&2\\\\3&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&5\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}^T", r"\begin{pmatrix}1&2\cr3&4\end{pmatrix}", r"\pmatrix{1&2\cr3&4}", r"\matrix{1&2\\3&4}", r"[[1,2],[3,4]]", r"\begin{pmatrix*}[r]1&2\\3&4\end{pmatrix*}", r"\left\{\begin{array}{cc}1&2\\3&4\end{array}\right\}"],
        [r"-2", r"\det\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", r"\left|\begin{array}{cc}1&2\\3&4\end{array}\right|", r"\begin{vmatrix}1 & 2 \\ 3 & 4\end{vmatrix}", r"\left|\begin{matrix}1&2\\3&4\end{matrix}\right|", r"\det\left(\begin{bmatrix}1&2\\3&4\end{bmatrix}\right)", r"\det A", r"\begin{vmatrix}1&2\\3&5\end{vmatrix}"],
        [r"\begin{pmatrix}1\\2\\3\end{pmatrix}", r"\begin{bmatrix}1\\2\\3\end{bmatrix}", r"\left(\begin{array}{c}1\\2\\3\end{array}\right)", r"\left[\begin{array}{l}1\\2\\3\end{array}\right]", r"\begin{pmatrix}1&2&3\end{pmatrix}", r"\begin{pmatrix}1&2&3\end{pmatrix}^T", r"\langle 1,2,3\rangle", r"(1,2,3)", r"[1,2,3]", r"\begin{array}{c}1\\2\\3\end{array}", r"\begin{pmatrix}1\\2\\4\end{pmatrix}", r"\mathbf{i}+2\mathbf{j}+3\mathbf{k}", r"\hat{i}+2\hat{j}+3\hat{k}"],
        [r"\begin{pmatrix}\frac{1}{2}&0\\0&1\end{pmatrix}", r"\begin{pmatrix}0.5&0\\0&1\end{pmatrix}", r"\begin{pmatrix}1/2&0\\0&1\end{pmatrix}", r"\frac{1}{2}\begin{pmatrix}1&0\\0&2\end{pmatrix}", r"\begin{pmatrix}2&0\\0&1\end{pmatrix}^{-1}", r"\begin{pmatrix}\frac12&0\\0&1\end{pmatrix}", r"\begin{pmatrix}1&0\\0&1\end{pmatrix}", r"\left(\begin{array}{cc}\frac{1}{2}&0\\0&1\end{array}\right)"],
        [r"5", r"\operatorname{tr}\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\operatorname{rank}\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\left\|\begin{pmatrix}3\\4\end{pmatrix}\right\|", r"\|(3,4)\|", r"\begin{pmatrix}1&2\end{pmatrix}\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}5\end{pmatrix}"],
    ],
    "cases": [
        [r"\begin{cases}x=1\\y=2\end{cases}", r"x=1, y=2", r"x=1,y=2", r"\left\{\begin{array}{l}x=1\\y=2\end{array}\right.", r"(1,2)", r"\begin{aligned}x&=1\\y&=2\end{aligned}", r"\begin{cases}x=1,\\y=2\end{cases}", r"\begin{cases}x=1\\y=3\end{cases}", r"1", r"2", r"x=1 \text{ and } y=2", r"\{x=1, y=2\}"],
        [r"\begin{cases}1&x>0\\0&x\le0\end{cases}", r"\begin{cases}1 & \text{if } x>0\\0 & \text{otherwise}\end{cases}", r"\begin{cases}1,&x>0\\0,&x\leq 0\end{cases}", r"1", r"0", r"\begin{cases}2&x>0\\0&x\le0\end{cases}"],
    ],
    "set": [
        [r"\{1,2,3\}", r"\lbrace 1,2,3 \rbrace", r"\left\{1,2,3\right\}", r"\left\lbrace 1,2,3\right\rbrace", r"\{1, 2, 3\}", r"\{3,2,1\}", r"\big\{1,2,3\big\}", r"\{ x : x=1,2,3 \}", r"\set{1,2,3}", r"\{1,2\}", r"\{1,2,3,4\}", r"\{1\} \cup \{2,3\}", r"1,2,3", r"\{1;2;3\}", r"\{1,\ldots,3\}", r"\{1,\dots,3\}", r"\{1,2,\ldots\}", r"｛1,2,3｝", r"\textbraceleft 1,2,3 \textbraceright", r"\mathopen{\{}1,2,3\mathclose{\}}", r"\bigl\{1,2,3\bigr\}", r"x \in \{1,2,3\}", r"x \in \lbrace 1,2,3 \rbrace"],
        [r"\{x \mid x>2\}", r"\{x | x>2\}", r"\{x : x>2\}", r"\{x \in \mathbb{R} \mid x>2\}", r"(2,\infty)", r"x>2", r"\lbrace x \mid x > 2 \rbrace", r"\{x \mid x>3\}", r"\{y \mid y>2\}", r"\left\{x \middle| x>2\right\}", r"2", r"\{x\colon x>2\}", r"\{x\vert x>2\}"],
        [r"\emptyset", r"\varnothing", r"\{\}", r"\lbrace\rbrace", r"\lbrace \rbrace", r"∅", r"\phi", r"\{\emptyset\}", r"\{ \}", r"\O"],
        [r"\mathbb{R}", r"\R", r"\mathbf{R}", r"ℝ", r"(-\infty,\infty)", r"\Bbb{R}", r"\Reals", r"\mathbb R", r"\mathbb{Q}", r"\mathbb{R}\setminus\{0\}", r"\mathbb{R}-\{0\}", r"x\in\mathbb{R}", r"\mathbb{R}^2", r"\mathbb{Z}^+"],
        [r"\mathbb{R}\setminus\{0\}", r"\mathbb{R}\backslash\{0\}", r"\mathbb{R}-\{0\}", r"(-\infty,0)\cup(0,\infty)", r"x\neq0", r"x\ne 0", r"x\in\mathbb{R}\setminus\{0\}", r"\mathbb{R}\setminus \lbrace0\rbrace", r"\mathbb{R} \smallsetminus \{0\}", r"0"],
        [r"2 \in \{1,2\}", r"2", r"2 \notin \{1,2\}", r"\{1,2\} \ni 2", r"\{2\} \subset \{1,2\}", r"\{2\} \subseteq \{1,2\}", r"\{1,2\} \supset \{2\}", r"1", r"|\{1,2\}|", r"\#\{1,2\}"],
    ],
    "interval": [
        [r"[0,1)", r"\left[0,1\right)", r"[0,1[", r"\lbrack 0,1)", r"\lbrack 0,1\rparen", r"0\le x<1", r"x\in[0,1)", r"[0;1)", r"\big[0,1\big)", r"\bigl[0,1\bigr)", r"0 \leqslant x < 1", r"1 > x \ge 0", r"[0,1]", r"(0,1)", r"［0,1）", r"0", r"1", r"[0, 1.0)", r"\{x:0\le x<1\}"],
        [r"(-\infty,3]", r"]-\infty,3]", r"\left(-\infty,3\right]", r"(-∞,3]", r"x\le3", r"x\leqslant 3", r"3\geqslant x", r"3 \ge x", r"(-\infty ; 3]", r"(-\infty,3)", r"(-inf,3]", r"(- \infty , 3 ]", r"x \not> 3", r"x \ngtr 3", r"3", r"x ⩽ 3", r"x ≤ 3", r"x =< 3"],
        [r"(1,2)\cup(3,4)", r"(1,2)∪(3,4)", r"(1,2) \bigcup (3,4)", r"(3,4)\cup(1,2)", r"1<x<2 \text{ or } 3<x<4", r"x\in(1,2)\cup(3,4)", r"(1,2)\vee(3,4)", r"(1,2) U (3,4)", r"(1,2)\sqcup(3,4)", r"(1,2),(3,4)", r"(1,2)\cap(3,4)", r"(1,2) \text{ and } (3,4)"],
    ],
    "inequality": [
        [r"1<x<3", r"3>x>1", r"1 < x < 3", r"1\lt x\lt 3", r"1 < x \text{ and } x < 3", r"x\in(1,3)", r"(1,3)", r"1<x\le3", r"1<y<3", r"1<x<4", r"1 < x, x < 3", r"1<x \land x<3", r"|x-2|<1", r"-1<x-2<1", r"2<2x<6", r"1＜x＜3", r"1", r"3", r"1 \leq x \leq 3"],
        [r"a<b<c", r"c>b>a", r"a<b<d", r"a<c<b", r"a \le b < c", r"a<b", r"b<c", r"a < b < c < d", r"a \prec b \prec c"],
        [r"1<2<3", r"1<2", r"2<3", r"3", r"1", r"1<2<4", r"3>2>1", r"1 < 2 = 2 < 3"],
        [r"x\ne 2", r"x\neq2", r"x≠2", r"x \not= 2", r"x\not=2", r"x \neq 3", r"2", r"x=2", r"x\not\equiv 2", r"x <> 2", r"x != 2", r"x \nleq 2", r"x\ngeq2", r"x\not\in\{2\}", r"x\notin\{2\}"],
        [r"x \le 2", r"x \leq 2", r"x≤2", r"x⩽2", r"x\leqq2", r"x\leqslant2", r"2\ge x", r"x<=2", r"x \lesssim 2", r"x<2", r"-x\ge-2", r"2x\le4", r"2", r"x\nless 2", r"x \lneq 2"],
    ],
    "digits": [
        [r"12", r"１２", r"１2", r"12．0", r"１２．５", r"١٢", r"१२", r"𝟏𝟐", r"①②", r"Ⅻ", r"XII", r"\mathbf{12}", r"\textbf{12}", r"\text{12}", r"{12}", r"1 2", r"1{}2", r"\mathrm{12}", r"\mathbb{12}", r"12.", r"012", r"+12", r"12\!", r"\underline{12}", r"\overline{12}", r"1\,2", r"12 2", r"\textcolor{red}{12}", r"\color{red}12", r"\underbrace{12}", r"\phantom{0}12", r"\mbox{12}", r"\fbox{12}", r"\boldsymbol{12}", r"\mathsf{12}", r"\mathtt{12}", r"\ensuremath{12}", r"\operatorname{12}", r"\tt 12", r"\bf 12"],
        [r"\frac{1}{2}", r"½", r"1⁄2", r"1∕2", r"1／2", r"\frac12", r"\tfrac{1}{2}", r"\cfrac{1}{2}", r"\sfrac{1}{2}", r"\nicefrac{1}{2}", r"{1\over2}", r"1 \over 2", r"\frac 1 2", r"\frac{１}{２}", r"0.5", r".5", r"0,5", r"0．5", r"50\%", r"50％", r"1÷2", r"1 : 2", r"1:2", r"1∶2", r"2^{-1}", r"1/2", r"1", r"2", r"\dfrac12", r"\frac{1}{2}\text{ }", r"1\div2", r"1\slash 2", r"½x"],
        [r"3\frac{1}{2}", r"3½", r"3 ½", r"3\tfrac12", r"3.5", r"3 1/2", r"3+\frac12", r"3\,\frac{1}{2}", r"3~\frac{1}{2}", r"3\;1/2", r"3", r"\frac{7}{2}", r"3{\frac{1}{2}}", r"3-\frac12", r"3\cdot\frac12", r"3(\frac12)", r"3(1/2)"],
        [r"9", r"3^2", r"3²", r"3^{2}", r"3**2", r"3^{ 2 }", r"3^２", r"３²", r"3^{+2}", r"3\^2", r"3\uparrow 2", r"3²⁰", r"3₂", r"9₁₀", r"3ˆ2", r"3\textsuperscript{2}", r"3\cdot3", r"3⋅3", r"3·3", r"3×3", r"3∙3", r"3∗3", r"3•3", r"3 * 3", r"3\ast3", r"3\star3", r"3x3", r"3 \bullet 3", r"3\circ 3", r"3\otimes3"],
        [r"-5", r"−5", r"–5", r"—5", r"‐5", r"﹣5", r"－5", r"\text{-}5", r"\text{−}5", r"-{5}", r"-(5)", r"- 5", r"\minus 5", r"\neg 5", r"(-5)", r"{-5}", r"\mathord{-}5", r"5", r"-\,5", r"~5", r"--5", r"-+5", r"⁻5"],
        [r"7", r"３+４", r"3+4", r"3＋4", r"10-3", r"10−3", r"10–3", r"3 \plus 4", r"3\oplus4", r"3﹢4", r"10\setminus 3", r"3\&4", r"3", r"4", r"10", r"3 + 4 + ", r"+3+4", r"3+ +4", r"\left(3+4\right)", r"\big(3+4\big)", r"\bigl(3+4\bigr)", r"\Big(3+4\Big)", r"(3+4", r"3+4)", r"（3+4）", r"【3+4】", r"\mathopen(3+4\mathclose)"],
    ],
    "scientific": [
        [r"1500", r"1.5E3", r"1.5e3", r"1.5E+3", r"1.5e+3", r"15E2", r"1.5\times10^3", r"1.5\cdot10^3", r"1.5\times 10^{3}", r"1.5 x 10^3", r"1.5×10³", r"1.5×10^3", r"1.5*10^3", r"1.5\text{E}3", r"1.5\mathrm{E}3", r"1.5 E3", r"1.5\times10^{+3}", r"1.5\times 10^{3.0}", r"1.5\,\mathrm{e}{3}", r"1.5D3", r"1.5", r"3", r"10^3\times1.5", r"1.5\ \text{thousand}", r"1.5\mathrm{k}", r"1{,}500", r"1 500", r"1.500", r"1,500", r"1\,500", r"1'500", r"1_500"],
        [r"0.0015", r"1.5E-3", r"1.5e-3", r"1.5\times10^{-3}", r"1.5\cdot 10^{-3}", r"1.5\times10^-3", r"1.5×10⁻³", r"1.5E−3", r"1.5e{-3}", r"15E-4", r"0.15\%", r"1.5‰", r"\frac{3}{2000}", r"1.5\text{e-3}", r"1.5", r"-3"],
        [r"3e", r"3E", r"3\mathrm{e}", r"3 e", r"e\cdot 3", r"3e1", r"3E1", r"30", r"3\text{e}", r"3\exp(1)", r"3"],
    ],
    "repeating": [
        [r"\frac{1}{3}", r"0.\overline{3}", r"0.\bar{3}", r"0.\dot{3}", r"0.(3)", r"0.333...", r"0.333\ldots", r"0.333\dots", r"0.3\overline{3}", r"0.333333", r"0.33", r"0.3", r"0.3̄", r"0.\overline{33}", r"0.3̇", r"33.\overline{3}\%", r"33\frac13\%", r"0.\overline{36}", r"0.\overline 3", r"0.\underline{3}", r"0.\widehat{3}", r"0.\ 3"],
    ],
    "function": [
        [r"3", r"\lfloor 3.7 \rfloor", r"\left\lfloor 3.7\right\rfloor", r"⌊3.7⌋", r"\lceil 2.1\rceil", r"⌈2.1⌉", r"[3.7]", r"\floor{3.7}", r"\operatorname{floor}(3.7)", r"\text{floor}(3.7)", r"\mathrm{int}(3.7)", r"\operatorname{round}(3.2)", r"|-3|", r"\lvert -3\rvert", r"\left|-3\right|", r"\vert -3\vert", r"\|-3\|", r"\mid -3 \mid", r"\mathrm{abs}(-3)", r"\operatorname{abs}(-3)", r"∣-3∣", r"｜-3｜", r"\sqrt{9}", r"√9", r"\sqrt 9", r"\sqrt9", r"\surd 9", r"\surd{9}", r"∛27", r"\sqrt[3]{27}", r"\root 3 \of {27}", r"\sqrt[3] 27", r"\log_{2} 8", r"\log_2 8", r"\log_28", r"\lg 1000", r"\log 1000", r"\log_{10} 1000", r"\ln e^3", r"\ln(e^3)", r"\operatorname{lb} 8", r"\gcd(6,9)", r"\gcd\left(6,9\right)", r"\operatorname{gcd}(6,9)", r"\text{gcd}(6,9)", r"\max(1,3)", r"\max\{1,3\}", r"\max\{1, 3\}", r"\min(3,5)", r"\min\{3,5\}", r"\max_{x} 3", r"\sup\{1,3\}", r"\inf\{3,5\}", r"\arg 3", r"\deg 3", r"\dim 3", r"\ker 3", r"\hom 3", r"\Pr 3", r"\liminf 3", r"\limsup 3", r"\mathcal{O}(3)", r"\mathbb{E}[3]", r"\Re(3+4i)", r"\operatorname{Re}(3+4i)", r"\Im(4+3i)", r"\varphi(3)", r"\sgn(3)", r"\operatorname{sgn}(3)", r"\Gamma(3)", r"3!!", r"\sigma(3)", r"\#3", r"\dim V = 3", r"\deg p = 3"],
        [r"6", r"3!", r"3\,!", r"(3)!", r"\Gamma(4)", r"\lcm(2,3)", r"\operatorname{lcm}(2,3)", r"\text{lcm}(2,3)", r"\mathrm{lcm}(2,3)", r"[2,3]", r"\operatorname*{lcm}(2,3)", r"3!!", r"!3", r"\operatorname{fact}(3)", r"\prod 6"],
        [r"\frac{1}{2}", r"\sin 30^\circ", r"\sin(30^\circ)", r"\sin\frac{\pi}{6}", r"\sin\left(\frac{\pi}{6}\right)", r"\cos 60^\circ", r"\cos\frac{\pi}{3}", r"\operatorname{sin}\frac{\pi}{6}", r"\sin{\frac{\pi}{6}}", r"\sin 30", r"\mathrm{sin}(30^\circ)", r"sin(30°)", r"\sin 30°"],
        [r"\frac{\pi}{4}", r"\arctan 1", r"\arctan(1)", r"\tan^{-1} 1", r"\tan^{-1}(1)", r"\operatorname{arctan} 1", r"\operatorname{arctan}(1)", r"\mathrm{arctan}(1)", r"\arcsin\frac{\sqrt2}{2}", r"\arccot 1", r"\operatorname{arccot} 1", r"\atan(1)", r"\text{arctan}(1)", r"45^\circ", r"\arctg 1", r"1", r"\operatorname{arcsec}\sqrt2", r"\arcsec\sqrt{2}"],
        [r"\ln 2", r"\log_e 2", r"\log_{e} 2", r"\operatorname{ln} 2", r"\ln{2}", r"\ln(2)", r"\mathrm{ln} 2", r"0.693147", r"\text{ln} 2", r"\Ln 2", r"\log 2", r"2", r"\operatorname{arsinh}\frac34", r"\operatorname{artanh}\frac35", r"\text{arctanh}\frac35", r"\sinh^{-1}\frac34", r"\arsinh\frac34", r"\arcsinh\frac{3}{4}", r"\operatorname{arcosh}\frac54"],
        [r"\frac{e^2-e^{-2}}{2}", r"\sinh 2", r"\sinh(2)", r"\operatorname{sinh} 2", r"\sh 2", r"2", r"\mathrm{sinh}(2)", r"\text{sinh}(2)"],
        [r"2", r"\sec 60^\circ", r"\sec\frac{\pi}{3}", r"\csc\frac{\pi}{6}", r"\cosec\frac{\pi}{6}", r"\tg 2", r"\ctg 2", r"\cosec 2", r"\cotg 2", r"\coth 2", r"\sech 2", r"\csch 2", r"\exp(2)", r"\exp 2", r"\lim 2", r"\operatorname{foo}(2)", r"\foo{2}", r"\foo 2", r"f(2)", r"\zeta(2)", r"\Phi(2)", r"\mathcal{F}(2)", r"\text{foo}(2)", r"\mathrm{foo}\,2"],
    ],
    "complex": [
        [r"3+4i", r"3+4\mathrm{i}", r"3+4\text{i}", r"3+i4", r"4i+3", r"3+4j", r"3+4\imath", r"3+4I", r"3-4i", r"3+4\mathit{i}", r"3+4 i", r"3 + 4\,i", r"3+4𝑖", r"3+4ⅈ", r"5e^{i\arctan(4/3)}", r"5\angle 53.13^\circ", r"3", r"4", r"(3,4)", r"\overline{3-4i}", r"\bar{3-4i}", r"(3-4i)^*"],
        [r"5", r"|3+4i|", r"\left|3+4i\right|", r"\lvert3+4i\rvert", r"\sqrt{(3+4i)(3-4i)}", r"\operatorname{abs}(3+4i)", r"\|3+4i\|"],
        [r"-1", r"e^{i\pi}", r"i^2", r"i \cdot i", r"\mathrm{e}^{\mathrm{i}\pi}", r"\exp(i\pi)", r"\cos\pi+i\sin\pi", r"\operatorname{cis}\pi", r"\text{cis } \pi", r"\cis(\pi)", r"i^{2}", r"\sqrt{-1}^2"],
    ],
    "plusminus": [
        [r"\pm 2", r"\pm2", r"±2", r"2,-2", r"-2,2", r"\{2,-2\}", r"\mp 2", r"+2, -2", r"+/- 2", r"+-2", r"2 \text{ or } -2", r"x=\pm2", r"x=2,x=-2", r"\pm\sqrt4", r"2", r"-2", r"\plusmn 2", r"0\pm2", r"\pm 3"],
        [r"1\pm\sqrt{2}", r"1+\sqrt2,1-\sqrt2", r"1 \pm \sqrt2", r"1±\sqrt{2}", r"1\mp\sqrt2", r"\{1+\sqrt{2}, 1-\sqrt{2}\}", r"1+\sqrt2", r"1", r"\frac{2\pm\sqrt{8}}{2}", r"\frac{2\pm2\sqrt{2}}{2}", r"(1\pm\sqrt2)", r"1 \pm \sqrt{2} i", r"\frac{1\pm1}{2}"],
    ],
    "sequence": [
        [r"1,2,3,\ldots", r"1,2,3,...", r"1,2,3,\dots", r"1,2,3", r"1, 2, 3, \cdots", r"1,2,…,10", r"1,2,\ldots,10", r"1,2,\ldots,n", r"\mathbb{N}", r"3", r"1", r"10", r"1-10", r"1\text{ to }10", r"1..10", r"1 \text{ through } 10"],
        [r"a_n=2n+1", r"2n+1", r"a_{n}=2n+1", r"a_n = 1+2n", r"\{2n+1\}", r"(2n+1)_{n}", r"a_n", r"1", r"2", r"u_n=2n+1", r"a(n)=2n+1"],
    ],
    "base": [
        [r"1010_2", r"1010_{2}", r"1010_{\text{two}}", r"(1010)_2", r"10", r"1010", r"A_{16}", r"0b1010", r"1010₂", r"12_8", r"10_{10}", r"1010_3", r"2", r"0xA", r"1010_{(2)}", r"\overline{1010}_2", r"\text{A}_{16}", r"\mathrm{A}_{16}"],
    ],
    "unit": [
        [r"5\text{ cm}", r"5", r"5 \mathrm{~cm}", r"5\,\mathrm{cm}", r"5\ \text{cm}", r"5 cm", r"5\text{cm}^2", r"5\text{ m}", r"50\text{ mm}", r"5\si{cm}", r"\SI{5}{cm}", r"\qty{5}{cm}", r"5\unit{cm}", r"5\operatorname{cm}", r"5\mathrm{cm}", r"5 \textrm{ cm}", r"5 \,\rm cm", r"5{\rm cm}", r"5\,{\rm cm}", r"5 \text{ centimeters}", r"5\text{ cm per second}", r"5\frac{\text{cm}}{\text{s}}", r"5\text{ cm/s}", r"\frac{5\text{ cm}}{2}", r"5\text{ cm} + 3\text{ cm}"],
        [r"30^\circ", r"30^{\circ}", r"30°", r"30\degree", r"30 degrees", r"30\text{ degrees}", r"30^\circ C", r"\frac{\pi}{6}", r"30", r"30^o", r"30^0", r"30º", r"\ang{30}", r"30 ^ \circ", r"30\circ", r"30'", r"30^\circ 15'", r"30^\prime"],
        [r"\$5", r"5", r"5\$", r"\text{\$}5", r"USD 5", r"5 dollars", r"\$5.00", r"5.00", r"€5", r"£5", r"¥5", r"\euro 5", r"\pounds 5", r"5\text{ dollars}", r"\$ 5", r"5\textcent", r"500\text{ cents}", r"₹5", r"\yen 5"],
        [r"50\%", r"50 \%", r"50%", r"0.5", r"50 percent", r"50\text{ percent}", r"50\ \%", r"50％", r"50\%\text{ off}", r"\frac{1}{2}", r"50", r"50 pct", r"50\text{\%}", r"50\text{ per cent}", r"500‰", r"50\,\%", r"(50\%)", r"50\% \text{ or } 0.5", r"{50}\%", r"50.0\%"],
    ],
    "text": [
        [r"7", r"\text{seven}", r"seven", r"7 \text{ or } 8", r"7 or 8", r"\text{about } 7", r"\approx 7", r"\sim 7", r"7^{\text{th}}", r"7th", r"7\text{th}", r"7\ \text{people}", r"x \approx 7", r"x\to7", r"\text{at least }7", r"\geq 7", r"> 7", r"\le 7", r"=7", r"= 7", r":7", r"\therefore 7", r"\Rightarrow 7", r"\implies 7", r"\rightarrow 7", r"\quad 7", r"\qquad 7", r"7?", r"7\ldots", r"7\cdots", r"7...", r"\text{No. } 7", r"\text{7}", r"\text{ 7 }", r"\text{Option 7}", r"\text{7 apples}", r"(7)", r"((7))", r"[7]", r"{7}", r"\{7\}", r"\langle7\rangle", r"<7>", r"\boxed{7}", r"\fbox{7}", r"\overset{!}{=}7", r"\stackrel{?}{=}7", r"7^*", r"7^\dagger", r"7'", r"7''", r"7^{\prime}", r"7^{a}", r"7_a", r"a_7", r"a^7", r"7a", r"a7", r"\hat7", r"\vec{7}", r"7\vec{a}", r"7\times", r"7+", r"\times 7", r"7=", r"7 \Box", r"\square 7", r"\checkmark 7", r"7\dag", r"\star 7", r"7\spadesuit", r"\aleph_7", r"\exists 7", r"\forall 7", r"7 \wedge 8", r"7 \vee 8", r"\lnot 7", r"\top 7", r"\bot 7", r"7 \cdot", r"\ast 7", r"7:8", r"7|8", r"7 \| 8", r"7 \,|\, 8", r"7\backslash 8", r"7;8", r"7\&8", r"7~8", r"7\_8", r"7\#", r"\%7", r"7\ 8", r"7 8"],
    ],
    "names": [
        [r"x", r"X", r"\mathbf{x}", r"\vec{x}", r"\hat{x}", r"\text{x}", r"\mathrm{x}", r"\mathcal{x}", r"\mathfrak{x}", r"\bm{x}", r"\boldsymbol{x}", r"\tilde{x}", r"\dot x", r"\ddot x", r"\check x", r"\acute x", r"\breve x", r"\mathring x", r"\underline{x}", r"x'", r"x^*", r"x_1", r"x_0", r"𝑥", r"х", r"\cancel{x}", r"\not x", r"\sout{x}", r"\mathscr{x}", r"\mathsf{x}", r"\operatorname{x}", r"\emph{x}", r"\textsf{x}", r"\texttt{x}", r"\textsc{x}"],
        [r"\theta", r"θ", r"\Theta", r"\vartheta", r"ϑ", r"\text{theta}", r"\alpha", r"theta", r"\beth", r"\partial", r"\ell", r"\hbar", r"\wp", r"\eth", r"\imath", r"\varsigma", r"\varrho", r"\varpi", r"\varkappa", r"\digamma", r"\upsilon", r"\Upsilon", r"\iota", r"\omicron"],
        [r"\triangle ABC", r"\angle ABC", r"\measuredangle ABC", r"ABC", r"△ABC", r"∠ABC", r"\overline{ABC}", r"\widehat{ABC}", r"\overset{\frown}{ABC}", r"\odot O", r"\parallelogram ABCD", r"\square ABCD"],
    ],
    "equation": [
        [r"y=2x+1", r"y = 2x + 1", r"2x-y+1=0", r"y-1=2x", r"y-3=2(x-1)", r"2x+1", r"f(x)=2x+1", r"y:=2x+1", r"y\coloneqq 2x+1", r"y\triangleq2x+1", r"y\equiv2x+1", r"y\doteq2x+1", r"y≔2x+1", r"y＝2x+1", r"y=2x+2", r"y = 2\cdot x+1", r"1", r"2", r"y \propto x", r"y\approx 2x+1", r"y\simeq2x+1"],
        [r"x^2+y^2=1", r"y^2+x^2=1", r"x^2+y^2-1=0", r"1=x^2+y^2", r"2x^2+2y^2=2", r"x^{2}+y^{2}=1^{2}", r"r=1", r"1", r"x^2-y^2=1", r"\frac{x^2}{1}+\frac{y^2}{1}=1"],
        [r"x=5", r"5", r"x = 5.0", r"5=x", r"x\in\{5\}", r"x\to5", r"x\rightarrow 5", r"x:=5", r"x\equiv5", r"x==5", r"x\approx 5", r"x=y=5", r"2x=10", r"x-5=0", r"x=3+2=5", r"3+2=5", r"x:5", r"x=5\text{ or }x=6", r"x=5\lor x=6", r"x=5,6", r"x_1=5", r"x=-5", r"5=5"],
    ],
    "ordinary": [
        [r"5", r"5.0", r"5.", r"10/2", r"\frac{10}{2}", r"2+3", r"\sqrt{25}", r"6", r"-5", r"5x", r"500\%"],
        [r"\frac{3}{4}", r"3/4", r"0.75", r"\frac{6}{8}", r"75\%", r"\frac34", r"\frac{4}{3}", r"3", r"4"],
        [r"2\sqrt{3}", r"\sqrt{12}", r"2\sqrt3", r"\sqrt{3}\cdot2", r"\frac{6}{\sqrt{3}}", r"3.4641016", r"2", r"3", r"\sqrt{3}"],
        [r"(2,-3)", r"(2, -3)", r"\left(2,-3\right)", r"(-3,2)", r"2,-3", r"x=2,y=-3", r"2", r"-3"],
        [r"x^2+5", r"5+x^2", r"x^{2}+5", r"x^2-5", r"5", r"(x^2+5)", r"y^2+5", r"x^2 + 5"],
        [r"10^{100}", r"10^{99}\cdot10", r"100", r"10", r"1e100", r"10^{101}"],
        [r"2^{10}-1", r"1023", r"2^{10}", r"1024-1", r"-1", r"1", r"10"],
    ],
}

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def pairs():
    """Each kind, whether the value is compared, truth and response once: a way to write a value with the value and with the numbers in it, in dollars and a box, and as
    they stand."""
    seen = set()
    for kind, lines in CONSTRUCTS.items():
        for line in lines:
            for text in line:
                for other in [line[0]] + list(dict.fromkeys(NUMBER.findall(text)))[:3]:
                    for t, r in ((f"${other}$", rf"\boxed{{{text}}}"), (f"${text}$", rf"\boxed{{{other}}}"), (other, f"The answer is {text}")):
                        if (t, r) not in seen:
                            seen.add((t, r))
                            yield kind, other == line[0], t, r


def verdict(pair):
    kind, value, truth, response = pair
    try:
        accepted = bool(verify(parse(response, parsing_timeout=60), parse(truth, parsing_timeout=60), timeout_seconds=60))
    except Exception:  # math_reward gives 0
        accepted = False
    row = {"kind": kind, "truth": truth, "response": response}
    return row | ({"value": True} if value else {}) | ({"accepted": True} if accepted else {})


def main():
    logging.disable(logging.CRITICAL)
    with multiprocessing.Pool() as pool, open(sys.argv[1], "w") as out:
        rows = pool.map(verdict, list(pairs()), chunksize=20)
        for row in rows:
            print(json.dumps(row, ensure_ascii=False), file=out)
    names = ("math-verify", "latex2sympy2-extended", "sympy")
    print(f"{len(rows)} pairs of {len(CONSTRUCTS)} constructs, verdicts of " + ", ".join(f"{n} {importlib.metadata.version(n)}" for n in names))


if __name__ == "__main__":
    main()
