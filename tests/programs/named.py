# SPDX-License-Identifier: MIT
"""Two busy threads with names, worker-a in work_a and worker-b in work_b; says their native ids."""

import threading

import handshake


def compute():
    x = 0
    for i in range(2000):
        x = (x * 31 + i) & 0xFFFF


def work_a():
    while True:
        compute()


def work_b():
    while True:
        compute()


workers = [
    threading.Thread(target=work_a, name="worker-a", daemon=True),
    threading.Thread(target=work_b, name="worker-b", daemon=True),
]
for worker in workers:
    worker.start()
handshake.ready(*[worker.native_id for worker in workers])
handshake.sleep_for_ever()
