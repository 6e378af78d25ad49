//! Generates the code of `#[derive(Record)]`.
//!
//! The code uses only full paths, so it does not depend on imports. It describes the struct; the library does
//! everything else.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Index, parse_quote, parse_quote_spanned};

use crate::parse::{Field, Skipped, Struct, ValueSource};
use crate::{hygienic_ident, span_at};

pub(crate) fn expand(parsed: &Struct) -> TokenStream {
    let record_type = record_type_impl(parsed);
    let elements = element_impls(parsed);
    let views = view_impls(parsed);
    let is_generic =
        parsed.generics.type_params().next().is_some() || parsed.generics.const_params().next().is_some();
    let field_assertions = (!is_generic).then(|| {
        let field_assertions = field_assertions(parsed);
        template! { const _: () = { #field_assertions }; }
    });
    template! { #record_type #elements #views #field_assertions }
}

/// Returns the generics, with a bound for the type of each field.
///
/// For a struct without parameters, the compiler would report an unmet bound at each place where the bound is
/// written. Adding an unused lifetime (`for<'of>`) defers the check to the first use of the record, so only
/// [`field_assertions`] reports the error.
fn bounded_generics(parsed: &Struct) -> syn::Generics {
    let mut generics = parsed.generics.clone();
    let is_concrete = generics.params.is_empty();
    let library = &parsed.library;
    let clause = generics.make_where_clause();
    for Field { type_, is_flat, .. } in &parsed.fields {
        let bound = if *is_flat { template!(RecordType) } else { template!(RecordField) };
        let lifetime = is_concrete.then(|| template!(for<'of>));
        clause.predicates.push(
            parse_quote_spanned!(span_at(type_.span()) => #lifetime #type_: #library::__private::#bound),
        );
    }
    // As in serde, a type whose values come from `Default` must implement it.
    if !is_concrete {
        let (ident, marker) = (
            &parsed.ident,
            quote_spanned!(span_at(parsed.ident.span()) => #library::__private::core::marker),
        );
        let (_, arguments, _) = parsed.generics.split_for_impl();
        // The bounds of the fields do not imply these for a skipped field, such as a marker.
        clause.predicates.push(parse_quote!(#ident #arguments: #marker::Send + #marker::Sync + 'static));
        let stored = parsed.fields.iter().filter(|field| matches!(field.default, Some(ValueSource::Default)));
        let skipped = parsed.skipped.iter().filter(|field| matches!(field.make, ValueSource::Default));
        for type_ in stored.map(|field| &field.type_).chain(skipped.map(|field| &field.type_)) {
            let default = template!(#library::__private::core::default::Default);
            clause.predicates.push(parse_quote_spanned!(span_at(type_.span()) => #type_: #default));
        }
    }
    generics
}

#[expect(clippy::too_many_lines, reason = "a template")]
fn record_type_impl(parsed: &Struct) -> TokenStream {
    let Struct { ident, library, fields, skipped, layout, size, .. } = parsed;
    let private = template!(#library::__private);
    let generics = bounded_generics(parsed);
    let (implemented, arguments, clause) = generics.split_for_impl();
    let is_packed = layout.pack.is_some();

    let idents: Vec<_> = fields.iter().map(|field| &field.ident).collect();
    let [record, item, items, options] = ["record", "item", "items", "options"].map(hygienic_ident);
    let [into, slot, read, written] = ["into", "slot", "read", "written"].map(hygienic_ident);
    // The address of each field, from that of a struct. The language alone decides its type and its offset: a
    // pointer does not coerce, and `offset_of!` could be another macro, since `crate` says where it is found.
    // The struct has a field of this name, and no other fields, because a pattern in `columns` names them all. It binds
    // none: an item of such a name would be a pattern of its own.
    // SAFETY (of the generated block): the library calls the closure with a pointer to memory of the struct's size,
    // so the field is within it. Nothing is read.
    let address =
        |ident: &syn::Ident| template!(|#record: *const Self| unsafe { &raw const (*#record).#ident });
    let addresses: Vec<_> = idents.iter().map(|ident| address(ident)).collect();
    let specs = fields.iter().map(|Field { type_, name, aliases, title, len, offset, is_flat, .. }| {
        let (title, len, offset) =
            (option_tokens(title, &private), option_tokens(len, &private), option_tokens(offset, &private));
        match is_flat {
            true => template!(<#private::FieldSpec>::flat::<#type_>(#offset)),
            false => {
                template!(<#private::FieldSpec>::of::<#type_>(#name, &[#(#aliases),*], #title, #len, #offset))
            }
        }
    });
    let looked_up = fields.iter().zip(&addresses).map(|(Field { type_, default, is_flat, .. }, address)| {
        match (is_flat, default) {
            (true, _) => template!(<#private::FieldsRead<'_, Self>>::flat::<#type_>(#read, #address)?;),
            (_, None) => template!(<#private::FieldsRead<'_, Self>>::column::<#type_>(#read, #address)?;),
            (_, Some(make)) => {
                let make = value_constructor(make, type_, &private);
                template!(<#private::FieldsRead<'_, Self>>::column_or::<#type_>(#read, #address, #make)?;)
            }
        }
    });
    let skipped_idents: Vec<_> = skipped.iter().map(|field| &field.ident).collect();
    let made_values = skipped.iter().map(|Skipped { ident, type_, make }| {
        let (address, make) = (address(ident), value_constructor(make, type_, &private));
        // Called in a closure, so that what it returns may coerce, as in an expression for the struct.
        template!(<#private::FieldsRead<'_, Self>>::made::<#type_>(#read, #address, || -> #type_ { #make() });)
    });
    // Skipped fields are not in the file, so records cannot be copied in bulk.
    let skip_written =
        (!skipped.is_empty()).then(|| template!(<#private::FieldsWritten<'_, Self>>::skip(#written);));
    // A reference to a misaligned field is not allowed, so fields of packed structs are copied first.
    let values: Vec<_> = fields
        .iter()
        .map(|Field { ident, type_, .. }| match is_packed {
            true => quote_spanned! { span_at(type_.span()) => &#private::copied::<#type_>(#item.#ident) },
            false => quote_spanned! { span_at(type_.span()) => &#item.#ident },
        })
        .collect();
    let checked =
        fields.iter().enumerate().zip(&values).map(|((index, Field { type_, is_flat, .. }), value)| {
            let index = Index::from(index);
            match is_flat {
                true => template!(<#type_ as #private::RecordType>::check(#value, #options)?;),
                false => template!(#private::check_field::<Self, #type_>(#index, #value, #options)?;),
            }
        });
    let placed =
        fields.iter().zip(&addresses).zip(&values).map(|((Field { type_, is_flat, .. }, address), value)| {
            let add = if *is_flat { template!(flat) } else { template!(slot) };
            template! {
                <#private::FieldsWritten<'_, Self>>::#add::<#type_>(#written, #address, |#slot, #items, #record, #into| {
                    <#private::Slot<#type_>>::each::<Self>(#items, #record, #into, |#item, #record| {
                        <#private::Slot<#type_>>::put(#slot, #value, #record)
                    })
                });
            }
        });
    // Without `repr(C)`, the layout in memory is unspecified, so the fields have no padding in the file.
    let (pack, align) = match (layout.is_ordered, layout.pack, layout.align) {
        (true, pack, align) => (pack.unwrap_or(usize::MAX), align.unwrap_or(1)),
        (false, ..) => (1, 1),
    };
    let size = option_tokens(size, &private);
    let field_assertions = (!parsed.generics.params.is_empty()).then(|| {
        let field_assertions = field_assertions(parsed);
        template! { const { #field_assertions }; }
    });

    template! { const _: () = {
        // SAFETY: each field is passed exactly once, with its type and its address.
        #[automatically_derived]
        unsafe impl #implemented #private::RecordType for #ident #arguments #clause {
            const SPEC: &'static #private::RecordSpec =
                &<#private::RecordSpec>::new(&[#(#specs),*], #pack, #align, #size);

            fn columns(#read: &mut #private::FieldsRead<'_, Self>) -> #library::Result<()> {
                #field_assertions
                let _ = |Self { #(#idents: _,)* #(#skipped_idents: _,)* }: Self| ();
                #(#looked_up)*
                #(#made_values)*
                #private::core::result::Result::Ok(())
            }

            fn check(&self, #options: &#library::WriteOptions) -> #library::Result<()> {
                let #item = self;
                #(#checked)*
                #private::core::result::Result::Ok(())
            }

            fn slots(#written: &mut #private::FieldsWritten<'_, Self>) {
                #field_assertions
                #skip_written
                #(#placed)*
            }
        }
    }; }
}

/// Returns the function that creates the value of a field that is not in the file.
fn value_constructor(make: &ValueSource, type_: &syn::Type, private: &TokenStream) -> TokenStream {
    match make {
        ValueSource::Default => {
            quote_spanned!(span_at(type_.span()) => <#type_ as #private::core::default::Default>::default)
        }
        ValueSource::Call(path) => template!(#path),
    }
}

fn option_tokens<T: quote::ToTokens>(value: &Option<T>, private: &TokenStream) -> TokenStream {
    match value {
        Some(value) => template!(#private::core::option::Option::Some(#value)),
        None => template!(#private::core::option::Option::None),
    }
}

/// Moves a path to the place where errors should be reported.
///
/// The compiler reports the place of a macro's first token. What the path refers to stays the same.
fn respan(path: &TokenStream, place: Span) -> TokenStream {
    let moved = path.clone().into_iter().map(|mut token| {
        token.set_span(token.span().located_at(place));
        token
    });
    moved.collect()
}

/// Returns assertions about the fields, which the compiler evaluates.
fn field_assertions(parsed: &Struct) -> TokenStream {
    let Struct { ident, library, fields, size, generics, .. } = parsed;
    let (_, arguments, _) = generics.split_for_impl();
    let private = template!(#library::__private);
    let spec = template!(<#ident #arguments as #private::RecordType>::SPEC);
    let of_fields = fields.iter().enumerate().map(|(index, Field { type_, len, offset, is_flat, .. })| {
        let overlaps = offset.as_ref().map(|offset| {
            let private = respan(&private, offset.span());
            quote_spanned! { span_at(offset.span()) =>
                #private::core::assert!(
                    !<#private::RecordSpec>::overlaps(#spec, #index),
                    "the field overlaps the fields before it"
                );
            }
        });
        if *is_flat {
            let private = respan(&private, type_.span());
            return quote_spanned! { span_at(type_.span()) =>
                #private::core::assert!(
                    !<#private::RecordSpec>::shares_name(#spec, #index),
                    "a field of the flattened struct has the name, alias or title of another field"
                );
                #overlaps
            };
        }
        // This is where the compiler reports a type that cannot be a field.
        let takes_len =
            quote_spanned!(span_at(type_.span()) => <#type_ as #private::RecordField>::FILE_LAYOUT.takes_len);
        let len = match len {
            None => template!(let _ = #takes_len;),
            Some(len) => {
                let private = respan(&private, len.span());
                quote_spanned! { span_at(len.span()) =>
                    #private::core::assert!(
                        #takes_len,
                        "`len` applies only to String and Vec<u8>"
                    );
                }
            }
        };
        template!(#len #overlaps)
    });
    let of_size = size.as_ref().map(|size| {
        let private = respan(&private, size.span());
        quote_spanned! { span_at(size.span()) =>
            #private::core::assert!(!<#private::RecordSpec>::is_too_small(#spec), "the fields are larger than `size`");
        }
    });
    template!(#(#of_fields)* #of_size)
}

fn element_impls(parsed: &Struct) -> TokenStream {
    let Struct { ident, library, .. } = parsed;
    let private = template!(#library::__private);
    let [dtype, items, options] = ["dtype", "items", "options"].map(hygienic_ident);
    let generics = bounded_generics(parsed);
    let (implemented, arguments, clause) = generics.split_for_impl();
    template! {
        #[automatically_derived]
        impl #implemented #library::ReadableElement for #ident #arguments #clause {
            fn read_plan(
                #dtype: &#library::DType,
                #options: &#library::ReadOptions,
            ) -> #library::Result<#private::ReadPlan<Self>> {
                #private::read_plan(#dtype, #options)
            }
        }

        #[automatically_derived]
        impl #implemented #library::WritableElement for #ident #arguments #clause {
            const FILE_LAYOUT: #private::FileLayout =
                <#private::RecordSpec>::file_layout(<Self as #private::RecordType>::SPEC);

            fn dtype_for(
                #items: &mut dyn #private::core::iter::Iterator<Item = &Self>,
                #options: &#library::WriteOptions,
            ) -> #library::Result<#library::DType> {
                #private::dtype_for(#items, #options)
            }

            fn write_plan(#dtype: &#library::DType) -> #private::WritePlan<Self> {
                #private::write_plan(#dtype)
            }
        }
    }
}

/// Returns the view traits, for structs whose fields are laid out in the order of their declaration.
fn view_impls(parsed: &Struct) -> TokenStream {
    let Struct { ident, library, fields, skipped, layout, .. } = parsed;
    if !layout.is_ordered || !skipped.is_empty() {
        return TokenStream::new();
    }
    let private = template!(#library::__private);
    let types: Vec<_> = fields.iter().map(|field| &field.type_).collect();
    let with = |bound: TokenStream| {
        let mut generics = bounded_generics(parsed);
        let clause = generics.make_where_clause();
        for type_ in &types {
            clause.predicates.push(parse_quote!(for<'of> #private::Of<'of, #type_>: #private::#bound));
        }
        generics
    };
    let generics = with(template!(ViewField));
    let (implemented, arguments, clause) = generics.split_for_impl();
    let view = template! {
        #[automatically_derived]
        impl #implemented #library::ViewElement for #ident #arguments #clause {}
    };
    let generics = with(template!(ViewMutField));
    let (implemented, arguments, clause) = generics.split_for_impl();
    let here = respan(&private, ident.span());
    let is_full = quote_spanned! { span_at(ident.span()) =>
        #here::core::assert!(
            #private::fills::<Self>(&[#(#private::core::mem::size_of::<#types>()),*]),
            "the struct has padding, so it cannot be viewed mutably: changing it in place would write uninitialized bytes to the \
             file; read it into an array, or give it #[repr(C, packed)] or a field for each byte of \
             the padding"
        );
    };
    template! {
        #view
        #[automatically_derived]
        impl #implemented #library::ViewMutElement for #ident #arguments #clause {
            const IS_FULL: () = {
                #is_full
                #(<#private::Of<'static, #types> as #private::ViewMutField>::IS_FULL;)*
            };
        }
    }
}
