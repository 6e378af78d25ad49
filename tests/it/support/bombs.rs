//! Small pickles that would cost much more than their length if shared parts or looked-up names were visited
//! each time. Each function returns the file of an array of objects.

/// A sequence of opcodes.
#[derive(Default)]
pub(crate) struct Opcodes(pub(crate) Vec<u8>);

impl Opcodes {
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.raw(&[0x8C, u8::try_from(text.len()).unwrap()]).raw(text.as_bytes())
    }

    /// Adds a text of one mebibyte.
    fn mebibyte(self, opcode: u8) -> Self {
        self.raw(&[opcode]).raw(&(1u32 << 20).to_le_bytes()).raw(&vec![b'a'; 1 << 20])
    }

    pub(crate) fn get(self, number: usize) -> Self {
        self.raw(b"j").raw(&(number as u32).to_le_bytes())
    }

    pub(crate) fn put(self, number: usize) -> Self {
        self.raw(b"r").raw(&(number as u32).to_le_bytes())
    }

    fn global(self, module: &str, name: &str) -> Self {
        self.text(module).text(name).raw(b"\x93")
    }

    fn number(self, number: usize) -> Self {
        self.raw(b"J").raw(&(number as u32).to_le_bytes())
    }

    fn repeat(self, count: usize, step: impl Fn(Self, usize) -> Self) -> Self {
        (0..count).fold(self, step)
    }

    /// Returns the file of an array of `count` objects, which the opcodes make.
    pub(crate) fn into_npy(self, count: usize) -> Vec<u8> {
        let pickle = Self::default()
            .raw(b"\x80\x04")
            .global("numpy.core.multiarray", "_reconstruct")
            .global("numpy", "ndarray")
            .raw(b"K\x00\x85C\x01b\x87R(K\x01")
            .number(count)
            .raw(b"\x85")
            .global("numpy", "dtype")
            .text("O")
            .raw(b"\x85R\x89](")
            .raw(&self.0)
            .raw(b"etb.");
        let mut text = format!("{{'descr': '|O', 'fortran_order': False, 'shape': ({count},), }}");
        let padding = 63 - (10 + text.len()) % 64;
        text += &" ".repeat(padding);
        text += "\n";
        [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &pickle.0].concat()
    }
}

/// Nested tuples, each of which is complete before the next one starts.
pub(crate) fn nested_tuples(count: usize) -> Vec<u8> {
    let first = Opcodes::default().raw(b")").put(0);
    first.repeat(count - 1, |all, number| all.get(number).raw(b"\x85").put(number + 1)).into_npy(count)
}

/// One text under many memo numbers.
pub(crate) fn one_text_under_many_memo_numbers(times: usize) -> Vec<u8> {
    let all = Opcodes::default().raw(b"(").mebibyte(b'X').raw(&vec![0x94; times]).raw(b"0");
    all.repeat(times, Opcodes::get).raw(b"l").into_npy(1)
}

/// A long text in many names.
pub(crate) fn globals_of_one_text(times: usize) -> Vec<u8> {
    let all = Opcodes::default().raw(b"(").mebibyte(b'X').put(0).raw(b"0").text("x").put(1).raw(b"0");
    all.repeat(times, |all, _| all.get(0).get(1).raw(b"\x93")).raw(b"l").into_npy(1)
}

/// A long text that is encoded many times.
pub(crate) fn text_encoded_many_times(times: usize) -> Vec<u8> {
    let all = Opcodes::default().raw(b"(").global("_codecs", "encode").put(0).raw(b"0").mebibyte(b'X');
    let all = all.text("latin1").raw(b"\x86").put(1).raw(b"0");
    all.repeat(times, |all, _| all.get(0).get(1).raw(b"R")).raw(b"l").into_npy(1)
}

/// A long text, which many calls of a function share that cannot decode it.
pub(crate) fn calls_with_undecodable_text(module: &str, name: &str, times: usize) -> Vec<u8> {
    let all = Opcodes::default().raw(b"(").global(module, name).put(0).raw(b"0").mebibyte(b'X');
    let all = all.raw(b"\x85").put(1).raw(b"0");
    all.repeat(times, |all, _| all.get(0).get(1).raw(b"R")).raw(b"l").into_npy(1)
}

/// Long bytes that many arrays share.
pub(crate) fn arrays_of_one_buffer(times: usize) -> Vec<u8> {
    let all = Opcodes::default().raw(b"(").global("numpy._core.numeric", "_frombuffer").put(0).raw(b"0(");
    let all =
        all.mebibyte(b'B').global("numpy", "dtype").text("u1").raw(b"\x85R").number(1 << 20).raw(b"\x85");
    let all = all.text("C").raw(b"t").put(1).raw(b"0");
    all.repeat(times, |all, _| all.get(0).get(1).raw(b"R")).raw(b"l").into_npy(1)
}

/// Two equal graphs: on each level, one refers to two lists where the other refers to one list twice.
pub(crate) fn differently_shared_graphs(levels: usize) -> Vec<u8> {
    let mut next = 0;
    let mut graph = |mut all: Opcodes, doubled: bool| {
        let mut list = |all: Opcodes, parts: &[usize]| {
            let all =
                parts.iter().fold(all.raw(b"("), |all, part| all.get(*part)).raw(b"l").put(next).raw(b"0");
            next += 1;
            (all, next - 1)
        };
        let mut level = Vec::new();
        for _ in 0..=usize::from(doubled) {
            let made = list(all, &[]);
            all = made.0;
            level.push(made.1);
        }
        for _ in 0..levels {
            let parts = if level.len() == 1 { vec![level[0]; 2] } else { level.clone() };
            let count = 3 - level.len();
            level.clear();
            for _ in 0..count {
                let made = list(all, &parts);
                all = made.0;
                level.push(made.1);
            }
        }
        (all, level)
    };
    let (all, one) = graph(Opcodes::default(), false);
    let (all, two) = graph(all, true);
    let root = |all: Opcodes, level: &[usize]| {
        let parts = if level.len() == 1 { vec![level[0]; 2] } else { level.to_vec() };
        parts.iter().fold(all.raw(b"("), |all, part| all.get(*part)).raw(b"l")
    };
    root(root(all, &one), &two).into_npy(2)
}

/// A scalar of a record with two fields that are again records with two fields, and so on.
pub(crate) fn nested_records(levels: usize) -> Vec<u8> {
    let all = Opcodes::default().global("numpy", "dtype").text("V0").raw(b"\x85R").put(0).raw(b"0");
    let all = all.repeat(levels, |all, level| {
        let all = all.global("numpy", "dtype").text("V0").raw(b"\x85R(K\x03").text("|").raw(b"N");
        let all = all.text("a").text("b").raw(b"\x86}(").text("a").get(level).raw(b"K\x00\x86");
        all.text("b").get(level).raw(b"K\x00\x86uK\x00K\x01K\x00tb").put(level + 1).raw(b"0")
    });
    all.global("numpy._core.multiarray", "scalar").get(levels).raw(b"C\x00\x86R").into_npy(1)
}

/// The same, with dicts of names, formats and offsets.
pub(crate) fn nested_dtype_dicts(levels: usize) -> Vec<u8> {
    let all = Opcodes::default().text("V0").put(0).raw(b"0");
    let all = all.repeat(levels, |all, level| {
        let all = all.raw(b"}(").text("names").raw(b"](").text("a").text("b").raw(b"e").text("formats");
        let all = all.raw(b"](").get(level).get(level).raw(b"e").text("offsets").raw(b"](K\x00K\x00e");
        all.text("itemsize").raw(b"K\x00u").put(level + 1).raw(b"0")
    });
    let all = all.global("numpy._core.multiarray", "scalar").global("numpy", "dtype");
    all.get(levels).raw(b"\x85RC\x00\x86R").into_npy(1)
}

/// A dtype of nested pairs.
pub(crate) fn nested_dtype_pairs(count: usize) -> Vec<u8> {
    let all = Opcodes::default().text("u1").put(0);
    let all = all.repeat(count - 1, |all, number| all.get(number).raw(b"K\x01\x86").put(number + 1));
    let all = all.global("numpy._core.multiarray", "scalar").global("numpy", "dtype");
    all.get(count - 1).raw(b"\x85RC\x01a\x86R").into_npy(count + 1)
}

/// Many empty arrays of one record type with many fields, as `numpy.save` writes them.
pub(crate) fn arrays_of_one_dtype(fields: usize, arrays: usize) -> Vec<u8> {
    let all = Opcodes::default().raw(b"(").global("numpy", "dtype").text("u1").raw(b"\x85R").put(0).raw(b"0");
    let name = |number: usize| format!("f{number}");
    let all =
        all.global("numpy", "dtype").text(&format!("V{fields}")).raw(b"\x85R(K\x03").text("|").raw(b"N(");
    let all = all.repeat(fields, |all, number| all.text(&name(number))).raw(b"t}(");
    let all = all.repeat(fields, |all, number| all.text(&name(number)).get(0).number(number).raw(b"\x86"));
    let all = all.raw(b"u").number(fields).raw(b"K\x01K\x10tb").put(1).raw(b"0");
    let all = all.global("numpy.core.multiarray", "_reconstruct").put(2).raw(b"0");
    let all = all.global("numpy", "ndarray").put(3).raw(b"0");
    let array = |all: Opcodes, _| {
        all.get(2).get(3).raw(b"K\x00\x85C\x01b\x87R(K\x01K\x00\x85").get(1).raw(b"\x89C\x00tb")
    };
    all.repeat(arrays, array).raw(b"l").into_npy(1)
}

/// A set of many scalars of one record type of 4 bytes, with many fields of no bytes.
pub(crate) fn set_of_record_scalars(fields: usize, scalars: usize) -> Vec<u8> {
    let all = Opcodes::default().global("numpy", "dtype").text("V0").raw(b"\x85R").put(0).raw(b"0");
    let name = |number: usize| format!("f{number}");
    let all = all.global("numpy", "dtype").text("V4").raw(b"\x85R(K\x03").text("|").raw(b"N(");
    let all = all.repeat(fields, |all, number| all.text(&name(number))).raw(b"t}(");
    let all = all.repeat(fields, |all, number| all.text(&name(number)).get(0).raw(b"K\x00\x86"));
    let all = all.raw(b"uK\x04K\x01K\x10tb").put(1).raw(b"0");
    let all = all.global("numpy.core.multiarray", "scalar").put(2).raw(b"0\x8F(");
    let scalar = |all: Opcodes, number: usize| {
        let bytes = (number as u32).to_le_bytes();
        all.get(2).get(1).raw(&[&b"C\x04"[..], &bytes, b"\x86R"].concat())
    };
    all.repeat(scalars, scalar).raw(b"\x90").into_npy(1)
}

/// The opcodes of a value of a mebibyte, which `kind` chooses: a text, one with a lone surrogate, a `Decimal`, or a `str_`.
fn large_value(all: Opcodes, kind: usize) -> Opcodes {
    match kind {
        0 => all.mebibyte(b'X'),
        1 => all.raw(b"X\x03\0\x10\0\xed\xa0\x80").raw(&vec![b'a'; 1 << 20]),
        2 => {
            let all = all.global("decimal", "Decimal").raw(b"X\x02\0\x10\0\x31\x2e");
            all.raw(&vec![b'3'; 1 << 20]).raw(b"\x85R")
        }
        _ => {
            let all = all.global("numpy.core.multiarray", "scalar").global("numpy", "dtype");
            let all = all.text("<U262144").raw(b"\x85RB\0\0\x10\0");
            all.raw(&b"a\0\0\0".repeat(1 << 18)).raw(b"\x86R")
        }
    }
}

/// A set of pairs of a number and one of two equal values; each pair is there twice, once with each value.
pub(crate) fn set_of_pairs_with_large_values(kind: usize, pairs: usize) -> Vec<u8> {
    let all = large_value(large_value(Opcodes::default(), kind).put(0).raw(b"0"), kind).put(1).raw(b"0\x8F(");
    let pair = |all: Opcodes, number: usize| all.raw(b"(").number(number / 2).get(number % 2).raw(b"\x91");
    all.repeat(2 * pairs, pair).raw(b"\x90").into_npy(1)
}

/// A set of calls, in the given order, of a function with a long name, that share a text.
pub(crate) fn set_of_calls(numbers: impl Iterator<Item = usize>) -> Vec<u8> {
    let name = ["c", &"a".repeat(1 << 20), "\nb\n"].concat();
    let all = Opcodes::default().mebibyte(b'X').put(0).raw(b"0").raw(name.as_bytes()).put(1);
    let call = |all: Opcodes, number: usize| all.get(1).get(0).number(number).raw(b"\x86R");
    numbers.fold(all.raw(b"0\x8F("), call).raw(b"\x90").into_npy(1)
}

/// A list of dicts whose one key is the same long text.
pub(crate) fn dicts_of_one_key(dicts: usize) -> Vec<u8> {
    let all = Opcodes::default().mebibyte(b'X').put(0).raw(b"0](");
    all.repeat(dicts, |all, number| all.raw(b"}").get(0).number(number).raw(b"s")).raw(b"e").into_npy(1)
}

/// Many empty arrays, each of which has a record type of its own, as NumPy makes them from a list of fields.
pub(crate) fn arrays_of_own_dtypes(fields: usize, arrays: usize) -> Vec<u8> {
    let all = Opcodes::default().raw(b"(").global("numpy", "dtype").text("u1").raw(b"\x85R").put(0).raw(b"0");
    let all = all.global("numpy.core.multiarray", "_reconstruct").put(1).raw(b"0");
    let all = all.global("numpy", "ndarray").put(2).raw(b"0").global("numpy", "dtype").put(3).raw(b"0");
    let name = |all: Opcodes, number| all.text(&format!("a field {number:02}")).put(4 + number).raw(b"0");
    let all = all.repeat(fields, name).text(&format!("V{fields}")).put(4 + fields).raw(b"0");
    let array = |all: Opcodes, _| {
        let all = all.get(1).get(2).raw(b"K\x00\x85C\x01b\x87R(K\x01K\x00\x85");
        let all = all.get(3).get(4 + fields).raw(b"\x89\x88\x87R\x94(K\x03").text("|").raw(b"N(");
        let all = all.repeat(fields, |all, field| all.raw(&[b'h', 4 + field as u8])).raw(b"t\x94}\x94(");
        let field = |all: Opcodes, field: usize| {
            all.raw(&[b'h', 4 + field as u8, b'h', 0, b'K', field as u8, 0x86, 0x94])
        };
        all.repeat(fields, field).raw(b"uK").raw(&[fields as u8]).raw(b"K\x01K\x10tb\x89C\x00t\x94b")
    };
    all.repeat(arrays, array).raw(b"l").into_npy(1)
}

/// Many empty lists.
pub(crate) fn empty_lists(count: usize) -> Vec<u8> {
    Opcodes::default().raw(&vec![b']'; count]).into_npy(count)
}
