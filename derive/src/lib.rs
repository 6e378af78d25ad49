//! `#[derive(Record)]` and `#[derive(Element)]` for `ndarray-io`.
//!
//! For a record, [`parse`] reads the struct and its attributes, and [`expand`] generates code that describes
//! them; [`element`] does both for an element. Everything else is done by the library.

/// Returns tokens whose local variables users cannot see, and which cannot see those of users, even where both
/// come through macros.
macro_rules! template {
    ($($tokens:tt)*) => { quote::quote_spanned!(proc_macro2::Span::mixed_site() => $($tokens)*) };
}

mod element;
mod expand;
mod parse;

use proc_macro::TokenStream;
use proc_macro2::{Ident, Span};

/// Returns a name for a local variable or constant of the generated code.
///
/// Local variables of users are other ones by their span, but an item of the same name would be found: a constant
/// or a unit struct is a pattern, too.
fn hygienic_ident(name: &str) -> Ident {
    Ident::new(&format!("__ndarray_io_{name}"), Span::mixed_site())
}

/// Returns a span for tokens like those of [`template!`], for which the compiler reports errors at `place`.
fn span_at(place: Span) -> Span {
    Span::mixed_site().located_at(place)
}

/// Returns an error, and implementations that are never used: without them, each use of the type would be an error as well.
fn error_with_impls(error: &syn::Error, input: &syn::DeriveInput) -> proc_macro2::TokenStream {
    let syn::DeriveInput { ident: name, generics, attrs, .. } = input;
    let (error, library) = (error.to_compile_error(), library_of(attrs));
    let (parameters, arguments, clause) = generics.split_for_impl();
    let bounds = clause.map(|clause| &clause.predicates);
    let clause = template!(where Self: ::core::marker::Send + ::core::marker::Sync, #bounds);
    template! {
        #error

        impl #parameters #library::ReadableElement for #name #arguments #clause {
            fn read_plan(
                _: &#library::DType,
                _: &#library::ReadOptions,
            ) -> #library::Result<#library::__private::ReadPlan<Self>> {
                ::core::unreachable!()
            }
        }

        impl #parameters #library::WritableElement for #name #arguments #clause {
            fn dtype_for(
                _: &mut dyn ::core::iter::Iterator<Item = &Self>,
                _: &#library::WriteOptions,
            ) -> #library::Result<#library::DType> {
                ::core::unreachable!()
            }

            fn write_plan(_: &#library::DType) -> #library::__private::WritePlan<Self> {
                ::core::unreachable!()
            }
        }

        impl #parameters #library::ViewElement for #name #arguments #clause {}
    }
}

/// Returns where the library is, as far as the attributes can be read: one of them is wrong.
fn library_of(attributes: &[syn::Attribute]) -> syn::Path {
    let mut library = syn::parse_quote!(::ndarray_io);
    let ours = attributes.iter().filter(|at| at.path().is_ident("record") || at.path().is_ident("element"));
    for attribute in ours {
        // The errors have been reported.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                library = meta.value()?.call(syn::Path::parse_mod_style)?;
            } else if let Ok(value) = meta.value() {
                value.parse::<syn::Expr>()?;
            }
            Ok(())
        });
    }
    library
}

/// Implements the element traits for a struct, which is stored as a NumPy record.
///
/// The fields must be named. The type of each field is an element, a struct that derives `Record`, or an
/// array `[T; N]` of such types (NumPy's subarray).
///
/// # Examples
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
/// # The layout in the file
///
/// - By default, the fields follow one another in the order of the struct, without padding.
/// - With `#[repr(C)]`, they are laid out as in memory, as NumPy does with `align=True`.
/// - With `#[repr(C, packed)]`, they are laid out as in memory, without padding.
///
/// When reading, fields are matched by name. Their order, offsets and byte order in the file may differ from
/// those of the struct.
///
/// If a struct has the same layout in the file as in memory, records are copied in bulk, as fast as plain
/// numbers. With `#[repr(C)]` or `#[repr(C, packed)]`, they can also be viewed and mapped. A struct with
/// padding cannot be viewed mutably.
///
/// # Errors
///
/// Reading fails with `ErrorKind::DTypeMismatch` if the file lacks a field of the struct (see `default` below), has additional fields
/// (unless `ReadOptions::ignore_extra_fields` is set), or has a field of another type.
///
/// # Attributes
///
/// On the struct:
/// - `#[record(size = 32)]`: the size of a record in the file, in bytes, if it is larger than its fields.
/// - `#[record(rename_all = "camelCase")]`: the case of the field names in the file. As in serde, the choices
///   are `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`,
///   `kebab-case` and `SCREAMING-KEBAB-CASE`.
/// - `#[record(crate = path::to::ndarray_io)]`: the path of the library, if it is not `::ndarray_io`. A module
///   there must export the library's names and no others in their place.
///
/// On a field:
/// - `#[record(rename = "…")]`: the name of the field in the file. It can be any non-empty text.
/// - `#[record(alias = "…")]`: another name that is accepted when reading. It can be given several times.
/// - `#[record(default)]`, `#[record(default = "path")]`: if the file lacks the field, its value is created
///   by `Default::default` or by the function at this path.
/// - `#[record(skip)]`: the field is not in the file. When reading, its value is created by
///   `Default::default`, or by the function that `default` sets. A struct with such a field cannot be viewed.
/// - `#[record(flatten)]`: the field's type derives `Record`, and its fields become fields of this record.
/// - `#[record(title = "…")]`: the NumPy title, a second name for the field. It is written to files, but
///   ignored when reading.
/// - `#[record(len = 16)]`: the width of a `String` in characters, or of a `Vec<u8>` in bytes. Writing a
///   longer value fails with `ErrorKind::NotConvertible`. A struct that is only read from NPY files does not need it; a program
///   that writes a struct without it, or reads one from an RA file, is not built, or gets an error.
/// - `#[record(offset = 8)]`: the offset of the field in the file's record, in bytes.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    let expanded = parse::Struct::of(input.clone()).map(|parsed| expand::expand(&parsed));
    expanded.unwrap_or_else(|error| error_with_impls(&error, &input)).into()
}

/// Implements the element traits for a newtype, for an enum, or for any type that is read and written through another one.
///
/// A newtype is stored as the value that it wraps, and an enum as its number. Reading, writing or viewing the
/// type needs no copy or conversion beyond those for the stored type.
///
/// - A struct with `#[repr(transparent)]` around one element (`f64`, `String`, `[f32; 3]`, a struct that
///   derives `Record`, …) is stored as that element. It can have type parameters and additional `PhantomData`
///   fields.
/// - An enum without fields whose `#[repr(…)]` is an integer type of 8 to 64 bits is stored as the number of
///   its variant. Reading or viewing a number without a variant fails with `ErrorKind::Malformed`. If no
///   variant has the number 0, creating files filled with zeros (`write_zeroed_npy`, `NpyMmapMut::create`) is
///   a compile error.
///
/// Such types can also be fields of records.
///
/// # Examples
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
/// # Through another type
///
/// Any type can be read and written through an element type, as in serde, which costs a conversion for each element:
///
/// - `#[element(from = "T")]` reads elements of type `T` and converts them by `From<T>`; `#[element(try_from = "T")]` does so
///   by `TryFrom<T>`, whose error becomes `ErrorKind::NotConvertible` and names the element.
/// - `#[element(into = "T")]` writes elements that `Into<T>` converts; the type must be `Clone`.
///
/// Without one of them, the type is only written or only read. It cannot be viewed.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{Element, ReadNpyExt, WriteNpyExt};
///
/// /// A depth in metres; NaN in a file if it is not known.
/// #[derive(Element, Clone, Copy, Debug, PartialEq)]
/// #[element(from = "f32", into = "f32")]
/// struct Depth(Option<f32>);
///
/// impl From<f32> for Depth {
///     fn from(metres: f32) -> Self {
///         Self(Some(metres).filter(|metres| !metres.is_nan()))
///     }
/// }
///
/// impl From<Depth> for f32 {
///     fn from(depth: Depth) -> Self {
///         depth.0.unwrap_or(f32::NAN)
///     }
/// }
///
/// let mut file = Vec::new();
/// arr1(&[1.5, f32::NAN]).write_npy(&mut file)?;
/// assert_eq!(Array1::<Depth>::read_npy(&file[..])?, arr1(&[Depth(Some(1.5)), Depth(None)]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// # The path of the library
///
/// `#[element(crate = path::to::ndarray_io)]` sets the path of the library, if it is not `::ndarray_io`. A module
/// there must export the library's names and no others in their place.
#[proc_macro_derive(Element, attributes(element))]
pub fn derive_element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::expand(&input).unwrap_or_else(|error| error_with_impls(&error, &input)).into()
}
