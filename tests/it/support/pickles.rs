//! Random pickles that are mostly valid: shared parts, deep chains, wide records, reused and distant memo
//! numbers, objects that contain themselves, and NumPy objects whose dtypes share fields.

use super::bombs::Opcodes;
use super::random::Random;

struct Generator {
    out: Opcodes,
    random: Random,
    /// Whether to add parts that nearly always make the pickle an error, such as a list as a key.
    adds_invalid_parts: bool,
    /// The memo numbers of all objects, of lists, and of dtypes.
    object_numbers: Vec<usize>,
    list_numbers: Vec<usize>,
    dtype_numbers: Vec<usize>,
    last_memo_number: usize,
}

/// Returns a pickle of at least `len` bytes.
pub(crate) fn pickle(seed: u64, len: usize) -> Vec<u8> {
    let mut generator = Generator {
        out: Opcodes::default().raw(b"\x80\x04("),
        random: Random::new(seed),
        adds_invalid_parts: seed % 4 == 3,
        object_numbers: Vec::new(),
        list_numbers: Vec::new(),
        dtype_numbers: Vec::new(),
        last_memo_number: 0,
    };
    while generator.out.0.len() < len {
        generator.value(0);
    }
    let mut bytes = generator.out.0;
    bytes.extend_from_slice(b"l.");
    bytes
}

impl Generator {
    fn raw(&mut self, bytes: &[u8]) {
        self.out.0.extend_from_slice(bytes);
    }

    fn append(&mut self, more: impl FnOnce(Opcodes) -> Opcodes) {
        self.out = more(std::mem::take(&mut self.out));
    }

    /// Stores the top of the stack under the next memo number, a used one, or a distant one.
    fn put(&mut self) -> usize {
        let number = match self.random.below(10) {
            0 => self.random.below(self.last_memo_number + 1),
            1 => 1_000_000 + self.random.below(1_000_000),
            _ => {
                self.last_memo_number += 1;
                self.last_memo_number
            }
        };
        self.append(|all| all.put(number));
        self.object_numbers.push(number);
        number
    }

    /// Refers to an object that was made before or is still being made.
    fn earlier_object(&mut self) {
        match self.object_numbers.len() {
            0 => self.raw(b"N"),
            count => {
                let number = self.object_numbers[self.random.below(count)];
                self.append(|all| all.get(number));
            }
        }
    }

    fn text(&mut self) {
        let len = [0, 3, 14, 15, 60, 200][self.random.below(6)];
        let letter = b'a' + self.random.below(26) as u8;
        self.append(|all| all.text(&String::from_utf8(vec![letter; len]).unwrap()));
    }

    fn bytes(&mut self) {
        let len = [0, 1, 8, 100, 250][self.random.below(5)];
        self.raw(&[b'C', len]);
        self.raw(&vec![1; len.into()]);
    }

    fn key(&mut self) {
        match self.random.below(6) {
            0 => self.raw(b"K\x01"),
            1 => self.raw(b"\x88"), // True is 1
            2 => self.raw(b"G\x3f\xf0\x00\x00\x00\x00\x00\x00"),
            3 => {
                self.text();
                self.raw(b"K\x05\x86");
            }
            4 if self.adds_invalid_parts => self.earlier_object(),
            _ => self.text(),
        }
    }

    #[expect(clippy::too_many_lines, reason = "a list of values")]
    fn value(&mut self, depth: usize) {
        if depth > 6 {
            return self.earlier_object();
        }
        match self.random.below(24) {
            0 => self.raw(b"N"),
            1 => self.raw(b"K\x07"),
            2 => self.text(),
            3 => self.bytes(),
            4..=7 => self.earlier_object(),
            8 | 9 => {
                self.raw(b"]");
                let number = self.put();
                self.list_numbers.push(number);
                for _ in 0..self.random.below(3) {
                    self.marked_values(depth, b"e");
                }
            }
            10 => {
                self.raw(b"}");
                self.put();
                self.raw(b"(");
                for _ in 0..self.random.below(12) {
                    self.key();
                    self.value(depth + 1);
                }
                self.raw(b"u");
            }
            11 => {
                self.marked_values(depth, b"t");
                self.put();
            }
            12 => {
                let is_set = self.random.below(2) == 0;
                self.raw(if is_set { &b"\x8f("[..] } else { b"(" });
                for _ in 0..self.random.below(12) {
                    self.key();
                }
                self.raw(if is_set { b"\x90" } else { b"\x91" });
                self.put();
            }
            13 => self.nested_tuples(),
            14 => {
                // Many references to earlier objects.
                self.raw(b"(");
                for _ in 0..self.random.below(200) {
                    self.earlier_object();
                }
                self.raw(b"l");
                let number = self.put();
                self.list_numbers.push(number);
            }
            15 => self.dtype(),
            16 | 17 => self.array(),
            18 => {
                self.append(|all| all.text("numpy._core.multiarray").text("scalar").raw(b"\x93"));
                match self.adds_invalid_parts {
                    true => {
                        self.earlier_or_new_dtype();
                        self.bytes();
                    }
                    false => self.append(|all| {
                        all.text("numpy").text("dtype").raw(b"\x93").text(">u2").raw(b"\x85RC\x02ab")
                    }),
                }
                self.raw(b"\x86R");
                self.put();
            }
            19 => {
                let name = ["set", "frozenset", "bytearray", "list"][self.random.below(4)];
                self.append(|all| all.text("builtins").text(name).raw(b"\x93"));
                match self.adds_invalid_parts || name == "list" || name == "bytearray" {
                    true => self.earlier_or_empty_list(),
                    false => {
                        self.raw(b"](");
                        (0..self.random.below(9)).for_each(|_| self.key());
                        self.raw(b"e");
                    }
                }
                self.raw(b"\x85R");
                self.put();
            }
            20 => {
                self.append(|all| all.text("_codecs").text("encode").raw(b"\x93"));
                self.earlier_object();
                self.append(|all| all.text("latin1").raw(b"\x86R"));
                self.put();
            }
            _ => self.call(depth),
        }
    }

    /// Adds a mark, a few values, and the opcodes that use them.
    fn marked_values(&mut self, depth: usize, end: &[u8]) {
        self.raw(b"(");
        for _ in 0..self.random.below(5) {
            self.value(depth + 1);
        }
        self.raw(end);
    }

    fn earlier_or_empty_list(&mut self) {
        match self.list_numbers.len() {
            0 => self.raw(b"]"),
            count => {
                let number = self.list_numbers[self.random.below(count)];
                self.append(|all| all.get(number));
            }
        }
    }

    fn nested_tuples(&mut self) {
        self.earlier_object();
        let deep = if self.adds_invalid_parts { 1100 } else { 990 };
        let count = [1, 2, 5, 50, deep][self.random.below(5)];
        if count > 5 {
            // Starts from a new object, so that long chains do not add up.
            self.raw(b"0)");
        }
        self.raw(&vec![0x85; count]);
        self.put();
    }

    fn call(&mut self, depth: usize) {
        self.append(|all| all.text("module").text("name").raw(b"\x93"));
        self.marked_values(depth, b"t");
        let is_new = self.random.below(2) == 0;
        self.raw(if is_new { b"\x81" } else { b"R" });
        self.put();
        if self.random.below(2) == 0 {
            self.marked_values(depth, b"e");
        }
        if self.random.below(2) == 0 {
            self.raw(b"}(");
            self.text();
            self.earlier_object();
            self.raw(b"ub");
        }
    }

    fn earlier_or_new_dtype(&mut self) {
        match self.dtype_numbers.len() {
            0 => self.dtype(),
            count => {
                let number = self.dtype_numbers[self.random.below(count)];
                self.append(|all| all.get(number));
            }
        }
    }

    fn dtype(&mut self) {
        self.append(|all| all.text("numpy").text("dtype").raw(b"\x93"));
        match self.random.below(4) {
            0 if !self.dtype_numbers.is_empty() => {
                // A record whose fields have earlier dtypes.
                let fields = [2, 10, 300][self.random.below(3)];
                self.append(|all| all.text("V8").raw(b"\x85R(K\x03").text("|").raw(b"N("));
                for number in 0..fields {
                    self.append(|all| all.text(&format!("f{number}")));
                }
                self.raw(b"t}(");
                for number in 0..fields {
                    self.append(|all| all.text(&format!("f{number}")));
                    self.earlier_or_new_dtype();
                    self.raw(b"K\x00\x86");
                }
                self.raw(b"uK\x08K\x01K\x00tb");
            }
            1 if self.adds_invalid_parts => self.raw(b"\x8c\x01O\x85R"),
            2 => self.raw(b"\x8c\x02>f\x85R"),
            _ => self.raw(b"\x8c\x02u1\x85R"),
        }
        let number = self.put();
        self.dtype_numbers.push(number);
    }

    fn array(&mut self) {
        self.append(|all| all.text("numpy.core.multiarray").text("_reconstruct").raw(b"\x93"));
        self.append(|all| all.text("numpy").text("ndarray").raw(b"\x93K\x00\x85C\x01b\x87R"));
        self.put();
        let count = [0, 1, 8, 100][self.random.below(4)];
        if !self.adds_invalid_parts {
            // An array without elements, of any dtype.
            self.raw(b"(K\x01K\x00\x85");
            self.earlier_or_new_dtype();
            return self.raw(b"\x89C\x00tb");
        }
        self.raw(&[b'(', b'K', 1, b'K', count, 0x85]);
        self.earlier_or_new_dtype();
        self.raw(b"\x89");
        match self.random.below(2) {
            0 => self.earlier_or_empty_list(),
            _ => {
                self.raw(&[b'C', count]);
                self.raw(&vec![0; count.into()]);
            }
        }
        self.raw(b"tb");
    }
}
