"""Whether `ndio scan` lists all that CPython's unpicklers look up, in random programs of opcodes, most of them malformed: NDIO.

A program is a row of statements, of which some are odd, and of lookups of names of its own, which say how far an unpickler comes.
Four of these are compared: that in C over a buffered file, over an unbuffered one (as over `BytesIO`), and over an object that has
only `read` and `readline`, and that in Python. What `loads` looks up, the second does. Nothing is loaded for real.

silent    a name that an unpickler looks up is not listed, and there is no error for the file
calls     there is no error, an unpickler finishes, and it makes other calls than those that are listed
unlisted  a name that an unpickler looks up is not listed, but there is an error for the file
over      a name is listed that no unpickler looks up, and there is no error

The first two fail the check; with --strict, all do.
"""

import _pickle
import argparse
import collections
import copyreg
import json
import pathlib
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import types
import warnings

warnings.simplefilter("ignore")  # those of CPython about escapes
# What is made for real, as its results can be names.
REAL = {"builtins": {kind.__name__: kind for kind in (str, bytes, list, dict, tuple, set, frozenset, bytearray)}}


class Anything:
    """A method of a class and of its instances, which takes anything."""

    def __get__(self, *_):
        return lambda *_, **__: None


def recording_class(full, calls):
    """Returns a class that, as its instances, takes whatever opcodes do with it."""

    class Made(metaclass=type("Meta", (type,), {"__setitem__": Anything()})):
        def __new__(cls, *_, **__):
            calls.append(full)
            return object.__new__(cls)

        __call__ = __setitem__ = __setstate__ = append = add = extend = Anything()

    return Made


class Recorder:
    """Records what is looked up and called."""

    def __init__(self, file):
        super().__init__(file, buffers=[b"ab", bytearray(b"cd")])
        self.names, self.calls = [], []

    def find_class(self, module, name):
        if name in REAL.get(module, ()):
            return REAL[module][name]
        full = f"extension code {name}" if module == "fake_extension" else f"{module}.{name}"
        full.encode()  # Python cannot import a name with surrogates
        self.names.append(full)
        return recording_class(full, self.calls)

    persistent_load = staticmethod(str)


InC = type("InC", (Recorder, _pickle.Unpickler), {})
InPython = type("InPython", (Recorder, pickle._Unpickler), {})


def looked_up(path):
    """Returns the names, the calls, and the error, by unpickler."""
    found = {}
    for route, buffering, make in (("C buffered", -1, InC), ("C unbuffered", 0, InC), ("C read+readline", -1, InC), ("Python", -1, InPython)):
        with open(path, "rb", buffering) as file:
            only = types.SimpleNamespace(read=file.read, readline=file.readline)
            unpickler, end = make(only if "+" in route else file), None
            copyreg._extension_cache.clear()
            try:
                unpickler.load()
            except (Exception, pickle._Stop) as error:
                end = repr(error)
        found[route] = unpickler.names, unpickler.calls, end
    return found


# Lines that are arguments of opcodes, by what precedes them.
LINES = {
    "I": "5|-5|01|00|0x10|0X1f|1_0| 5 |\t5|+5|010|0o10|0b11|5\r|01\r|1\0j|-0|0_0|5L|| |1__0|001|\xd9\xa5|" + "9" * 30 + "|" + "9" * 5000 + "|0x" + "f" * 5000,
    "L": "5L|5|-5L|+5L|0x10L|1_0L| 5L|5 L|5L |010L|0L|00L|0b1L|5L\r|5LL|L||1\0xL|" + "9" * 30 + "L|" + "9" * 5000 + "L",
    "F": "1.5| 1.5|1.5 |inf|-Infinity|nan|1_0.5|1e5|1e999|+.5|5.|1.5\r||0x1p3|1\0x|nan(1)|+nan",
    "S": "'a'|\"a\"|'\\x41'|'\\400'|'\\777'|'\\q'|'\\x4'|'a' |'a'\r|a|'a|'|''|'\\\\'|'\\'|'\xe9'|'a'b'|",
    "V": "a||\\u0041|\\u00|\\U0001f600|\\U00110000|\\ud800|\xe9|\\|\\\\u0|a\r|\\N{DASH}",
    "P": "a||\xe9|a\r|\xc3\xa9",
    "Np": "1|1_0| 1|1 |+1|-0|-1|01|1\r|" + "9" * 12 + "|" + "9" * 30 + "|0x1|1\0x||1L",
    "Nq\n0g": "10|1_0| 10|10 |+10|010|10\r|10\0x|-1|99|10L|",
}
# Other values: <C> is a class, <A> an array of bytes, <M> the name of a module, and <B> is longer than buffers. Valid ones leave one object.
OTHERS = r"""N|\x88|K\1|M\1\2|J\1\2\3\xff|G\0\0\0\0\0\0\0\0|]|}|)|\x8f|(t|(l|(d|(\x91|N2\x86|\x8a\0|\x8a\1\xff|\x8a\1|\x8b\2\0\0\0ab|\x8b\xff\xff\xff\xff
U\1a|T\1\0\0\0a|U\1\xe9|T\xff\xff\xff\xff|U\0|\x8c\1a|\x8c\1\xff|\x8c\3\xed\xa0\x80|X\1\0\0\0a|\x8d\1\0\0\0\0\0\0\0a|\x8d\xff\xff\xff\xff\xff\xff\xff\xff|C\1a|B\1\0\0\0a|<A>|<B>
Nr\7\0\0\0000j\7\0\0\0|hc|N\x940N|NQ|]Q|\x82\1|\x83\x34\x12|\x84\x78\x56\x34\x12|\x82\0|\x82\t|\x84\xff\xff\xff\xff|\x82\5)R|\x83\5\0)\x81|\x82\1}b|\x82\1)R}b
\x97|\x97\x98|N\x98|C\1a\x98|<A>\x98|NNb|K\1Nb|]Nb|]}b|]N}\x86b|N}K\1K\2sb|}Nb|K\1K\1b|NN}\x86b|\x88N}\x8c\1aNs\x86b|Pa\nNb|Pa\n}b
<C>Nb|<C>}b|<C>N}\x86b|<C>)RNb|<C>)R}b}b|<C>)\x81NbNb|<C>)RNbNb|<C>)R)b|<C>]a|<C>NNs|<C>(Ne|<C>(NNu|<C>(N\x90|<C>)R]a|<C>)RNNs|<C>(e|<C>)RNa2Nb
K\1(e|N(u|N(\x90|]Na|](NNe|]NaK\0Ns|}NNs|}]Ns|}(N]u|}(]Nu|\x8f(N\x90|\x8f(]\x90|<A>(K\1K\2e|<A>K\0K\2s|)Na|}Na|](NNu|}(Nu|(Nd|(]Nd|(]\x91|\x8fNa|K\1Na|](N\x90|}}Ns
<C>)R|<C>]R|<C>(NlR|<C>NR|<C>)\x81|<C>]\x81|<C>)}\x92|<C>)N\x92|<C>)]\x92|<C>)}\x8c\1aNs\x92|<C>)}NNs\x92|<C>]}\x92|<C>)R)R|<C>)R)\x81|<C>\x85R|<C>}R|<C>\x8c\1aR
N)R|K\1)R|N)\x81|Pa\n)R|(K\1o|(o|(<C>o|(<C>No|(ifake_0\ni\n|(Nifake_0\ni\n|ifake_0\nk\n|(NN0ifake_0\nl\n|(ifake_0\r\nl\n
cbuiltins\nlist\n)RNa|cbuiltins\ndict\n)RNNs|cbuiltins\nset\n)R(N\x90|cbuiltins\nlist\n)\x81Na|cbuiltins\ntuple\n)RNb|cbuiltins\nbytearray\n)RK\1a
cfake_0\n\n|c\nx\n|cfake_0\r\nx\r\n|cfake_0\nx y\n|cfake_0\n\xc3\xa9\n|cfake_0\n\xe9\n|(ifake_0\n\xc3\xa9\n|cfake_0\na.b\n|cfake_0\n.\n|c fake_0\nx\n|cfake_0\0\nx\n
<M>\x8c\1s\x93|S'fake_0'\nU\1s\x93|Vfake_0\nX\1\0\0\0s\x93|C\6fake_0C\1s\x93|<M>N\x93|<M>\x94\x8c\1s\x94\x86\x940<M>\x8c\1t\x93|<M>qP\x8c\1sqQ00hPhQ\x93|\x8c\0\x8c\1s\x93
cbuiltins\nstr\n<M>\x85R\x8c\1u\x93|cbuiltins\nstr\n<M>\x85\x81\x8c\1x\x93|cbuiltins\nstr\nC\6fake_0\x8c\5ascii\x86R\x8c\1w\x93|Pfake_0\n\x8c\1v\x93|\x8c\3\xed\xa0\x80\x8c\1s\x93
\x80\5N|\x80\0N|\x80\6N|\x80\xffN|\x80\2\x80\4N|(N|(0N|N(1|(((100N|N20|2|1N|0N|(N00N|(2|N(0|NN(10|N(2|(a|]s|\x85|N(\x85|N\x94|(\x94|(p1\n|(q\1|N(Nt0|(]00N
\0|\xff|\n|\r|\x99|?|N\n"""
SHORT = {"<C>": "cfake_0\nc\n", "<A>": "\x96\1\0\0\0\0\0\0\0a", "<M>": "\x8c\6fake_0", "<B>": "B\x28\x23\0\0" + "\0" * 9000}
ENDS = [b"", b".", b"(.", b"N", b"cfake_9\nend", b"cfake_9\nen!", b"cfake_9", b"I01", b"S'a'", b"X\5\0\0\0ab", b"\x95", b"N.N.", b"N(."]


def statements():
    """Returns what leaves one object if it is valid, each with the opcode that removes it."""
    values = [opcode + line + "\n" for opcode, lines in LINES.items() for line in lines.split("|")]
    values += [value.encode("latin1").decode("unicode_escape") for row in OTHERS.split("\n") for value in row.split("|")]
    for short, full in SHORT.items():
        values = [value.replace(short, full) for value in values]
    return [value.encode("latin1") + b"0" for value in values]


def memo_statement(source):
    """Puts names into the memo in several ways, and looks up two of them."""
    puts = [b"\x94", b"q\0", b"q\1", b"q\2", b"p3\n", b"r\5\1\0\0", b"r\1\0\0\0"]
    names = b"".join(b"\x8c\7fake_0" + b"%d" % number + source.choice(puts) + b"0" for number in range(source.randrange(2, 7)))
    gets = [source.choice([b"h\0", b"h\1", b"h\2", b"g3\n", b"j\5\1\0\0", b"h\4"]) for _ in range(2)]
    return names + b"".join(gets) + b"\x930"


def random_program(source, values):
    """Returns the statements of a program."""
    parts = [b"\x80" + bytes([source.choice([0, 2, 3, 4, 5])])] if source.random() < 0.7 else []
    for number in range(1, source.randrange(2, 6)):
        parts += [source.choice(values) for _ in range(source.randrange(3))]
        parts += [memo_statement(source)] if source.random() < 0.1 else []
        found = source.choice([b"cfake_%d\nn\n", b"(ifake_%d\nn\n", b"\x8c\6fake_%d\x8c\1n\x93"]) % number
        parts.append(found + source.choice([b"", b")R", b"(NtR", b")\x81"]) + b"0")
    parts.append(source.choice(ENDS) if source.random() < 0.2 else b"N.")
    for _ in range(source.choice([0, 0, 1, 1, 2, 3])):
        place = source.randrange(len(parts))
        rest = sum(map(len, parts[place:]))
        inside = sum(map(len, parts[place:source.randrange(place, len(parts)) + 1]))
        off, too_many = source.randrange(1, 4), source.choice([1, 9, 1 << 20, 1 << 40, (1 << 64) - 1 - rest])
        sizes = [inside, max(inside - off, 0), inside + off, source.randrange(rest + 1), off, 0, rest, rest + too_many]
        parts.insert(place, b"\x95" + source.choice(sizes).to_bytes(8, "little"))
    return parts


def differences(ndio, paths):
    """Returns the differences of files, each as its severity, path, unpicklers, name, and what scan says."""
    done = subprocess.run([ndio, "scan", "--json", "--calls", *paths], capture_output=True, encoding="utf-8", errors="replace")
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr[-2000:])
    listed = collections.defaultdict(list)
    for line in map(json.loads, done.stdout.splitlines()):
        listed[line.get("file") or line["error"]["file"]].append(line)
    errors = {error["file"]: error["message"] for error in (json.loads(line)["error"] for line in done.stderr.splitlines() if line.startswith("{"))}
    for path in paths:
        lines, error, found = listed[str(path)], errors.get(str(path)), looked_up(path)
        error = next((line["error"]["message"] for line in lines if "error" in line), error)
        ours = [name for line in lines for name in line.get("imports", [])]
        missing = [name for names, _, _ in found.values() for name in names if name not in ours]
        if missing:
            routes = [route for route, (names, _, _) in found.items() if missing[0] in names]
            yield "unlisted" if error else "silent", path, ", ".join(routes), missing[0], error
        more = [name for name in ours if not any(name in names for names, _, _ in found.values())]
        # A second pickle after the first is scanned too.
        if more and not error and len(lines) == 1:
            yield "over", path, "; ".join(sorted({end[:70] for _, _, end in found.values() if end})), more[0], None
        # What is called may be a call itself, or an extension.
        calls = [call["function"].replace("<extension ", "extension code ").rstrip(">") for line in lines[:1] for call in line.get("calls", [])]
        calls = [call for call in calls if call in ours]
        others = [(route, theirs) for route, (_, theirs, end) in found.items() if not error and end is None and theirs != calls]
        if others:
            yield "calls", path, others[0][0], f"{others[0][1]} {calls}", None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ndio")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    # A program may put something at number 2³² of the memo, whose space the unpickler in C allocates.
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for code in (1, 5, 200, 0x1234, 0x12345678):
        copyreg.add_extension("fake_extension", str(code), code)
    source, values = random.Random(arguments.seed), statements()
    programs = [[start, value, b"cfake_1\nn\n."] for value in values for start in (b"\x80\4", b"")]
    programs += [random_program(source, values) for _ in range(arguments.cases)]
    counts, kinds = collections.Counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"{number}.pkl" for number in range(len(programs))]
        for path, program in zip(paths, programs):
            path.write_bytes(b"".join(program))
        for start in range(0, len(paths), 1000):
            for severity, path, routes, name, error in differences(arguments.ndio, paths[start:start + 1000]):
                counts[severity] += 1
                reason = "".join(char for char in (error or "").split("text: ")[0] if not char.isdigit())
                kinds.setdefault((severity, routes, reason), []).append((path, name, error))
        for (severity, routes, _), cases in sorted(kinds.items()):
            path, name, error = cases[0]
            program = programs[int(path.stem)]
            print(f"{severity} ({len(cases)}): {routes}: {name!r}: scan says {error}\n    {b''.join(program)[:300]!r}")
    print(f"{len(programs)} pickles; differences: {dict(counts)}")
    sys.exit(any(counts[severity] for severity in (counts if arguments.strict else ("silent", "calls"))))


if __name__ == "__main__":
    main()
