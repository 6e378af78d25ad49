//! What replacing a file preserves on Windows, and where files are written directly.
#![cfg(all(windows, feature = "npz"))]

use std::fs;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;

use ndarray::{Array1, arr1};
use ndarray_io::{WriteOptions, read_npy, write_npy, write_npz};
use windows_sys::Win32::Security::Authorization::ConvertStringSecurityDescriptorToSecurityDescriptorW;
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, GetFileSecurityW, PSECURITY_DESCRIPTOR, SetFileSecurityW,
};

fn to_wide(text: impl AsRef<std::ffi::OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().chain([0]).collect()
}

/// Returns a file's access-control list, in the system's own form.
fn access_list(path: &Path) -> Vec<u8> {
    let (path, mut length, mut list) = (to_wide(path), 0, vec![0_u8; 4096]);
    // SAFETY: the name ends with a NUL, and the buffer has the given length.
    let got = unsafe {
        GetFileSecurityW(
            path.as_ptr(),
            DACL_SECURITY_INFORMATION,
            list.as_mut_ptr().cast(),
            4096,
            &raw mut length,
        )
    };
    assert_ne!(got, 0, "{}", std::io::Error::last_os_error());
    list.truncate(length as usize);
    list
}

fn set_access_list(path: &Path, words: &str) {
    let (path, words) = (to_wide(path), to_wide(words));
    let mut descriptor: PSECURITY_DESCRIPTOR = std::ptr::null_mut();
    // SAFETY: the text ends with a NUL, and the system stores its address in the given place.
    let made = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            words.as_ptr(),
            1,
            &raw mut descriptor,
            std::ptr::null_mut(),
        )
    };
    assert_ne!(made, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the name ends with a NUL, and the descriptor is the system's.
    let set = unsafe { SetFileSecurityW(path.as_ptr(), DACL_SECURITY_INFORMATION, descriptor) };
    assert_ne!(set, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn device_names_are_written_not_replaced() {
    for name in ["NUL", "nul", r"\\.\NUL"] {
        write_npy(name, &arr1(&[1u8])).unwrap();
        WriteOptions::new().sync(true).write_npy(name, &arr1(&[1u8])).unwrap();
        write_npz(name, &[("a", &arr1(&[1u8]))]).unwrap();
        assert_eq!(fs::read(name).unwrap(), b"", "{name} is still the device");
    }
}

#[test]
fn access_lists_are_kept() {
    let folder = crate::support::temp::folder().unwrap();
    let (path, other) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    write_npy(&path, &arr1(&[1u8])).unwrap();
    write_npy(&other, &arr1(&[1u8])).unwrap();
    set_access_list(&path, "D:P(A;;FA;;;WD)"); // full access for everyone, nothing inherited
    let before = access_list(&path);
    assert_ne!(before, access_list(&other));
    write_npy(&path, &arr1(&[2u8])).unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[2]));
    assert_eq!(access_list(&path), before);
}

#[test]
#[ignore = "needs a file system with streams, as NTFS"]
fn alternate_data_streams_are_kept() {
    let folder = crate::support::temp::folder().unwrap();
    let (path, stream) = (folder.path().join("a.npy"), folder.path().join("a.npy:note"));
    write_npy(&path, &arr1(&[1u8])).unwrap();
    fs::write(&stream, "kept").unwrap();
    write_npy(&path, &arr1(&[2u8])).unwrap();
    assert_eq!(fs::read(&stream).unwrap(), b"kept");
}

#[test]
fn file_with_several_hard_links_is_not_replaced() {
    let folder = crate::support::temp::folder().unwrap();
    let (path, other) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    write_npy(&path, &arr1(&[1u8])).unwrap();
    fs::hard_link(&path, &other).unwrap();
    let error = write_npy(&path, &arr1(&[2u8])).unwrap_err();
    assert!(error.to_string().contains("2 hard links"), "{error}");
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[1]));
}
