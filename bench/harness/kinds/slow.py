# SPDX-License-Identifier: MIT
"""How much slower a program becomes, and whether the stacks found in it are right."""

from harness import check
from harness.profilers import PROFILERS, Run, groups, in_json
from harness.tables import find, goal, middle, number, section, spread, table, values
from harness.target import PHASES, Target
from harness.window import in_turn, watch

KIND = "slow"
WANTED = ["empty", "pysample", "pysample --native", "py-spy", "py-spy --native", "austin", "tachyon --blocking"]
QUICK = ["empty", "floor", "pysample", "pysample --native"]
OURS = ("pysample", "pysample --native")
RATE = 100
DEPTH = 200

# Name → the workload and its arguments; "net" where one thread is busy: then its wait for a CPU is known and left out.
WORKLOADS = {
    "one thread": ("chains.py", [], "net"),
    "native": ("native.py", [], "net"),
    "200 deep": ("deep.py", [DEPTH], "net"),
    "asyncio": ("echo.py", [], "net"),
    "16 threads, 2 busy": ("threads.py", [16, 2], "raw"),
    "200 threads, 1 busy": ("threads.py", [200, 1], "net"),
    "4 processes": ("processes.py", [], "raw"),
    "EINTR": ("eintr.py", [], "net"),
}


def checked(workload, found, window, has_native):
    """What the stacks show: counts of samples, and for native.py how far the shares of the phases are off."""
    if workload == "chains.py":
        return check.chains(found)
    if workload == "deep.py":
        return check.deep(found, DEPTH)
    if workload == "native.py":
        result = check.native(found, has_native)
        result["phase_error"] = check.phase_error(result, window.words[PHASES : PHASES + len(check.PHASES)])
        return result
    return check.roots(found)


def slower_percent(rate, before, after):
    """Against the mean of the windows before and after."""
    if None in (rate, before, after):
        return None
    base = (before + after) / 2
    return 100 * (1 - rate / base) if base else None


def once(settings, target, name, workload, before):
    """A window with the profiler and one without; returns the figures and the latter."""
    profiler = in_json(name)
    with Run(settings, profiler, target, RATE, subprocesses=workload == "processes.py") as run:
        watch(target, min(profiler.warm_s, settings.window_s), run)
        cpu_ns = run.cpu_ns()
        window = watch(target, settings.window_s, run)
        cpu_ns = run.cpu_ns() - cpu_ns
        run.interrupt()
        figures = run.figures()
        found = run.stacks()
        document = run.document() if name.startswith("pysample") else None
    after = watch(target, settings.window_s * 0.7)
    figures["steady_cpu_percent"] = cpu_ns / 1e7 / window.seconds if window.whole else None
    figures["slower_raw"] = slower_percent(window.rate, before.rate, after.rate)
    figures["slower_net"] = slower_percent(window.net_rate, before.net_rate, after.net_rate)
    figures["target"] = target.state()
    if document:
        figures["held_percent"] = 100 * document["stats"]["hold_ns"]["sum"] / document["duration_ns"]
    if found is not None:
        figures["check"] = checked(workload, found, window, profiler.native)
    return figures, after


def measure(settings, label, version, names):
    workload, arguments, way = WORKLOADS[label]
    records = {
        name: {
            "kind": KIND,
            "profiler": name,
            "workload": label,
            "way": way,
            "rate": RATE,
            "version": version,
            "repeats": [],
        }
        for name in names
    }
    with Target(settings, workload, *arguments, version=version) as target:
        before = watch(target, settings.window_s * 0.7)
        for repeat in range(settings.repeats):
            for name in in_turn(names, repeat):
                if not target.alive():
                    break
                figures, before = once(settings, target, name, workload, before)
                records[name]["repeats"].append(figures)
    return records.values()


def run(settings):
    names = settings.chosen(QUICK if settings.quick else WANTED, PROFILERS)
    for label in list(WORKLOADS)[:2] if settings.quick else WORKLOADS:
        for version, members in groups(names):
            if version:
                # Ours have been measured on the usual target; a peer is compared with its own target without it.
                members = [name for name in members if name == "empty" or PROFILERS[name].version]
            yield from measure(settings, label, version, members)


# ---- report ----


def slower(record):
    return values(record, "slower_" + record["way"])


def labels(records):
    return list(dict.fromkeys(record["workload"] for record in records))


def rows(records, cell):
    """A row a profiler and version of the target, a column a workload."""
    for name, version in dict.fromkeys((record["profiler"], record["version"]) for record in records):
        mine = find(records, profiler=name, version=version)
        cells = [[cell(record) for record in find(mine, workload=label)] for label in labels(records)]
        yield [name + (" (%s)" % version if version else ""), *(found[0] if found else "–" for found in cells)]


def used(record):
    return "%s %%, %s MB" % (number(middle(record, "steady_cpu_percent")), number(middle(record, "resident_mb")))


def held(record):
    return spread(values(record, "held_percent"), 2)


def percent(checks, part, whole):
    total = sum(found.get(whole, 0) for found in checks)
    return number(100 * sum(found.get(part, 0) for found in checks) / total) if total else "–"


def truth(record):
    """One cell of the table of correctness."""
    checks = [repeat["check"] for repeat in record["repeats"] if repeat.get("check")]
    if not checks:
        return "–"
    texts = ["%d samples" % sum(found["samples"] for found in checks)]
    for text, part, whole in (
        ("torn %s %%", "torn", "in_chain"),
        ("exact %s %%", "exact", "at_bottom"),
        ("rooted %s %%", "rooted", "samples"),
        ("callback %s %%", "callback_ok", "callback"),
        ("comparison %s %%", "comparison_ok", "comparison"),
        ("C calls %s %%", "calls_ok", "calls"),
    ):
        if any(whole in found and part in found for found in checks):
            texts.append(text % percent(checks, part, whole))
    errors = [found["phase_error"] for found in checks if found.get("phase_error") is not None]
    if errors:
        texts.append("shares off by %s points" % number(max(errors)))
    return "; ".join(texts)


def tables(records):
    head = ["profiler", *labels(records)]
    text = (
        "Slow-down in percent at %d Hz. Each window stands between two without a profiler. Where one thread is busy, the time in which "
        "the main thread waited for a CPU is left out. Of the 4 processes, pysample looks at the parent only, the others at all." % RATE
    )
    return section(
        "Slow-down",
        text,
        table(head, rows(records, lambda record: spread(slower(record)))),
        "CPU of one core in the window, and peak resident memory, of the profiler:\n",
        table(head, rows(records, used)),
        "Share of wall time in which pysample held a thread, by its own count, all threads together:\n",
        table(head, rows([r for r in records if r["profiler"].startswith("pysample")], held)),
        "Truth of the stacks (right ones of those that can be judged):\n",
        table(head, rows([r for r in records if PROFILERS[r["profiler"]].parse], truth)),
    )


def noise_of(records, label):
    """How far the empty profiler's windows are from nothing, at most."""
    shown = [abs(value) for record in find(records, profiler="empty", workload=label) for value in slower(record)]
    return max(shown, default=None)


def within_noise(records, name):
    """(workloads whose median is within the noise, workloads)"""
    good, total = 0, 0
    for record in find(records, profiler=name):
        noise, ours = noise_of(records, record["workload"]), middle(record, "slower_" + record["way"])
        if noise is not None and ours is not None:
            good += ours <= max(noise, 1.0)
            total += 1
    return good, total


def goals(records):
    text = "slow-down at 100 Hz, %s: within the empty profiler's noise in every workload"
    found = []
    for name in OURS:
        good, total = within_noise(records, name)
        found.append(goal(text % name, "%d of %d workloads" % (good, total) if total else None, good == total if total else None))
        shares = [middle(record, "held_percent") for record in find(records, profiler=name)]
        worst = max((share for share in shares if share is not None), default=None)
        found.append(
            goal(
                "share of wall time held at 100 Hz by %s's own count, in every workload: ≤ 1 %%" % name,
                "at most %s %%" % number(worst, 2) if shares else None,
                worst <= 1 if worst is not None else None,
            )
        )
    return found
