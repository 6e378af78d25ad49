"""Casts of values at the edges of their ranges."""

import concurrent.futures

import numpy as np

from common import IS_2_5, nearest, run, same, shown

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32"]
TARGETS = NUMBERS + ["S3", "S20", "S64", "S", "U", "U3", "U20", "U64", "M8[s]", "M8[D]", "M8[M]", "M8[Y]", "M8[10D]", "M8[ns]", "M8[as]", "M8", "m8[s]", "m8[D]",
                     "m8[M]", "m8[ns]", "m8", "V4", "V8"]


def random_values(rng, dtype):
    """A few elements of this dtype."""
    count = rng.randrange(1, 6)
    kind = dtype.kind
    if kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(count)])
    if kind in "iu":
        limits = np.iinfo(dtype)
        edges = [0, 1, limits.max, limits.min, 100, limits.max // 2 + 1]
        return np.array([rng.choice(edges) if rng.random() < 0.5 else rng.randint(limits.min, limits.max) for _ in range(count)], dtype)
    if kind in "fc":
        numbers = [0.0, -0.0, 1.5, -2.5, 1e5, 3e38, 1e300, 65519.9, 65520.0, np.nan, np.inf, -np.inf, 5e-324, 0.1, 123.0, 2.0**63, -129.0]
        def one():
            return rng.choice(numbers) if rng.random() < 0.6 else rng.uniform(-1, 1) * 10.0 ** rng.randrange(-10, 20)
        with np.errstate(all="ignore"):
            return np.array([complex(one(), rng.choice([0, one()])) if kind == "c" else one() for _ in range(count)]).astype(dtype)
    if kind in "mM":
        ticks = [0, 1, -1, 1999, -(2**63), 2**63 - 1, -(2**63) + 1, 10**15]
        return np.array([rng.choice(ticks) if rng.random() < 0.6 else rng.randrange(-(10**6), 10**6) for _ in range(count)], "i8").view(dtype)
    if kind in "SU":
        texts = ["", "1", "-12", "1.5", "nan", "inf", " 7 ", "1e3", "abc", "0x10", "1_000", "True", "2000-01-01", "2000-01-01T00:00", "NaT", "3+4j",
                 "1" * 20, "é", "2000-02-29", "1969-12-31T23:59:59.5", "-0044-03-15", "2001-02-29", "1999-12", "2000-01-01T00:00Z", "2000-01-01 12:30:15.123456789+01:30",
                 "12345-06-07", "20000101", "2000-1-1", "2000-01-01T24", "now", "nat", "٣", "+5", "a\0b", "1.0", "300", "-1", "1j", "(1+2j)", "0", "1e400", "1__0", "\t3\n"]
        kept = [text for text in (rng.choice(texts) for _ in range(count)) if kind == "U" or text.isascii()] or ["1"]
        if kind == "S" and rng.random() < 0.1:
            kept = ["é".encode(), b"\xff", "1é".encode()][: rng.randrange(1, 4)]
        return np.array(kept, dtype)
    return np.frombuffer(rng.randbytes(dtype.itemsize * count), dtype)


# One for each row, so that every run meets them.
CASTS = [
    (np.array([1e10, np.nan]), "i4", "unsafe"), (np.array([300]), "i1", "same_kind"), (np.array(["long"]), "U2", "unsafe"), (np.array([1]), "V4", "unsafe"),
    (np.array([b"abcd"]).view("V4"), "V8", "unsafe"), (np.array(["now"]), "M8[s]", "unsafe"), (np.array([2**63 - 1], "m8[s]"), "U64", "unsafe"),
    (np.array([2**63 - 1], "M8[Y]"), "U64", "unsafe"), (np.array([1], "M8[s]"), "m8[s]", "unsafe"),
    (np.array([2 * 10**18], "M8[W]"), "M8[Y]", "unsafe"),
    (np.array([1], "m8[M]"), "m8[D]", "unsafe"), (np.array([2**62], "M8[D]"), "M8[s]", "unsafe"), (np.array([1 - 2**63], "M8[ns]"), "M8[s]", "same_kind"),
    (np.zeros(2, [("a", "i4")]), [("a", "f8")], "unsafe"),
    (np.array(["2000"]), "M8", "unsafe"), (np.array(["é".encode()]), "U4", "unsafe"),
    (np.array([1], "f16"), "U64", "unsafe"), (np.array(["\u0663"]), "i8", "unsafe"), (np.array([1], "M8[as]"), "M8[Y]", "unsafe"), (np.array([1]).view("M8"), "M8[Y]", "unsafe"),
]


def ask_cast(job):
    program, folder, number, array, target, casting = job
    source, made = folder / f"{number}.npy", folder / f"{number}.out.npy"
    np.save(source, array)
    done = run(program, "convert", source, made, "--dtype", str(target.descr) if target.names else target.str, "--casting", {"same_kind": "same-kind"}.get(casting, casting), "--long-double", "x87")
    result = np.load(made) if done.returncode == 0 else done.stderr.strip()
    source.unlink()
    made.unlink(missing_ok=True)
    return result


def casts(program, rng, count, tally, folder):
    jobs = []
    for number in range(count):
        source, target = (np.dtype(rng.choice(TARGETS)).newbyteorder(rng.choice("<<<>")) for _ in range(2))
        if rng.random() < 0.03:
            fields = [[(name, np.dtype(rng.choice(["i4", "f8", "U2", "M8[s]"])).newbyteorder(rng.choice("<>"))) for name in rng.sample("ab", rng.randrange(1, 3))] for _ in range(2)]
            source, target = np.dtype(fields[0]), np.dtype(rng.choice(fields))
        array, casting = (np.ones(2, source) if source.names else random_values(rng, source).astype(source)), rng.choice(["safe", "same_kind", "unsafe", "unsafe"])
        if number < len(CASTS):
            array, target, casting = CASTS[number][0], np.dtype(CASTS[number][1]), CASTS[number][2]
        jobs.append((program, folder, number, array, target, casting))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for job, found in zip(jobs, pool.map(ask_cast, jobs)):
            *before, array, target, casting = job
            tally.case(
                *compare_cast(array, target, casting, found),
                list(array),
                lambda kept: compare_cast(np.array(kept, array.dtype), target, casting, ask_cast((*before, np.array(kept, array.dtype), target, casting))),
                "a row of rows.py, with its condition in explain_cast, and the case to CASTS",
            )


def compare_cast(array, target, casting, found):
    try:
        with np.errstate(all="ignore"):
            wanted = array.astype(target, casting=casting)
    except Exception as error:
        wanted = error
    what = f"cast {shown(array)} to {target.str}, {casting}: NumPy {shown(wanted)}; here {shown(found)}"
    if len(array) == 1 and array.dtype.kind in "iuf" and target.kind in "iuf" and 16 not in (array.dtype.itemsize, target.itemsize) and np.isfinite(array[0]):
        what += f"; exactly {nearest(array[0].item(), target)}"
    return explain_cast(array, target, casting, wanted, found), what


def saturated(array, target):
    """What a float becomes as an integer here."""
    limits, made = np.iinfo(target), []
    for number in array.real:
        made.append(0 if number != number else limits.max if number >= limits.max else limits.min if number <= limits.min else int(number))
    return np.array(made, target)


def shortened(wanted, found):
    """Which of NumPy's texts are the beginnings of those here."""
    return [other.startswith(one) for one, other in zip(wanted.astype("U").tolist(), found.astype("U").tolist())]


def far_dates(array, wanted, found):
    """Whether only dates differ of which NumPy cannot count the units in 64 bits."""
    ticks, count = array.astype(array.dtype.newbyteorder("=")).view("i8").tolist(), np.datetime_data(array.dtype)[1]
    return all(abs(tick) * count > 2**63 - 2**45 for tick, same in zip(ticks, shortened(wanted, found)) if not same)


def far_days(array, wanted, found):
    """Whether only dates differ of which NumPy cannot count the days in 64 bits."""
    units, count = np.datetime_data(array.dtype)
    days = count * {"Y": 365, "M": 30, "W": 7, "D": 1}.get(units, 0)
    ticks, one, other = (value.astype(value.dtype.newbyteorder("=")).view("i8") for value in (array, wanted, found))
    return all(abs(int(tick)) * days > 2**62 for tick, same in zip(ticks, one == other) if not same)


def near_ends(array, wanted, found):
    """Whether only elements differ that are close to the ends of 64 bits."""
    ticks, one, other = (value.astype(value.dtype.newbyteorder("=")).view("i8") for value in (array, wanted, found))
    return all(abs(int(tick)) > 2**63 - 2**45 for tick, same in zip(ticks, one == other) if not same)


def agree_alone(array, casting, found):
    """Whether those elements are equal that NumPy converts if they are alone."""
    for at in range(len(array)):
        try:
            alone = array[at : at + 1].astype(found.dtype, casting=casting)
        except OverflowError:
            continue
        if alone.tobytes() != found[at : at + 1].tobytes():
            return False
    return True


def explain_cast(array, target, casting, wanted, found):
    refused, refuses = isinstance(wanted, Exception), isinstance(found, str)
    if not refused and not refuses and (target.itemsize == 0 or target.kind in "mM" and np.datetime_data(target)[0] == "generic"):
        # Where the width or the unit is left open, so is the byte order in NumPy.
        swapped = (made.byteswap().view(made.dtype.newbyteorder("<")) if made.dtype.str[0] == ">" else made for made in (wanted, found))
        wanted, found = swapped
    if refused and refuses or not refused and not refuses and same(found, wanted):
        return True
    source = array.dtype
    kinds = source.kind + target.kind
    no_unit = any(dtype.kind in "mM" and np.datetime_data(dtype)[0] == "generic" for dtype in (source, target))
    is_calendar = {dtype.kind == "m" and np.datetime_data(dtype)[0] in "YM" for dtype in (source, target)} == {True, False}
    does_not = refuses and "expected elements of" in found
    rows = {
        "bytes-utf8": source.kind == "S" and target.kind in "Ub" and any(max(item, default=0) > 127 for item in array.tolist()),
        "records": (source.names or target.names) and does_not,
        "float-to-integer": source.kind in "fc" and target.kind in "iu" and not refuses and same(found, saturated(array, target)),
        "integer-range": source.kind in "iu" and target.kind in "ium" and casting != "unsafe" and refuses and "--casting unsafe allows it" in found,
        "text-width": target.kind in "SU" and refuses and "exceeds the width" in found,
        "raw-width": kinds == "VV" and does_not,
        "raw-bytes": "V" in kinds and kinds != "VV" and does_not,
        "no-unit": no_unit and kinds == "MM" and refused and not refuses,
        "long-double": any(dtype.str[1:] in ("f16", "c32") for dtype in (source, target)) and set(kinds) & set("SUMm") and does_not,
        "text-without-unit": kinds in ("SM", "UM") and no_unit and does_not,
        "text-of-time": source.kind in "SU" and target.kind in "mM" and refuses and "expected the text of" in found,
        "long-duration": source.kind in "mM" and target.kind in "SU" and not refuses and not refused and all(shortened(wanted, found)),
        "far-days": kinds == "MM" and not refuses and not refused and far_days(array, wanted, found),
        "far-dates": source.kind == "M" and target.kind in "SU" and not refuses and not refused and far_dates(array, wanted, found),
        "date-and-duration": kinds in ("mM", "Mm") and does_not,
        "calendar-durations": kinds == "mm" and is_calendar and does_not,
        "time-range": set(kinds) <= set("mM") and refuses and "is out of range for [" in found,
        "time-ends": set(kinds) <= set("mM") and not refuses and not refused and near_ends(array, wanted, found),
        "other-digits": source.kind == "U" and target.kind in "iufc" and refuses and not "".join(array).isascii() and "expected the text of" in found,
        "attoseconds": refused and set(kinds) <= set("mM") and "as" in source.str + target.str,
        "time-overflow": IS_2_5 and isinstance(wanted, OverflowError) and not refuses and set(kinds) <= set("mMSU") and agree_alone(array, casting, found),
    }
    return next((name for name, holds in rows.items() if holds), None)
