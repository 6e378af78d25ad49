//! Macros with which a program can change what a derive has already read.
#![crate_type = "proc-macro"]

extern crate proc_macro;

use std::sync::atomic::{AtomicUsize, Ordering};

use proc_macro::TokenStream;

/// Replaces an item by other items. Below a derive, the derive has seen the original.
#[proc_macro_attribute]
pub fn instead(other: TokenStream, _: TokenStream) -> TokenStream {
    other
}

/// Becomes one of its types, the next one each time that the compiler expands the macro.
#[proc_macro]
pub fn turn(types: TokenStream) -> TokenStream {
    static EXPANSION_COUNT: AtomicUsize = AtomicUsize::new(0);
    let types: Vec<_> = types.into_iter().collect();
    let turn = EXPANSION_COUNT.fetch_add(1, Ordering::Relaxed);
    types[turn % types.len()].clone().into()
}
