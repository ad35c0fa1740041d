# -*- coding: utf-8 -*-
# SPDX-License-Identifier: MIT
"""Threads with names, one of them not ASCII where names are text. Runs on CPython 2.7 and 3."""

import sys
import threading

import handshake

for name in ("first worker", u"zweiter W\xf6rker" if sys.version_info[0] > 2 else "second worker"):
    worker = threading.Thread(target=handshake.sleep_for_ever, name=name)
    worker.daemon = True
    worker.start()
handshake.ready()
handshake.sleep_for_ever()
