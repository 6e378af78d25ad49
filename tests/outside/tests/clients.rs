//! Programs of users of `ndarray-npy` and `npyz`.
//!
//! Those of `ndarray-npy` are compiled twice, from the same file: with that crate, and with this one in its place. Those of
//! `npyz` differ in the lines that `MIGRATING.md` shows; what one crate writes, the other reads.

mod theirs {
    pub use ndarray_npy as npy;

    pub mod programs {
        include!("clients/programs.rs");
    }
}

mod ours {
    pub use ndarray_io as npy;

    pub mod programs {
        include!("clients/programs.rs");
    }
}

use std::fs::{self, File};

/// Runs a program of both crates, each in a folder of its own, and compares what they return.
macro_rules! same {
    ($($name:ident: $wanted:expr;)*) => {$(
        #[test]
        fn $name() {
            let [theirs, ours] = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let wanted = self::theirs::programs::$name(theirs.path()).unwrap();
            assert_eq!(wanted, $wanted);
            assert_eq!(self::ours::programs::$name(ours.path()).unwrap(), wanted);
        }
    )*};
}

same! {
    quadtree_cache: 34_782.0;
    network_weights: ndarray::arr1(&[76.0, 25.0]);
    mipmaps: vec![vec![16, 24, 3], vec![8, 12, 3], vec![4, 6, 3], vec![2, 3, 3], vec![1, 2, 3]];
    code_book: 100;
    photon_cube: 17;
    generic_loaders: vec![3, 3, 3];
    archive_repacking: [("10", 0.0), ("20", 20.0), ("30", 60.0), ("40", 120.0)].map(|(name, sum)| (name.to_owned(), sum)).into();
}

#[test]
fn scores() {
    assert_eq!(theirs::programs::scores().unwrap(), (40, 33.0));
    assert_eq!(ours::programs::scores().unwrap(), (40, 33.0));
}

/// A file in one format for both: what one crate writes is read by the other, program by program.
#[test]
fn files_are_exchanged() {
    let folder = tempfile::tempdir().unwrap();
    theirs::programs::quadtree_cache(folder.path()).unwrap();
    assert_eq!(ours::programs::quadtree_cache(folder.path()).unwrap(), 34_782.0); // reads what is there
}

/// Shards of records, which `npyz` iterates over.
#[test]
fn record_shards() {
    use ndarray_io::{FlatArray, NpyReader, Record, WriteNpyExt};

    #[derive(npyz::Serialize, npyz::Deserialize, npyz::AutoSerialize, Record, Clone, Debug, PartialEq)]
    struct Hit {
        channel: u16,
        time: f64,
        position: [f32; 3],
    }

    let folder = tempfile::tempdir().unwrap();
    let hits = |shard: u16| -> Vec<Hit> {
        let hit =
            |channel: u16| Hit { channel, time: f64::from(channel) / 8.0, position: [f32::from(shard); 3] };
        (0..1000).map(hit).collect()
    };
    for shard in 0..3 {
        npyz::to_file_1d(folder.path().join(format!("theirs-{shard}.npy")), hits(shard)).unwrap();
        hits(shard)
            .write_npy(File::create(folder.path().join(format!("ours-{shard}.npy"))).unwrap())
            .unwrap();
    }
    for (shard, name) in [(0, "theirs-0.npy"), (1, "theirs-1.npy"), (2, "ours-2.npy")] {
        let path = folder.path().join(name);
        // for hit in npyz::NpyFile::new(file)?.data::<Hit>()? { … }
        let mut reader = NpyReader::new(File::open(&path).unwrap()).unwrap();
        let read: Vec<Hit> = reader.elements().unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(read, hits(shard));
        // npyz::NpyFile::new(file)?.into_vec::<Hit>()?
        let all: FlatArray<Hit> = ndarray_io::read_npy(&path).unwrap();
        assert_eq!(all.items(), read);
        let theirs = npyz::NpyFile::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(theirs.into_vec::<Hit>().unwrap(), read);
    }
}

/// Dense matrices in both orders, with the shape and the order as values.
#[test]
fn dense_matrices() {
    use ndarray_io::header::Order;
    use ndarray_io::{FlatArray, FlatView, ReadNpyExt, WriteNpyExt};
    use npyz::WriterBuilder;

    let items: Vec<f64> = (0..12).map(f64::from).collect();
    for (order, theirs) in [(Order::C, npyz::Order::C), (Order::Fortran, npyz::Order::Fortran)] {
        let mut file = Vec::new();
        let mut writer = npyz::WriteOptions::new()
            .default_dtype()
            .shape(&[3, 4])
            .order(theirs)
            .writer(&mut file)
            .begin_nd()
            .unwrap();
        writer.extend(items.iter().copied()).unwrap();
        writer.finish().unwrap();
        let read = FlatArray::<f64>::read_npy(&file[..]).unwrap();
        assert_eq!((read.items(), read.shape(), read.order()), (&items[..], &[3, 4][..], order));

        let mut ours = Vec::new();
        FlatView::new(&items, &[3, 4], order).unwrap().write_npy(&mut ours).unwrap();
        let npy = npyz::NpyFile::new(&ours[..]).unwrap();
        assert_eq!((npy.shape(), npy.order()), (&[3, 4][..], theirs));
        assert_eq!(npy.into_vec::<f64>().unwrap(), items);
    }
}

/// A loader that must give what `npyz` gives: element by element, from a stream, with the header first.
#[test]
fn parity_loader() {
    use ndarray_io::NpyReader;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    npyz::to_file_1d(&path, (0..5000).map(|number| number as f32 / 7.0).collect::<Vec<f32>>()).unwrap();
    let file = fs::read(&path).unwrap();
    let theirs = npyz::NpyFile::new(&file[..]).unwrap();
    let mut ours = NpyReader::new(&file[..]).unwrap();
    let shape: Vec<u64> = ours.shape().iter().map(|length| *length as u64).collect();
    assert_eq!((shape.as_slice(), ours.dtype().to_string()), (theirs.shape(), theirs.dtype().descr()));
    let pairs = theirs.data::<f32>().unwrap().zip(ours.elements::<f32>().unwrap());
    let mut count = 0;
    for (one, other) in pairs {
        assert_eq!(one.unwrap(), other.unwrap());
        count += 1;
    }
    assert_eq!(count, 5000);
}
