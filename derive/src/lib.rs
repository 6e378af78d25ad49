//! `#[derive(Record)]` and `#[derive(Element)]` for `ndarray-io`: of a record, [`parse`] reads the struct and its attributes,
//! and [`expand`] says in code what they are; [`element`] does both. What follows from it is the library's business.

mod element;
mod expand;
mod parse;

use proc_macro::TokenStream;

/// Makes a struct an element: NumPy's record.
///
/// The fields are named, and each is of a type that is an element itself, an array `[T; N]` of what can be a field
/// (NumPy's subarray), or a struct that derives `Record`.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{ReadNpyExt, Record, WriteNpyExt};
///
/// #[derive(Record, Clone, Debug, PartialEq)]
/// struct Star {
///     #[record(len = 16)]
///     name: String,
///     position: [f64; 3],
///     #[record(rename = "mag")]
///     magnitude: f32,
/// }
///
/// let stars = arr1(&[Star { name: "Vega".into(), position: [1.0, 2.0, 3.0], magnitude: 0.03 }]);
/// let mut file = Vec::new();
/// stars.write_npy(&mut file)?; // [('name', '<U16'), ('position', '<f8', (3,)), ('mag', '<f4')]
/// assert_eq!(Array1::<Star>::read_npy(&file[..])?, stars);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// # The layout of the file
///
/// - By default, the fields follow one another in the order of the struct, without padding.
/// - With `#[repr(C)]` they lie as in memory, which is what NumPy does with `align=True`.
/// - With `#[repr(C, packed)]` they lie as in memory, without padding.
///
/// On reading, the fields are found by their names, whatever their order, offsets and byte order in the file. A field
/// that is missing in the file is an error, and so is one that the struct has not, unless
/// `ReadOptions::ignore_extra_fields` passes over it.
///
/// Where the file's layout is that of the struct in memory, records move in bulk, at the speed of plain numbers; and with
/// `#[repr(C)]` or `#[repr(C, packed)]` they can be viewed and mapped. One with padding cannot be viewed mutably.
///
/// # Attributes
///
/// Of the struct:
/// - `#[record(size = 32)]`: the size of a record in the file, if it is larger than its fields.
/// - `#[record(rename_all = "camelCase")]`: how the names of the fields are spelled in the file. As in serde, there are
///   `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case` and
///   `SCREAMING-KEBAB-CASE`.
/// - `#[record(crate = path::to::ndarray_io)]`: where the library is, if not at `::ndarray_io`.
///
/// Of a field:
/// - `#[record(rename = "…")]`: its name in the file. It may be any text.
/// - `#[record(alias = "…")]`: another name that it may have in a file that is read. It may be given several times.
/// - `#[record(default)]`, `#[record(default = "path")]`: if the file lacks the field, it is what `Default::default` or
///   the function gives.
/// - `#[record(skip)]`: it is not in the file, and is what `Default::default`, or the function of `default`, gives on
///   reading. A struct with such a field cannot be viewed.
/// - `#[record(flatten)]`: its type is a struct that derives `Record`, and the fields of that are fields of this record.
/// - `#[record(title = "…")]`: NumPy's second name for it, which is written and not looked at on reading.
/// - `#[record(len = 16)]`: the width of a `String` in characters, or of a `Vec<u8>` in bytes. On writing, a longer one
///   is an error.
/// - `#[record(offset = 8)]`: where in the file's record it begins.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    let expanded = parse::Struct::of(input).map(|parsed| expand::expand(&parsed));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a newtype or an enum an element, which it is in the file already: nothing is copied or converted to read, write or view it.
///
/// - A struct with `#[repr(transparent)]` around one element (`f64`, `String`, `[f32; 3]`, a struct that derives `Record`, …) is in
///   a file what that element is. It may have type parameters, and fields of the type `PhantomData` besides.
/// - An enum without fields and with an integer as its `#[repr(…)]`, from `u8` to `i64`, is in a file the number of its variant.
///   On reading and viewing, a number that no variant has is an error. Files full of zeros (`write_zeroed_npy`,
///   `NpyMmapMut::create`) are a compile error if no variant has the number 0.
///
/// Such types can be fields of records as well.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{Element, ReadNpyExt, WriteNpyExt};
///
/// #[derive(Element, Clone, Copy, Debug, PartialEq)]
/// #[repr(transparent)]
/// struct Metres(f64);
///
/// #[derive(Element, Clone, Copy, Debug, PartialEq)]
/// #[repr(u8)]
/// enum Tissue {
///     Air = 0,
///     Bone = 1,
///     Muscle = 7,
/// }
///
/// let mut file = Vec::new();
/// arr1(&[1u8, 7, 0]).write_npy(&mut file)?;
/// assert_eq!(Array1::<Tissue>::read_npy(&file[..])?, arr1(&[Tissue::Bone, Tissue::Muscle, Tissue::Air]));
///
/// let mut file = Vec::new();
/// arr1(&[Metres(1.5)]).write_npy(&mut file)?; // '<f8'
/// assert_eq!(Array1::<f64>::read_npy(&file[..])?, arr1(&[1.5]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// `#[element(crate = path::to::ndarray_io)]` says where the library is, if not at `::ndarray_io`.
#[proc_macro_derive(Element, attributes(element))]
pub fn derive_element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
