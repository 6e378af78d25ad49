//! The names that Python would look up to load objects.

use std::collections::HashSet;

use super::graph::Id;
use super::{Global, ObjectRef, View};
use crate::dynamic::DynArray;

impl DynArray {
    /// Returns the classes and functions that Python would import to load the objects of this array.
    ///
    /// Each is listed once; Python may also call it. Those that only create values that this library
    /// represents as data (NumPy's arrays and scalars, sets, and the classes of `datetime` and `decimal`) are
    /// left out. So for plain data, the list contains at most `numpy.dtype`. This method visits all objects
    /// of the array, and imports nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::object::Object;
    /// use ndarray_io::{DynArray, ReadNpyExt, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[Object::from(1), Object::call("os", "system", ["echo"])]).write_npy(&mut file)?;
    /// let array = DynArray::read_npy_with(&file[..], &ReadOptions::new().allow_objects(true))?;
    /// let names: Vec<_> = array.globals().iter().map(|global| format!("{}.{}", global.module(), global.name())).collect();
    /// assert_eq!(names, ["os.system"]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn globals(&self) -> Vec<Global<'_>> {
        let mut found: Vec<Global<'_>> = Vec::new();
        let mut names = HashSet::new();
        // Parts may be shared and may contain each other, so each object is visited only once.
        let mut seen: HashSet<Id> = HashSet::new();
        let mut open: Vec<ObjectRef<'_>> = Vec::new();
        for object in self.objects().into_iter().flatten() {
            open.push(object.as_ref());
            while let Some(object) = open.pop() {
                if !object.id().is_none_or(|id| seen.insert(id)) {
                    continue;
                }
                if let View::Global(global) = object.view()
                    && names.insert((global.module(), global.name()))
                {
                    found.push(global);
                }
                open.extend((0..object.part_count()).rev().filter_map(|index| object.part(index)));
            }
        }
        found
    }
}
