//! One error of each kind, for the tests of the messages.

use std::io;

use super::{
    CopyReason, ElementFault, Error, ErrorKind, FilePart, FileSection, LimitKind, Remedy, WantedShape,
};
use crate::dtype::Casting;
use crate::dtype::DType;
use crate::shape::Shape;

/// Returns one error of each kind, with its remedy.
#[expect(clippy::too_many_lines, reason = "a list")]
fn sample_errors() -> Vec<Error> {
    let dtype = |text: &str| text.parse::<DType>().unwrap_or(DType::Object);
    let limits = [
        LimitKind::HeaderBytes,
        LimitKind::PayloadBytes,
        LimitKind::Nesting,
        LimitKind::RecordNesting,
        LimitKind::Dimensions,
        LimitKind::Objects,
        LimitKind::Nodes,
        LimitKind::ObjectNesting,
        LimitKind::Copies,
        LimitKind::Digits,
        LimitKind::EmptyItems,
        LimitKind::Expansion,
    ];
    let kinds = vec![
        ErrorKind::Io(io::Error::from(io::ErrorKind::NotFound)),
        ErrorKind::OutOfMemory { bytes: 1 << 40 },
        ErrorKind::BadMagic { format: "NPY", found: b"PK\x03\x04\0\0".to_vec() },
        ErrorKind::BadMagic { format: "RA", found: Vec::new() },
        ErrorKind::Unsupported { part: FilePart::Version, reason: "9.0, expected 1.0, 2.0 or 3.0".into() },
        ErrorKind::Truncated { part: FileSection::Preamble, need: 10, have: 4 },
        ErrorKind::Truncated { part: FileSection::Header, need: 128, have: 100 },
        ErrorKind::Truncated {
            part: FileSection::Payload { shape: vec![3, 4].into(), dtype: dtype("<f8") },
            need: 96,
            have: 80,
        },
        ErrorKind::Truncated { part: FileSection::Packed, need: 214, have: 100 },
        ErrorKind::Malformed { part: FilePart::Header, reason: "it is not a dict".into(), offset: None },
        ErrorKind::Malformed {
            part: FilePart::Header,
            reason: "'shape' is not a tuple".into(),
            offset: Some(69),
        },
        ErrorKind::Malformed {
            part: FilePart::Data,
            reason: "expected 400 bytes in the LZ4 block, found 396".into(),
            offset: None,
        },
        ErrorKind::Unsupported { part: FilePart::Data, reason: "bfloat16 in big-endian byte order".into() },
        ErrorKind::Malformed {
            part: FilePart::Pickle,
            reason: "the pickle is truncated".into(),
            offset: None,
        },
        ErrorKind::Malformed {
            part: FilePart::Pickle,
            reason: "its argument declares 300 bytes, 12 remain".into(),
            offset: Some(7),
        },
        ErrorKind::Unsupported {
            part: FilePart::Pickle,
            reason: "protocol 6 is unknown; Python has 0 to 5".into(),
        },
        ErrorKind::Malformed {
            part: FilePart::Stack,
            reason: "its info is not a dict with the key 'chunks'".into(),
            offset: None,
        },
        ErrorKind::unsupported_dtype("'<f3'", "there is no type 'f' of the size 3"),
        ErrorKind::Overflow { what: "an array of shape (4611686018427387904, 4) and dtype '<f8'".into() },
        ErrorKind::Trailing { bytes: 1, at_least: true, rows: 0 },
        ErrorKind::Trailing { bytes: 16, at_least: false, rows: 2 },
        ErrorKind::InvalidElement(ElementFault::Bool { found: 2 }),
        ErrorKind::Encrypted { has_password: false },
        ErrorKind::Encrypted { has_password: true },
        ErrorKind::InvalidElement(ElementFault::Variant { found: 7, of: "Color", number: "u8" }),
        ErrorKind::InvalidElement(ElementFault::Unicode { code: 0x11_0000 }),
        ErrorKind::InvalidElement(ElementFault::Utf8 { valid_up_to: 3 }),
        ErrorKind::Malformed {
            part: FilePart::Archive,
            reason: "its directory is longer than the file".into(),
            offset: None,
        },
        ErrorKind::Unsupported { part: FilePart::Archive, reason: "it is spread over several disks".into() },
        ErrorKind::wrong_checksum(1, 2),
        ErrorKind::Malformed {
            part: FilePart::Content,
            reason: "corrupt deflate stream".into(),
            offset: None,
        },
        ErrorKind::Malformed {
            part: FilePart::Matrix,
            reason: "indptr descends from 4 to 3".into(),
            offset: None,
        },
        ErrorKind::DTypeMismatch { found: dtype("<f8"), wanted: dtype("<i4") },
        ErrorKind::Objects { found: DType::Object },
        ErrorKind::MissingField { field: "mass".into(), found: dtype("[('x', '<f4')]") },
        ErrorKind::ExtraField { field: "mass".into() },
        ErrorKind::ShapeMismatch { found: vec![2, 3].into(), wanted: WantedShape::Axes(1) },
        ErrorKind::ShapeMismatch { found: Shape::default(), wanted: WantedShape::Axes(1) },
        ErrorKind::ShapeMismatch { found: vec![2].into(), wanted: WantedShape::Exactly(vec![2, 3].into()) },
        ErrorKind::NeedsCopy(CopyReason::ByteOrder { found: dtype(">f8") }),
        ErrorKind::NotConvertible { reason: "NaT is not a time".into() },
        ErrorKind::NeedsCopy(CopyReason::Layout { found: dtype("[('x', '<f4')]") }),
        ErrorKind::NeedsCopy(CopyReason::Compressed { packed: 10, size: 100 }),
        ErrorKind::NeedsCopy(CopyReason::Misaligned { wanted: 8, off_by: 2 }),
        ErrorKind::NeedsCopy(CopyReason::Packed),
        ErrorKind::NotRepresentable { format: "RA", dtype: dtype("<U3"), reason: "it is text".into() },
        ErrorKind::VersionTooLow { wanted: (1, 0), needed: (2, 0) },
        ErrorKind::AlreadyExists,
        ErrorKind::CannotReplace {
            reason: "it has 2 hard links, and the others would keep the old content".into(),
        },
        ErrorKind::TextTooLong { length: 5, width: 4 },
        ErrorKind::NoSuchMember { name: "x".into(), available: vec!["y".into(), "z".into()] },
        ErrorKind::AmbiguousName { name: "x".into(), indices: vec![0, 3] },
        ErrorKind::NameTaken { name: "x".into() },
        ErrorKind::WrongCount { found: 3, wanted: 1 },
        ErrorKind::Cancelled,
        ErrorKind::NotLoaded { missing: vec![128..1128, 5000..5008] },
        ErrorKind::Locked,
        ErrorKind::ArrayChanged { reason: "the file has changed since its last checkpoint".into() },
        ErrorKind::ShapeMismatch { found: vec![2].into(), wanted: WantedShape::Rows(vec![3].into()) },
        ErrorKind::HeaderCannotGrow { header: 128, crosses_sector: false },
        ErrorKind::HeaderCannotGrow { crosses_sector: true, header: 640 },
        ErrorKind::Uncommitted { bytes: 17, rows: 2, parts: 0 },
        ErrorKind::Uncommitted { bytes: 0, rows: 0, parts: 2 },
        ErrorKind::OutOfBounds { index: -4, length: 3, axis: None },
        ErrorKind::OutOfBounds { index: 3, length: 3, axis: Some(1) },
        ErrorKind::NoSuchAxis { axis: 2, shape: Shape::from([3, 4]) },
        ErrorKind::NoSuchField { field: "mass".into(), available: vec!["x".into(), "y".into()] },
        ErrorKind::OutOfTurn {
            reason: "an earlier error has left an incomplete member in the archive".into(),
        },
        ErrorKind::NotRegularFile { reason: "it is a folder".into() },
        ErrorKind::BadSource { reason: "the source returned 20 bytes instead of 10".into() },
        ErrorKind::BadOption { reason: "the range ends before it starts".into() },
    ];
    let limits = limits.map(|limit_kind| ErrorKind::Limit { limit_kind, found: 5000, limit: 1000 });
    let mut all: Vec<Error> = kinds.into_iter().chain(limits).map(Error::from).collect();
    // Remedies that depend on where the error occurs, not on its kind.
    let mismatch = |help| {
        Error::from(ErrorKind::DTypeMismatch { found: dtype("<f8"), wanted: dtype("<i4") }).with_help(help)
    };
    all.extend([
        mismatch(Remedy::ReadAs { rust_type: "f64".into(), can_convert: true }),
        Error::from(ErrorKind::InvalidElement(ElementFault::Bool { found: 2 })).with_help(Remedy::TakeBytes),
        Error::from(ErrorKind::NeedsCopy(CopyReason::ByteOrder { found: dtype(">f8") }))
            .with_help(Remedy::TakeCopy),
        mismatch(Remedy::CastArray { rust_type: "f64".into() }),
        mismatch(Remedy::Cast(Casting::SameKind)),
        mismatch(Remedy::ReadRecords),
        mismatch(Remedy::ReadDynamic),
        mismatch(Remedy::FileDType),
        mismatch(Remedy::OneDType),
        Error::from(ErrorKind::Objects { found: DType::Object }).with_help(Remedy::ReadPickle),
        Error::from(ErrorKind::NotRepresentable {
            format: "RA",
            dtype: dtype("|b1"),
            reason: "no program but RawArray.jl reads them".into(),
        })
        .with_help(Remedy::RaBool),
        Error::from(ErrorKind::Trailing { bytes: 5, at_least: false, rows: 0 })
            .with_help(Remedy::DropTrailing),
        Error::from(ErrorKind::CannotReplace { reason: "64 bytes of metadata follow the array".into() })
            .with_help(Remedy::KeepTrailing),
        Error::from(ErrorKind::TextTooLong { length: 5, width: 4 }).at_field("name").at_element(3),
        Error::from(ErrorKind::Io(std::io::ErrorKind::StorageFull.into())).while_writing(),
        Error::from(ErrorKind::BadOption {
            reason: "expected Fortran order: the first axis of an RA file varies fastest".into(),
        })
        .with_help(Remedy::FortranOrder),
        Error::from(ErrorKind::OutOfTurn { reason: "the array has been read".into() })
            .with_help(Remedy::NextArray),
        Error::from(ErrorKind::Unsupported { part: FilePart::Header, reason: "unknown flags 0x80".into() })
            .with_help(Remedy::IgnoreRaFlags),
        Error::from(ErrorKind::bad_option("the file was opened for reading only"))
            .with_help(Remedy::OpenToWrite),
        Error::from(ErrorKind::BadOption { reason: "the slice ''x'' names a field".into() })
            .with_help(Remedy::TakeField),
        Error::from(ErrorKind::BadOption { reason: "bytes need protocol 3".into() })
            .with_help(Remedy::PickleProtocol { protocol: 4 }),
        Error::from(ErrorKind::Io(io::ErrorKind::NotFound.into())).with_help(Remedy::OpenUrl),
        Error::from(ErrorKind::malformed(FilePart::Archive, "it has no directory", None))
            .with_help(Remedy::FinishArchive),
        Error::from(ErrorKind::dtype_mismatch(dtype("<f2"), dtype("<f16")))
            .with_help(Remedy::LongDoubleFormat),
        Error::from(ErrorKind::dtype_mismatch(dtype("<f8"), dtype("<f4")))
            .with_help(Remedy::WriteAs { rust_type: "f64" }),
        Error::from(ErrorKind::BadOption { reason: "the parts of a stack are in C order".into() })
            .with_help(Remedy::COrder),
        Error::from(ErrorKind::not_representable("an RA file", dtype("<U3"), "it is text"))
            .with_help(Remedy::UseNpy),
        Error::from(ErrorKind::Trailing { bytes: 96, at_least: false, rows: 0 })
            .with_help(Remedy::ArrayFollows),
        Error::from(ErrorKind::Encrypted { has_password: false }).with_help(Remedy::Password),
        Error::from(ErrorKind::Unsupported {
            part: FilePart::Archive,
            reason: "compression method 12 (bzip2)".into(),
        })
        .with_help(Remedy::Feature { name: "zip-methods" }),
    ]);
    all
}

/// Errors pass through readers and writers, whose errors are those of `std::io`.
#[test]
fn io_error_round_trip_keeps_everything() {
    let placed: [fn(Error) -> Error; 6] = [
        |error| error,
        |error| error.at_path("a.npz"),
        |error| error.at_member("a"),
        |error| error.at_element(5).with_axis_indices(&Shape::from([2, 3]), crate::shape::Order::C),
        |error| error.at_field("mass"),
        |error| error.with_help(Remedy::Read),
    ];
    for place in placed {
        for (wanted, error) in sample_errors().into_iter().zip(sample_errors()) {
            let wanted = place(wanted);
            let error = Error::from(io::Error::from(place(error)));
            let of = |error: &Error| {
                (format!("{error:?}"), error.to_string(), error.index().map(<[usize]>::to_vec))
            };
            assert_eq!(of(&error), of(&wanted));
            assert_eq!(error.help(), wanted.help());
        }
    }
}

/// Returns the names of an enum's variants, parsed from its source so that none can be forgotten.
#[cfg(feature = "object")]
fn variants(source: &'static str, name: &str) -> Vec<&'static str> {
    let (_, variants) = source.split_once(&format!("enum {name} {{\n")).unwrap();
    let (variants, _) = variants.split_once("\n}\n").unwrap();
    let names = variants.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    names.map(|line| line.split([' ', ',', '(']).next().unwrap()).collect()
}

/// Compares one message of each kind with the file. `NDARRAY_IO_UPDATE=1` rewrites it, for review.
#[cfg(feature = "object")] // without it, the remedy for objects is the feature
#[test]
fn error_messages_equal_those_in_testdata() {
    let mut all = String::new();
    for error in sample_errors() {
        let kind = format!("{:?}", error.kind());
        let kind = kind.split([' ', '(']).next().unwrap_or_default().to_owned();
        let help = error.help().map_or_else(|| "-".into(), |help| help.to_string());
        all += &format!("{kind}\n  display  {error}\n  help     {help}\n");
    }
    // A word alone would not do: `Rows` is a limit and also a shape that is wanted.
    let named = |name: &str, error: &Error| match name {
        "ErrorKind" => format!("{:?}", error.kind()),
        "Remedy" => error.remedy().map_or_else(String::new, |help| format!("{help:?}")),
        "LimitKind" => match error.kind() {
            ErrorKind::Limit { limit_kind, .. } => format!("{limit_kind:?}"),
            _ => String::new(),
        },
        _ => unreachable!("{name}"),
    };
    let mut missing = Vec::new();
    for (source, name) in [
        (include_str!("kind.rs"), "ErrorKind"),
        (include_str!("kind.rs"), "LimitKind"),
        (include_str!("help.rs"), "Remedy"),
    ] {
        for variant in variants(source, name) {
            let is_sample = |error: &Error| {
                named(name, error).split(|char: char| !char.is_alphanumeric()).next() == Some(variant)
            };
            if !sample_errors().iter().any(is_sample) {
                missing.push(format!("{name}::{variant}"));
            }
        }
    }
    assert!(missing.is_empty(), "`sample_errors` needs errors with {}", missing.join(", "));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/errors.txt");
    if std::env::var_os("NDARRAY_IO_UPDATE").is_some() {
        std::fs::write(path, &all).unwrap();
    }
    assert_eq!(all, std::fs::read_to_string(path).unwrap());
}
