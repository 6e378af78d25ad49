//! The values of objects: keys compared as in Python, cycles, streams, single pickles, and the meaning of
//! calls. Where a value comes from Python, the comment shows what was typed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;

use ndarray::{Array1, ArrayD, arr1};
use ndarray_io::object::{CallBuilder, Int, Object, Pickle, View, Zone};
use ndarray_io::{DynArray, Limits, NpyReader, ReadNpyExt, ReadOptions, WriteNpyExt, WriteOptions};
use num_complex::Complex;

use crate::support::manifest;

fn unpickle(bytes: &[u8]) -> Object {
    Pickle::read(bytes).unwrap_or_else(|error| panic!("{}: {error}", bytes.escape_ascii())).into_object()
}

/// A reader without a length, which counts the bytes that are taken.
struct CountingReader<'a> {
    bytes: &'a [u8],
    taken: usize,
}

impl Read for CountingReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(into)?;
        self.taken += count;
        Ok(count)
    }
}

/// Of two arrays of objects in a stream, followed by other bytes, exactly one array is consumed at a time.
#[test]
fn object_array_read_consumes_exactly_its_bytes() {
    let folder = manifest::testdata().join("objects");
    for name in ["texts", "texts-p0", "texts-p1", "texts-p2", "texts-p3", "arrays-p5", "containers"] {
        let one = std::fs::read(folder.join(format!("{name}.npy"))).unwrap();
        let all = [&one[..], &one, b"behind"].concat();
        let mut stream = CountingReader { bytes: &all, taken: 0 };
        for count in 1..=2 {
            let array =
                ArrayD::<Object>::read_npy(&mut stream).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!array.is_empty());
            assert_eq!(stream.taken, count * one.len(), "{name}");
        }
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "behind");
        // Truncated at any position, it is a format error.
        for end in (0..one.len()).rev().step_by(7) {
            let cut = NpyReader::new(CountingReader { bytes: &one[..end], taken: 0 })
                .and_then(|mut file| file.read::<ArrayD<Object>>());
            assert!(cut.unwrap_err().is_format(), "{name} cut at {end}");
        }
    }
}

/// `{1: "a", True: "b", 1.0: "c", 2: "d"}` is `{1: 'c', 2: 'd'}`, and so on.
#[test]
fn dict_and_set_keys_compare_as_in_python() {
    let dict = unpickle(b"}(K\x01X\x01\x00\x00\x00aI01\nX\x01\x00\x00\x00bG\x3f\xf0\0\0\0\0\0\0X\x01\x00\x00\x00cK\x02X\x01\x00\x00\x00du.");
    assert_eq!(dict.to_string(), "{1: 'c', 2: 'd'}");
    for key in [
        Object::from(1),
        true.into(),
        1.0.into(),
        Complex::new(1.0, 0.0).into(),
        Object::decimal("1.0").unwrap(),
    ] {
        assert_eq!(dict.get(&key).unwrap().as_str(), Some("c"), "{key}");
    }
    assert!(dict.get("1").is_none() && dict.get(3).is_none() && dict.get(Object::list([1])).is_none());
    // set([1, True, "1"])
    assert_eq!(unpickle(b"\x80\x04\x8f(K\x01\x88\x8c\x011\x90.").to_string(), "{1, '1'}");
    // More keys than are compared linearly.
    let many = Object::dict((0..1000).map(|number| (Object::tuple([number, 5]), number))).unwrap();
    assert_eq!(i64::try_from(many.get(Object::tuple([999.0, 5.0])).unwrap()).unwrap(), 999);
    let scalar = Object::scalar(&DynArray::new(&ndarray::arr0(7u8)).unwrap()).unwrap();
    let numbers = Object::dict((0..20).map(|number| (number, number))).unwrap();
    assert_eq!(i64::try_from(numbers.get(scalar).unwrap()).unwrap(), 7);
    // hash(float("nan")) depends on the object; here on the bits. 2.0**63 == 2**63; 0.5 == Decimal("0.5");
    // 0.1 != Decimal("0.1").
    let odd = [
        Object::from(f64::NAN),
        (2f64.powi(63)).into(),
        0.5.into(),
        0.1.into(),
        Object::from(-0.0),
        Object::decimal("1E+400").unwrap(),
    ];
    let odd = Object::set(odd).unwrap();
    let odd = odd.items().unwrap();
    assert!(
        odd.contains(f64::NAN) && odd.contains(1u64 << 63) && odd.contains(Object::decimal("0.50").unwrap())
    );
    assert!(
        odd.contains(0)
            && odd.contains(Object::decimal("0.0").unwrap())
            && !odd.contains(Object::decimal("0.1").unwrap())
    );
    assert!(odd.contains(Object::decimal("10e399").unwrap()));
    // frozenset([1, 2]) == frozenset([2, 1]); two instances are two keys.
    let sets =
        Object::set([Object::frozen_set([1, 2]).unwrap(), Object::frozen_set([2, 1]).unwrap()]).unwrap();
    assert_eq!(sets.items().unwrap().len(), 1);
    let instance =
        || CallBuilder::new(Object::global("builtins", "object"), Object::tuple([0; 0])).is_new(true).build();
    let two = [instance(), instance()];
    assert_eq!(Object::set(two.iter()).unwrap().items().unwrap().len(), 2);
    assert!(Object::set(two.iter()).unwrap().items().unwrap().contains(&two[1]));
}

/// Equality is strict about types and bits but ignores the order of dicts and sets; equal objects hash the
/// same.
#[test]
fn equality_is_strict_and_hashes_agree() {
    let dict = |pairs: &[(&str, i32)]| pairs.iter().copied().collect::<Object>();
    let same = [
        (dict(&[("a", 1), ("b", 2)]), dict(&[("b", 2), ("a", 1)])),
        (Object::set([1, 2, 3]).unwrap(), Object::set([3, 1, 2]).unwrap()),
        (Object::list(["a long text that is no slot"]), Object::list(["a long text that is no slot"])),
        (unpickle(b"]q\x00h\x00a."), unpickle(b"]q\x00h\x00a.")),
    ];
    for (one, two) in &same {
        assert_eq!(one, two);
        assert_eq!(HashSet::from([one, two]).len(), 1, "{one}");
    }
    let different = [
        (Object::from(1), Object::from(true)),
        (1.into(), 1.0.into()),
        (0.0.into(), Object::from(-0.0)),
        (dict(&[("a", 1)]), dict(&[("a", 2)])),
        (Object::dict([(1, 1)]).unwrap(), Object::dict([(1.0, 1)]).unwrap()),
        (Object::list([1]), Object::tuple([1])),
        (Object::set([1, 2]).unwrap(), Object::set([1, 3]).unwrap()),
        (Object::from(&b"a"[..]), "a".into()),
        (unpickle(b"]q\x00h\x00a."), unpickle(b"]q\x00](h\x00K\x01ea.")),
    ];
    for (one, two) in &different {
        assert_ne!(one, two);
    }
}

/// Cycles such as `a = []; a.append(a)` are shown as in Python, and are cycles again when they are written.
#[test]
fn cyclic_objects_are_displayed_and_round_trip() {
    let circles: [(&[u8], &str); 4] = [
        (b"]q\x00h\x00a.", "[[...]]"),
        (b"}q\x00K\x01h\x00s.", "{1: {...}}"),
        // t = ([],); t[0].append(t), as pickle.dumps writes it in protocol 2
        (b"\x80\x02]q\x00h\x00\x85q\x01a0h\x01.", "([(...)],)"),
        (b"\x80\x04\x8c\x01m\x94\x8c\x01C\x93)\x81\x94}\x8c\x04selfh\x01sb.", "m.C() <state: {'self': ...}>"),
    ];
    for (bytes, shown) in circles {
        let one = unpickle(bytes);
        assert_eq!(one.to_string(), shown);
        for protocol in [2, 3, 4] {
            let again =
                unpickle(&Pickle::write(&one, &WriteOptions::new().pickle_protocol(protocol)).unwrap());
            assert_eq!((again.to_string(), &again), (shown.to_string(), &one));
        }
        assert_eq!(one.detach(), one);
        assert!(one.detach().to_string() == shown);
    }
    let list = unpickle(b"]q\x00h\x00a.");
    assert!(list.items().unwrap().get(0).unwrap().is_same(list.as_ref()));
}

/// Parts that only Python's reader could supply are values, which cannot be written.
#[test]
fn persistent_ids_and_extensions_are_read_but_not_written() {
    let all = unpickle(b"\x80\x05(\x8c\x01aQPtwo\n\x82\x05\x83\x00\x01\x97\x97\x98t.");
    assert_eq!(
        all.to_string(),
        "(<persistent 'a'>, <persistent 'two'>, <extension 5>, <extension 256>, <buffer 0>, <buffer 1>)"
    );
    let View::Persistent(name) = all.items().unwrap().get(0).unwrap().view() else { panic!() };
    assert_eq!(name.as_str(), Some("a"));
    assert!(Pickle::write(&all, &WriteOptions::new()).unwrap_err().is_usage());
}

#[test]
fn pickle_globals_have_current_and_stored_names() {
    // A discarded global is looked up all the same; in protocol 2 by its old name.
    let pickle = Pickle::read(&b"\x80\x02cos\nsystem\n0c__builtin__\nxrange\n(K\x01K\x05tR."[..]).unwrap();
    let names: Vec<_> = pickle.globals().map(|global| (global.to_string(), global.stored())).collect();
    assert_eq!(names, [("os.system".into(), ("os", "system")), ("range".into(), ("__builtin__", "xrange"))]);
    assert_eq!(pickle.calls().count(), 1);
    assert_eq!(pickle.object().to_string(), "range(1, 5)");
    let joblib =
        Pickle::read(&b"\x80\x04\x8c\x13joblib.numpy_pickle\x8c\x11NumpyArrayWrapper\x93."[..]).unwrap_err();
    assert!(joblib.to_string().contains("joblib.dump"), "{joblib}");
}

#[test]
fn object_nesting_limit_can_be_raised() {
    let deep = [&b"]"[..], &b"\x85".repeat(5000), b"."].concat();
    let error = Pickle::read(&deep[..]).unwrap_err();
    assert!(error.message().starts_with("the pickle nests objects"), "{error}");
    let options = ReadOptions::new().limits(Limits::default().object_height(100_000));
    let deep = options.read_pickle(&deep[..]).unwrap().into_object();
    let again = Pickle::write(&deep, &WriteOptions::new()).unwrap();
    assert_eq!(&deep, options.read_pickle(&again[..]).unwrap().object());
    assert!(deep.to_string().starts_with("((((") && deep.detach() == deep);
    // Deeper than any limit of a read: built by hand, and dropped without recursion.
    let tower = (0..30_000).fold(Object::none(), |inner, _| Object::list([inner]));
    assert!(tower.to_string().ends_with("]]]]") && tower.detach() == tower);
    assert_eq!(Pickle::write(&tower, &WriteOptions::new()).unwrap().last(), Some(&b'.'));
    drop(tower);
    // Hashing a deep key works as well.
    let tower = || (0..30_000).fold(Object::none(), |inner, _| Object::tuple([inner]));
    let keys = HashSet::from([tower(), tower()]);
    assert_eq!(keys.len(), 1);
    let dict = Object::dict([(tower(), 1)]).unwrap();
    assert!(dict.get(tower()).is_some() && dict == Object::dict([(tower(), 1)]).unwrap());
}

/// `pickle.dumps` of time-zone aware times, in protocols 2 and 4: see testdata/objects "others".
#[test]
fn aware_times_and_dtype_calls_are_decoded() {
    let others: ArrayD<Object> =
        ndarray_io::read_npy(manifest::testdata().join("objects/others.npy")).unwrap();
    let (date, time, zone) = others[[9]].as_ref().as_aware().unwrap();
    assert_eq!((date.year(), date.month(), date.day(), time.hour()), (2020, 1, 1, 0));
    assert!(matches!(zone, Zone::Offset(offset) if offset.days() == 0), "{zone:?}");
    let dtype = Object::call("numpy", "dtype", [">i2"]);
    assert_eq!(dtype.as_ref().as_dtype().unwrap().to_string(), "'>i2'");
    assert!(others[[0]].as_ref().as_dtype().is_none() && others[[0]].as_ref().as_array().is_none());
    // NumPy: "field 'a' occurs more than once".
    let dtype = |names: [&str; 2]| {
        let parts: [(&str, Object); 4] = [
            ("names", names.to_vec().into()),
            ("formats", vec!["<i4", "<i4"].into()),
            ("offsets", vec![0, 4].into()),
            ("itemsize", 8.into()),
        ];
        Object::call("numpy", "dtype", [parts.into_iter().collect::<Object>()])
    };
    assert_eq!(dtype(["a", "b"]).as_ref().as_dtype().unwrap().item_size(), 8);
    assert!(dtype(["a", "a"]).as_ref().as_dtype().is_none());
}

#[test]
fn objects_convert_to_rust_types() {
    let rows = Object::from(vec![(1, "a"), (2, "b")]);
    assert_eq!(Vec::<(u8, String)>::try_from(&rows).unwrap(), [(1, "a".into()), (2, "b".into())]);
    let dict = Object::from(BTreeMap::from([("a", vec![1.5]), ("b", vec![])]));
    assert_eq!(HashMap::<String, Vec<f64>>::try_from(dict).unwrap()["a"], [1.5]);
    assert_eq!(
        ArrayD::<f64>::try_from(Object::from(&DynArray::new(&arr1(&[1.5])).unwrap())).unwrap()[[0]],
        1.5
    );
    assert_eq!(char::try_from(Object::from('λ')).unwrap(), 'λ');
    assert_eq!(usize::try_from(Object::from(5usize)).unwrap(), 5);
    assert_eq!(Int::try_from(Object::from(u128::MAX)).unwrap().to_string(), u128::MAX.to_string());
    assert!(
        Vec::<u8>::try_from(Object::from(5))
            .unwrap_err()
            .to_string()
            .contains("expected a list, tuple or set, found an int")
    );
    let objects = arr1(&[Object::from(1), Object::list([2])]);
    let mut file = Vec::new();
    objects.write_npy(&mut file).unwrap();
    let dynamic = ReadOptions::new().allow_objects(true).read_from::<DynArray>(&file[..]).unwrap();
    let list = dynamic.objects().unwrap()[1].clone();
    let back: Array1<Object> = dynamic.into_array().unwrap();
    assert!(back == objects && back[1].is_same(&list), "no copies are made");
}

/// `datetime.timedelta(microseconds=-1)` is `datetime.timedelta(days=-1, seconds=86399, microseconds=999999)`.
#[cfg(all(feature = "chrono-0_4", feature = "jiff-0_2"))]
#[test]
fn dates_and_times_convert_to_chrono_and_jiff() {
    use ndarray_io::object::{Date, Time, Timedelta};

    let (date, time) = (Date::new(2024, 2, 29).unwrap(), Time::new(23, 59, 58, 7).unwrap());
    let less = Timedelta::new(-1, 86_399, 999_999).unwrap();
    let (there, at) =
        (chrono_0_4::NaiveDate::try_from(date).unwrap(), chrono_0_4::NaiveTime::try_from(time).unwrap());
    assert_eq!((there.to_string(), at.to_string()), ("2024-02-29".into(), "23:59:58.000007".into()));
    assert_eq!((Date::try_from(there).unwrap(), Time::try_from(at).unwrap()), (date, time));
    let delta = chrono_0_4::TimeDelta::microseconds(-1);
    assert_eq!(
        (Timedelta::try_from(delta).unwrap(), chrono_0_4::TimeDelta::try_from(less).unwrap()),
        (less, delta)
    );
    assert!(Timedelta::try_from(chrono_0_4::TimeDelta::nanoseconds(1)).unwrap_err().is_mismatch());
    assert!(Date::try_from(chrono_0_4::NaiveDate::MAX).is_err());

    let (there, at) =
        (jiff_0_2::civil::Date::try_from(date).unwrap(), jiff_0_2::civil::Time::try_from(time).unwrap());
    assert_eq!((there.to_string(), at.to_string()), ("2024-02-29".into(), "23:59:58.000007".into()));
    assert_eq!((Date::try_from(there).unwrap(), Time::try_from(at).unwrap()), (date, time));
    let duration = jiff_0_2::SignedDuration::from_micros(-1);
    assert_eq!(Timedelta::try_from(duration).unwrap(), less);
    assert_eq!(jiff_0_2::SignedDuration::try_from(less).unwrap(), duration);
}

/// As in Python: `{float("nan"): 1, float("nan"): 2}` has two keys; `datetime(…, fold=1)` is the same key as
/// without it; sets of instances are equal in any order; a frozenset read with an item twice has it once.
#[test]
fn nan_and_fold_and_instance_keys_compare_as_in_python() {
    let nans = unpickle(b"\x80\x04}(G\x7f\xf8\0\0\0\0\0\0K\x01G\x7f\xf8\0\0\0\0\0\0K\x02u.");
    assert_eq!(nans.to_string(), "{nan: 1, nan: 2}");
    assert_eq!(nans, nans.detach());
    let time = ndarray_io::object::Time::new(1, 2, 3, 4).unwrap();
    let times = Object::dict([(Object::from(time), 1)]).unwrap();
    assert!(times.get(time.fold(true)).is_some());
    let ids = |order: [&str; 2]| Object::set(order.map(|id| Object::call("uuid", "UUID", [id]))).unwrap();
    assert_eq!(ids(["a", "b"]), ids(["b", "a"]));
    assert_ne!(ids(["a", "b"]), ids(["b", "c"]));
    assert_eq!(unpickle(b"\x80\x04}((K\x01K\x01\x91N(K\x01\x91Nu.").to_string(), "{frozenset({1}): None}");
}

/// What is not equal to itself is a key for each object, as in Python: the counts are Python's `len`.
#[test]
fn self_unequal_keys_are_all_kept() {
    let folder = manifest::testdata().join("objects");
    let lines = std::fs::read_to_string(folder.join("objects.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["name"] == "not_equal").unwrap();
    let counts = line["counts"].as_array().unwrap();
    let array: Array1<Object> = ndarray_io::read_npy(folder.join("not_equal.npy")).unwrap();
    assert!(array.len() == counts.len() && array.len() > 150);
    let count = |object: &Object| match object.view() {
        View::Dict(dict) => dict.len(),
        _ => object.items().unwrap().len(),
    };
    let (again, detached) = (array.mapv(|object| object.detach()), {
        let mut file = Vec::new();
        array.write_npy(&mut file).unwrap();
        Array1::<Object>::read_npy(&file[..]).unwrap()
    });
    for (index, object) in array.iter().enumerate() {
        assert_eq!(count(object) as u64, counts[index].as_u64().unwrap(), "{index}: {object}");
        // Equality compares what they contain.
        assert!(object == &again[index] && object == &detached[index], "{index}: {object}");
        assert_eq!((count(&again[index]), count(&detached[index])), (count(object), count(object)));
        // Lookups compare bits.
        match object.view() {
            View::Dict(dict) => assert!(dict.iter().all(|(key, _)| dict.get(key.to_object()).is_some())),
            _ => {
                let items = object.items().unwrap();
                assert!(items.iter().all(|item| items.contains(item.to_object())), "{index}: {object}");
            }
        }
    }
    // They are told apart by their content, in any order.
    let set = |lists: &[&[f64]]| {
        Object::set(lists.iter().map(|list| Object::frozen_set(list.iter().copied()).unwrap())).unwrap()
    };
    let nan = f64::NAN;
    assert_eq!(set(&[&[nan, 1.0], &[nan, 2.0], &[nan, nan]]), set(&[&[nan, nan], &[2.0, nan], &[1.0, nan]]));
    assert_ne!(set(&[&[nan, 1.0], &[nan, 2.0]]), set(&[&[nan, 1.0], &[nan, 1.0]]));
    let tuples = [Object::tuple([Object::from(nan), 1.into()]), Object::tuple([nan, 1.0])];
    let reversed = Object::set([&tuples[1], &tuples[0]]).unwrap();
    assert_eq!(Object::set(&tuples).unwrap(), reversed);
    // A complex number is the same object in both keys.
    let same = Object::from(Complex::new(nan, 0.0));
    let other = Object::from(Complex::new(nan, 0.0));
    assert_eq!(Object::set([&same, &other, &same]).unwrap().items().unwrap().len(), 2);
}

/// Keys that have one hash in Python, and those that are not equal to themselves, take no longer than others.
/// (Quadratic time would be hours.)
#[test]
fn colliding_keys_take_linear_time() {
    const KEY_COUNT: usize = 40_000;
    // sys.hash_info.modulus
    let modulus = Int::from((1i64 << 61) - 1);
    let modulus = i128::try_from(&Object::from(modulus)).unwrap();
    let whole = (0..KEY_COUNT as i128).map(|number| Object::from(number * modulus));
    let fractions =
        (0..KEY_COUNT).map(|number| Object::from(2f64.powi((number % 30) as i32 * 61) + number as f64));
    let colliding = Object::set(whole.chain(fractions)).unwrap();
    let nans = Object::set(std::iter::repeat_n(f64::NAN, KEY_COUNT)).unwrap();
    let tuples = Object::set((0..KEY_COUNT).map(|_| Object::tuple([f64::NAN, 1.0]))).unwrap();
    assert_eq!(nans.items().unwrap().len(), KEY_COUNT);
    assert_eq!(tuples.items().unwrap().len(), KEY_COUNT);
    for set in [colliding, nans, tuples] {
        let again = unpickle(&Pickle::write(&set, &WriteOptions::new()).unwrap());
        let items = again.items().unwrap();
        assert_eq!(items.len(), set.items().unwrap().len());
        assert!(again == set);
        assert!((0..KEY_COUNT).all(|index| items.contains(items.get(index).unwrap().to_object())));
        assert!(!(0..KEY_COUNT).any(|index| items.contains(index as f64 + 0.5)));
    }
}

/// A text of a megabyte that a million items share is compared once. (Otherwise this would take a minute.)
#[test]
fn shared_parts_are_compared_once() {
    let text = "x".repeat(1 << 20);
    let bytes = text.as_bytes().to_vec();
    let many = |text: &str| {
        let both = [
            Object::from(text),
            Object::from(&bytes[..]),
            Object::from(&DynArray::new(&arr1(&bytes)).unwrap()),
        ];
        Object::list(both.iter().flat_map(|object| std::iter::repeat_n(object.clone(), 200_000)))
    };
    let (one, two) = (many(&text), many(&text));
    assert!(one == two && one == two.detach());
    assert!(one != many(&text.replace("xxx", "xxy")));
}

/// Pickles of a few bytes that would take gigabytes to be read or shown.
#[test]
fn copies_and_display_of_small_pickles_are_limited() {
    // A megabyte that is made read-only 100,000 times is an object each time.
    let mut many = b"\x80\x05\x96\0\0\x10\0\0\0\0\0".to_vec();
    many.extend(vec![7; 1 << 20]);
    many.extend(b"\x940(");
    (0..100_000).for_each(|_| many.extend(b"h\0\x98"));
    many.extend(b"l.");
    let error = Pickle::read(&many[..]).unwrap_err();
    assert!(error.message().starts_with("copying shared parts"), "{error}");
    // An element of a billion items that have no bytes, and records of such fields.
    let fields: Vec<String> = (0..1000).map(|number| format!("('f{number}', [])")).collect();
    for fields in ["('a', [], (1000000000,))".to_owned(), fields.join(", ")] {
        let header = format!("{{'descr': [{fields}], 'fortran_order': False, 'shape': (6, 6, 6, 6), }}");
        let file = crate::support::file(&header, &[]);
        let object = Object::from(&DynArray::read_npy(&file[..]).unwrap());
        let shown = Object::list(vec![object; 1000]).to_string();
        assert!(shown.len() <= (16 << 20) + 3 && shown.contains("array(…)"), "{}", shown.len());
    }
}

/// What does not fit is cut off at its end, also within arrays that are not laid out yet.
#[test]
fn truncated_array_display_keeps_beginning() {
    let texts: Vec<Object> = ["a", "b", "c"].map(|letter| Object::from(letter.repeat(600))).into();
    let dynamic = |items: &[Object]| {
        let mut file = Vec::new();
        arr1(items).write_npy(&mut file).unwrap();
        ReadOptions::new().allow_objects(true).read_from::<DynArray>(&file[..]).unwrap()
    };
    let outer = dynamic(&[Object::from(&dynamic(&texts))]);
    let shown = outer.to_string();
    assert!(shown.starts_with("[array(['aaaa") && shown.ends_with("bbb…]"), "{shown}");
    assert!(shown.contains("aa', 'bb"), "{shown}");
}

#[test]
fn globals_of_discarded_calls_are_listed() {
    let pickle = Pickle::read(&b"cposix\nsystem\n(S\"true\"\ntR0N."[..]).unwrap();
    assert!(pickle.object().is_none());
    assert_eq!(pickle.globals().map(|global| global.to_string()).collect::<Vec<_>>(), ["posix.system"]);
    // Two names that would look alike if joined with a line break.
    let names = self::unpickle(b"\x80\x04(\x8c\x01a\x8c\x03b\nc\x93\x8c\x03a\nb\x8c\x01c\x93l.");
    let View::Global(second) = names.items().unwrap().get(1).unwrap().view() else { panic!() };
    assert_eq!((second.module(), second.name()), ("a\nb", "c"));
}

/// `datetime.timezone.utc` in protocols 2 and 3 is `getattr(datetime.timezone, 'utc')`, as `pickle.dumps`
/// writes it.
#[test]
fn nested_global_is_written_as_getattr_in_old_protocols() {
    let utc = Object::global("datetime", "timezone.utc");
    let shown = |protocol| {
        unpickle(&Pickle::write(&utc, &WriteOptions::new().pickle_protocol(protocol)).unwrap()).to_string()
    };
    assert_eq!(shown(2), "getattr(datetime.timezone, 'utc')");
    assert_eq!(shown(3), "getattr(datetime.timezone, 'utc')");
    assert_eq!(shown(4), "datetime.timezone.utc");
    // Python 2 creates an instance without arguments without initializing it: `A.__new__(A)`.
    let instance = unpickle(b"(i__main__\nA\n(dX\x01\0\0\0xK\x05sb.");
    assert!(matches!(instance.view(), View::Call(call) if call.is_new()));
}

/// Many independent cycles do not count as nesting, and many dicts with one large key are compared quickly.
#[test]
fn independent_cycles_do_not_count_as_nesting() {
    // l = []; t = (l,); l.append(t)
    let mut bytes = b"\x80\x04](".to_vec();
    for number in 0..70_000u32 {
        let number = (2 * number).to_le_bytes();
        let next = (u32::from_le_bytes(number) + 1).to_le_bytes();
        for (opcodes, index) in [(&b"]r"[..], number), (b"j", number), (b"\x85r", next)] {
            bytes.extend_from_slice(opcodes);
            bytes.extend_from_slice(&index);
        }
        bytes.extend_from_slice(b"a0j");
        bytes.extend_from_slice(&next);
    }
    bytes.extend_from_slice(b"e.");
    let many = unpickle(&bytes);
    let again = unpickle(&Pickle::write(&many, &WriteOptions::new()).unwrap());
    assert!(many == again && again.items().unwrap().len() == 70_000);

    let key = Object::tuple((0..4000).map(|number| Object::tuple([number])));
    let dicts = || Object::list((0..100).map(|_| Object::dict([(key.clone(), 0)]).unwrap()));
    let (one, two) = (unpickle(&Pickle::write(&dicts(), &WriteOptions::new()).unwrap()), dicts());
    assert!(one == two);
}

/// `json.dumps(np.zeros((2, 0)).tolist())` and so on.
#[cfg(feature = "serde-1")]
#[test]
fn serde_output_of_objects_equals_tolist() {
    let array = |dims: &[usize]| Object::from(&DynArray::new(&ArrayD::<f64>::zeros(dims)).unwrap());
    for (dims, json) in [(&[2, 0][..], "[[],[]]"), (&[0, 2], "[]"), (&[2, 1], "[[0.0],[0.0]]"), (&[], "0.0")]
    {
        assert_eq!(serde_json::to_string(&array(dims)).unwrap(), json);
    }
    let time = ndarray_io::object::Timedelta::new(-1, 86_399, 999_999).unwrap();
    assert_eq!(serde_json::to_string(&Object::from(time)).unwrap(), "\"-PT0.000001S\"");
    let bytes: Vec<u8> = ndarray_io::object::from_object(&Object::from(&b"ab"[..])).unwrap();
    assert_eq!(bytes, b"ab");
    let circle = unpickle(b"]q\x00h\x00a.");
    assert!(serde_json::to_string(&circle).unwrap_err().to_string().contains("contains itself"));
    // A long text that many items share is not serialized without limit.
    let many = Object::list(vec![Object::from("x".repeat(1 << 20)); 2000]);
    let told = ndarray_io::object::from_object::<serde_1::de::IgnoredAny>(&many);
    assert!(told.unwrap_err().to_string().contains("more than"));
    let many_rows = serde_json::to_string(&array(&[100_000, 0])).unwrap_err();
    assert!(many_rows.to_string().contains("empty rows"), "{many_rows}");
    // `pickle.dumps(collections.OrderedDict(a=1), 2)`, without its memo.
    let ordered = unpickle(b"\x80\x02ccollections\nOrderedDict\n)RX\x01\x00\x00\x00aK\x01s.");
    assert_eq!(
        serde_json::to_string(&ordered.with_calls()).unwrap(),
        r#"{"callable":"collections.OrderedDict","args":[],"state":null,"pairs":[["a",1]]}"#
    );
    let listed = unpickle(b"\x80\x02ccollections\ndeque\n)R(K\x01K\x02e.");
    assert_eq!(
        serde_json::to_string(&listed.with_calls()).unwrap(),
        r#"{"callable":"collections.deque","args":[],"state":null,"items":[1,2]}"#
    );
    // A class that is created with keyword arguments (`__getnewargs_ex__`).
    let named = unpickle(b"\x80\x04c__main__\nA\n)}X\x01\x00\x00\x00kK\x01s\x92.");
    assert_eq!(
        serde_json::to_string(&named.with_calls()).unwrap(),
        r#"{"callable":"__main__.A","args":[],"state":null,"kwargs":{"k":1}}"#
    );
    let back: Object = serde_json::from_str(r#"{"a": [1, 2.5, null, true, "x"]}"#).unwrap();
    assert_eq!(back.to_string(), "{'a': [1, 2.5, None, True, 'x']}");
}

/// `numpy.save` of an array of `StringDType`, which it pickles: see testdata/make_objects.py.
#[test]
fn missing_texts_of_string_dtype_are_none() {
    let path = manifest::testdata().join("objects/string_dtype_nan.npy");
    let texts: ndarray::Array1<Option<String>> = ndarray_io::read_npy(&path).unwrap();
    let wanted = [Some("a"), Some("longer than an item of text"), None, Some("é"), Some("")];
    assert_eq!(texts.to_vec(), wanted.map(|text| text.map(str::to_owned)));
    let error = ndarray_io::read_npy::<_, ndarray::Array1<Option<String>>>(
        manifest::testdata().join("objects/ints.npy"),
    )
    .unwrap_err();
    assert!(error.to_string().contains("expected a str"), "{error}");
    // Text that is not pickled has none that is missing.
    let mut file = Vec::new();
    ndarray_io::WriteNpyExt::write_npy(&ndarray::arr1(&["b".to_owned(), "cd".to_owned()]), &mut file)
        .unwrap();
    let texts: ndarray::Array1<Option<String>> = ndarray_io::ReadNpyExt::read_npy(&file[..]).unwrap();
    assert_eq!(texts.to_vec(), [Some("b".to_owned()), Some("cd".to_owned())]);
}

/// As Python's `repr` shows it, which escapes what `str.isprintable` refuses.
#[test]
fn text_display_equals_python_repr() {
    for (text, shown) in [
        ("\u{301}", "'\u{301}'"),
        ("e\u{301}\u{20e3}", "'e\u{301}\u{20e3}'"),
        ("\u{a0}\u{ad}\u{2028}", "'\\xa0\\xad\\u2028'"),
        ("it's \u{10ffff}", "\"it's \\U0010ffff\""),
    ] {
        assert_eq!(Object::from(text).to_string(), shown);
    }
}
