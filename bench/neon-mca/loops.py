#!/usr/bin/env python3
"""Cuts the inner loops from the generated NEON kernels and prints how well llvm-mca 19, a model of processors, sees them
use the multiply-add pipes. Nothing is measured. Needs llvm-mca-19 (Debian's llvm-19)."""
import re
import subprocess
import sys

SOURCE = "engine/internal/kernel/kernels_neon_arm64.s"
# Neoverse N1 has two pipes for vectors and V2 four; N1 has no BFMLAL.
PIPES = {"neoverse-n1": 2, "neoverse-v2": 4}
MANY = ["neonRowsx8", "neonWidex8", "neonWideBlockedx8", "neonDotx8", "neonDotBlockedx8"]  # many rows: a tile of 8
ONE = ["neonRowsx1", "neonWidex1", "neonDotx1"]  # one row waits for memory
GOAL = 85  # percent of the pipes, for many rows
ROUNDS = 200

# Go's syntax of the instructions of a loop, and the one that llvm-mca reads.
SYNTAX = [
    (r"FMOVQ\.P 16\(R(\d+)\), F(\d+)", r"ldr q\2, [x\1], #16"),
    (r"FMOVQ (\d+)\(R(\d+)\), F(\d+)", r"ldr q\3, [x\2, #\1]"),
    (r"PRFM (\d+)\(R(\d+)\), PLDL1KEEP", r"prfm pldl1keep, [x\2, #\1]"),
    (r"ADD R(\d+), R(\d+), R(\d+)", r"add x\3, x\2, x\1"),
    (r"ADD \$(\d+), R(\d+)", r"add x\2, x\2, #\1"),
    (r"SUBS \$(\d+), R(\d+)", r"subs x\2, x\2, #\1"),
    (r"VAND V(\d+)\.B16, V(\d+)\.B16, V(\d+)\.B16", r"and v\3.16b, v\2.16b, v\1.16b"),
    (r"VSHL \$16, V(\d+)\.S4, V(\d+)\.S4", r"shl v\2.4s, v\1.4s, #16"),
    (r"WORD \S+ // FMLA V(\d+)\.S4, V(\d+)\.S4, V(\d+)\.S\[(\d)\]", r"fmla v\1.4s, v\2.4s, v\3.s[\4]"),
    (r"WORD \S+ // (BFMLAL[BT]) V(\d+)\.S4, V(\d+)\.H8, V(\d+)\.H\[(\d)\]", r"\1 v\2.4s, v\3.8h, v\4.h[\5]"),
]


def translate(line):
    for pattern, text in SYNTAX:
        if found := re.fullmatch(pattern, line.strip()):
            return found.expand(text)
    sys.exit(f"{SOURCE}: {line.strip()!r} has no translation: add it to SYNTAX")


def loops(function):
    """Returns the inner loops of a kernel: one, or in order Blocked one for the even elements of a block and one for the odd."""
    body = open(SOURCE).read().split(f"TEXT ·{function}(SB)", 1)[1].split("TEXT ·")[0]
    found = re.findall(r"\n((?:loop|pairs)\d+):\n(.*?)\n\tB(?:GE|NE) \1\n", body, re.S)
    return [[translate(line) for line in text.split("\n")] + ["b.ne ."] for _, text in found]


def use(function, cpu):
    """Returns the multiply-adds a cycle of a kernel's loops, which take turns."""
    done = cycles = 0
    for lines in loops(function):
        command = ["llvm-mca-19", "-march=aarch64", "-mcpu=" + cpu, "-mattr=+bf16", f"-iterations={ROUNDS}"]
        out = subprocess.run(command, input="\n".join(lines), text=True, capture_output=True, check=True).stdout
        cycles += int(re.search(r"Total Cycles:\s+(\d+)", out)[1])
        done += sum(line.lower().startswith(("fmla", "bfmlal")) for line in lines) * ROUNDS
    return done / cycles


def m1(rows, wide):
    """Prints what those rates would be on an Apple M1: four units of 4 floats that begin an FMLA each cycle, which takes four
    (Dougall Johnson, "Apple Microarchitecture Research", Firestorm, units 11 to 14), in four cores at 3.2 GHz (AnandTech, "The
    2020 Mac Mini Unleashed"). It has no BFMLAL. Neoverse V2 has as many pipes with the same latency."""
    gflops = 4 * 2 * 3.2  # of one pipe
    print("An estimate by arithmetic, not measured: four cores of an Apple M1 at 3.2 GHz, with the use of the pipes of neoverse-v2, reach "
          f"{4 * rows * gflops:.0f} of {4 * 4 * gflops:.0f} GFLOP/s in the inner loop of float32 and {4 * wide * gflops:.0f} in that of bf16.")


def main():
    version = subprocess.run(["llvm-mca-19", "--version"], text=True, capture_output=True, check=True).stdout
    print(re.search(r"LLVM version \S+", version)[0])
    low = []
    for function in MANY + ONE:
        for cpu, pipes in PIPES.items():
            if cpu == "neoverse-n1" and "Dot" in function:
                continue
            rate = use(function, cpu)
            percent = 100 * rate / pipes
            print(f"{function} {cpu} {rate:.2f} per cycle, {percent:.1f} %")
            if function in MANY and percent < GOAL:
                low.append(f"{function} on {cpu} uses {percent:.1f} % of the pipes, want {GOAL}")
    m1(use("neonRowsx8", "neoverse-v2"), use("neonWidex8", "neoverse-v2"))
    if low:
        sys.exit("\n".join(low))


main()
