//! A struct and its attributes. Every error points at what it speaks of.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Fields, Generics, Ident, LitInt, LitStr, Path, Result, Type,
};

/// What was derived for.
pub(crate) struct Struct {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    /// Where the library is.
    pub(crate) library: Path,
    pub(crate) layout: Layout,
    pub(crate) size: Option<Expr>,
    pub(crate) fields: Vec<Field>,
}

pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) type_: Type,
    pub(crate) name: String,
    pub(crate) title: Option<LitStr>,
    pub(crate) len: Option<Expr>,
    pub(crate) offset: Option<Expr>,
}

/// What `#[repr(…)]` says.
#[derive(Clone, Copy, Default)]
pub(crate) struct Layout {
    /// The order of the fields in memory is that of the struct.
    pub(crate) is_ordered: bool,
    pub(crate) pack: Option<usize>,
    pub(crate) align: Option<usize>,
}

impl Struct {
    pub(crate) fn of(input: DeriveInput) -> Result<Self> {
        let fields = match input.data {
            Data::Struct(data) => match data.fields {
                Fields::Named(fields) => fields.named,
                Fields::Unnamed(_) | Fields::Unit => {
                    let message = "a record has named fields: NumPy finds them by their names";
                    return Err(Error::new(input.ident.span(), message));
                }
            },
            Data::Enum(data) => {
                let message = "an enum is no record: NumPy has no type for it; store a number and convert it";
                return Err(Error::new(data.enum_token.span, message));
            }
            Data::Union(data) => {
                let message = "a union is no record: its bytes do not say which field they are";
                return Err(Error::new(data.union_token.span, message));
            }
        };
        if let Some(lifetime) = input.generics.lifetimes().next() {
            let message = "a record owns its fields: what is read lives longer than the file's bytes";
            return Err(Error::new(lifetime.span(), message));
        }
        let (library, size) = struct_attributes(&input.attrs)?;
        let fields = fields.into_iter().map(Field::of).collect::<Result<Vec<_>>>()?;
        check_names(&fields)?;
        let layout = Layout::of(&input.attrs)?;
        Ok(Self { ident: input.ident, generics: input.generics, library, layout, size, fields })
    }
}

fn struct_attributes(attributes: &[Attribute]) -> Result<(Path, Option<Expr>)> {
    let (mut library, mut size) = (None, None);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                once(&mut library, meta.path.span(), || meta.value()?.call(Path::parse_mod_style))
            } else if meta.path.is_ident("size") {
                once(&mut size, meta.path.span(), || meta.value()?.parse())
            } else {
                Err(meta.error("of a struct there are `crate` and `size`"))
            }
        })?;
    }
    Ok((library.unwrap_or_else(|| syn::parse_quote!(::ndarray_io)), size))
}

impl Field {
    fn of(field: syn::Field) -> Result<Self> {
        let (mut rename, mut title, mut len, mut offset) = (None::<LitStr>, None, None, None);
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| {
                let at = meta.path.span();
                if meta.path.is_ident("rename") {
                    once(&mut rename, at, || meta.value()?.parse())
                } else if meta.path.is_ident("title") {
                    once(&mut title, at, || meta.value()?.parse())
                } else if meta.path.is_ident("len") {
                    once(&mut len, at, || meta.value()?.parse())
                } else if meta.path.is_ident("offset") {
                    once(&mut offset, at, || meta.value()?.parse())
                } else {
                    Err(meta.error("of a field there are `rename`, `title`, `len` and `offset`"))
                }
            })?;
        }
        if let Some(empty) = rename.as_ref().filter(|rename| rename.value().is_empty()) {
            return Err(Error::new(
                empty.span(),
                "a field needs a name: NumPy takes one without for padding",
            ));
        }
        let Some(ident) = field.ident else { unreachable!("the fields are named") };
        let name = rename.map_or_else(|| ident.unraw().to_string(), |rename| rename.value());
        Ok(Self { ident, type_: field.ty, name, title, len, offset })
    }
}

/// Takes a value, which must not be there yet.
fn once<T>(slot: &mut Option<T>, at: Span, value: impl FnOnce() -> Result<T>) -> Result<()> {
    match slot.replace(value()?) {
        None => Ok(()),
        Some(_) => Err(Error::new(at, "this stands here twice")),
    }
}

/// NumPy has names and titles in one table, so that none may be there twice.
fn check_names(fields: &[Field]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for field in fields {
        if !seen.insert(field.name.clone()) {
            let message = format!("another field is named `{}` already", field.name);
            return Err(Error::new(field.ident.span(), message));
        }
        if let Some(title) = field.title.as_ref().filter(|title| !seen.insert(title.value())) {
            let message = format!("another field has the name or title `{}` already", title.value());
            return Err(Error::new(title.span(), message));
        }
    }
    Ok(())
}

impl Layout {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut layout = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
            attribute.parse_nested_meta(|meta| {
                // What is wrong with it, the compiler says itself.
                if meta.path.is_ident("C") || meta.path.is_ident("transparent") {
                    layout.is_ordered = true;
                } else if meta.path.is_ident("packed") {
                    layout.pack = Some(if meta.input.peek(syn::token::Paren) { number(&meta)? } else { 1 });
                } else if meta.path.is_ident("align") {
                    layout.align = Some(number(&meta)?);
                }
                Ok(())
            })?;
        }
        Ok(layout)
    }
}

fn number(meta: &syn::meta::ParseNestedMeta<'_>) -> Result<usize> {
    let content;
    syn::parenthesized!(content in meta.input);
    content.parse::<LitInt>()?.base10_parse()
}
