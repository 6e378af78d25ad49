"""Archives for check_zip.py: members, with what their records say, and the MUTATIONS that make programs read them differently."""

import copy
import io
import struct
import zlib

import numpy as np

END, LOCAL, CENTRAL = b"PK\5\6", b"PK\3\4", b"PK\1\2"
UTF8, ENCRYPTED, DESCRIPTOR = 1 << 11, 1, 8


class Member:
    """A member, with what its two records say. `local` and `central` replace fields of one of them."""

    def __init__(self, name, content, method):
        self.name, self.content, self.method = name, content, method
        self.packed = deflate(content) if method == 8 else content
        self.gap = self.after = b""  # before the local record; after the content (a data descriptor)
        self.local, self.central = {}, {}
        self.at = 0  # where the local record is

    def fields(self, changes):
        known = {"flags": 0, "method": self.method, "crc": zlib.crc32(self.content), "packed": len(self.packed), "size": len(self.content),
                 "name": self.name, "extra": b"", "comment": b"", "version": 20, "made_by": 0x31E, "disk": 0, "attributes": 0o100644 << 16, "at": self.at}
        known |= {"name_len": len(changes.get("name", self.name)), "extra_len": len(changes.get("extra", b""))} | changes
        return {key: value & 0xFFFFFFFF if isinstance(value, int) else value for key, value in known.items()}

    def both(self, **changes):
        self.local |= changes
        self.central |= changes

    def local_record(self):
        f = self.fields(self.local)
        return struct.pack("<4s3HI3I2H", LOCAL, f["version"], f["flags"], f["method"], 0x5A210000, f["crc"], f["packed"], f["size"],
                           f["name_len"], f["extra_len"]) + f["name"] + f["extra"] + self.packed + self.after

    def central_record(self, shift=0):
        at = self.at - shift
        f = self.fields({"at": at} | {key: value(at) if callable(value) else value for key, value in self.central.items()})
        return struct.pack("<4s4HI3I5H2I", CENTRAL, f["made_by"], f["version"], f["flags"], f["method"], 0x5A210000, f["crc"], f["packed"], f["size"],
                           f["name_len"], f["extra_len"], len(f["comment"]), f["disk"], 0, f["attributes"], f["at"]) + f["name"] + f["extra"] + f["comment"]


class Archive:
    def __init__(self, members):
        self.members, self.order = members, None  # the order of the directory, if it is another one
        self.prefix, self.is_adjusted = b"", True  # whether offsets count the prefix
        self.before = self.first = self.last = self.behind = b""  # before the directory; in it, at both ends; behind it
        self.end, self.end64, self.locator = {}, None, {}  # changes; a Zip64 end record if `end64` is not None
        self.between = b""  # between the Zip64 end record and its locator
        self.comment = self.trailing = b""
        self.finish = lambda content: content

    def build(self):
        out = bytearray(self.prefix)
        for member in self.members:
            out += member.gap
            member.at = len(out)
            out += member.local_record()
        out += self.before
        shift = 0 if self.is_adjusted else len(self.prefix)
        listed = self.order(self.members) if self.order else self.members
        directory = self.first + b"".join(member.central_record(shift) for member in listed) + self.last
        self.directory = directory
        end = {"disk": 0, "start_disk": 0, "here": len(listed), "count": len(listed), "len": len(directory), "at": len(out) - shift, "comment_len": len(self.comment)}
        end64 = end | {"size": 44, "data": b""} | (self.end64 or {})
        end |= {key: value(end[key]) if callable(value) else value for key, value in self.end.items()}
        out += directory + self.behind
        if self.end64 is not None:
            end64 |= {key: value(end[key]) for key, value in end64.items() if callable(value)}
            locator = {"disk": 0, "at": len(out) - shift, "disks": 1} | self.locator
            at = locator["at"](len(out)) if callable(locator["at"]) else locator["at"]
            out += struct.pack("<4sQ2H2I4Q", b"PK\6\6", end64["size"] + len(end64["data"]), 45, 45, end64["disk"], end64["start_disk"], end64["here"],
                               end64["count"], end64["len"], end64["at"]) + end64["data"] + self.between
            out += struct.pack("<4sIQI", b"PK\6\7", locator["disk"], at % 2**64, locator["disks"])
        out += end_record(**end) + self.comment + self.trailing
        return self.finish(bytes(out))


def end_record(count=0, len=0, at=0, comment_len=0, disk=0, start_disk=0, here=None):
    here = count if here is None else here
    return struct.pack("<4s4H2IH", END, disk, start_disk, here & 0xFFFF, count & 0xFFFF, len & 0xFFFFFFFF, at & 0xFFFFFFFF, comment_len & 0xFFFF)


def deflate(content, level=6):
    stream = zlib.compressobj(level, zlib.DEFLATED, -15)
    return stream.compress(content) + stream.flush()


def field(number, content, length=None):
    return struct.pack("<2H", number, len(content) if length is None else length) + content


def array(rng):
    file = io.BytesIO()
    np.save(file, np.frombuffer(rng.randbytes(8 * rng.randrange(1, 6)), "<i8"))
    return file.getvalue()


def base(rng):
    members = []
    for number in range(rng.randrange(1, 5)):
        is_array = rng.random() < 0.5
        name = f"{'abcd'[number]}.{'npy' if is_array else 'txt'}".encode()
        members.append(Member(name, array(rng) if is_array else b"line %d\n" % rng.getrandbits(40) * rng.randrange(1, 9), rng.choice([0, 8])))
    return Archive(members)


def hidden(rng, name=b"hidden.txt"):
    """A member that no directory lists."""
    return Member(name, b"hidden %d\n" % rng.getrandbits(30), rng.choice([0, 8]))


MUTATIONS = {}  # name: (a function of a random generator, an archive and a member; variants)


def mutation(*variants):
    def register(function):
        MUTATIONS[function.__name__] = (function, variants or (None,))
        return function
    return register


def simple(name, change):
    """A mutation of few words: `change` is Python that uses r (random), a (the archive) and m (one of its members)."""
    code = compile(change, name, "exec")
    MUTATIONS[name] = (lambda r, a, m, _: exec(code, globals() | {"r": r, "a": a, "m": m}), (None,))


# Each is `name: what is done` with r (a random generator), a (the archive) and m (one of its members); " // " separates them.
for line in r'''
plain: pass // comment: a.comment = b"a comment" // comment_long: a.comment = bytes(65535) // trailing_1: a.trailing = b"\n" // trailing_zeros: a.trailing = bytes(512) // trailing_many: a.trailing = bytes(70000)
comment_len_less: a.comment = b"comment"; a.end["comment_len"] = 3 // comment_len_more: a.comment = b"comment"; a.end["comment_len"] = 9 // count_more: a.end |= {"count": lambda n: n + 1, "here": lambda n: n + 1}
count_less: a.end |= {"count": lambda n: n - 1, "here": lambda n: n - 1} // count_0: a.end |= {"count": 0, "here": 0} // count_here_differs: a.end["here"] = lambda n: n + 1 // len_more: a.end["len"] = lambda n: n + 46
len_less: a.end["len"] = lambda n: n - len(a.members[-1].central_record()) // len_0: a.end["len"] = 0 // len_ffffffff: a.end["len"] = 0xFFFFFFFF // offset_less: a.end["at"] = lambda n: n - 1
offset_more: a.end["at"] = lambda n: n + 1 // offset_0: a.end["at"] = 0 // offset_ffffffff: a.end["at"] = 0xFFFFFFFF // disk_end: a.end |= {"disk": 1} // disk_start: a.end |= {"start_disk": 1}
disk_ffff: a.end |= {"disk": 0xFFFF, "start_disk": 0xFFFF} // disk_member: m.central["disk"] = 1 // disk_member_ffff: m.central["disk"] = 0xFFFF // zip64: a.end64 = {}
zip64_ones: a.end64 = {}; a.end |= {"count": 0xFFFF, "here": 0xFFFF, "len": 2**32 - 1, "at": 2**32 - 1} // zip64_at_only: a.end64 = {}; a.end |= {"at": 2**32 - 1}
zip64_data: a.end64 = {"data": bytes(r.choice([4, 8, 100]))} // zip64_data_magic: a.end64 = {"data": b"PK\6\6" + bytes(60)} // zip64_size_lies: a.end64 = {"size": r.choice([0, 43, 45, 56, 2**40])}
zip64_between: a.end64 = {}; a.between = bytes(8) // zip64_contra_count: a.end64 = {"count": len(a.members) + 1, "here": len(a.members) + 1}
zip64_contra_less: a.end64 = {"count": len(a.members) - 1, "here": len(a.members) - 1} // zip64_contra_len: a.end64 = {"len": lambda n: n - len(a.members[-1].central_record())}
zip64_contra_at: a.end64 = {"at": lambda n: n + 1} // zip64_here_differs: a.end64 = {"here": lambda n: n + 1} // zip64_here_short: a.end64 = {}; a.end["here"] = lambda n: n + 1
zip64_count_65536: a.end64 = {"count": len(a.members) + 65536, "here": len(a.members) + 65536}; a.end |= {"count": 0xFFFF, "here": 0xFFFF} // zip64_disks: a.end64 = {"disk": 1}
zip64_short_disks: a.end64 = {}; a.end |= {"disk": 1, "start_disk": 1} // zip64_short_disks_ones: a.end64 = {}; a.end |= {"disk": 0xFFFF, "start_disk": 0xFFFF} // zip64_locator_0_disks: a.end64 = {}; a.locator = {"disks": 0}
zip64_locator_2_disks: a.end64 = {}; a.locator = {"disks": 2} // zip64_locator_disk_1: a.end64 = {}; a.locator = {"disk": 1} // zip64_locator_wrong: a.end64 = {}; a.locator = {"at": lambda at: at + r.choice([-1, 1, 8, -8])}
zip64_locator_0: a.end64 = {}; a.locator = {"at": 0} // zip64_locator_far: a.end64 = {}; a.locator = {"at": 2**40} // zip64_locator_only: a.behind = struct.pack("<4sIQI", b"PK\6\7", 0, 0, 1)
zip64_locator_alone: a.behind = struct.pack("<4sIQI", b"PK\6\7", 0, 0, 1); a.end["len"] = lambda n: n + 20 // zip64_prefix: a.end64 = {}; a.prefix = bytes(100); a.is_adjusted = False
zip64_prefix_adjusted: a.end64 = {}; a.prefix = bytes(100) // prefix: a.prefix = b"#!/bin/sh\n" * 7; a.is_adjusted = False // prefix_adjusted: a.prefix = b"#!/bin/sh\n" * 7
prefix_end_adjusted: a.prefix = bytes(70); a.is_adjusted = False; a.end["at"] = lambda n: n + 70 // prefix_members_adjusted: a.prefix = bytes(70); a.end["at"] = lambda n: n - 70
prefix_of_hidden: a.prefix = hidden(r).local_record(); a.is_adjusted = False // prefix_of_hidden_adjusted: a.prefix = hidden(r).local_record() // split_marker: a.prefix = r.choice([b"PK00", b"PK\7\x08"])
first_bytes_lost: a.finish = lambda content: content[4:] // crlf: a.finish = lambda content: content.replace(b"\n", b"\r\n") // lf: a.comment = b"\r\n"; a.finish = lambda content: content.replace(b"\r\n", b"\n")
crlf_in_content: m.__init__(m.name, b"\n" * 9, 0); a.finish = lambda content: content.replace(b"\n", b"\r\n") // signature_in_directory: a.last = b"PK\5\5" + struct.pack("<H", 5) + b"signs"
signature_behind: a.behind = b"PK\5\5" + struct.pack("<H", 5) + b"signs" // archive_extra_data: a.before = b"PK\6\x08" + struct.pack("<I", 5) + b"extra"
archive_extra_in_directory: a.first = b"PK\6\x08" + struct.pack("<I", 5) + b"extra" // behind_bytes: a.behind = bytes(r.choice([1, 20, 46])) // behind_bytes_counted: a.behind = bytes(46); a.end["len"] = lambda n: n + 46
before_bytes: a.before = bytes(r.choice([1, 20, 46])) // before_hidden: a.before = hidden(r).local_record() // gap_bytes: m.gap = bytes(r.choice([1, 4, 30])) // gap_hidden: m.gap = hidden(r).local_record()
gap_hidden_same_name: m.gap = Member(m.name, bytes(len(m.content)), 0).local_record() // gap_end: m.gap = end_record() // gap_central: m.gap = hidden(r).central_record()
behind_central: a.behind = hidden(r).central_record() // behind_central_counted: a.behind = a.members[0].central_record(); a.end |= {"count": lambda n: n + 1, "here": lambda n: n + 1}
last_central: a.last = copy.copy(a.members[0]).central_record() // last_bytes: a.last = bytes(r.choice([1, 20, 46])) // directory_reversed: a.order = lambda members: members[::-1]
directory_lacks_one: a.order = lambda members: members[1:] // directory_lists_twice: a.order = lambda members: members + members[:1] // empty: a.members = [] // empty_but_local: a.order = lambda members: []
local_name: m.local["name"] = b"z" + m.name[1:] // local_name_longer: m.local["name"] = b"zz" + m.name // local_method: m.local["method"] = 8 - m.method // local_size: m.local["size"] = len(m.content) + r.choice([-1, 1])
local_packed: m.local["packed"] = len(m.packed) + r.choice([-1, 1]) // local_crc: m.local["crc"] = 1 // local_zeros: m.local |= {"crc": 0, "size": 0, "packed": 0} // local_version: m.local["version"] = 63
local_extra_len: m.local["extra_len"] = 4 // local_encrypted: m.local["flags"] = ENCRYPTED // local_utf8_ascii: m.local["flags"] = UTF8 // central_utf8_ascii: m.central["flags"] = UTF8
central_encrypted: m.central["flags"] = ENCRYPTED // encrypted: m.both(flags=ENCRYPTED) // strong: m.both(flags=64 | 1) // strong_only: m.both(flags=64) // masked: m.both(flags=1 << 13)
masked_central: m.central["flags"] = 1 << 13 // patch: m.both(flags=32) // flags_other: m.both(flags=r.choice([2, 4, 6, 16, 128, 1 << 12, 1 << 14, 1 << 15])) // method_unknown: m.both(method=r.choice([1, 6, 97]))
version_central: m.central["version"] = r.choice([0, 10, 45, 63, 64, 99, 255]) // version_high_byte: m.both(version=0x0314)
central_stored: m.__init__(m.name, m.content, 8); m.central |= {"method": 0, "size": len(m.packed)} // central_crc: m.central["crc"] = 1 // both_crc: m.both(crc=1)
descriptor: m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}; m.after = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_bare: m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}; m.after = struct.pack("<3I", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_64: m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}; m.after = b"PK\7\x08" + struct.pack("<I2Q", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_64_bare: m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}; m.after = struct.pack("<I2Q", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_full_local: m.both(flags=8); m.after = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_lies_local: m.both(flags=8); m.local |= {"size": 1, "packed": 1, "crc": 1}; m.after = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_lies: m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}; m.after = b"PK\7\x08" + struct.pack("<3I", *r.choice([(1, len(m.packed), len(m.content)), (zlib.crc32(m.content), 1, len(m.content)), (zlib.crc32(m.content), len(m.packed), 1)]))
descriptor_lacks: m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}
descriptor_local_flag: m.local |= {"flags": 8, "crc": 0, "size": 0, "packed": 0}; m.after = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_local_flag_full: m.local |= {"flags": 8} // descriptor_central_flag: m.central["flags"] = 8
descriptor_central_flag_after: m.central["flags"] = 8; m.after = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(m.content), len(m.packed), len(m.content))
descriptor_then_hidden: m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}; m.after = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(m.content), len(m.packed), len(m.content)) + hidden(r).local_record()
descriptor_within_stored: x = b"short"; h = hidden(r).local_record(); c = x + b"PK\7\x08" + struct.pack("<3I", zlib.crc32(x), 5, 5) + h; m.__init__(m.name, c, 0); m.both(flags=8); m.local |= {"crc": 0, "size": 0, "packed": 0}; m.after = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(c), len(c), len(c))
stored_contains_local: h = hidden(r).local_record(); m.__init__(m.name, h * 2, 0) // stored_contains_archive: m.__init__(m.name, Archive([hidden(r)]).build(), 0)
last_stored_contains_archive: a.members[-1].__init__(a.members[-1].name, Archive([hidden(r)]).build(), 0); a.finish = lambda c: c[:-1]
overlap_inner: h = hidden(r); c = b"x" * 9 + h.local_record() + b"y" * 9; i = copy.copy(m); m.__init__(m.name, c, 0); o = a.build; a.order = lambda ms: (setattr(h, "at", m.at + 30 + len(m.name) + 9), ms + [h])[1]
overlap_same: t = copy.copy(m); t.name = b"twin" + m.name; a.order = lambda ms: (setattr(t, "at", m.at), ms + [t])[1] // packed_junk: m.__init__(m.name, m.content, 8); m.packed += b"junk"
packed_two_streams: m.__init__(m.name, m.content, 8); m.packed += deflate(b"second") // packed_into_gap: m.__init__(m.name, m.content, 8); m.both(packed=len(m.packed) + 3); m.after = b"gap"
packed_less: m.__init__(m.name, m.content, 8); m.both(packed=len(m.packed) - 1)
packed_trailing_empty_block: s = zlib.compressobj(6, 8, -15); m.__init__(m.name, m.content, 8); m.packed = s.compress(m.content) + s.flush(zlib.Z_SYNC_FLUSH) + s.flush()
packed_no_final_block: s = zlib.compressobj(6, 8, -15); m.__init__(m.name, m.content, 8); m.packed = s.compress(m.content) + s.flush(zlib.Z_SYNC_FLUSH)
size_less: m.__init__(m.name, m.content, 8); m.both(size=len(m.content) - 2) // size_less_crc: m.__init__(m.name, m.content, 8); m.both(size=len(m.content) - 2, crc=zlib.crc32(m.content[:-2]))
size_more: m.__init__(m.name, m.content, 8); m.both(size=len(m.content) + 2) // size_0: m.__init__(m.name, m.content, 8); m.both(size=0, crc=0)
stored_size_less: m.__init__(m.name, m.content, 0); m.both(size=len(m.content) - 2, crc=zlib.crc32(m.content[:-2])) // stored_size_more: m.__init__(m.name, m.content, 0); m.both(size=len(m.content) + 2)
stored_packed_0: m.__init__(m.name, m.content, 0); m.both(packed=0) // deflate_64k_distance: m.__init__(m.name, m.content * 9, 9); m.packed = deflate(m.content)
attribute_folder_dos: m.central |= {"made_by": 20, "attributes": 16} // attribute_folder_unix: m.central |= {"attributes": 0o40755 << 16} // attribute_link: m.central |= {"attributes": 0o120777 << 16}
attribute_device: m.central |= {"attributes": 0o20777 << 16} // made_by: m.central["made_by"] = r.choice([0, 1, 7, 10, 11, 14, 19, 255]) << 8 | 20 // name_nul: m.name = b"a\0b.txt" // name_nul_end: m.name += b"\0"
name_backslash: m.name = b"dir\\" + m.name; m.central["made_by"] = r.choice([20, 0x0B14, 0x31E]) // name_slash: m.name = b"/" + m.name // name_dots: m.name = b"../" + m.name // name_dots_inner: m.name = b"d/../" + m.name
name_dot: m.name = b"./" + m.name // name_double_slash: m.name = b"d//" + m.name // name_drive: m.name = b"C:" + m.name // name_empty: m.name = b"" // name_control: m.name = b"\x1b\x07" + m.name
name_newline: m.name = b"n\n" + m.name // name_space: m.name += b" " // name_folder_with_content: m.name = b"dir/" // name_folder: m.__init__(b"dir/", b"", 0) // name_folder_deflated: m.__init__(b"dir/", b"", 8)
name_twice: t = Member(m.name, b"twin\n", 0); a.members.append(t) // name_twice_case: t = Member(m.name.upper(), b"twin\n", 0); a.members.append(t)
name_twice_suffix: t = Member(m.name.removesuffix(b".npy"), b"twin\n", 0); a.members.append(t)
name_twice_normal_form: m.name = "é.txt".encode(); m.both(flags=UTF8); t = Member("e\u0301.txt".encode(), b"twin\n", 0); t.both(flags=UTF8); a.members.append(t)
name_below_file: t = Member(m.name + b"/x.txt", b"twin\n", 0); a.members.append(t) // utf8: m.name = "é☃.txt".encode(); m.both(flags=UTF8) // utf8_without_flag: m.name = "é☃.txt".encode()
utf8_flag_local: m.name = "é☃.txt".encode(); m.local["flags"] = UTF8 // utf8_flag_central: m.name = "é☃.txt".encode(); m.central["flags"] = UTF8 // utf8_invalid: m.name = b"\xe9\xff.txt"; m.both(flags=UTF8)
utf8_overlong: m.name = b"\xc0\xafx.txt"; m.both(flags=UTF8) // utf8_bom: m.name = "\ufeffx.txt".encode(); m.both(flags=UTF8) // cp437: m.name = "é.txt".encode("cp437")
cp437_dos: m.name = "é.txt".encode("cp437"); m.central["made_by"] = 20 // latin1_windows: m.name = "é.txt".encode("latin1"); m.central["made_by"] = 0x0B14 // extra_unknown: m.both(extra=field(0x7777, b"unknown"))
extra_times: m.both(extra=field(0x5455, b"\1" + bytes(4))) // extra_local_only: m.local["extra"] = field(0x7777, b"unknown") // extra_cut_1: m.central["extra"] = field(0x7777, b"unknown") + bytes(r.choice([1, 2, 3]))
extra_cut_1_local: m.local["extra"] = field(0x7777, b"unknown") + bytes(r.choice([1, 2, 3])) // extra_beyond: m.central["extra"] = field(0x7777, b"unknown", 99)
extra_beyond_local: m.local["extra"] = field(0x7777, b"unknown", 99) // extra_aes: m.both(extra=field(0x9901, b"\2\0AE\3\x08\0"))
zip64_member: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed)))}
zip64_member_size_only: m.central |= {"size": -1, "extra": field(1, struct.pack("<Q", len(m.content)))} // zip64_member_packed_only: m.central |= {"packed": -1, "extra": field(1, struct.pack("<Q", len(m.packed)))}
zip64_member_packed_full_field: m.central |= {"packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed)))}
zip64_member_both: m.both(size=-1, packed=-1, extra=field(1, struct.pack("<2Q", len(m.content), len(m.packed))))
zip64_member_local: m.local |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed)))}
zip64_member_local_lies: m.local |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content) - 1, len(m.packed) - 1))}
zip64_member_local_superfluous: m.local |= {"extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed)))} // zip64_member_local_superfluous_lies: m.local |= {"extra": field(1, struct.pack("<2Q", 1, 1))}
zip64_member_after: m.central |= {"size": -1, "packed": -1, "extra": field(0x7777, b"x") + field(1, struct.pack("<2Q", len(m.content), len(m.packed)))}
zip64_member_before: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed))) + field(0x7777, b"x")}
zip64_member_twice: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed))) + field(1, struct.pack("<2Q", 1, 1))}
zip64_member_twice_wrong_first: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", 1, 1)) + field(1, struct.pack("<2Q", len(m.content), len(m.packed)))}
zip64_member_twice_split: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<Q", len(m.content))) + field(1, struct.pack("<Q", len(m.packed)))}
zip64_member_superfluous: m.central["extra"] = field(1, struct.pack("<2Q", len(m.content), len(m.packed))) // zip64_member_superfluous_lies: m.central["extra"] = field(1, struct.pack("<2Q", 1, 1))
zip64_member_superfluous_at: m.central["extra"] = field(1, struct.pack("<3QI", 1, 1, 99, 0)) // zip64_member_empty: m.central["extra"] = field(1, b"")
zip64_member_short: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<Q", len(m.content)))} // zip64_member_lacks: m.central |= {"size": -1, "packed": -1}
zip64_member_more: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2QQI", len(m.content), len(m.packed), 7, 0))}
zip64_member_5_bytes: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed)) + b"12345")}
zip64_member_at: m.central |= {"at": -1, "extra": lambda at: field(1, struct.pack("<Q", at))}
zip64_member_all: m.central |= {"size": -1, "packed": -1, "at": -1, "extra": lambda at: field(1, struct.pack("<3Q", len(m.content), len(m.packed), at))}
zip64_member_at_superfluous: m.central["extra"] = field(1, struct.pack("<3Q", len(m.content), len(m.packed), 0))
zip64_member_at_twice: m.central |= {"at": -1, "extra": lambda at: field(1, struct.pack("<Q", at)) + field(1, struct.pack("<Q", at + 1))}
zip64_member_at_after_full: m.central |= {"at": -1, "extra": lambda at: field(1, struct.pack("<3Q", len(m.content), len(m.packed), at))}
zip64_member_at_behind_junk: m.central |= {"at": -1, "extra": lambda at: field(0x7777, field(1, struct.pack("<Q", 0)), 4) + field(1, struct.pack("<Q", at))}
zip64_member_size_fits_local: m.local |= {"size": -1, "packed": len(m.packed), "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed)))}
zip64_member_disk: m.central |= {"disk": 0xFFFF, "extra": field(1, struct.pack("<I", 0))} // zip64_member_disk_1: m.central |= {"disk": 0xFFFF, "extra": field(1, struct.pack("<I", 1))}
zip64_member_beyond: m.central |= {"size": -1, "packed": -1, "extra": field(1, struct.pack("<2Q", len(m.content), len(m.packed)), 99)}
zip64_member_behind_cut: m.central |= {"size": -1, "packed": -1, "extra": field(0x7777, b"x", 50) + field(1, struct.pack("<2Q", len(m.content), len(m.packed)))}
'''.strip().replace(" // ", "\n").splitlines():
    simple(*line.split(": ", 1))


@mutation("zeros", "empty", "other", "same", "beyond", "disks", "counts", "count", "len", "ones")
def end_in_comment(rng, a, m, kind):
    """The comment has another end record, which ends where the file ends."""
    built, body = len(copy.deepcopy(a).build()), copy.deepcopy(a)
    if kind == "zeros":
        a.comment = b"text" + end_record()
    elif kind == "empty":
        a.comment = b"text" + end_record(at=built + 4)
    elif kind in ENDS:
        a.comment = b"text" + end_record(**ENDS[kind])
    elif kind == "same":
        body.build()
        a.comment = b"text" + end_record(len(a.members), len(body.directory), built - 22 - len(body.directory))
    else:
        other = hidden(rng)
        other.at = built
        a.comment = (h := other.local_record()) + (c := other.central_record()) + end_record(1, len(c), built + len(h))


# End records that contradict something, of which one program or another does not care.
ENDS = {"beyond": {"at": 2**31}, "disks": {"disk": 1, "start_disk": 1}, "counts": {"here": 1}, "count": {"count": 9}, "len": {"len": 2**31}, "ones": {"count": -1, "len": -1, "at": -1}}


@mutation(1, 2, 30)
def end_in_comment_and_more(rng, a, m, count):
    end_in_comment(rng, a, m, rng.choice(["zeros", "empty", "other", "same"]))
    a.comment += bytes(count)


@mutation()
def end_in_comment_cut(rng, a, m, _):
    a.comment = b"text" + end_record(comment_len=7)


@mutation("stated", "direct")
def zip64_two_records(rng, a, m, kind):
    """The locator names one record, and another one is directly before it. The `kind` is the one that is right."""
    other = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 0, 0, 0, 0)
    a.end |= {"count": 0xFFFF, "here": 0xFFFF, "len": 2**32 - 1, "at": 2**32 - 1}
    a.end64 = {}
    if kind == "stated":
        a.between = other
    else:
        a.behind, a.locator = other, {"at": lambda at: at - 56}


@mutation("other", "data")
def zip64_two_spanning(rng, a, m, kind):
    """As above, but the stated record has the other one as its extensible data, so that both end at the locator."""
    other = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 0, 0, 0, 0)
    a.end |= {"count": 0xFFFF, "here": 0xFFFF, "len": 2**32 - 1, "at": 2**32 - 1}
    a.end64 = {"data": other}
    if kind == "other":  # it agrees with the short numbers
        a.end = {}


@mutation(False, True)
def decoy(rng, a, m, has_other_names):
    """Another archive without an end record precedes this one, and has a directory at the offset that this one states."""
    first = copy.deepcopy(a)
    for member in first.members:
        member.__init__((b"y" if has_other_names else b"") + member.name[has_other_names:], bytes(reversed(member.content)), 0)
    for member in a.members:
        member.__init__(member.name, member.content, 0)
    first.finish = lambda content: content[: content.rindex(END)]
    a.prefix, a.is_adjusted = first.build(), False


@mutation()
def decoy_behind(rng, a, m, _):
    """A second directory, as long as the first and behind it, of other members: the stated offset is right only for the first."""
    for member in a.members:
        member.__init__(member.name, member.content, 0)
    twins = [Member(b"y" + member.name[1:], bytes(reversed(member.content)), 0) for member in a.members]
    a.build()
    length = len(a.directory)
    at = a.members[-1].at + len(a.members[-1].local_record()) + length
    a.before = bytes(length) + b"".join(twin.local_record() for twin in twins)
    for twin in twins:
        twin.at, at = at, at + len(twin.local_record())
        a.behind += twin.central_record(length)


@mutation()
def two_archives(rng, a, m, _):
    a.prefix, a.is_adjusted = Archive([hidden(rng)]).build(), False


@mutation()
def two_archives_adjusted(rng, a, m, _):
    a.prefix = Archive([hidden(rng)]).build()


@mutation("valid", "stale", "same", "upper", "nul", "version")
def unicode_path_central(rng, a, m, kind):
    m.central["extra"] = unicode_path(m, kind)


@mutation("valid", "stale", "same")
def unicode_path_local(rng, a, m, kind):
    m.local["extra"] = unicode_path(m, kind)


@mutation("valid", "stale", "same")
def unicode_path_both(rng, a, m, kind):
    m.both(extra=unicode_path(m, kind))


def unicode_path(m, kind):
    new = {"same": m.name, "nul": b"u\0.txt", "upper": m.name.upper()}.get(kind, "ü.txt".encode())
    crc = zlib.crc32(m.name) ^ (kind == "stale")
    return field(0x7075, struct.pack("<BI", 1 + (kind == "version"), crc) + new)


def make(rng, number, only):
    """Returns the mutations of a case, and its archive."""
    alone = [(name, variant) for name, (_, variants) in MUTATIONS.items() for variant in variants if only in (None, name)]
    chosen = [alone[number % len(alone)]] if number < 3 * len(alone) or only else rng.sample(alone, rng.choice([2, 2, 3]))
    while True:
        archive = base(rng)
        try:
            for name, variant in chosen:
                if not archive.members:
                    break
                MUTATIONS[name][0](rng, archive, rng.choice(archive.members), variant)
            content = archive.build()
        except (IndexError, ValueError, struct.error):
            chosen = chosen[:1]  # these mutations do not go together
            continue
        return [name if variant is None else f"{name}={variant}" for name, variant in chosen], content
