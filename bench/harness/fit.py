# SPDX-License-Identifier: MIT
"""How a cost grows with a load."""

import math


def line(points):
    """Slope and intercept of the line through (x, y) @points, by least squares."""
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return slope, mean_y - slope * mean_x


def exponent(points):
    """k of y = c * x ** k through the (load, cost) @points, by least squares of the logarithms; None for fewer than two."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    return line(logs)[0]


def last_exponent(points):
    """The exponent between the two heaviest loads, where a constant part of the cost hides least; None for fewer than two."""
    return exponent(sorted(points)[-2:])
