//! What Python would do to load the objects of an array.

use std::collections::HashSet;

use super::{Global, Object, ObjectRef, View, walk};
use crate::dynamic::DynArray;

impl DynArray {
    /// Returns the classes and functions that Python would import to load the objects of this array.
    ///
    /// Each is listed once; Python may also call it. Those that only create values that this library
    /// represents as data (NumPy's arrays and scalars, sets, and the classes of `datetime` and `decimal`) are
    /// left out; [`Global::is_usual_in_data`] is true of a few more, such as `numpy.dtype`. Nothing is imported.
    ///
    /// An array that was read also has those that its file only mentions, or uses for objects that Python discards while
    /// loading; so do arrays that are made of it. Writing the array does not write these.
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
    /// let array = ReadOptions::new().allow_objects(true).read_from::<DynArray>(&file[..])?;
    /// let names = array.globals().into_iter().filter(|global| !global.is_usual_in_data());
    /// assert_eq!(names.map(|global| global.to_string()).collect::<Vec<_>>(), ["os.system"]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn globals(&self) -> Vec<Global<'_>> {
        match &self.load_effects {
            Some(load_effects) => {
                load_effects.names().map(Global::new).filter(|global| !global.is_data_constructor()).collect()
            }
            None => {
                let mut names = HashSet::new();
                let globals = self.all_objects().filter_map(|object| match object.view() {
                    View::Global(global) if !global.is_data_constructor() => Some(global),
                    _ => None,
                });
                globals.filter(|global| names.insert(*global)).collect()
            }
        }
    }

    /// Returns the codes of Python's extension registry in the file of which the objects were read, for each of which Python would import a class or function.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::DynArray;
    ///
    /// assert!(DynArray::new(&arr1(&[1.5]))?.extension_codes().is_empty());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn extension_codes(&self) -> Vec<u32> {
        self.load_effects.iter().flat_map(|load_effects| load_effects.extension_codes()).collect()
    }

    /// Returns the calls that Python would make to load the objects of this array, each after those that make its arguments.
    ///
    /// Those that only create values that this library represents as data are left out, as in
    /// [`globals`](Self::globals). An array that was read also has the calls for objects that Python discards while
    /// loading its file.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::object::Object;
    /// use ndarray_io::{DynArray, ReadNpyExt, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[Object::from(1), Object::call("os", "system", ["echo"])]).write_npy(&mut file)?;
    /// let array = ReadOptions::new().allow_objects(true).read_from::<DynArray>(&file[..])?;
    /// assert_eq!(array.calls().last().unwrap().to_string(), "os.system('echo')");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn calls(&self) -> Vec<ObjectRef<'_>> {
        match &self.load_effects {
            Some(load_effects) => load_effects.calls.iter().map(Object::as_ref).collect(),
            None => {
                let is_call = |object: &ObjectRef<'_>| matches!(object.view(), View::Call(_));
                self.all_objects().filter(is_call).collect()
            }
        }
    }

    fn all_objects(&self) -> impl Iterator<Item = ObjectRef<'_>> {
        walk::in_post_order(self.objects().into_iter().flatten().map(Object::as_ref)).into_iter()
    }
}
