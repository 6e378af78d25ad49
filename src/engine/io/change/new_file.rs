//! [`NewFile`]: what is being written, and takes its place once it is complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use super::draft::Draft;
use super::lock::{self, LentFile, LockPurpose, Locked, Retries};
use super::system::{self, EntryKind, Folder};
use super::target::{self, Destination};
use super::{
    cannot_replace, explain_rename_error, is_rename_refused, not_named_by_path, sync_file, sync_folder,
};
use crate::bytes;
use crate::error::{Error, Fault, Result};
use crate::options::WriteOptions;

/// A file that is being written. [`end`](Self::end) gives it its name.
///
/// Without `end`, an unnamed draft disappears, and a named one is removed by a later change.
pub(crate) struct NewFile<'o> {
    /// The caller may make a writer on the file. Dropped first, because it remembers the handle of an open file.
    lent: Option<LentFile>,
    storage: Storage,
    options: &'o WriteOptions,
    /// The old file, if the caller has locked it before reading it. The lock is given up once the file has been replaced.
    locked: OldLock<'o>,
}

/// Where the caller has the old file, if it has locked it.
type OldLock<'o> = Option<&'o mut Option<Locked>>;

fn is_locked(locked: &OldLock<'_>) -> bool {
    locked.as_ref().is_some_and(|locked| locked.is_some())
}

enum Storage {
    /// A pipe, a device, or a descriptor, which cannot be truncated or replaced.
    Stream(File),
    /// The old file, or a new one with its name.
    Overwritten { folder: Folder, name: OsString, file: Locked, is_new: bool },
    /// A draft that replaces `old`; if that is `None`, a file that may have been created in the meantime, but not with `is_only_new`.
    Draft { folder: Folder, name: OsString, draft: Draft, old: Option<File>, is_only_new: bool },
}

impl<'o> NewFile<'o> {
    /// Begins to replace the file at a path, or to create it.
    pub(crate) fn begin(path: &Path, options: &'o WriteOptions) -> Result<Self> {
        Self::begin_with(path, options, None).map_err(Error::while_writing)
    }

    /// Begins to replace a file that the caller has locked since before reading it.
    pub(super) fn begin_locked(
        path: &Path,
        options: &'o WriteOptions,
        old: &'o mut Option<Locked>,
    ) -> Result<Self> {
        Self::begin_with(path, options, Some(old)).map_err(Error::while_writing)
    }

    fn begin_with(path: &Path, options: &'o WriteOptions, locked: OldLock<'o>) -> Result<Self> {
        if options.create_new {
            return match is_locked(&locked) {
                true => Err(Fault::AlreadyExists.into()),
                false => Self::begin_only_new(path, options),
            };
        }
        match target::resolve_destination(path)? {
            Destination::File(folder, name) => Self::begin_in(folder, name, options, locked),
            Destination::Open(_) if is_locked(&locked) => Err(not_named_by_path()),
            Destination::Open(file) => Ok(Self::of_stream(file, options)),
        }
    }

    pub(super) fn of_stream(file: File, options: &'o WriteOptions) -> Self {
        Self { lent: None, storage: Storage::Stream(file), options, locked: None }
    }

    /// Begins to replace the file with this name in a folder, or to create it.
    pub(super) fn begin_in(
        folder: Folder,
        name: OsString,
        options: &'o WriteOptions,
        locked: OldLock<'o>,
    ) -> Result<Self> {
        let kind = folder.kind_of(&name)?;
        if kind == Some(EntryKind::Other) {
            if is_locked(&locked) {
                return Err(not_named_by_path());
            }
            return Ok(Self::of_stream(folder.open_stream(&name)?, options));
        }
        if options.in_place {
            // The old file itself is overwritten, so a caller who has yet to read it would find an empty file.
            if is_locked(&locked) {
                return Err(not_named_by_path());
            }
            let file = open_or_create(&folder, &name, options)?;
            let lent = Some(LentFile::new(&file));
            let storage = Storage::Overwritten { folder, name, file, is_new: kind.is_none() };
            return Ok(Self { lent, storage, options, locked });
        }
        let old = if kind.is_some() { open_old(&folder, &name)? } else { None };
        if let Some(old) = old.as_ref().filter(|_| !is_locked(&locked)) {
            lock::refuse_if_locked(old, options.wait_for_lock)?; // before anything is written
        }
        let draft = Draft::new(&folder, old.is_some()).map_err(|error| match (&old, error.kind()) {
            (Some(_), io::ErrorKind::PermissionDenied) => {
                cannot_replace("its folder cannot be written".into())
            }
            _ => Error::from(error),
        })?;
        // If metadata would be lost, the call fails before any content is written.
        if let Some(old) = &old {
            target::copy_metadata_or_refuse(old, &draft.file).inspect_err(|_| draft.discard(&folder))?;
        }
        let lent = Some(LentFile::new(&draft.file));
        let storage = Storage::Draft { folder, name, draft, old, is_only_new: false };
        Ok(Self { lent, storage, options, locked })
    }

    /// Begins to create a file that must not exist yet.
    pub(super) fn begin_only_new(path: &Path, options: &'o WriteOptions) -> Result<Self> {
        let (folder, name) = target::open_parent_folder(path, Folder::open)?;
        Self::begin_only_new_in(folder, name, options)
    }

    pub(super) fn begin_only_new_in(
        folder: Folder,
        name: OsString,
        options: &'o WriteOptions,
    ) -> Result<Self> {
        if folder.kind_of(&name)?.is_some() {
            return Err(Fault::AlreadyExists.into());
        }
        let draft = Draft::new(&folder, false)?;
        let lent = Some(LentFile::new(&draft.file));
        let storage = Storage::Draft { folder, name, draft, old: None, is_only_new: true };
        Ok(Self { lent, storage, options, locked: None })
    }

    /// Returns the file to write to.
    pub(crate) fn file(&self) -> &File {
        match &self.storage {
            Storage::Stream(file) => file,
            Storage::Overwritten { file, .. } => file,
            Storage::Draft { draft, .. } => &draft.file,
        }
    }

    /// Returns the old file, if the caller has locked it.
    pub(super) fn old(&self) -> Option<&File> {
        self.locked.as_ref()?.as_deref()
    }

    /// Gives the file its name if everything has been written, and otherwise removes it.
    pub(crate) fn end(self, written: Result<()>) -> Result<()> {
        match written {
            Ok(()) => self.finish().map_err(Error::while_writing),
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// Like [`end`](Self::end), for a file that did not exist. It is locked when it appears, and is returned.
    pub(super) fn end_locked(self, written: Result<()>) -> Result<Locked> {
        if let Err(error) = written {
            self.abandon();
            return Err(error);
        }
        let options = self.options;
        let Storage::Draft { folder, name, mut draft, is_only_new: true, .. } = self.storage else {
            unreachable!("only what is certainly new can be locked before it appears")
        };
        drop(self.lent);
        put_new(&folder, &name, &mut draft, options, true).map_err(Error::while_writing)?;
        Ok(Locked::of_locked_new_file(draft.file))
    }

    fn abandon(self) {
        drop(self.lent);
        match self.storage {
            Storage::Stream(_) => {}
            Storage::Overwritten { folder, name, file, is_new } => {
                // A file that was created here is removed if it is still empty.
                if is_new && bytes::len_of_regular(&file) == Some(0) {
                    let _ = folder.unlink(&name);
                }
            }
            Storage::Draft { folder, draft, .. } => draft.discard(&folder),
        }
    }

    fn finish(self) -> Result<()> {
        let Self { lent, storage, options, locked } = self;
        drop(lent);
        match storage {
            Storage::Stream(file) => sync_file(&file, options),
            Storage::Overwritten { folder, file, is_new, .. } => {
                let end = (&*file).stream_position()?;
                file.set_len(end)?;
                sync_file(&file, options)?;
                if is_new {
                    sync_folder(&folder, options)?;
                }
                file.leave_to_map();
                Ok(())
            }
            Storage::Draft { folder, name, mut draft, is_only_new: true, .. } => {
                put_new(&folder, &name, &mut draft, options, false)
            }
            Storage::Draft { folder, name, mut draft, mut old, .. } => {
                let mut no_lock = None;
                let locked = locked.unwrap_or(&mut no_lock);
                put_draft((&folder, &name), options, locked, (&mut draft, &mut old))
                    .inspect_err(|_| draft.discard(&folder))?;
                (*locked, _) = (None, old); // releases the lock: syncing the folder is slow
                sync_folder(&folder, options)
            }
        }
    }
}

/// Gives a draft its name, which must not exist yet, or removes it.
fn put_new(
    folder: &Folder,
    name: &OsStr,
    draft: &mut Draft,
    options: &WriteOptions,
    with_lock: bool,
) -> Result<()> {
    let mut put = || -> Result<()> {
        if options.sync {
            // Synced before the file gets its name, as in `put_draft`.
            draft.sync()?;
        }
        if with_lock {
            // The lock is on the open file, which giving it a name may have to copy.
            draft.ensure_named(folder, options.sync)?;
            lock::lock_new(&draft.file)?;
        }
        draft.persist_new(folder, name, options.sync).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Fault::AlreadyExists.into(),
            _ => Error::from(error),
        })
    };
    put().inspect_err(|_| draft.discard(folder))?;
    sync_folder(folder, options)
}

/// Gives a draft the name of the old file, which is `None` if there is none.
fn put_draft(
    (folder, name): (&Folder, &OsStr),
    options: &WriteOptions,
    locked: &mut Option<Locked>,
    (draft, old): (&mut Draft, &mut Option<File>),
) -> Result<()> {
    // Synced before the file gets its name: after a loss of power, the name must not refer to partial
    // content.
    if options.sync {
        draft.sync()?;
    }
    let mut retries = Retries::new(options.wait_for_lock);
    while retries.next_attempt() {
        let Some(file) = &*old else {
            match draft.persist_new(folder, name, options.sync) {
                Ok(()) => return Ok(()),
                // Another process has just created it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    *old = open_old(folder, name)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
        };
        // The lock is held only for the rename; slower steps come before it.
        draft.ensure_named(folder, options.sync)?;
        let lock = match &*locked {
            None => Some(lock::lock_for_replacing(file, retries.time_left())?),
            Some(_) => None,
        };
        if folder.is_name_of(name, locked.as_deref().unwrap_or(file))? {
            target::copy_metadata_or_refuse(file, &draft.file)?; // the metadata may have changed
            match draft.replace_target(folder, name) {
                Err(error) if cfg!(windows) && is_rename_refused(&error) => {}
                replaced => return replaced.map_err(explain_rename_error),
            }
            // Some Windows file systems do not replace a file that is open. The handles are closed first,
            // which releases the lock, so the identity of the file at the path is checked once more.
            let id = system::id_of(file)?;
            drop(lock);
            (*old, *locked) = (None, None);
            return replace_closed((folder, name), id, options, draft);
        }
        if locked.is_some() {
            break; // another process replaced the input without a lock
        }
        drop(lock);
        *old = open_old(folder, name)?;
    }
    Err(Fault::Locked.into())
}

/// Gives the draft the name of the old file, which has been closed, unless another file has that name by now.
fn replace_closed(
    (folder, name): (&Folder, &OsStr),
    old: Option<system::FileId>,
    options: &WriteOptions,
    draft: &mut Draft,
) -> Result<()> {
    match folder.id_at(name) {
        Ok(found) if found == old => draft.replace_target(folder, name).map_err(explain_rename_error),
        Ok(_) => Err(Fault::Locked.into()), // another process has just replaced it
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            draft.persist_new(folder, name, options.sync).map_err(explain_rename_error)
        }
        Err(error) => Err(explain_rename_error(error)),
    }
}

/// Opens the old file so that it can be locked.
///
/// A rename needs no write permission for the file itself, but a read-only file is assumed to be protected on
/// purpose, so the file is opened for writing. Links have already been resolved. On Linux, a link that was
/// created since then is an error; other systems follow it.
fn open_old(folder: &Folder, name: &OsStr) -> Result<Option<File>> {
    match folder.open_read_write(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file with write but no read permission is locked and compared in the same way.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(Some(folder.open_to_write(name)?))
        }
        opened => Ok(Some(opened?)),
    }
}

/// Opens or creates a file to be written in place, and locks it, keeping existing content.
pub(super) fn open_or_create(folder: &Folder, name: &OsStr, options: &WriteOptions) -> Result<Locked> {
    let (open, wait) = (|| folder.open_or_create(name), options.wait_for_lock);
    lock::open_locked_by(open, |file| folder.is_name_of(name, file), LockPurpose::Change, wait)
}
