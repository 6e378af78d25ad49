//! Tests against real servers, which `.ci/check_stores.py` starts and fills with NumPy's files.

use std::io::Write;

use ndarray::{Array1, Array2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io_store::{Listed, Remote, StoreOptions, UploadOptions, list};

use super::{bytes_of, numbers};

/// An object in the store under test, whose URL is in the environment.
fn object(name: &str) -> Remote {
    let base = std::env::var("NDARRAY_IO_STORE").unwrap();
    Remote::parse(&format!("{base}/{name}")).unwrap()
}

#[test]
#[ignore = "needs NDARRAY_IO_STORE"]
fn arrays_of_real_servers_are_read() {
    let array = numbers(6000, 1000);
    let file = object("large.npy").open_array().unwrap();
    assert_eq!(file.shape(), [6000, 1000]);
    assert!(object("large.npy").version().unwrap().is_verified());
    assert!(file.read::<Array2<u64>>().unwrap() == array);
    assert_eq!(file.slice::<u64, _>(s![5000..5060, ..;3]).unwrap(), array.slice(s![5000..5060, ..;3]));
    let taken: Array2<u64> = file.take(0, &[5999, 1, 4000]).unwrap();
    assert_eq!(taken, array.select(ndarray::Axis(0), &[5999, 1, 4000]));
    for name in ["stored.npz", "compressed.npz"] {
        let npz = object(name).open_npz().unwrap();
        assert_eq!(npz.names().unwrap(), ["large", "small"]);
        assert!(npz.read::<Array2<u64>>("large").unwrap() == array);
        let row: Array1<u64> = npz.open_member("large").unwrap().slice(s![5000, ..]).unwrap();
        assert_eq!(row, array.row(5000));
        assert_eq!(npz.read::<Array1<f64>>("small").unwrap(), Array1::from_vec(vec![1.5, 2.5]));
    }
    let error = object("nothing.npy").open_array().unwrap_err();
    assert!(error.is_io() && error.to_string().contains("no such object"), "{error}");
    assert!(object("empty.npy").open_array().unwrap_err().is_format());
    assert_eq!(object("empty.npy").version().unwrap().size(), 0);
}

#[test]
#[ignore = "needs NDARRAY_IO_STORE"]
fn objects_of_real_servers_are_written() {
    let array = numbers(3000, 1000); // 24 MB
    object("made.npy").write_npy(&array).unwrap();
    assert!(object("made.npy").read_npy::<Array2<u64>>().unwrap() == array);

    // A dropped upload leaves no object and no parts (the script checks for parts).
    let parts = UploadOptions::new().part_size(5 << 20);
    let mut upload = object("dropped.npy").upload(&parts).unwrap();
    upload.write_all(&bytes_of(&array)).unwrap();
    drop(upload);
    assert!(object("dropped.npy").open_array().unwrap_err().is_io());

    for (name, bytes) in [("small", b"small".to_vec()), ("parts", vec![7; 11 << 20])] {
        let new = parts.clone().create_new();
        let mut uploads = [object(name).upload(&new).unwrap(), object(name).upload(&new).unwrap()];
        uploads.iter_mut().for_each(|upload| upload.write_all(&bytes).unwrap());
        let [first, second] = uploads;
        let version = first.finish().unwrap();
        let error = second.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{name}: {error}");
        assert_eq!(object(name).version().unwrap().tag(), version.tag());

        let replacing = parts.clone().replacing(&version).unwrap();
        let mut uploads =
            [object(name).upload(&replacing).unwrap(), object(name).upload(&replacing).unwrap()];
        uploads[0].write_all(&bytes[1..]).unwrap();
        uploads[1].write_all(&bytes).unwrap();
        let [first, second] = uploads;
        first.finish().unwrap();
        let error = second.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{name}: {error}");
        assert_eq!(object(name).version().unwrap().size(), bytes.len() as u64 - 1);
    }
}

/// Each of the keys, which the script has made, holds its own number; afterwards, a hundred more.
#[test]
#[ignore = "needs NDARRAY_IO_STORE"]
fn keys_of_real_servers_are_literal() {
    let base = std::env::var("NDARRAY_IO_STORE").unwrap();
    let keys = std::fs::read_to_string(std::env::var("NDARRAY_IO_KEYS").unwrap()).unwrap();
    let mut keys: Vec<&str> = keys.split('\0').collect();
    for (number, key) in keys.iter().enumerate() {
        let number = number as i64;
        let object = object(key);
        assert_eq!(object.read_npy::<Array1<i64>>().unwrap(), Array1::from_elem(1, number), "{key:?}");
        object.write_npy(&Array1::from_elem(1, number + 100)).unwrap();
        assert_eq!(object.read_npy::<Array1<i64>>().unwrap()[0], number + 100, "{key:?}");
        // Sent in two parts.
        let new = Remote::parse(&format!("{base}/{key}.parts")).unwrap();
        let mut upload = new.upload(&UploadOptions::new().part_size(5 << 20).create_new()).unwrap();
        upload.write_all(&vec![number as u8; 6 << 20]).unwrap();
        upload.finish().unwrap();
        assert!(new.exists().unwrap());
        assert_eq!(new.version().unwrap().size(), 6 << 20);
        new.delete().unwrap();
        new.delete().unwrap();
        assert!(!new.exists().unwrap(), "{key:?}");
    }
    let options = StoreOptions::new();
    let found = list(&format!("{base}/"), &options).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let mut found: Vec<&str> = found.iter().map(Listed::key).collect();
    found.sort_unstable();
    keys.sort_unstable();
    assert_eq!(found, keys);
    let arrays = list(&format!("{base}/deep/"), &options).unwrap().matching("deep/*/x.npy").unwrap();
    let arrays: Vec<Listed> = arrays.collect::<Result<_, _>>().unwrap();
    assert_eq!(arrays.iter().map(Listed::url).collect::<Vec<_>>(), [format!("{base}/deep/er/x.npy")]);
    assert_eq!(arrays[0].size(), 136);
    for name in [".", "..", "a/../b", "./a"] {
        assert!(Remote::parse(&format!("{base}/{name}")).unwrap_err().is_usage());
    }
}
