#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tree.py FILE: prints collapsed stacks ("frame;frame;frame WEIGHT" a line) as a call tree with shares.

Functions below 2 % are left out. A chain of single calls is indented like any other.
"""
import os
import shutil
import sys

MIN_SHARE = 0.02
BAR = 20
MAX_INDENT = 40


class Node:
    def __init__(self):
        self.weight = 0
        self.children = {}


def read_tree(lines):
    root = Node()
    for number, line in enumerate(lines, 1):
        stack, _, weight = line.rstrip("\n").rpartition(" ")
        if not stack or not weight.isdigit():
            sys.exit(f"tree.py: line {number} is not a collapsed stack")
        node = root
        node.weight += int(weight)
        for frame in stack.split(";"):
            node = node.children.setdefault(frame, Node())
            node.weight += int(weight)
    return root


def print_tree(root, width):
    """Depth first with a list of its own: a profile may be deeper than the recursion limit."""
    todo = [(0, frame, node) for frame, node in sorted(root.children.items(), key=lambda item: item[1].weight)]
    while todo:
        depth, frame, node = todo.pop()
        share = node.weight / root.weight
        if share < MIN_SHARE:
            continue
        bar = "#" * round(share * BAR)
        print(f"{100 * share:5.1f} % {bar:<{BAR}} {' ' * min(2 * depth, MAX_INDENT)}{frame}"[:width])
        children = sorted(node.children.items(), key=lambda item: item[1].weight)
        todo += [(depth + 1, child, below) for child, below in children]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8", errors="backslashreplace") as file:
        root = read_tree(file)
    if not root.weight:
        sys.exit("tree.py: the profile is empty")
    try:
        print_tree(root, shutil.get_terminal_size((120, 24)).columns)
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
