# SPDX-License-Identifier: MIT
"""A pool of four processes."""

import multiprocessing

import shared


def main():
    # Only "fork" before Python 3.4.
    context = multiprocessing.get_context("fork") if hasattr(multiprocessing, "get_context") else multiprocessing
    pool = context.Pool(4)
    shared.ready()
    while True:
        for _ in pool.imap_unordered(shared.spin, [20000] * 200, chunksize=4):
            shared.tick()


if __name__ == "__main__":
    main()
