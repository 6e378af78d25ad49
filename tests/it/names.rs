//! The names at the root of the crate: few enough for one page, and none of them also in `ndarray`.

#[allow(unused_imports)]
mod both {
    pub(super) use ndarray::*;
    pub(super) use ndarray_io::*;
}

/// Imports each name from both crates: a name that is in both would be ambiguous and an error.
macro_rules! names {
    ($($name:ident)*) => {
        #[allow(unused_imports)]
        use both::{$($name),*};

        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

names! {
    // Reading, writing and viewing.
    ReadNpyExt ViewMutNpyExt ViewNpyExt WriteNpyExt ReadArray WriteArray
    read_npy write_npy write_zeroed_npy
    NpyFile NpyFileMut NpyMmap NpyMmapMut NpyReader NpyWriter
    NpzFile NpzReader NpzUpdate NpzWriter read_npz write_npz
    DynArray DynView FlatArray FlatView
    // Options and errors.
    ByteOrder Casting Compression Limits ReadOptions WriteOptions
    Error Result
    // Elements.
    DType Element Record ReadableElement ViewElement ViewMutElement WritableElement
}

/// `lib.rs` exports exactly these names outside its modules, not counting the aliases of `Error` for
/// `ndarray-npy`.
#[test]
fn crate_root_exports_exactly_listed_names() {
    let lib = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")).unwrap();
    let mut exported = Vec::new();
    for part in lib.split("\npub use ").skip(1) {
        let list = &part[..part.find(';').unwrap()];
        let list = list.rsplit("::").next().unwrap();
        let names = list.trim_matches(['{', '}']).split(',').map(str::trim).filter(|name| !name.is_empty());
        exported.extend(names.filter(|name| !matches!(*name, "*" | "object")).map(str::to_owned));
    }
    exported.sort();
    let mut wanted: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    wanted.sort();
    let added: Vec<_> = exported.iter().filter(|name| !wanted.contains(name)).collect();
    let missing: Vec<_> = wanted.iter().filter(|name| !exported.contains(name)).collect();
    assert!(
        added.is_empty() && missing.is_empty(),
        "the root of the crate has names for the first hour; others belong to a module, such as `file` or `element`.\n\
         Exported, and not in the list of this test: {added:?}\nIn the list, and not exported: {missing:?}"
    );
    assert!(wanted.len() <= 45, "{} names at the root: move one of them to a module", wanted.len());
}

/// A struct may have the same name as the derive.
#[test]
fn struct_named_record_derives_record() {
    use ndarray_io::*;

    #[derive(Record, Clone, Debug, PartialEq)]
    struct Record {
        x: f64,
    }

    let mut file = Vec::new();
    ndarray::arr1(&[Record { x: 1.5 }]).write_npy(&mut file).unwrap();
    let read = ndarray::Array1::<Record>::read_npy(&file[..]).unwrap();
    assert_eq!(read[0], Record { x: 1.5 });
}

/// Types that work on files can be sent to other threads.
#[test]
fn public_types_are_send_and_shareable_ones_sync() {
    fn assert_send<T: Send>() {}
    fn assert_send_and_sync<T: Send + Sync>() {}
    assert_send_and_sync::<ndarray_io::NpyFile>();
    assert_send_and_sync::<ndarray_io::NpzFile>();
    assert_send_and_sync::<ndarray_io::DynArray>();
    assert_send_and_sync::<ndarray_io::Error>();
    assert_send_and_sync::<ndarray_io::ReadOptions>();
    assert_send_and_sync::<ndarray_io::WriteOptions>();
    assert_send::<ndarray_io::NpyReader<std::fs::File>>();
    assert_send::<ndarray_io::NpyWriter<f64, std::fs::File>>();
    assert_send::<ndarray_io::NpzReader<std::fs::File>>();
    assert_send::<ndarray_io::NpzWriter<std::fs::File>>();
    assert_send_and_sync::<ndarray_io::NpyMmap<f64, ndarray::Ix1>>();
    assert_send::<ndarray_io::NpyMmapMut<f64, ndarray::Ix1>>();
    assert_send::<ndarray_io::convert::Conversion<'static>>();
    assert_send::<ndarray_io::NpzUpdate<'static>>();
}
