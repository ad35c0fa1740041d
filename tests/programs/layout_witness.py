# SPDX-License-Identifier: MIT
"""
Run by any CPython from 2.7 on: looks at its own living objects through the layout given as JSON in argv[1] and compares with
what the language says of them. Prints {"wrong": ["field: seen, expected", ...], "seen": [fields that took part]}.
"""

import ctypes
import json
import sys
import threading

LAYOUT = json.loads(sys.argv[1])
TWO = sys.version_info[0] == 2
VERSION = sys.version_info[:2]
wrong = []
seen = set()


def at(field):
    seen.add(field)
    return LAYOUT[field]


def has(field):
    return LAYOUT[field] is not None


def word(address):
    return ctypes.c_size_t.from_address(address).value


def signed(address):
    return ctypes.c_ssize_t.from_address(address).value


def integer(address):
    return ctypes.c_int.from_address(address).value


def byte(address):
    return ctypes.c_ubyte.from_address(address).value


def expect(what, found, expected):
    if found != expected:
        wrong.append("%s: %r in memory, should be %r" % (what, found, expected))


def call(name, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_void_p] * len(arguments)
    return function(*arguments)


# Dictionaries


def keys_entries(keys):
    """(key address, value address or None) of a keys object, dead entries left out."""
    if has("keys_log2_index_bytes"):
        expect("keys_log2_size of %d" % keys, byte(keys + at("keys_log2_size")) <= byte(keys + at("keys_log2_index_bytes")), True)
        first = keys + at("keys_indices") + (1 << byte(keys + at("keys_log2_index_bytes")))
        general = byte(keys + at("keys_kind")) == 0
    else:
        size = word(keys + at("keys_size"))
        width = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4
        first = keys + at("keys_indices") + size * width
        general = True
    names = ("entry_size", "entry_key", "entry_value")
    size, key, value = [at(name if general else "unicode_" + name) for name in names]
    for i in range(word(keys + at("keys_nentries"))):
        yield word(first + i * size + key), word(first + i * size + value)


def dict_items(address):
    keys = word(address + at("dict_keys"))
    if TWO:
        for i in range(signed(address + at("dict_mask")) + 1):
            entry = keys + i * at("entry_size")
            if word(entry + at("entry_value")):
                yield word(entry + at("entry_key")), word(entry + at("entry_value"))
        return
    values = word(address + at("dict_values"))
    for i, (key, value) in enumerate(keys_entries(keys)):
        if values:
            value = word(values + (at("values_data") if has("values_data") else 0) + i * 8)
        if value:
            yield key, value


def look_at_dicts():
    for size in (1, 5, 300, 70000):
        for make in (str, int):
            d = dict((make(i * 7 + 1000), object()) for i in range(size))
            expect("dict_used", word(id(d) + at("dict_used")), size)
            items = dict(dict_items(id(d)))
            expect("dict of %d, %s keys" % (size, make.__name__), items, dict((id(k), id(v)) for k, v in d.items()))


# Instances


class Plain(object):
    def __init__(self):
        self.first = object()
        self.second = object()


class Slots(object):
    __slots__ = ("__weakref__",)


def instance_values(address):
    """The address of the first value, or None where a dict has them."""
    kind = id(Plain)
    if has("managed_values"):
        values = word(address - at("managed_values"))
        return values + at("values_data") if values else None
    if has("values_valid"):
        # Behind the values: their numbers in the order of insertion.
        values = address + Plain.__basicsize__
        order = values + at("values_data") + byte(values + at("values_capacity")) * 8
        expect("values_capacity", [byte(order), byte(order + 1)], [0, 1])
        expect("flag_inline_values of slots", Slots.__flags__ & at("flag_inline_values"), 0)
        inline = word(kind + at("type_flags")) & at("flag_inline_values")
        values = address + word(kind + at("type_basicsize"))
        return values + at("values_data") if inline and byte(values + at("values_valid")) else None
    tagged = word(address - at("managed_dict"))
    return tagged + 1 + at("values_data") if tagged & 1 else None


def look_at_instances():
    for _ in range(3):
        thing = Plain()
    attributes = {id("first"): id(thing.first), id("second"): id(thing.second)}
    names = dict((id(name), name) for name in ("first", "second"))
    if not has("managed_dict"):
        d = word(id(thing) + Plain.__dictoffset__)
        expect("type_dictoffset", d, id(thing.__dict__))
        if not TWO:
            expect("type_cached_keys", word(id(Plain) + at("type_cached_keys")), word(d + at("dict_keys")))
        expect("attributes", dict(dict_items(d)), attributes)
        return

    expect("flag_managed_dict", bool(Plain.__flags__ & at("flag_managed_dict")), True)
    expect("flag_managed_dict of int", bool(int.__flags__ & at("flag_managed_dict")), False)
    values = instance_values(id(thing))
    expect("there are values", values is not None, True)
    if has("values_valid"):
        expect("values_valid", byte(id(thing) + Plain.__basicsize__ + at("values_valid")), 1)
    found = {}
    for i, (key, _) in enumerate(keys_entries(word(id(Plain) + at("type_cached_keys")))):
        if key in names:
            found[key] = word(values + i * 8)
    expect("attributes", found, attributes)

    d = thing.__dict__
    expect("managed_dict", word(id(thing) - at("managed_dict")), id(d))
    expect("attributes by dict", dict(dict_items(id(d))), attributes)
    thing.__dict__ = {"other": 1}
    if has("values_valid"):
        expect("values_valid, replaced", byte(id(thing) + Plain.__basicsize__ + at("values_valid")), 0)
    expect("managed_dict, replaced", word(id(thing) - at("managed_dict")), id(thing.__dict__))


def look_at_types():
    kind = id(Plain)
    expect("type_name", ctypes.string_at(word(kind + at("type_name"))), b"Plain")
    expect("type_flags", word(kind + at("type_flags")), Plain.__flags__)
    expect("type_basicsize", signed(kind + at("type_basicsize")), Plain.__basicsize__)
    expect("type_dictoffset", signed(kind + at("type_dictoffset")), Plain.__dictoffset__)
    expect("flag_heap_type", bool(Plain.__flags__ & at("flag_heap_type")), True)
    expect("flag_heap_type of int", bool(int.__flags__ & at("flag_heap_type")), False)
    expect("object_type", word(id(wrong) + at("object_type")), id(list))
    expect("module_dict", word(id(sys) + at("module_dict")), id(sys.__dict__))


# Strings and numbers


def look_at_bytes():
    value = b"some bytes" * 3
    code = hash(value)
    expect("object_size", signed(id(value) + at("object_size")), len(value))
    expect("bytes_hash", signed(id(value) + at("bytes_hash")), code)
    expect("bytes_data", ctypes.string_at(id(value) + at("bytes_data"), len(value)), value)


def text_of(address):
    state = ctypes.c_uint.from_address(address + at("unicode_state")).value
    kind = state >> at("unicode_kind_shift") & 7
    length = signed(address + at("unicode_length"))
    data = address + at("unicode_compact_data")
    if not state >> at("unicode_compact_shift") & 1:
        data = word(address + at("unicode_any_data"))
    elif state >> at("unicode_ascii_shift") & 1:
        data = address + at("unicode_ascii_data")
    coding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}.get(kind, "no kind")
    return kind, ctypes.string_at(data, length * kind).decode(coding)


def look_at_text():
    class Text(str):
        pass

    for kind, text in ((1, "plain"), (1, "\xe9t\xe9"), (2, "\u20ac\xe9x"), (4, "\U0001f600\u20acx")):
        expect("text", text_of(id(text)), (kind, text))
        other = Text(text)
        expect("text of a subclass", text_of(id(other)), (kind, text))
        code = hash(text)
        expect("unicode_hash", signed(id(text) + at("unicode_hash")), code)


def look_at_numbers():
    if TWO:
        expect("int_value", signed(id(12345) + at("int_value")), 12345)
    info = sys.long_info if TWO else sys.int_info
    expect("long_digit_bits", at("long_digit_bits"), info.bits_per_digit)
    for number in (123456789012345678901234567890, 0x7F0123456789 + (0 if not TWO else 1 << 70), 1 << 80):
        count = signed(id(number) + at("object_size")) if not has("long_tag") else word(id(number) + at("long_tag")) >> 3
        digits = [integer(id(number) + at("long_digits") + i * 4) for i in range(count)]
        expect("long_digits", sum(d << (i * at("long_digit_bits")) for i, d in enumerate(digits)), number)


# Code and frames


def look_at_code():
    code = Plain.__init__.__code__  # its name and its qualified name differ
    address = id(code)
    expect("code_name", word(address + at("code_name")), id(code.co_name))
    expect("code_filename", word(address + at("code_filename")), id(code.co_filename))
    expect("code_firstlineno", integer(address + at("code_firstlineno")), code.co_firstlineno)
    table = code.co_linetable if VERSION >= (3, 10) else code.co_lnotab
    expect("code_linetable", word(address + at("code_linetable")), id(table))
    if has("code_qualname"):
        expect("code_qualname", word(address + at("code_qualname")), id(code.co_qualname))
    if has("code_instructions"):
        expect("code_size", at("code_size"), at("code_instructions"))
        # A function that never ran: its instructions are not specialised.
        fresh = never_called.__code__
        found = ctypes.string_at(id(fresh) + at("code_instructions"), len(fresh.co_code))
        expect("code_instructions", found, fresh._co_code_adaptive)
        import dis
        first = integer(id(made_early.__code__) + at("code_first_traceable"))
        expect("code_first_traceable", dis.opname[made_early.__code__.co_code[2 * first]], "RESUME")


def never_called(x):
    return x + 1


def made_early(x):
    return lambda: x  # a cell is made before RESUME


TAGS = 3 if VERSION >= (3, 14) else 0


def executable(frame):
    return word(frame + at("iframe_executable")) & ~TAGS


def look_at_heap_frame(first_argument):
    mine = sys._getframe()
    expect("tstate_frame", heap_frame(), id(mine))
    expect("frame_code", word(id(mine) + at("frame_code")), id(mine.f_code))
    expect("frame_back", word(id(mine) + at("frame_back")), id(mine.f_back))
    expect("frame_size", word(id(mine) + at("frame_size")), id(first_argument))
    # The caller's instruction stands still while we run.
    scale = 2 if VERSION == (3, 10) else 1
    expect("frame_lasti", integer(id(mine.f_back) + at("frame_lasti")) * scale, mine.f_back.f_lasti)


def heap_frame():
    """The caller's frame, found from the thread state through our own and those of what we call."""
    frame = word(call("PyThreadState_Get") + at("tstate_frame"))
    while frame != id(sys._getframe()):
        frame = word(frame + at("frame_back"))
    return word(frame + at("frame_back"))


def current_frame():
    """The same for 3.11 on."""
    tstate = call("PyThreadState_Get")
    if has("tstate_cframe"):
        frame = word(word(tstate + at("tstate_cframe")) + at("cframe_current_frame"))
    else:
        frame = word(tstate + at("tstate_current_frame"))
    while executable(frame) != id(current_frame.__code__):
        frame = word(frame + at("iframe_previous"))
    return word(frame + at("iframe_previous"))


def look_at_frame(first_argument):
    frame = current_frame()
    expect("iframe_executable", executable(frame), id(look_at_frame.__code__))
    expect("iframe_size", word(frame + at("iframe_size")) & ~TAGS, id(first_argument))
    back = word(frame + at("iframe_previous"))
    mine = sys._getframe()
    expect("iframe_previous", executable(back), id(mine.f_back.f_code))
    start = id(mine.f_back.f_code) + at("code_instructions")
    expect("iframe_instr", word(back + at("iframe_instr")) - start, mine.f_back.f_lasti)
    expect("iframe_owner", byte(frame + at("iframe_owner")), 0)
    if has("iframe_is_entry"):
        expect("iframe_is_entry", byte(frame + at("iframe_is_entry")), 0)

    owners = list(generator())
    expect("owner_generator", owners, [at("owner_generator")])
    sorted([1], key=called_from_c)
    look_at_data_stack(frame)


def generator():
    yield byte(current_frame() + at("iframe_owner"))


def called_from_c(_):
    frame = current_frame()
    if has("iframe_is_entry"):
        expect("iframe_is_entry, from C", byte(frame + at("iframe_is_entry")), 1)
        return 0
    shim = "owner_interpreter" if has("owner_interpreter") else "owner_cstack"
    expect(shim, byte(word(frame + at("iframe_previous")) + at("iframe_owner")), at(shim))
    return 0


def look_at_data_stack(frame):
    tstate = call("PyThreadState_Get")
    chunk = word(tstate + at("tstate_datastack_chunk"))
    end = chunk + word(chunk + at("chunk_size"))
    expect("chunk_data", chunk + at("chunk_data") <= frame < end, True)
    expect("datastack_top", frame < word(tstate + at("tstate_datastack_top")) < end, True)
    chunks, frames = deeper(300)
    expect("chunk_previous", chunk in chunks and len(chunks) > 1, True)
    # The first chunk of a thread leaves its first word free.
    starts = [chunk + at("chunk_data") for chunk in chunks[:-1]]
    expect("chunks start with frames", [start in frames for start in starts], [True] * len(starts))


def deeper(n):
    """The chunks, newest first, and all frames of a deep stack."""
    if n:
        return deeper(n - 1)
    chunk = word(call("PyThreadState_Get") + at("tstate_datastack_chunk"))
    chunks, frames = [], []
    while chunk and len(chunks) < 100:
        chunks.append(chunk)
        chunk = word(chunk + at("chunk_previous"))
    frame = current_frame()
    while frame and len(frames) < 1000:
        frames.append(frame)
        frame = word(frame + at("iframe_previous"))
    return chunks, frames


def look_at_base_frame():
    tstate = call("PyThreadState_Get")
    base = word(tstate + at("tstate_base_frame"))
    frame = word(tstate + at("tstate_current_frame"))
    for _ in range(100):
        if frame == base:
            break
        frame = word(frame + at("iframe_previous"))
    expect("tstate_base_frame", frame, base)
    expect("below the base frame", word(base + at("iframe_previous")), 0)
    expect("owner of the base frame", byte(base + at("iframe_owner")), at("owner_interpreter"))


# Threads, interpreter, runtime


def identity():
    if TWO:
        import thread
        return thread.get_ident()
    return threading.get_ident()


def look_at_threads():
    tstate = call("PyThreadState_Get")
    interpreter = word(tstate + at("tstate_interp"))
    identities = [identity()]
    started, done = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: (identities.append(identity()), started.set(), done.wait()))
    other.start()
    started.wait()

    listed = []
    state = word(interpreter + at("interp_threads_head"))
    while state and len(listed) < 10:
        listed.append(word(state + at("tstate_thread_id")))
        state = word(state + at("tstate_next"))
    done.set()
    other.join()
    expect("threads", sorted(listed), sorted(identities))
    if has("tstate_native_thread_id"):
        expect("tstate_native_thread_id", word(tstate + at("tstate_native_thread_id")), threading.get_native_id())
    expect("interp_modules", word(interpreter + at("interp_modules")), id(sys.modules))
    expect("interp_next", word(interpreter + at("interp_next")), 0)
    if has("interp_id"):
        expect("interp_id", signed(interpreter + at("interp_id")), 0)
    if has("interp_gil"):
        gil = word(interpreter + at("interp_gil"))
        expect("gil_last_holder", word(gil + at("gil_last_holder")), tstate)
        expect("gil_locked", integer(gil + at("gil_locked")), 1)
    if has("tstate_holds_gil"):
        expect("tstate_holds_gil", integer(tstate + at("tstate_holds_gil")), 1)
    if has("runtime_interpreters_head"):
        look_at_runtime(tstate, interpreter)


def look_at_runtime(tstate, interpreter):
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    expect("runtime_interpreters_head", word(runtime + at("runtime_interpreters_head")), interpreter)
    if has("runtime_tstate_current"):
        expect("runtime_tstate_current", word(runtime + at("runtime_tstate_current")), tstate)
    if has("runtime_auto_tss_key"):
        key = runtime + at("runtime_auto_tss_key")
        expect("runtime_auto_tss_key", integer(key), 1)
        expect("the value of the key", call("PyThread_tss_get", key), tstate)


def look_at_interpreters():
    """With a second interpreter, where there is a module to make one."""
    try:
        import _interpreters as module
    except ImportError:
        try:
            import _xxsubinterpreters as module
        except ImportError:
            return
    main = word(call("PyThreadState_Get") + at("tstate_interp"))
    other = module.create()
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    interpreter = word(runtime + at("runtime_interpreters_head"))
    expect("the newest interpreter's next", word(interpreter + at("interp_next")), main)
    expect("the newest interpreter's id", signed(interpreter + at("interp_id")), int(other))
    module.destroy(other)


def main():
    look_at_types()
    look_at_bytes()
    look_at_numbers()
    look_at_dicts()
    look_at_instances()
    look_at_code()
    if not TWO:
        look_at_text()
    if has("tstate_frame"):
        look_at_heap_frame(object())
    else:
        look_at_frame(object())
    if has("tstate_base_frame"):
        look_at_base_frame()
    look_at_threads()
    look_at_interpreters()
    print(json.dumps({"wrong": wrong, "seen": sorted(seen)}))


main()
