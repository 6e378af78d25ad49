//! Parses a struct and its attributes. Every error points at the code that causes it.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprPath, Fields, Generics, Ident, LitInt, LitStr, Path,
    Result, Type,
};

/// The struct that the derive is applied to.
pub(crate) struct Struct {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    /// The path of the library.
    pub(crate) library: Path,
    pub(crate) layout: Layout,
    pub(crate) size: Option<Expr>,
    /// The fields that are in the file.
    pub(crate) fields: Vec<Field>,
    /// The fields that are not in the file.
    pub(crate) skipped: Vec<Skipped>,
}

pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) type_: Type,
    pub(crate) name: String,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) len: Option<Expr>,
    pub(crate) offset: Option<Expr>,
    pub(crate) default: Option<ValueSource>,
    /// Whether the fields of this field's type become fields of the record itself.
    pub(crate) is_flat: bool,
}

pub(crate) struct Skipped {
    pub(crate) ident: Ident,
    pub(crate) type_: Type,
    pub(crate) make: ValueSource,
}

/// The source of a value that is not in the file.
pub(crate) enum ValueSource {
    /// `Default::default`.
    Default,
    /// A function without arguments.
    Call(ExprPath),
}

/// The contents of `#[repr(…)]`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Layout {
    /// Whether the fields are laid out in memory in the order of the struct.
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
                    let message =
                        "a record must have named fields; for a struct around one element, derive `Element`";
                    return Err(Error::new(input.ident.span(), message));
                }
            },
            Data::Enum(data) => {
                let message = "an enum is not a record; for an enum without fields, derive `Element`";
                return Err(Error::new(data.enum_token.span, message));
            }
            Data::Union(data) => {
                let message = "a union is not a record: its bytes do not say which field they are";
                return Err(Error::new(data.union_token.span, message));
            }
        };
        if let Some(lifetime) = input.generics.lifetimes().next() {
            let message = "a record cannot have a lifetime parameter: it must own its fields";
            return Err(Error::new(lifetime.span(), message));
        }
        let StructAttributes { library, size, case } = StructAttributes::of(&input.attrs)?;
        let (mut stored, mut skipped) = (Vec::new(), Vec::new());
        // All wrong fields at once.
        let mut wrong: Option<Error> = None;
        for field in fields {
            match parse_field(field, case) {
                Ok(ParsedField::Stored(field)) => stored.push(*field),
                Ok(ParsedField::Skipped(field)) => skipped.push(*field),
                Err(error) => match &mut wrong {
                    Some(all) => all.combine(error),
                    None => wrong = Some(error),
                },
            }
        }
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        check_unique_names(&stored)?;
        let layout = Layout::of(&input.attrs)?;
        Ok(Self {
            ident: input.ident,
            generics: input.generics,
            library,
            layout,
            size,
            fields: stored,
            skipped,
        })
    }
}

/// The attributes of a struct.
struct StructAttributes {
    library: Path,
    size: Option<Expr>,
    case: Option<Case>,
}

impl StructAttributes {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let (mut library, mut size, mut case) = (None, None, None);
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| {
                let at = meta.path.span();
                if meta.path.is_ident("crate") {
                    set_once(&mut library, at, || meta.value()?.call(Path::parse_mod_style))
                } else if meta.path.is_ident("size") {
                    set_once(&mut size, at, || meta.value()?.parse())
                } else if meta.path.is_ident("rename_all") {
                    set_once(&mut case, at, || Case::of(&meta.value()?.parse()?))
                } else {
                    Err(unknown_attribute(&meta, "of a struct", "`crate`, `size` or `rename_all`"))
                }
            })?;
        }
        Ok(Self { library: library.unwrap_or_else(|| syn::parse_quote!(::ndarray_io)), size, case })
    }
}

/// The attributes of a field.
#[derive(Default)]
struct FieldAttributes {
    rename: Option<LitStr>,
    aliases: Vec<LitStr>,
    title: Option<LitStr>,
    len: Option<Expr>,
    offset: Option<Expr>,
    default: Option<ValueSource>,
    skip: Option<Span>,
    flatten: Option<Span>,
}

impl FieldAttributes {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut of = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| {
                let at = meta.path.span();
                if meta.path.is_ident("rename") {
                    set_once(&mut of.rename, at, || meta.value()?.parse())
                } else if meta.path.is_ident("alias") {
                    of.aliases.push(meta.value()?.parse()?);
                    Ok(())
                } else if meta.path.is_ident("title") {
                    set_once(&mut of.title, at, || meta.value()?.parse())
                } else if meta.path.is_ident("len") {
                    set_once(&mut of.len, at, || meta.value()?.parse())
                } else if meta.path.is_ident("offset") {
                    set_once(&mut of.offset, at, || meta.value()?.parse())
                } else if meta.path.is_ident("default") {
                    set_once(&mut of.default, at, || ValueSource::of(&meta))
                } else if meta.path.is_ident("skip") {
                    set_once(&mut of.skip, at, || Ok(at))
                } else if meta.path.is_ident("flatten") {
                    set_once(&mut of.flatten, at, || Ok(at))
                } else {
                    const ATTRIBUTES: &str =
                        "`rename`, `alias`, `title`, `len`, `offset`, `default`, `skip` or `flatten`";
                    Err(unknown_attribute(&meta, "of a field", ATTRIBUTES))
                }
            })?;
        }
        Ok(of)
    }

    /// Returns whether the field has an attribute that requires a name of its own.
    fn has_naming_attribute(&self) -> bool {
        self.rename.is_some() || !self.aliases.is_empty() || self.title.is_some() || self.len.is_some()
    }
}

/// Returns the error for an attribute that is none of the known ones.
pub(crate) fn unknown_attribute(meta: &syn::meta::ParseNestedMeta<'_>, of: &str, known: &str) -> Error {
    let name = meta.path.get_ident().map_or_else(|| "…".to_owned(), ToString::to_string);
    // What others call it: serde, and other crates for files.
    let other = match &*name {
        "name" => "; `rename = \"…\"` sets the name in the file",
        "width" | "size" | "length" | "max_len" => "; `len = 16` sets the width of a text",
        "skip_serializing" | "skip_deserializing" | "ignore" => "; `skip` leaves a field out of the file",
        "optional" | "skip_if_missing" => "; `default` accepts files without the field",
        _ => "",
    };
    // These are attributes of fields.
    let other = if of == "of a field" { other } else { "" };
    meta.error(format!("unknown attribute `{name}` {of}, expected {known}{other}"))
}

enum ParsedField {
    Stored(Box<Field>),
    Skipped(Box<Skipped>),
}

fn parse_field(field: syn::Field, case: Option<Case>) -> Result<ParsedField> {
    let of = FieldAttributes::of(&field.attrs)?;
    let Some(ident) = field.ident else { unreachable!("the fields are named") };
    if let Some(skip) = of.skip {
        if of.has_naming_attribute() || of.offset.is_some() || of.flatten.is_some() {
            return Err(Error::new(
                skip,
                "a skipped field is not in the file: only `default` is allowed with `skip`",
            ));
        }
        return Ok(ParsedField::Skipped(Box::new(Skipped {
            ident,
            type_: field.ty,
            make: of.default.unwrap_or(ValueSource::Default),
        })));
    }
    if let Some(flatten) = of.flatten.filter(|_| of.has_naming_attribute() || of.default.is_some()) {
        return Err(Error::new(
            flatten,
            "a flattened field has no name: only `offset` is allowed with `flatten`",
        ));
    }
    let own = ident.unraw().to_string();
    let own = case.map_or_else(|| own.clone(), |case| case.apply(&own));
    let at = of.rename.as_ref().map_or(ident.span(), LitStr::span);
    let name = of.rename.map_or(own, |rename| rename.value());
    if name.is_empty() {
        return Err(Error::new(
            at,
            "the name of a field cannot be empty: NumPy treats fields without a name as padding",
        ));
    }
    let FieldAttributes { aliases, title, len, offset, default, .. } = of;
    let (type_, is_flat) = (field.ty, of.flatten.is_some());
    Ok(ParsedField::Stored(Box::new(Field {
        ident,
        type_,
        name,
        aliases,
        title,
        len,
        offset,
        default,
        is_flat,
    })))
}

impl ValueSource {
    /// Parses `default`, `default = "path"` or `default = path`, as in serde.
    fn of(meta: &syn::meta::ParseNestedMeta<'_>) -> Result<Self> {
        if !meta.input.peek(syn::Token![=]) {
            return Ok(Self::Default);
        }
        let value = meta.value()?;
        let wrong = |error: Error| {
            Error::new(
                error.span(),
                "`default` takes the path of a function without arguments: `default = \"make_zero\"`",
            )
        };
        if value.peek(LitStr) {
            return value.parse::<LitStr>()?.parse().map(Self::Call).map_err(wrong);
        }
        value.parse().map(Self::Call).map_err(wrong)
    }
}

/// The case of the field names in the file, as in serde.
#[derive(Clone, Copy)]
enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    fn of(name: &LitStr) -> Result<Self> {
        Ok(match &*name.value() {
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            _ => {
                let message = "unknown case, expected lowercase, UPPERCASE, PascalCase, camelCase, snake_case, SCREAMING_SNAKE_CASE, \
                               kebab-case or SCREAMING-KEBAB-CASE";
                return Err(Error::new(name.span(), message));
            }
        })
    }

    /// Converts the name of a field from Rust's snake case.
    fn apply(self, name: &str) -> String {
        let pascal = || {
            let mut words = String::new();
            let mut is_first = true;
            for char in name.chars() {
                match char {
                    '_' => is_first = true,
                    char => {
                        words.push(if is_first { char.to_ascii_uppercase() } else { char });
                        is_first = false;
                    }
                }
            }
            words
        };
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_ascii_uppercase(),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
            Self::Pascal => pascal(),
            Self::Camel => {
                let words = pascal();
                let mut chars = words.chars();
                chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
            }
        }
    }
}

/// Sets an attribute's value; fails if it has been set before.
fn set_once<T>(slot: &mut Option<T>, at: Span, value: impl FnOnce() -> Result<T>) -> Result<()> {
    match slot.replace(value()?) {
        None => Ok(()),
        Some(_) => Err(Error::new(at, "duplicate attribute")),
    }
}

/// Checks that names, titles and aliases are unique: NumPy keeps names and titles in one dictionary.
fn check_unique_names(fields: &[Field]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for field in fields.iter().filter(|field| !field.is_flat) {
        if !seen.insert(field.name.clone()) {
            let message = format!("duplicate field name `{}`", field.name);
            return Err(Error::new(field.ident.span(), message));
        }
        if let Some(title) = field.title.as_ref().filter(|title| !seen.insert(title.value())) {
            let message = format!("duplicate name or title `{}`", title.value());
            return Err(Error::new(title.span(), message));
        }
        if let Some(alias) = field.aliases.iter().find(|alias| !seen.insert(alias.value())) {
            let message = format!("duplicate name, alias or title `{}`", alias.value());
            return Err(Error::new(alias.span(), message));
        }
    }
    Ok(())
}

impl Layout {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut layout = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
            attribute.parse_nested_meta(|meta| {
                // Invalid representations are ignored here: the compiler reports them itself.
                if meta.path.is_ident("C") || meta.path.is_ident("transparent") {
                    layout.is_ordered = true;
                } else if meta.path.is_ident("packed") {
                    layout.pack = Some(if meta.input.peek(syn::token::Paren) {
                        parenthesized_number(&meta)?
                    } else {
                        1
                    });
                } else if meta.path.is_ident("align") {
                    layout.align = Some(parenthesized_number(&meta)?);
                }
                Ok(())
            })?;
        }
        Ok(layout)
    }
}

fn parenthesized_number(meta: &syn::meta::ParseNestedMeta<'_>) -> Result<usize> {
    let content;
    syn::parenthesized!(content in meta.input);
    content.parse::<LitInt>()?.base10_parse()
}
