//! `#[derive(Element)]` for newtypes of elements, for enums without fields, and for types that go through an element type.

use crate::parse::unknown_attribute;
use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Error, Fields, Ident, LitStr, Member, Path, Result, Type,
    parse_quote,
};

use crate::{hygienic_ident, span_at};

/// The types allowed in an enum's `repr`: the integer types that NumPy has.
const INTEGER_REPRS: [&str; 8] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"];

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Attributes { library, from, into } = Attributes::of(&input.attrs)?;
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "an element cannot have a lifetime parameter: it must own its data";
        return Err(Error::new(lifetime.span(), message));
    }
    let types = from.iter().map(|(type_, _)| type_).chain(&into);
    if let Some(own) =
        types.clone().find(|type_| matches!(type_, Type::Path(path) if path.path.is_ident(&input.ident)))
    {
        return Err(Error::new(own.span(), "a type cannot be read or written through itself"));
    }
    if from.is_some() || into.is_some() {
        return Ok(conversion_impls(input, &library, from, into));
    }
    match &input.data {
        Data::Struct(data) => newtype(input, &data.fields, &library),
        Data::Enum(data) => enumeration(input, data, &library),
        Data::Union(data) => {
            let message = "a union is not an element: its bytes do not say which field they are";
            Err(Error::new(data.union_token.span, message))
        }
    }
}

/// What the attributes `#[element(…)]` say.
struct Attributes {
    /// The path of the library.
    library: Path,
    /// The type from which an element is made, and whether that can fail.
    from: Option<(Type, bool)>,
    /// The type that an element becomes.
    into: Option<Type>,
}

impl Attributes {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let (mut library, mut from, mut into) = (None, None, None);
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("element")) {
            attribute.parse_nested_meta(|meta| {
                let type_ = |meta: &ParseNestedMeta<'_>| meta.value()?.parse::<LitStr>()?.parse::<Type>();
                let is = |name: &str| meta.path.is_ident(name);
                let is_second = match () {
                    () if is("crate") => {
                        library.replace(meta.value()?.call(Path::parse_mod_style)?).is_some()
                    }
                    () if is("from") || is("try_from") => {
                        from.replace((type_(&meta)?, is("try_from"))).is_some()
                    }
                    () if is("into") => into.replace(type_(&meta)?).is_some(),
                    () => {
                        return Err(unknown_attribute(
                            &meta,
                            "of an element",
                            "`crate`, `from`, `try_from` or `into`",
                        ));
                    }
                };
                if is_second {
                    return Err(meta.error("it is given twice (`from` and `try_from` are one)"));
                }
                Ok(())
            })?;
        }
        let library = library.unwrap_or_else(|| parse_quote!(::ndarray_io));
        Ok(Self { library, from, into })
    }
}

/// Implements the traits through another element type: conversions alone, which safe code makes.
fn conversion_impls(
    input: &DeriveInput,
    library: &Path,
    from: Option<(Type, bool)>,
    into: Option<Type>,
) -> TokenStream {
    let (ident, private) = (&input.ident, template!(#library::__private));
    let ArgumentIdents { axes, dtype, items, options } = &ArgumentIdents::new();
    let value = hygienic_ident("value");
    // The compiler checks the bounds of a type without parameters at once, where it reports them best.
    let bounded = |bounds: [TokenStream; 2]| {
        let mut generics = input.generics.clone();
        if !generics.params.is_empty() {
            let predicates = &mut generics.make_where_clause().predicates;
            predicates
                .extend(bounds.into_iter().map(|bound| -> syn::WherePredicate { parse_quote!(#bound) }));
        }
        generics
    };
    let always = template!(#private::core::marker::Send + #private::core::marker::Sync + 'static);
    let read = from.map(|(type_, can_fail)| {
        let (trait_, make) = match can_fail {
            false => (
                template!(#private::core::convert::From<#type_>),
                template!(#library::Result::Ok(<Self as #private::core::convert::From<#type_>>::from(#value))),
            ),
            true => (
                template!(#private::core::convert::TryFrom<#type_, Error: #private::core::fmt::Display>),
                template!(#private::converted(<Self as #private::core::convert::TryFrom<#type_>>::try_from(#value))),
            ),
        };
        let generics = bounded([
            template!(#type_: #library::ReadableElement + 'static),
            template!(Self: #trait_ + #always),
        ]);
        let (implemented, arguments, clause) = generics.split_for_impl();
        let calls = ReadBodies {
            axes: template!(<#type_ as #library::ReadableElement>::inner_axes(#axes)),
            is_read_as_bytes: template!(false),
            read_plan: template!(#private::read_plan_from::<#type_, Self>(#dtype, #options, |#value: #type_| #make)),
        };
        impl_readable(&template!(#implemented), &template!(#ident #arguments), &template!(#clause), library, &calls)
    });
    let written = into.map(|type_| {
        let generics = bounded([
            template!(#type_: #library::WritableElement + 'static),
            template!(Self: #private::core::clone::Clone + #private::core::convert::Into<#type_> + #always),
        ]);
        let (implemented, arguments, clause) = generics.split_for_impl();
        let calls = WriteBodies {
            file_layout: template!(<#type_ as #library::WritableElement>::FILE_LAYOUT),
            is_always_bitwise: template!(false),
            dtype: template!(#private::dtype_into::<Self, #type_>(#items, #options)),
            write_plan: template!(#private::write_plan_into::<Self, #type_>(#dtype)),
        };
        impl_writable(
            &template!(#implemented),
            &template!(#ident #arguments),
            &template!(#clause),
            library,
            &calls,
        )
    });
    template!(#read #written)
}

/// Returns the identifiers in `#[repr(…)]`.
fn reprs(attributes: &[Attribute]) -> Result<Vec<Ident>> {
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            found.extend(meta.path.get_ident().cloned());
            // The argument of `align(8)` or `packed(2)` must be consumed, or parsing fails.
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(found)
}

#[expect(clippy::too_many_lines, reason = "a template")]
fn newtype(input: &DeriveInput, fields: &Fields, library: &Path) -> Result<TokenStream> {
    let is_marker = |type_: &Type| {
        matches!(type_, Type::Path(path)
            if path.path.segments.last().is_some_and(|segment| segment.ident == "PhantomData"))
    };
    let all = fields.members().zip(fields.iter());
    let (markers, stored): (Vec<_>, Vec<_>) = all.partition(|(_, field)| is_marker(&field.ty));
    let [(wrapped, field)] = stored.as_slice() else {
        let message = "a newtype has one field, apart from `PhantomData`; derive `Record` for several fields";
        return Err(Error::new(input.ident.span(), message));
    };
    if !reprs(&input.attrs)?.iter().any(|repr| repr == "transparent") {
        let message = "a newtype needs `#[repr(transparent)]`, so that it is laid out as what it wraps";
        return Err(Error::new(input.ident.span(), message));
    }
    // `is_marker` compares only the name: `Markers` is implemented for the real `PhantomData` alone.
    let (markers, marker_types): (Vec<Member>, Vec<&Type>) =
        markers.into_iter().map(|(member, field)| (member, &field.ty)).unzip();
    let inner = hygienic_ident("inner");
    let (ident, type_) = (&input.ident, &field.ty);
    let private = template!(#library::__private);
    let is_concrete = input.generics.params.is_empty();
    // For a type without parameters, the compiler checks bounds immediately. The bound of `Inner` is enough
    // to report an unsupported type, so no other bounds are added.
    let with = |bound: TokenStream, is_static: bool| {
        let mut generics = input.generics.clone();
        let clause = generics.make_where_clause();
        if !is_concrete {
            clause
                .predicates
                .push(parse_quote!(#type_: #library::ReadableElement + #library::WritableElement + 'static));
            clause.predicates.push(
                parse_quote!(Self: #private::core::marker::Send + #private::core::marker::Sync + 'static),
            );
        }
        if !is_static {
            clause.predicates.push(parse_quote!(for<'of> #private::Of<'of, #type_>: #private::#bound));
        }
        generics
    };
    let generics = with(TokenStream::new(), true);
    let (implemented, arguments, clause) = generics.split_for_impl();
    let stored = quote_spanned!(span_at(type_.span()) => #type_);
    let ArgumentIdents { axes, dtype, items, options } = &ArgumentIdents::new();
    let elements = impl_read_and_write(
        &template!(#implemented),
        &template!(#ident #arguments),
        &template!(#clause),
        library,
        &ReadBodies {
            axes: template!(#private::newtype_axes::<Self>(#axes)),
            is_read_as_bytes: template!(#private::newtype_is_read_as_bytes::<Self>()),
            read_plan: template!(#private::newtype_read_plan(#dtype, #options)),
        },
        &WriteBodies {
            file_layout: template!(#private::newtype_file_layout::<Self>()),
            is_always_bitwise: template!(#private::newtype_is_always_bitwise::<Self>()),
            dtype: template!(#private::newtype_dtype(#items, #options)),
            write_plan: template!(#private::newtype_write_plan(#dtype)),
        },
    );
    let views = with(template!(ViewField), false);
    let (view_implemented, view_arguments, view_clause) = views.split_for_impl();
    let changes = with(template!(ViewMutField), false);
    let (mut_implemented, mut_arguments, mut_clause) = changes.split_for_impl();
    // An attribute macro below the derive can still change the struct that the derive has read. So the generated
    // code compares what the library casts: the pattern names all fields, so that each is one of the struct and not
    // of a type to which it dereferences, and raw pointers do not coerce. The pattern binds no names: an item of
    // such a name would be a pattern of its own.
    let marker_pointers = nested_pairs(marker_types.iter().map(|type_| template!(*const #type_)));
    let marker_values = nested_pairs(markers.iter().map(|member| template!(&raw const self.#member)));
    Ok(template! { const _: () = {
        // SAFETY: the pattern in `inner` names each field of the struct. Their types are compared with
        // `Inner` and `Markers`, through pointers, which do not coerce.
        #[automatically_derived]
        unsafe impl #implemented #private::Newtype for #ident #arguments #clause {
            type Inner = #stored;
            type Markers = #marker_pointers;

            #[inline]
            fn inner(&self) -> &Self::Inner {
                let Self { #wrapped: _, #(#markers: _,)* } = self;
                let _: Self::Markers = #marker_values;
                let _: *const Self::Inner = &raw const self.#wrapped;
                &self.#wrapped
            }

            #[inline]
            fn wrap(#inner: Self::Inner) -> Self {
                Self { #wrapped: #inner, #(#markers: #private::core::marker::PhantomData,)* }
            }
        }

        #elements

        #[automatically_derived]
        impl #view_implemented #library::ViewElement for #ident #view_arguments #view_clause {}

        #[automatically_derived]
        impl #mut_implemented #library::ViewMutElement for #ident #mut_arguments #mut_clause {
            const IS_FULL: () = <#private::Of<'static, #type_> as #private::ViewMutField>::IS_FULL;
        }
    }; })
}

/// Returns pairs of each item and the rest: `(a, (b, ()))`.
fn nested_pairs(items: impl DoubleEndedIterator<Item = TokenStream>) -> TokenStream {
    items.rev().fold(template!(()), |rest, item| template!((#item, #rest)))
}

fn enumeration(input: &DeriveInput, data: &DataEnum, library: &Path) -> Result<TokenStream> {
    let ident = &input.ident;
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        let message = "an enum that is an element cannot have fields: NumPy stores only its number";
        return Err(Error::new(variant.span(), message));
    }
    if data.variants.is_empty() {
        return Err(Error::new(ident.span(), "an enum without variants has no values"));
    }
    let reprs = reprs(&input.attrs)?;
    // Other representations are rejected: `align` would add padding.
    if let Some(other) =
        reprs.iter().find(|repr| *repr != "C" && !INTEGER_REPRS.iter().any(|number| repr == number))
    {
        let message = "an enum needs an integer `repr` that NumPy has, such as `#[repr(u8)]`, and no other";
        return Err(Error::new(other.span(), message));
    }
    let Some(number) = reprs.iter().find(|repr| INTEGER_REPRS.iter().any(|number| repr == number)) else {
        let message = "an enum needs an integer `repr` that NumPy has, such as `#[repr(u8)]`";
        let at = reprs.first().map_or(ident.span(), Ident::span);
        return Err(Error::new(at, message));
    };
    let private = template!(#library::__private);
    let number = template!(#private::core::primitive::#number);
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let (constants, numbers): (Vec<_>, Vec<_>) = (0..variants.len())
        .map(|index| {
            (hygienic_ident(&format!("VARIANT_{index}")), hygienic_ident(&format!("NUMBER_{index}")))
        })
        .unzip();
    let (name, local) = (ident.to_string(), hygienic_ident("number"));
    let ArgumentIdents { dtype, items, options, .. } = &ArgumentIdents::new();
    let elements = impl_read_and_write(
        &TokenStream::new(),
        &template!(#ident),
        &TokenStream::new(),
        library,
        &ReadBodies {
            axes: TokenStream::new(),
            is_read_as_bytes: template!(true),
            read_plan: template!(#private::enum_read_plan(#dtype, #options)),
        },
        &WriteBodies {
            file_layout: template!(#private::enum_file_layout::<Self>()),
            is_always_bitwise: template!(true),
            dtype: template!({ let _ = #items; #private::enum_dtype::<Self>(#options) }),
            write_plan: template!(#private::enum_write_plan(#dtype)),
        },
    );
    Ok(template! { const _: () = {
        // Constants, because what a macro or a path decides can be redirected: a pattern and a cast cannot.
        #(const #constants: #ident = #ident::#variants;)*
        #(const #numbers: #number = #constants as #number;)*

        // SAFETY: the library compares the bytes of each variant with its number when it casts the enum.
        #[automatically_derived]
        unsafe impl #private::Enumeration for #ident {
            type Number = #number;
            const NAME: &'static #private::core::primitive::str = #name;
            const HAS_ZERO: #private::core::primitive::bool = #(#numbers == 0)||*;
            const VARIANTS: &'static [(Self, Self::Number)] = &[#((#constants, #numbers)),*];

            #[inline]
            fn from_number(#local: Self::Number) -> #private::core::option::Option<Self> {
                match #local {
                    #(#numbers => #private::core::option::Option::Some(#constants),)*
                    _ => #private::core::option::Option::None,
                }
            }
        }

        #elements

        #[automatically_derived]
        impl #library::ViewElement for #ident {}

        #[automatically_derived]
        impl #library::ViewMutElement for #ident {}
    }; })
}

/// The names of the arguments of generated trait methods.
struct ArgumentIdents {
    axes: Ident,
    dtype: Ident,
    items: Ident,
    options: Ident,
}

impl ArgumentIdents {
    fn new() -> Self {
        let [axes, dtype, items, options] = ["axes", "dtype", "items", "options"].map(hygienic_ident);
        Self { axes, dtype, items, options }
    }
}

/// The bodies of the generated methods for reading.
struct ReadBodies {
    axes: TokenStream,
    is_read_as_bytes: TokenStream,
    read_plan: TokenStream,
}

/// The bodies of the generated methods for writing.
struct WriteBodies {
    file_layout: TokenStream,
    is_always_bitwise: TokenStream,
    dtype: TokenStream,
    write_plan: TokenStream,
}

fn impl_read_and_write(
    implemented: &TokenStream,
    name: &TokenStream,
    clause: &TokenStream,
    library: &Path,
    read: &ReadBodies,
    written: &WriteBodies,
) -> TokenStream {
    let read = impl_readable(implemented, name, clause, library, read);
    let written = impl_writable(implemented, name, clause, library, written);
    template!(#read #written)
}

fn impl_readable(
    implemented: &TokenStream,
    name: &TokenStream,
    clause: &TokenStream,
    library: &Path,
    calls: &ReadBodies,
) -> TokenStream {
    let private = template!(#library::__private);
    let ReadBodies { axes: of_axes, is_read_as_bytes, read_plan } = calls;
    let ArgumentIdents { axes, dtype, options, .. } = &ArgumentIdents::new();
    template! {
        #[automatically_derived]
        impl #implemented #library::ReadableElement for #name #clause {
            const IS_READ_AS_BYTES: #private::core::primitive::bool = #is_read_as_bytes;

            fn inner_axes(#axes: &mut #private::Vec<#private::core::primitive::usize>) {
                let _ = &#axes;
                #of_axes
            }

            fn read_plan(
                #dtype: &#library::DType,
                #options: &#library::ReadOptions,
            ) -> #library::Result<#private::ReadPlan<Self>> {
                #read_plan
            }
        }
    }
}

fn impl_writable(
    implemented: &TokenStream,
    name: &TokenStream,
    clause: &TokenStream,
    library: &Path,
    calls: &WriteBodies,
) -> TokenStream {
    let private = template!(#library::__private);
    let WriteBodies { file_layout, is_always_bitwise, dtype: of_dtype, write_plan } = calls;
    let ArgumentIdents { dtype, items, options, .. } = &ArgumentIdents::new();
    template! {
        #[automatically_derived]
        impl #implemented #library::WritableElement for #name #clause {
            const FILE_LAYOUT: #private::FileLayout = #file_layout;
            const IS_ALWAYS_BITWISE: #private::core::primitive::bool = #is_always_bitwise;

            fn dtype_for(
                #items: &mut dyn #private::core::iter::Iterator<Item = &Self>,
                #options: &#library::WriteOptions,
            ) -> #library::Result<#library::DType> {
                #of_dtype
            }

            fn write_plan(#dtype: &#library::DType) -> #private::WritePlan<Self> {
                #write_plan
            }
        }
    }
}
