# SPDX-License-Identifier: MIT
"""results.json → report.md."""

from harness import kinds
from harness.tables import table

INTRODUCTION = """# Measurements

Medians over the repeats [least … most]. The profilers ran in turn on the same process; "empty" is a profiler that does nothing: what
its row shows is noise. Only compare figures of the same run.
"""


def machine(facts):
    return "## Machine\n\n" + table(["", ""], facts.items())


def goal_rows(records, modules):
    """The goals of all kinds, those of kinds that did not run too."""
    return [row for name, kind in modules.items() for row in kind.goals(of_kind(records, name))]


def of_kind(records, name):
    """Those with a measurement: one of a target that failed does not have the fields of its kind."""
    return [record for record in records if record["kind"] == name and record["repeats"]]


def failures(records):
    """What did not go as it should: a profiler or a target that failed."""
    found = {}
    for record in records:
        where = "%s, %s" % (record["kind"], record["profiler"])
        if not record["repeats"]:
            found[where] = record.get("failed", "nothing was measured")
        for repeat in record["repeats"]:
            if repeat.get("said"):
                found[where] = "exit %s: %s" % (repeat["code"], " ".join(repeat["said"].split())[-200:])
    return "## Failures\n\n" + table(["", ""], found.items()) if found else ""


def markdown(results):
    """The report of what results.json holds."""
    records, modules = results["records"], kinds.every()
    goals = "## Goals\n\n" + table(["goal", "measured", ""], goal_rows(records, modules))
    parts = [INTRODUCTION, machine(results["machine"]), goals]
    for name, kind in modules.items():
        mine = of_kind(records, name)
        if mine:
            parts.append(kind.tables(mine))
    parts.append(failures(records))
    return "\n".join(part for part in parts if part)
