# SPDX-License-Identifier: MIT
"""
Reads what pysample writes, by docs/formats.md and by the formats' own descriptions.

Each reader gives a list of Stack: where it was seen, its frames, outermost first, and what it weighs. Names and files are
bytes, with escapes undone.
"""

import collections
import gzip
import json
import re

Stack = collections.namedtuple("Stack", "thread frames weight")  # thread: text, "" where the format has none
Frame = collections.namedtuple("Frame", "name file line")  # file: b"" for none; line: 0 for none


def unescape(text):
    def one(match):
        half, odd = divmod(len(match[1]), 2)
        return b"\\" * half + (bytes.fromhex(match[2].decode()) if odd else b"x" + match[2])

    return re.sub(rb"(\\+)x([0-9a-f]{2})", one, text if isinstance(text, bytes) else text.encode())


def by_names(stacks):
    """What stacks with the same names weigh in all."""
    weights = collections.Counter()
    for stack in stacks:
        weights[tuple(frame.name for frame in stack.frames)] += stack.weight
    return +weights


def own(stacks):
    """By name: the weight of the stacks that end there."""
    weights = collections.Counter()
    for stack in stacks:
        if stack.frames:
            weights[stack.frames[-1].name] += stack.weight
    return weights


def total(stacks):
    """By name: the weight of the stacks that it is in, each once."""
    weights = collections.Counter()
    for stack in stacks:
        for name in {frame.name for frame in stack.frames}:
            weights[name] += stack.weight
    return weights


def of_json(path, unit="samples"):
    document = json.loads(path.read_text("utf-8"))
    functions, frames, stacks = document["functions"], document["frames"], document["stacks"]
    mode = document["options"]["mode"]

    def frames_of(stack):
        found = []
        while stack is not None:
            stack, frame = stacks[stack]
            function, line = frames[frame]
            file = functions[function]["short_file"]
            found.append(Frame(unescape(functions[function]["name"]), unescape(file or ""), line))
        return found[::-1]

    def weight(sample):
        if unit == "samples":
            return sample["count"]
        return {"wall": sample["wall_ns"], "gil": sample["wall_ns"], "cpu": sample["cpu_ns"]}[mode]

    def thread(sample):
        return "%d" % document["threads"][sample["thread"]]["tid"]

    return [Stack(thread(sample), frames_of(sample["stack"]), weight(sample)) for sample in document["samples"]]


def of_flamegraph(path, unit="samples"):
    """The data in the page, as its script reads it."""
    document = page_data(path)
    flat = {name: list(zip(*[iter(document[name])] * size)) for name, size in [("functions", 4), ("frames", 2), ("stacks", 2), ("samples", 5)]}

    def frame_of(index):
        function, line = flat["frames"][index]
        name, file = flat["functions"][function][:2]
        return Frame(unescape(document["names"][name]), unescape(document["files"][file - 1]) if file else b"", line)

    def frames_of(stack):
        found = []
        while stack >= 0:
            back, index = flat["stacks"][stack]
            found.append(frame_of(index))
            stack = stack - back if back else -1
        return found[::-1]

    return [
        Stack("%d" % document["threads"][thread][1], frames_of(stack - 1), count if unit == "samples" else ns)
        for stack, thread, _, count, ns in flat["samples"]
    ]


def collapsed_frame(text):
    name, blank, rest = text.rpartition(b" (")
    if not blank or not rest.endswith(b")"):
        return Frame(b"" if text == b"[no frames]" else unescape(text), b"", 0)
    file, _, line = rest[:-1].partition(b":")
    return Frame(unescape(name), unescape(file), int(line or 0))


def of_collapsed(path, has_processes):
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        stack, _, weight = line.rpartition(b" ")
        frames = stack.split(b";")
        if has_processes:
            assert frames.pop(0).startswith(b"process ")
        frames = [] if frames == [b"[no frames]"] else [collapsed_frame(frame) for frame in frames]
        found.append(Stack("", frames, int(weight)))
    return found


def of_speedscope(path):
    document = json.loads(path.read_text("utf-8"))
    table = [Frame(unescape(f["name"]), unescape(f.get("file", "")), 0) for f in document["shared"]["frames"]]
    found = []
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        for sample, weight in zip(profile["samples"], profile["weights"]):
            frames = [table[index] for index in sample]
            found.append(Stack(profile["name"], [] if frames[0].name == b"[no frames]" else frames, weight))
    return found


def protobuf(data):
    """The fields of a message as pairs of number and value: an int, or bytes."""

    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at

    at = 0
    while at < len(data):
        key, at = varint(at)
        if key & 7 == 2:
            size, at = varint(at)
            yield key >> 3, data[at : at + size]
            at += size
        else:
            assert key & 7 == 0, "wire type %d" % (key & 7)
            value, at = varint(at)
            yield key >> 3, value


def packed(data):
    return [value for _, value in protobuf(b"".join(b"\x08" + item for item in re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data, re.S)))]


def of_pprof(path, unit="samples"):
    fields = list(protobuf(gzip.decompress(path.read_bytes())))
    strings = [value for number, value in fields if number == 6]
    assert strings[0] == b"" and len(set(strings)) == len(strings)
    functions, locations, found = {}, {}, []
    for message in (dict(protobuf(value)) for number, value in fields if number == 5):
        functions[message[1]] = (unescape(strings[message[2]]), unescape(strings[message.get(4, 0)]))
        assert 3 not in message
    for message in (dict(protobuf(value)) for number, value in fields if number == 4):
        line = dict(protobuf(message[4]))
        locations[message[1]] = Frame(*functions[line[1]], line.get(2, 0))
    for parts in (list(protobuf(value)) for number, value in fields if number == 2):
        message = dict(parts)
        labels = [dict(protobuf(value)) for number, value in parts if number == 3]
        thread = {strings[label[1]]: label.get(3, 0) for label in labels}[b"tid"]
        frames = [locations[location] for location in packed(message[1])][::-1]
        if frames[0].name == b"[no frames]":
            frames = []
        found.append(Stack("%d" % thread, frames, packed(message[2])[0 if unit == "samples" else 1]))
    return found


def of_gecko(path):
    document = json.loads(path.read_text("utf-8"))
    strings = [unescape(text) for text in document["shared"]["stringArray"]]
    found = []
    for thread in document["threads"]:
        stacks, frames, functions, samples = (thread[name] for name in ("stackTable", "frameTable", "funcTable", "samples"))

        def frames_of(stack):
            line = []
            while stack is not None:
                frame, stack = stacks["frame"][stack], stacks["prefix"][stack]
                function = frames["func"][frame]
                file = functions["fileName"][function]
                line.append(Frame(strings[functions["name"][function]], b"" if file is None else strings[file], frames["line"][frame] or 0))
            return [] if line[0].name == b"[no frames]" else line[::-1]

        factor = 1 if samples["weightType"] == "samples" else 1e6
        for stack, weight in zip(samples["stack"], samples["weight"]):
            found.append(Stack("%d" % thread["tid"], frames_of(stack), round(weight * factor)))
    return found


def page_data(path):
    """What a page has for its script."""
    text = path.read_text("utf-8")
    return json.loads(re.search(r'<script id="data" type="application/json">\n(.*?)</script>', text, re.S).group(1))


def lines_of_heatmap(path, unit):
    """(own, total) by file and line."""
    place = 0 if unit == "samples" else 1
    found = {}
    for file in page_data(path)["files"]:
        cells = file["lines"]
        for at in range(0, len(cells), 5):
            found[unescape(file["name"]), cells[at]] = (cells[at + 1 + place], cells[at + 3 + place])
    return found
