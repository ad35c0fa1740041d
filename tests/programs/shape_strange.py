# -*- coding: utf-8 -*-
# SPDX-License-Identifier: MIT
# Loaded by shape.py under the name größe.py; in 2.7 the function is renamed, as identifiers are ASCII there.


def größe(seconds):
    return gamma_down(seconds, 14)  # noqa: F821
