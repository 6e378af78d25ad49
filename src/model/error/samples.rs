//! One error of each kind, for the tests of the messages.

use std::io;

use super::{
    CopyReason, ElementFault, Error, ErrorKind, Fault, FilePart, FileSection, LimitKind, Remedy, WantedShape,
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
        Fault::Io(io::Error::from(io::ErrorKind::NotFound)),
        Fault::OutOfMemory { bytes: 1 << 40 },
        Fault::BadMagic { format: "NPY", found: b"PK\x03\x04\0\0".to_vec() },
        Fault::BadMagic { format: "RA", found: Vec::new() },
        Fault::Unsupported { part: FilePart::Version, reason: "9.0, expected 1.0, 2.0 or 3.0".into() },
        Fault::Truncated { part: FileSection::Preamble, need: 10, have: 4 },
        Fault::Truncated { part: FileSection::Header, need: 128, have: 100 },
        Fault::Truncated {
            part: FileSection::Payload { shape: vec![3, 4].into(), dtype: dtype("<f8") },
            need: 96,
            have: 80,
        },
        Fault::Truncated { part: FileSection::Packed, need: 214, have: 100 },
        Fault::Malformed { part: FilePart::Header, reason: "it is not a dict".into(), offset: None },
        Fault::Malformed {
            part: FilePart::Header,
            reason: "'shape' is not a tuple".into(),
            offset: Some(69),
        },
        Fault::Malformed {
            part: FilePart::Data,
            reason: "expected 400 bytes in the LZ4 block, found 396".into(),
            offset: None,
        },
        Fault::Unsupported { part: FilePart::Data, reason: "bfloat16 in big-endian byte order".into() },
        Fault::Malformed { part: FilePart::Pickle, reason: "the pickle is truncated".into(), offset: None },
        Fault::Malformed {
            part: FilePart::Pickle,
            reason: "its argument declares 300 bytes, 12 remain".into(),
            offset: Some(7),
        },
        Fault::Unsupported {
            part: FilePart::Pickle,
            reason: "protocol 6 is unknown; Python has 0 to 5".into(),
        },
        Fault::Malformed {
            part: FilePart::Stack,
            reason: "its info is not a dict with the key 'chunks'".into(),
            offset: None,
        },
        Fault::unsupported_dtype("'<f3'", "there is no type 'f' of the size 3"),
        Fault::Overflow { what: "an array of shape (4611686018427387904, 4) and dtype '<f8'".into() },
        Fault::Trailing { bytes: 1, at_least: true, rows: 0 },
        Fault::Trailing { bytes: 16, at_least: false, rows: 2 },
        Fault::InvalidElement(ElementFault::Bool { found: 2 }),
        Fault::Encrypted { has_password: false },
        Fault::Encrypted { has_password: true },
        Fault::InvalidElement(ElementFault::Variant { found: 7, of: "Color", number: "u8" }),
        Fault::InvalidElement(ElementFault::Unicode { code: 0x11_0000 }),
        Fault::InvalidElement(ElementFault::Utf8 { valid_up_to: 3 }),
        Fault::Malformed {
            part: FilePart::Archive,
            reason: "its directory is longer than the file".into(),
            offset: None,
        },
        Fault::Unsupported { part: FilePart::Archive, reason: "it is spread over several disks".into() },
        Fault::wrong_checksum(1, 2),
        Fault::Malformed { part: FilePart::Content, reason: "corrupt deflate stream".into(), offset: None },
        Fault::DTypeMismatch { found: dtype("<f8"), wanted: dtype("<i4") },
        Fault::Objects { found: DType::Object },
        Fault::MissingField { field: "mass".into(), found: dtype("[('x', '<f4')]") },
        Fault::ExtraField { field: "mass".into() },
        Fault::ShapeMismatch { found: vec![2, 3].into(), wanted: WantedShape::Axes(1) },
        Fault::ShapeMismatch { found: Shape::default(), wanted: WantedShape::Axes(1) },
        Fault::ShapeMismatch { found: vec![2].into(), wanted: WantedShape::Exactly(vec![2, 3].into()) },
        Fault::NeedsCopy(CopyReason::ByteOrder { found: dtype(">f8") }),
        Fault::NotConvertible { reason: "NaT is not a time".into() },
        Fault::NeedsCopy(CopyReason::Layout { found: dtype("[('x', '<f4')]") }),
        Fault::NeedsCopy(CopyReason::Compressed { packed: 10, size: 100 }),
        Fault::NeedsCopy(CopyReason::Misaligned { wanted: 8, off_by: 2 }),
        Fault::NeedsCopy(CopyReason::Packed),
        Fault::NotRepresentable { format: "RA", dtype: dtype("<U3"), reason: "it is text".into() },
        Fault::VersionTooLow { wanted: (1, 0), needed: (2, 0) },
        Fault::AlreadyExists,
        Fault::CannotReplace {
            reason: "it has 2 hard links, and the others would keep the old content".into(),
        },
        Fault::TextTooLong { length: 5, width: 4 },
        Fault::NoSuchMember { name: "x".into(), available: vec!["y".into(), "z".into()] },
        Fault::AmbiguousName { name: "x".into(), indices: vec![0, 3] },
        Fault::NameTaken { name: "x".into() },
        Fault::WrongCount { found: 3, wanted: 1 },
        Fault::Cancelled,
        Fault::NotLoaded { missing: vec![128..1128, 5000..5008] },
        Fault::Locked,
        Fault::ArrayChanged { reason: "the file has changed since its last commit".into() },
        Fault::ShapeMismatch { found: vec![2].into(), wanted: WantedShape::Rows(vec![3].into()) },
        Fault::HeaderCannotGrow { header: 128, crosses_sector: false },
        Fault::HeaderCannotGrow { crosses_sector: true, header: 640 },
        Fault::Uncommitted { bytes: 17, rows: 2, parts: 0 },
        Fault::Uncommitted { bytes: 0, rows: 0, parts: 2 },
        Fault::OutOfBounds { index: -4, length: 3, axis: None },
        Fault::OutOfBounds { index: 3, length: 3, axis: Some(1) },
        Fault::NoSuchAxis { axis: 2, shape: Shape::from([3, 4]) },
        Fault::NoSuchField { field: "mass".into(), available: vec!["x".into(), "y".into()] },
        Fault::OutOfTurn { reason: "an earlier error has left an incomplete member in the archive".into() },
        Fault::NotRegularFile { reason: "it is a folder".into() },
        Fault::BadSource { reason: "the source returned 20 bytes instead of 10".into() },
        Fault::BadOption { reason: "the range ends before it starts".into() },
        Fault::Other {
            kind: ErrorKind::Changed,
            text: "the object in the store is not the expected version".into(),
        },
        Fault::Other {
            kind: ErrorKind::Malformed,
            text: "malformed sparse matrix: indptr descends from 4 to 3".into(),
        },
    ];
    let limits = limits.map(|limit_kind| Fault::Limit { limit_kind, found: 5000, limit: 1000 });
    let mut all: Vec<Error> = kinds.into_iter().chain(limits).map(Error::from).collect();
    // Remedies that depend on where the error occurs, not on its kind.
    let mismatch = |help| {
        Error::from(Fault::DTypeMismatch { found: dtype("<f8"), wanted: dtype("<i4") }).with_help(help)
    };
    all.extend([
        mismatch(Remedy::ReadAs { rust_type: "f64".into(), can_convert: true }),
        Error::from(Fault::InvalidElement(ElementFault::Bool { found: 2 })).with_help(Remedy::TakeBytes),
        Error::from(Fault::NeedsCopy(CopyReason::ByteOrder { found: dtype(">f8") }))
            .with_help(Remedy::TakeCopy),
        mismatch(Remedy::CastArray { rust_type: "f64".into() }),
        mismatch(Remedy::Cast(Casting::SameKind)),
        mismatch(Remedy::ReadRecords),
        mismatch(Remedy::ReadDynamic),
        mismatch(Remedy::FileDType),
        mismatch(Remedy::OneDType),
        Error::from(Fault::Objects { found: DType::Object }).with_help(Remedy::ReadPickle),
        Error::from(Fault::NotRepresentable {
            format: "RA",
            dtype: dtype("|b1"),
            reason: "no program but RawArray.jl reads them".into(),
        })
        .with_help(Remedy::RaBool),
        Error::from(Fault::Trailing { bytes: 5, at_least: false, rows: 0 }).with_help(Remedy::DropTrailing),
        Error::from(Fault::CannotReplace { reason: "64 bytes of metadata follow the array".into() })
            .with_help(Remedy::KeepTrailing),
        Error::from(Fault::TextTooLong { length: 5, width: 4 }).at_field("name").at_element(3),
        Error::from(Fault::Io(std::io::ErrorKind::StorageFull.into())).while_writing(),
        Error::from(Fault::BadOption {
            reason: "expected Fortran order: the first axis of an RA file varies fastest".into(),
        })
        .with_help(Remedy::FortranOrder),
        Error::from(Fault::OutOfTurn { reason: "the array has been read".into() })
            .with_help(Remedy::NextArray),
        Error::from(Fault::Unsupported { part: FilePart::Header, reason: "unknown flags 0x80".into() })
            .with_help(Remedy::IgnoreRaFlags),
        Error::from(Fault::BadOption { reason: "the slice ''x'' names a field".into() })
            .with_help(Remedy::TakeField),
        Error::from(Fault::BadOption { reason: "bytes need protocol 3".into() })
            .with_help(Remedy::PickleProtocol { protocol: 4 }),
        Error::from(Fault::Io(io::ErrorKind::NotFound.into())).with_help(Remedy::OpenUrl),
        Error::from(Fault::Malformed {
            part: FilePart::Archive,
            reason: "it has no directory".into(),
            offset: None,
        })
        .with_help(Remedy::FinishArchive),
        Error::from(Fault::DTypeMismatch { found: dtype("<f2"), wanted: dtype("<f16") })
            .with_help(Remedy::LongDoubleFormat),
        Error::from(Fault::DTypeMismatch { found: dtype("<f8"), wanted: dtype("<f4") })
            .with_help(Remedy::WriteAs { rust_type: "f64" }),
        Error::from(Fault::BadOption { reason: "the parts of a stack are in C order".into() })
            .with_help(Remedy::COrder),
        Error::from(Fault::NotRepresentable {
            format: "an RA file",
            dtype: dtype("<U3"),
            reason: "it is text".into(),
        })
        .with_help(Remedy::UseNpy),
        Error::from(Fault::Trailing { bytes: 96, at_least: false, rows: 0 }).with_help(Remedy::ArrayFollows),
        Error::from(Fault::Encrypted { has_password: false }).with_help(Remedy::Password),
        Error::from(Fault::Unsupported {
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
        let help = error.help().map_or_else(|| "-".into(), |help| help.to_string());
        all += &format!("{:?}\n  display  {error}\n  help     {help}\n", error.kind());
    }
    // A word alone would not do: `Rows` is a limit and also a shape that is wanted.
    let named = |name: &str, error: &Error| match name {
        "Fault" => format!("{:?}", error.fault()),
        "Remedy" => error.remedy().map_or_else(String::new, |help| format!("{help:?}")),
        "LimitKind" => match error.fault() {
            Fault::Limit { limit_kind, .. } => format!("{limit_kind:?}"),
            _ => String::new(),
        },
        _ => unreachable!("{name}"),
    };
    let mut missing = Vec::new();
    for (source, name) in [
        (include_str!("fault.rs"), "Fault"),
        (include_str!("fault.rs"), "LimitKind"),
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
