#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""three_jobs.py [SECONDS]: a program whose profile is known before it is taken.

Three jobs take turns in rounds of 100 ms of CPU time: a Mandelbrot picture gets 60 ms, a prime sieve 30 ms, word counting 10 ms.
A second thread sleeps all the time. At the end the program prints the shares that its own clock measured.
"""
import sys
import threading
import time

ROUND = 0.1
SHARES = {"mandelbrot": 0.6, "sieve": 0.3, "count_words": 0.1}
TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps on " * 100


def escape_time(c, limit=40):
    z = 0j
    for step in range(limit):
        z = z * z + c
        if abs(z) > 2.0:
            return step
    return limit


def mandelbrot(until):
    """Points of the set, row by row, until the time is up."""
    points = 0
    while True:
        for row in range(24):
            for column in range(64):
                escape_time(complex(column / 24 - 2, row / 12 - 1))
                points += 1
            if time.process_time() >= until:
                return points


class Sieve:
    def __init__(self, size):
        self.size = size

    def strike_out(self, flags, prime):
        for multiple in range(prime * prime, self.size, prime):
            flags[multiple] = False

    def primes(self):
        flags = [True] * self.size
        for number in range(2, int(self.size**0.5) + 1):
            if flags[number]:
                self.strike_out(flags, number)
        return [number for number in range(2, self.size) if flags[number]]


def sieve(until):
    found = 0
    while time.process_time() < until:
        found += len(Sieve(10000).primes())
    return found


def words(text):
    for word in text.split():
        yield word.strip(".,").lower()


def count_words(until):
    counts = {}
    while time.process_time() < until:
        for word in words(TEXT):
            counts[word] = counts.get(word, 0) + 1
    return counts


def run_jobs(seconds):
    """Rounds until @seconds have passed; the CPU time that each job really had."""
    spent = dict.fromkeys(SHARES, 0.0)
    jobs = {"mandelbrot": mandelbrot, "sieve": sieve, "count_words": count_words}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, job in jobs.items():
            begin = time.process_time()
            job(begin + ROUND * SHARES[name])
            spent[name] += time.process_time() - begin
    return spent


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    threading.Thread(target=time.sleep, args=(seconds,), name="sleeper", daemon=True).start()
    print("started", flush=True)
    spent = run_jobs(seconds)
    total = sum(spent.values())
    print("the program's own clock: " + ", ".join(f"{name} {100 * t / total:.1f} %" for name, t in spent.items()))


if __name__ == "__main__":
    main()
