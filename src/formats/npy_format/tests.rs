//! The direct and the general path agree, and the direct path accepts the headers of known writers.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::assert_agreement_if_direct as check;
use super::*;

/// Header texts, according to the source code of the writers.
const KNOWN_HEADERS: &[(&str, &str)] = &[
    ("NumPy 2.4", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }                     \n"),
    ("NumPy 1.0", "{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 4L)}           \n"),
    ("NumPy, Python 2", "{'descr': '<i8', 'fortran_order': False, 'shape': (1288490188L,), } \n"),
    ("ndarray-npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)}      \n"),
    ("ndarray-npy, one axis", "{'descr': '<f8', 'fortran_order': True, 'shape': (3,)}\n"),
    (
        "ndarray-npy, a record",
        "{'descr': [('a', '<f8'), ('b', '|b1')], 'fortran_order': False, 'shape': ()}\n",
    ),
    ("npyz", "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4, ), } \n"),
    ("cnpy, one axis", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } \n"),
    ("libnpy", "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), } \n"),
    ("xtensor", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }  \n"),
    ("NPY.jl", "{'descr': '<f8', 'fortran_order': True, 'shape': (3,4,), }  \n"),
    ("npy-matlab", "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }"),
    ("npyjs", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, ), }                  "),
    ("npyio", "{'descr': '<f8', 'fortran_order': False, 'shape': (3,4), }  \n"),
    ("gonpy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3,4,)} \n"),
    ("NumSharp", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }\n"),
    ("C++, commas without spaces", "{'descr': '<f8', 'fortran_order': False, 'shape': (3,4,), }\n"),
    (
        "C++, double quotes, other order",
        "{\"shape\": (3, 4), \"fortran_order\": False, \"descr\": \"<f4\"}\n",
    ),
    ("json.dumps", "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(3,)}"),
    ("pprint", "{'descr': '<f8',\n 'fortran_order': False,\n 'shape': (3, 4)}\n"),
    (
        "a subarray",
        "{'descr': [('p', '<f4', (3,)), ('m', '<f8', (2, 2))], 'fortran_order': False, 'shape': (7,), }\n",
    ),
    (
        "nested",
        "{'descr': [('a', [('x', '<f4'), ('y', '<f4')]), ('', '|V4')], 'fortran_order': False, 'shape': (), }\n",
    ),
    ("nested array", "{'descr': [('a', [('x', '<f4')], (2,))], 'fortran_order': False, 'shape': (7,), }\n"),
    ("titles", "{'descr': [(('A title', 'a'), '<f4')], 'fortran_order': False, 'shape': (7,), }\n"),
    (
        "escapes",
        r#"{'descr': [('a\n\'"\x7f\u200b\U000e0001', '<f4'), ("it's", '|u1')], 'fortran_order': False, 'shape': (7,), }"#,
    ),
    ("times", "{'descr': '<M8[25us]', 'fortran_order': False, 'shape': (7,), }\n"),
    ("objects", "{'descr': '|O', 'fortran_order': False, 'shape': (7,), }\n"),
];

#[test]
fn headers_of_known_writers_take_the_direct_path() {
    for (writer, text) in KNOWN_HEADERS {
        assert!(check(text.as_bytes(), Version::V1), "{writer}");
    }
    let accented = "{'descr': [('größe', '<f4')], 'fortran_order': False, 'shape': (7,), }\n";
    assert!(check(accented.as_bytes(), Version::V3));
    let latin1: Vec<u8> = accented.chars().map(|char| char as u8).collect();
    assert!(check(&latin1, Version::V1));
    assert!(!check(&latin1, Version::V3));
    // Python: "source code string cannot contain null bytes".
    let nul = "{'descr': [('a\\\0b', '<f4')], 'fortran_order': False, 'shape': (7,), }\n";
    assert!(!check(nul.as_bytes(), Version::V1));
    assert!(parse_text(nul.as_bytes(), Version::V1, 10).is_err());
}

/// Returns the files of a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Checks that every header has the same result or the same error with and without the direct path.
fn check_folder_and_count_direct(folder: &Path) -> usize {
    let mut direct = 0;
    for path in files(folder) {
        let bytes = std::fs::read(&path).unwrap();
        let Some((version, text, start)) = text_of(&bytes) else { continue };
        let (both, general) = (parse_text(text, version, start), parse_general(text, version, start));
        match (both, general) {
            (Ok(both), Ok(general)) => assert_eq!(both, general, "{}", path.display()),
            (Err(both), Err(general)) => {
                assert_eq!(both.to_string(), general.to_string(), "{}", path.display())
            }
            _ => panic!("{}: one path takes it", path.display()),
        }
        direct += usize::from(check(text, version));
    }
    direct
}

/// Returns the version and text of a file's header, and where the text starts.
fn text_of(bytes: &[u8]) -> Option<(Version, &[u8], usize)> {
    let version =
        Version::from_numbers(*bytes.get(6)?, *bytes.get(7)?).ok().filter(|_| bytes.starts_with(MAGIC))?;
    let start = version.preamble_len();
    let length = match version {
        Version::V1 => usize::from(u16::from_le_bytes(*bytes.get(8..)?.first_chunk()?)),
        _ => u32::from_le_bytes(*bytes.get(8..)?.first_chunk()?) as usize,
    };
    Some((version, bytes.get(start..start.checked_add(length)?)?, start))
}

#[test]
fn direct_and_general_path_agree_on_testdata() {
    let direct = check_folder_and_count_direct(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata"));
    assert!(direct > 150, "{direct}");
}

#[test]
#[ignore = "needs NDARRAY_IO_CORPUS"]
fn direct_and_general_path_agree_on_the_corpus() {
    let folder =
        std::env::var_os("NDARRAY_IO_CORPUS").expect("NDARRAY_IO_CORPUS is the folder of the corpus");
    let direct = check_folder_and_count_direct(Path::new(&folder));
    assert!(direct > 800, "{direct}");
}

/// Generates white space or comments between two tokens.
fn blank() -> impl Strategy<Value = String> {
    prop_oneof![40 => Just(String::new()), 40 => Just(" ".to_owned()), 4 => "[ \n\t]{1,3}", 1 => Just("#x\n".to_owned())]
}

fn quoted(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let prefix = prop_oneof![20 => Just(""), 1 => Just("u"), 1 => Just("U"), 1 => Just("b")];
    (inner, prop_oneof![Just('\''), Just('"')], prefix)
        .prop_map(|(inner, quote, prefix)| format!("{prefix}{quote}{inner}{quote}"))
}

fn code() -> impl Strategy<Value = String> {
    quoted(prop_oneof![
        1 => "[<>|=]?[?a-zA-Z][0-9]{0,2}",
        8 => "[<>][iuf][48]|[<>]M8\\[[1-9](ns|us|D)\\]|\\|[SV][0-9]{1,2}",
    ])
}

fn name() -> impl Strategy<Value = String> {
    quoted(prop_oneof![8 => "[a-z]{1,3}", 1 => "|ä|a b|[\"']", 2 => r#"\\[ntrx\\'"uUqN0][0-9a-f]{0,8}"#])
}

fn dims() -> impl Strategy<Value = String> {
    (proptest::collection::vec((0u64..300, blank()), 0..4), prop_oneof![8 => ",|, ", 1 => "L?"]).prop_map(
        |(dims, tail)| {
            let items: Vec<String> = dims.iter().map(|(dim, blank)| format!("{dim}{blank}")).collect();
            format!("({}{tail})", items.join(","))
        },
    )
}

fn descr() -> impl Strategy<Value = String> {
    code().prop_recursive(4, 20, 4, |inner| {
        let field =
            (name(), proptest::option::of(name()), inner.clone(), proptest::option::of(dims()), blank());
        let field = field.prop_map(|(name, title, descr, shape, blank)| {
            let name = title.map_or(name.clone(), |title| format!("({title},{blank}{name})"));
            match shape {
                Some(shape) => format!("({name},{blank}{descr}, {shape})"),
                None => format!("({name}, {descr}{blank})"),
            }
        });
        let field = field.boxed();
        let fields = prop_oneof![
            9 => proptest::collection::vec(field.clone(), 0..4),
            1 => proptest::collection::vec(field, 14..20),
        ];
        prop_oneof![
            4 => (fields, blank(), "|,")
                .prop_map(|(fields, blank, comma)| format!("[{}{blank}{comma}]", fields.join(","))),
            1 => (inner, dims()).prop_map(|(base, dims)| format!("({base}, {dims})")),
        ]
    })
}

fn header() -> impl Strategy<Value = String> {
    let pairs = (
        quoted(Just("descr".to_owned())),
        descr(),
        prop_oneof![9 => "True|False", 1 => "true|1"],
        dims(),
        blank(),
        blank(),
    );
    let pairs = pairs.prop_map(|(key, descr, order, dims, one, two)| {
        vec![
            format!("{key}{one}:{two}{descr}"),
            format!("'fortran_order':{one}{order}{two}"),
            format!("'shape'{one}:{dims}"),
        ]
    });
    (pairs.prop_shuffle(), blank(), "|,|, ", "[ \n]{0,9}")
        .prop_map(|(pairs, blank, comma, tail)| format!("{{{blank}{}{comma}}}{tail}", pairs.join(", ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The general path returns the same result for any text that the direct path accepts.
    #[test]
    fn direct_and_general_path_agree_on_generated_texts(text in header()) {
        for version in [Version::V1, Version::V2, Version::V3] {
            check(text.as_bytes(), version);
        }
    }

    /// Both paths also agree on modified texts.
    #[test]
    fn direct_and_general_path_agree_on_damaged_texts(text in header(), at: prop::sample::Index, with in "[(){}\\[\\],:'\"a0L\\\\# \n]{0,2}", cut in 0usize..3) {
        let mut text: Vec<char> = text.chars().collect();
        let at = at.index(text.len());
        text.splice(at..(at + cut).min(text.len()), with.chars());
        let text: String = text.into_iter().collect();
        for version in [Version::V1, Version::V2, Version::V3] {
            check(text.as_bytes(), version);
        }
    }

    /// The direct path accepts what NumPy writes for scalar dtypes. Otherwise reading would not be fast.
    #[test]
    fn formatted_scalar_headers_take_direct_path(
        descr in "[<>][iuf]8|\\|b1|<c16|\\|S5|>U3|<M8\\[25s\\]",
        fortran: bool,
        dims in proptest::collection::vec(0usize..200, 0..7),
    ) {
        let dtype = alias::dtype(&descr).unwrap();
        let order = if fortran { crate::header::Order::Fortran } else { crate::header::Order::C };
        let header = Header::new(dtype, order, dims.into()).unwrap();
        let bytes = format(&header, None).unwrap();
        prop_assert!(direct::parse(&bytes[10..], Version::V1).is_some());
        let Parsed::Done(parsed, used) = parse(&bytes).unwrap() else { panic!("complete") };
        prop_assert_eq!(used, bytes.len());
        prop_assert_eq!(parsed.header, header);
    }

    /// No text makes the parser panic or take long.
    #[test]
    fn arbitrary_text_never_makes_the_parser_panic(text in "[(){}\\[\\],:'\"a-c0-9LuUrRb<fT\\\\\n# .+-]{0,300}") {
        for version in [Version::V1, Version::V3] {
            check(text.as_bytes(), version);
            let _ = parse_general(text.as_bytes(), version, 10);
        }
    }
}

/// With 16 or more fields, duplicate names are found by another algorithm.
#[test]
fn duplicate_names_among_many_fields_are_refused() {
    for count in [15, 16, 17, 40] {
        let record = |last: usize| {
            let names = (0..count - 1).chain([last]).map(|number| format!("('f{number}', '<f4')"));
            let fields = names.collect::<Vec<_>>().join(", ");
            format!("{{'descr': [{fields}], 'fortran_order': False, 'shape': (), }}\n")
        };
        assert!(check(record(count).as_bytes(), Version::V1), "{count}");
        for twice in [0, count / 2, count - 2] {
            let text = record(twice);
            // Both paths refuse it, with the same error.
            assert!(check(text.as_bytes(), Version::V1));
            assert!(parse_general(text.as_bytes(), Version::V1, 10).is_err());
            // What is malformed after it is left to the general path.
            assert!(!check(text.replace("'shape': ()", "'shape': (").as_bytes(), Version::V1));
        }
    }
}

/// A dtype is a complete literal, not the start of a header.
#[test]
fn text_after_a_dtype_is_refused() {
    for text in ["'<f4', 'fortran_order': False, 'shape': ()} #", "'<f4' #", "'<f4',", "'<f4'}"] {
        assert!(text.parse::<DType>().is_err(), "{text}");
    }
    assert_eq!(" [('x', '<f4')] ".parse::<DType>().unwrap().to_string(), "[('x', '<f4')]");
}

/// The direct path accepts many of the generated texts.
#[test]
fn generated_texts_often_take_the_direct_path() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = header();
    let accepted = (0..1000).filter(|_| {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        check(text.as_bytes(), Version::V1)
    });
    let accepted = accepted.count();
    assert!(accepted > 150, "{accepted}");
}
