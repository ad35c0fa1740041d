# SPDX-License-Identifier: MIT
"""One thread in two alternating chains, a1 … a15 and b1 … b15: any other order in a stack is a torn one."""

import shared

DEPTH = 15


def source(chain):
    for number in range(1, DEPTH):
        yield "def {0}{1}(n):\n    return {0}{2}(n) + 1\n".format(chain, number, number + 1)
    yield "def {0}{1}(n):\n    x = 0\n    for i in range(n):\n        x = (x * 31 + i) & 0xffff\n    return x\n".format(
        chain, DEPTH
    )


exec(compile("\n".join(line for chain in "ab" for line in source(chain)), "chains", "exec"))


def main():
    shared.ready()
    while True:
        for _ in range(50):
            a1(60)  # noqa: F821
            b1(60)  # noqa: F821
        shared.tick()


main()
