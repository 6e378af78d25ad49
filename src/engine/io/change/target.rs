//! Resolves paths, and copies a file's metadata.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use super::cannot_replace;
use super::system::{self, Folder};
use crate::error::Result;
#[cfg(unix)]
use crate::transfer::os;

/// What a path refers to.
pub(super) enum Destination {
    /// A file, which may not exist yet, by its folder and its name there.
    ///
    /// All links have been followed, and the folder is open: from now on, the name cannot be led to another folder, where
    /// the system has folders by handle.
    File(Folder, OsString),
    /// A file that this process has open or, on Windows, a device.
    ///
    /// Examples of paths are `/dev/stdout` and `/dev/fd/5`. The file is written at the descriptor's current
    /// position.
    Open(File),
}

pub(super) fn resolve_destination(path: &Path) -> Result<Destination> {
    const MAX_LINKS: usize = 40; // the limit of Linux
    // On Windows, opening a named pipe, even only to inspect it, uses up one of its instances. So devices are
    // recognized before any path is opened.
    if cfg!(windows) {
        if let Some(device) = open_descriptor_or_device(path)? {
            return Ok(Destination::Open(device));
        }
    }
    // The system resolves all links first. If it refuses to follow one (such as another user's link in a
    // world-writable folder, with `fs.protected_symlinks`), the link is refused here too.
    let refused = fs::metadata(path).err().filter(|error| error.kind() == io::ErrorKind::PermissionDenied);
    if let Some(error) = refused {
        if fs::symlink_metadata(path).is_ok_and(|link| link.is_symlink()) {
            return Err(error.into());
        }
    }
    if let Some(file) = open_descriptor_or_device(path)? {
        return Ok(Destination::Open(file));
    }
    let (mut folder, mut name) = open_parent_folder(path, Folder::open)?;
    for _ in 0..MAX_LINKS {
        // An error says that it is not a link, or that it does not exist; opening it will report the rest.
        let Ok(link) = folder.read_link(&name) else { return Ok(Destination::File(folder, name)) };
        if let Some(file) = open_descriptor_or_device(&folder.path().join(&link))? {
            return Ok(Destination::Open(file));
        }
        (folder, name) = open_parent_folder(&link, |parent| folder.open_within(parent))?;
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many levels of symbolic links").into())
}

/// Splits a path into its folder, opened, and the file name.
pub(super) fn open_parent_folder(
    path: &Path,
    open: impl Fn(&Path) -> io::Result<Folder>,
) -> io::Result<(Folder, OsString)> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((open(parent)?, name.to_owned()))
}

/// Duplicates the descriptor that a path names.
///
/// The link at such a path, if any, is not followed: its target cannot be opened (`pipe:[7]`), or may by now
/// be the name of another file.
#[cfg(unix)]
fn open_descriptor_or_device(path: &Path) -> Result<Option<File>> {
    let own = std::process::id();
    let folders =
        ["/dev/fd".into(), "/proc/self/fd".into(), format!("/proc/{own}/fd"), "/proc/thread-self/fd".into()];
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let is_descriptor = folders.iter().any(|known| folder == Path::new(known));
    match name.to_str().and_then(|name| name.parse().ok()) {
        Some(descriptor) if is_descriptor => Ok(Some(os::duplicate(descriptor)?)),
        _ => Ok(None),
    }
}

/// Opens the device that a path names, such as `NUL`, `CON` or a named pipe.
#[cfg(windows)]
fn open_descriptor_or_device(path: &Path) -> Result<Option<File>> {
    Ok(system::open_device(path)?)
}

#[cfg(not(any(unix, windows)))]
fn open_descriptor_or_device(_: &Path) -> Result<Option<File>> {
    Ok(None)
}

/// Copies all metadata of the old file to the new one, or returns an error that says what would be lost.
pub(super) fn copy_metadata_or_refuse(old: &File, new: &File) -> Result<()> {
    let metadata = old.metadata()?;
    refuse_hard_links(old, &metadata)?;
    copy_owner_or_refuse(new, &metadata)?;
    system::copy_attributes(old, new).map_err(|error| {
        cannot_replace(format!(
            "its metadata (an access control list, a label, a data stream) would be lost: {error}"
        ))
    })?;
    // The permissions come last: changing the owner may clear bits of them, and an access control list changes them.
    copy_permissions(new, &metadata)
        .map_err(|error| cannot_replace(format!("its permissions would be lost: {error}")))
}

/// Copies all metadata from one draft to another.
pub(super) fn copy_draft_metadata(from: &File, to: &File) -> io::Result<()> {
    let metadata = from.metadata()?;
    set_owner(to, &metadata)?;
    system::copy_attributes(from, to)?;
    copy_permissions(to, &metadata)
}

fn refuse_hard_links(old: &File, metadata: &Metadata) -> Result<()> {
    match system::hard_link_count(old, metadata)? {
        0 | 1 => Ok(()),
        links => Err(cannot_replace(format!(
            "it has {links} hard links, and the others would keep the old content"
        ))),
    }
}

/// Gives a new file the owner of an old one, or fails if that is not permitted.
#[cfg(unix)]
fn set_owner(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = new.metadata()?;
    if (own.uid(), own.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(new, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn set_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn copy_owner_or_refuse(new: &File, old: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    set_owner(new, old).map_err(|_| {
        cannot_replace(format!(
            "it belongs to user {} and group {}, which would be lost",
            old.uid(),
            old.gid()
        ))
    })
}

#[cfg(not(unix))]
fn copy_owner_or_refuse(_: &File, _: &Metadata) -> Result<()> {
    Ok(())
}

fn copy_permissions(new: &File, old: &Metadata) -> io::Result<()> {
    if new.metadata()?.permissions() == old.permissions() {
        return Ok(());
    }
    new.set_permissions(old.permissions())
}
