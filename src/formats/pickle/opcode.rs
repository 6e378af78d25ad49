//! The codes of the known opcodes, with their names from Python's `pickletools`.

macro_rules! opcodes {
    ($($name:ident = $byte:literal;)*) => {
        $(pub(crate) const $name: u8 = $byte;)*
    };
}

opcodes! {
    MARK = b'('; STOP = b'.'; POP = b'0'; POP_MARK = b'1'; DUP = b'2'; PROTO = 0x80; FRAME = 0x95;
    NONE = b'N'; NEWTRUE = 0x88; NEWFALSE = 0x89;
    INT = b'I'; LONG = b'L'; FLOAT = b'F'; BININT = b'J'; BININT1 = b'K'; BININT2 = b'M'; LONG1 = 0x8A; LONG4 = 0x8B; BINFLOAT = b'G';
    STRING = b'S'; BINSTRING = b'T'; SHORT_BINSTRING = b'U'; UNICODE = b'V'; BINUNICODE = b'X'; SHORT_BINUNICODE = 0x8C;
    BINUNICODE8 = 0x8D; BINBYTES = b'B'; SHORT_BINBYTES = b'C'; BINBYTES8 = 0x8E; BYTEARRAY8 = 0x96;
    EMPTY_LIST = b']'; APPEND = b'a'; APPENDS = b'e'; LIST = b'l'; EMPTY_TUPLE = b')'; TUPLE = b't'; TUPLE1 = 0x85; TUPLE2 = 0x86;
    TUPLE3 = 0x87; EMPTY_DICT = b'}'; DICT = b'd'; SETITEM = b's'; SETITEMS = b'u'; EMPTY_SET = 0x8F; ADDITEMS = 0x90;
    FROZENSET = 0x91;
    GET = b'g'; BINGET = b'h'; LONG_BINGET = b'j'; PUT = b'p'; BINPUT = b'q'; LONG_BINPUT = b'r'; MEMOIZE = 0x94;
    GLOBAL = b'c'; STACK_GLOBAL = 0x93; REDUCE = b'R'; PERSID = b'P'; BINPERSID = b'Q'; EXT1 = 0x82; EXT2 = 0x83; EXT4 = 0x84; NEXT_BUFFER = 0x97; READONLY_BUFFER = 0x98;
    INST = b'i'; OBJ = b'o'; BUILD = b'b'; NEWOBJ = 0x81; NEWOBJ_EX = 0x92;
}
