//! Which options which verbs of [`WriteOptions`] honour. What a verb cannot honour is an error, never ignored.
//!
//! Threads, progress and the time to wait for a lock are hints: every verb takes them.

use super::write::WriteOptions;
use super::{Compression, Trailing};
use crate::error::{Fault, Result};

/// An option that changes bytes, values or guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Version,
    Order,
    ByteOrder,
    TextWidth,
    PickleProtocol,
    Sync,
    InPlace,
    CreateNew,
    Preallocate,
    Compression,
    Lz4,
    Trailing,
    RaBools,
    Uncommitted,
}

use Choice::{
    ByteOrder, CreateNew, InPlace, Lz4, Order, PickleProtocol, Preallocate, RaBools, Sync, TextWidth, Version,
};

/// What is done with options, as errors say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "full"), allow(dead_code))] // some are of features
pub(crate) enum Verb {
    WriteNpy,
    WriteTo,
    WriteHeaded,
    WriteRa,
    WriteRaTo,
    WriteNpz,
    NpzWriter,
    UpdateNpz,
    AddWith,
    AddRawWith,
    Convert,
    ConvertToRa,
    WriteZeroed,
    CreateMap,
    Writer,
    Create,
    Append,
    AppendOrCreate,
    AppendOrCreateDyn,
    GrowHeader,
    BeginReplacement,
    CreateStack,
    AppendStack,
}

impl Verb {
    fn honours(self) -> &'static [Choice] {
        match self {
            Self::WriteNpy => {
                &[Version, Order, ByteOrder, TextWidth, PickleProtocol, Sync, InPlace, CreateNew]
            }
            Self::WriteTo => &[Version, Order, ByteOrder, TextWidth, PickleProtocol, Sync],
            Self::WriteHeaded => &[Order, ByteOrder, TextWidth, PickleProtocol, Sync],
            Self::WriteRa => &[Order, ByteOrder, Lz4, Choice::Trailing, RaBools, Sync, InPlace, CreateNew],
            Self::WriteRaTo => &[Order, ByteOrder, Lz4, Choice::Trailing, RaBools, Sync],
            Self::WriteNpz => &[
                Version,
                Order,
                ByteOrder,
                TextWidth,
                PickleProtocol,
                Choice::Compression,
                Sync,
                InPlace,
                CreateNew,
            ],
            Self::NpzWriter | Self::UpdateNpz => {
                &[Version, Order, ByteOrder, TextWidth, PickleProtocol, Choice::Compression, Sync]
            }
            Self::AddWith => &[Version, Order, ByteOrder, TextWidth, PickleProtocol, Choice::Compression],
            Self::AddRawWith => &[Choice::Compression],
            Self::Convert => &[Version, Sync, InPlace, CreateNew],
            Self::ConvertToRa => &[Choice::Trailing, RaBools, Sync, InPlace, CreateNew],
            Self::WriteZeroed => &[Version, Order, ByteOrder, TextWidth, Sync, Preallocate],
            Self::CreateMap => &[Version, Order, ByteOrder, Sync, InPlace, CreateNew, Preallocate],
            Self::Writer => &[Version, Order, ByteOrder, TextWidth, Sync],
            Self::Create => &[Version, Order, ByteOrder, TextWidth, Sync, InPlace, CreateNew],
            Self::Append => &[Sync, Choice::Uncommitted],
            Self::AppendStack => &[Version, Order, Sync, Choice::Uncommitted],
            Self::AppendOrCreateDyn => &[Version, Order, Sync, Choice::Uncommitted],
            Self::AppendOrCreate => &[Version, Order, ByteOrder, TextWidth, Sync, Choice::Uncommitted],
            Self::GrowHeader | Self::BeginReplacement => &[Sync],
            Self::CreateStack => &[Version, Order, Sync, InPlace, CreateNew],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::WriteNpy => "write_npy",
            Self::WriteTo => "write_to",
            Self::WriteHeaded => "write_headed",
            Self::WriteRa => "write_ra",
            Self::WriteRaTo => "write_ra_to",
            Self::WriteNpz => "write_npz",
            Self::NpzWriter => "npz_writer",
            Self::UpdateNpz => "update_npz",
            Self::WriteZeroed => "write_zeroed_npy",
            Self::CreateMap => "create_map",
            Self::Writer => "writer",
            Self::Create => "create",
            Self::Append => "append",
            Self::AppendOrCreate => "append_or_create",
            Self::AppendOrCreateDyn => "append_or_create_dyn",
            Self::AddWith => "add_with",
            Self::AddRawWith => "add_raw_with",
            Self::Convert => "convert",
            Self::ConvertToRa => "convert_npy_to_ra",
            Self::GrowHeader => "grow_header",
            Self::BeginReplacement => "begin_replacement",
            Self::CreateStack => "create_stack",
            Self::AppendStack => "append_stack",
        }
    }
}

impl Choice {
    fn name(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Order => "order",
            Self::ByteOrder => "byte_order",
            Self::TextWidth => "text_width",
            Self::PickleProtocol => "pickle_protocol",
            Self::Sync => "sync",
            Self::InPlace => "in_place",
            Self::CreateNew => "create_new",
            Self::Preallocate => "preallocate",
            Self::Compression => "compression",
            Self::Lz4 => "compression(Lz4)",
            Self::Trailing => "trailing",
            Self::RaBools => "ra_bools",
            Self::Uncommitted => "uncommitted",
        }
    }
}

impl WriteOptions {
    /// Returns an error if an option is set that the verb cannot honour.
    pub(crate) fn check_for(&self, verb: Verb) -> Result<()> {
        let honoured = verb.honours();
        match self.choices().into_iter().flatten().find(|choice| !honoured.contains(choice)) {
            None => Ok(()),
            Some(choice) => {
                let reason = format!("`{}` does not have the option `{}`", verb.name(), choice.name());
                Err(Fault::BadOption { reason }.into())
            }
        }
    }

    /// [`check_for`](Self::check_for), with the path in the error.
    pub(crate) fn check_at_path(&self, verb: Verb, path: &std::path::Path) -> Result<()> {
        self.check_for(verb).map_err(|error| error.at_path(path))
    }

    fn choices(&self) -> [Option<Choice>; 13] {
        [
            self.version.map(|_| Version),
            self.order.map(|_| Order),
            self.byte_order.map(|_| ByteOrder),
            self.text_width.map(|_| TextWidth),
            self.pickle_protocol.map(|_| PickleProtocol),
            self.sync.then_some(Sync),
            self.in_place.then_some(InPlace),
            self.create_new.then_some(CreateNew),
            self.preallocate.then_some(Preallocate),
            match self.compression {
                Compression::Stored => None,
                Compression::Deflated(_) | Compression::Zstd(_) => Some(Choice::Compression),
                Compression::Lz4 => Some(Lz4),
            },
            (self.trailing != Trailing::Protect).then_some(Choice::Trailing),
            self.ra_bools.then_some(RaBools),
            (self.uncommitted != Default::default()).then_some(Choice::Uncommitted),
        ]
    }
}
