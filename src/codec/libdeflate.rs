//! Deflate by the C library `libdeflate`, which unpacks what is whole in memory, about one and a half times as fast.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_decompressor, libdeflate_deflate_decompress_ex,
    libdeflate_free_decompressor, libdeflate_result_LIBDEFLATE_SUCCESS,
};

/// The library's state.
struct Decompressor(NonNull<libdeflate_decompressor>);

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: it was made by the library, and is freed once.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

/// Whether a stream unpacks to all of `into` and nothing follows it.
pub(super) fn unpack(stream: &[u8], into: &mut [u8]) -> bool {
    // SAFETY: it takes no arguments, and returns null if there is no memory.
    let Some(made) = NonNull::new(unsafe { libdeflate_alloc_decompressor() }) else { return false };
    let decompressor = Decompressor(made);
    let (mut taken, mut made) = (0, 0);
    // SAFETY: the state is the library's own and used by this call alone. It reads within `stream` and writes within `into`, whose
    // lengths it is given, and puts two numbers into variables that outlive the call.
    let result = unsafe {
        libdeflate_deflate_decompress_ex(
            decompressor.0.as_ptr(),
            stream.as_ptr().cast(),
            stream.len(),
            into.as_mut_ptr().cast(),
            into.len(),
            &mut taken,
            &mut made,
        )
    };
    result == libdeflate_result_LIBDEFLATE_SUCCESS && (taken, made) == (stream.len(), into.len())
}
