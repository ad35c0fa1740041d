# SPDX-License-Identifier: MIT
"""Markdown tables, and figures as they stand in them."""

from harness.window import median

MET, MISSED, NOT_MEASURED = "met", "missed", "not measured"


def number(value, digits=1):
    return "–" if value is None else "%.*f" % (digits, value)


def spread(values, digits=1):
    """The median, and from where to where."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    middle = number(median(known), digits)
    return middle if len(known) == 1 else "%s [%s … %s]" % (middle, number(min(known), digits), number(max(known), digits))


def table(head, rows):
    """A table of texts."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| %s |\n" % " | ".join(str(cell).replace("|", "/") for cell in line) for line in lines)


def section(title, text, *tables):
    return "\n".join(["## %s\n" % title, text + "\n", *tables])


def goal(text, measured, holds):
    """A row of the goals; @holds is None where nothing was measured."""
    if holds is None:
        return text, measured or "–", NOT_MEASURED
    return text, measured, MET if holds else MISSED


def find(records, **wanted):
    """The records that have all these values."""
    return [record for record in records if all(record.get(key) == value for key, value in wanted.items())]


def values(record, key):
    """This figure of each repeat that has it."""
    return [repeat[key] for repeat in record["repeats"] if repeat.get(key) is not None]


def middle(record, key):
    return median(values(record, key))
