//! The layers of `ARCHITECTURE.md`: a file imports only from layers below its own, or from its own module.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of each layer, from the lowest up.
const LAYERS: &[&[&str]] = &[
    &["shape"],
    &["dtype"],
    &["error"],
    &["limits", "progress"],
    &["bytes"],
    &["header"],
    &["codec"],
    &["npy_format", "ra_format", "zip", "pickle"],
    &["options"],
    &["elements", "serde"],
    &["transfer"],
    &["io"],
    &["array"],
    &["path", "parts"],
    &["mmap"],
    &["dynamic"],
    &["blocks"],
    &["npz", "convert"],
    &["dask", "scan"],
    &["lib"],
];

/// Folders of modules of several layers; imports name the modules alone.
const ROOMS: &[&str] = &["access", "containers", "engine", "formats", "model"];

/// Returns the module that a file is in; `None` if it only lists those of a room.
fn module(inner: &Path) -> Option<&str> {
    let mut names = inner.iter().map(|name| name.to_str().unwrap().trim_end_matches(".rs"));
    names.find(|name| !ROOMS.contains(name)).filter(|name| *name != "mod")
}

/// The files below the layer `array` that name `ndarray`: those that move elements of any strides, and public signatures. All others
/// speak of shapes and slices.
const FILES_USING_NDARRAY: &[&str] = &[
    "elements/cast/strided_bytes.rs",
    "elements/cast/view.rs",
    "engine/io/order.rs",
    "engine/io/writer/mod.rs",
    "engine/io/zeroed.rs",
    "engine/transfer/item_blocks.rs",
    "engine/transfer/read.rs",
    "engine/transfer/read_strided.rs",
    "engine/transfer/write.rs",
];

#[test]
fn ndarray_below_array_layer_is_only_in_listed_files() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for path in files(&source) {
        let inner = path.strip_prefix(&source).unwrap();
        if module(inner).is_none_or(|module| module == "guide" || layer(module) >= layer("array")) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let names = |line: &str| !line.trim_start().starts_with("//") && line.contains("ndarray::");
        if code.lines().any(names) {
            found.push(inner.to_str().unwrap().replace('\\', "/"));
        }
    }
    found.sort();
    assert_eq!(found, FILES_USING_NDARRAY);
}

/// The number of folders in `src` only falls.
#[test]
fn source_has_at_most_twelve_rooms() {
    let source = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let rooms = source.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert!((2..=12).contains(&rooms), "{rooms} rooms: which of them could be part of another?");
}

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|modules| modules.contains(&module))
        .unwrap_or_else(|| panic!("'{module}' is in no layer"))
}

/// The files of a folder and those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The texts of all files of these folders of the package.
fn texts(folders: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths = folders.iter().flat_map(|folder| files(&root.join(folder)));
    paths.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

/// Returns what a line names from the root of the crate or from a room on: after `crate::`, or after as many `super::` as lead there.
fn root_import(line: &str, depth: usize, in_room: bool) -> Option<&str> {
    let supers = ["super::".repeat(depth), "super::".repeat(depth - usize::from(in_room && depth > 1))];
    let is_part_of_name = |char: char| char.is_alphanumeric() || char == '_' || char == ':';
    ["crate::", &supers[0], &supers[1]].iter().find_map(|prefix| {
        let (before, import) = line.split_once(prefix)?;
        let is_code = !before.trim_start().starts_with("//") && !before.ends_with(is_part_of_name);
        (is_code && !import.starts_with("super::")).then_some(import)
    })
}

#[test]
fn imports_are_from_lower_layers() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in
        files(&source).iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
    {
        let inner = path.strip_prefix(&source).unwrap();
        let Some(module) = module(inner) else { continue };
        let in_room = inner.iter().next().is_some_and(|first| ROOMS.iter().any(|room| first == *room));
        // `array/read.rs` is two modules below the root, `array/mod.rs` one.
        let depth = inner.iter().count() - usize::from(inner.ends_with("mod.rs"));
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod").next().unwrap(); // where `super` is the file itself
        for line in code.lines() {
            let Some(import) = root_import(line, depth, in_room) else { continue };
            let target: String =
                import.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
            let is_macro = import[target.len()..].starts_with('!');
            if target.is_empty() || target.starts_with(char::is_uppercase) || is_macro {
                continue; // a list (rustfmt gives each module its own line), or a name that lib.rs exports
            }
            seen += 1;
            if module != target && layer(&target) >= layer(module) {
                wrong.push(format!("{}: {}", inner.display(), line.trim()));
            }
        }
    }
    assert!(seen > 50, "the test has found only {seen} imports");
    assert!(
        wrong.is_empty(),
        "imports from the same or a higher layer (see ARCHITECTURE.md, Layers: move what is imported down, or pass it as an argument):\n{}",
        wrong.join("\n")
    );
}

/// Calls that change a file in a way that another process could notice are in one place: `io::change`.
#[test]
fn files_are_changed_only_in_io_change() {
    const CHANGING_CALLS: &[&str] = &[
        "rename(",
        "hard_link(",
        ".set_len(",
        "File::create",
        ".create(true)",
        ".create_new(true)",
        ".truncate(true)",
        ".truncate(false)",
        ".append(true)",
        ".try_lock",
        ".lock_shared(",
        "sync_all(",
        "sync_data(",
        ".persist(",
    ];
    // Vectors, mutexes and options have functions of the same names.
    const UNRELATED_CALLS: &[&str] = &[
        "items.set_len(",
        "free.try_lock()",
        "change::set_len(",
        "WriteOptions::new().create_new(",
        "options.clone().create_new(",
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let own = source.join("engine/io/change");
    // The program and the stores as well: they change files through the library.
    let mut all = files(&source);
    for member in ["../compute/src", "../formats/src", "../ndio/src", "../refs/src", "../store/src"]
        .map(|member| source.join(member))
    {
        all.extend(member.exists().then(|| files(&member)).into_iter().flatten());
    }
    let mut wrong = Vec::new();
    for path in all.iter().filter(|path| !path.starts_with(&own)) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod").next().unwrap();
        let code = code.split("#[cfg(all(test").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let calls = CHANGING_CALLS.iter().any(|call| line.contains(call));
            if calls && !UNRELATED_CALLS.iter().any(|other| line.contains(other)) {
                wrong.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "files are changed outside of io::change:\n{}", wrong.join("\n"));
}

/// Allocations whose length is not constant: (file, part of the line, what bounds the length).
const BOUNDED_LENGTHS: &[(&str, &str, &str)] = &[
    ("codec/lz4.rs", "get_maximum_output_size(bytes.len())", "bytes to be packed, which are in memory"),
    ("codec/pack.rs", "out.reserve(bytes.len()", "bytes to be packed, which are in memory"),
    ("codec/xz.rs", "WINDOW.max(count)", "a block header of at most 1 KiB"),
    ("codec/unpack.rs", "framing.filler.len()", "at most 8,447"),
    ("codec/zstd_proof.rs", "State::default(); size]", "at most 512"),
    ("codec/zstd_proof.rs", "counts.len() + usize::from(zeros)", "three for each two bits of a block"),
    ("codec/zstd_blocks.rs", "(bytes.len() - input.pos())", "bytes to be packed, which are in memory"),
    (
        "containers/npz/update.rs",
        "wanted as usize",
        "at most MAX_READ_AHEAD, or MAX_SMALL_MEMBER for one member",
    ),
    ("elements/text.rs", "String::with_capacity(length)", "one text, which is in memory"),
    ("elements/record/read.rs", "vec![0; count * self.size]", "items of a block that has been read"),
    ("formats/pickle/text.rs", "inner.len()", "a text, which is in memory"),
    ("formats/pickle/text.rs", "text.len()", "a text, which is in memory"),
    ("model/shape.rs", "self.ndim()", "axes"),
    ("containers/dask/info.rs", "chunks.len()", "axes, checked above"),
    ("containers/dask/writer.rs", "others.len() + 1", "axes"),
    ("dynamic/foreign.rs", "strides.len()", "axes"),
    ("dynamic/foreign.rs", "self.shape().len()", "axes"),
    ("engine/io/part_reader.rs", "left.min(Self::SIZE)", "constants"),
    ("containers/npz/pieces.rs", "min(transfer::BLOCK_LEN)", "constants"),
    ("access/parts/select.rs", "shape.ndim()", "axes"),
    ("access/parts/select.rs", "counts.len()", "axes"),
    ("formats/npy_format/write.rs", "end + SPARE_CAPACITY", "a header to be written"),
    ("formats/npy_format/write.rs", "end - 1", "a header to be written"),
    ("formats/npy_format/direct.rs", "{ 0 } else { 4 }", "constants"),
    ("engine/io/read.rs", "length as usize", "at most MAX_SMALL_FILE_LEN bytes"),
    ("engine/io/read.rs", "need.min(have + MAX_READ_LEN)", "what was read, and a constant"),
    ("engine/io/zeroed.rs", "bytes.min(BLOCK_LEN as u64)", "constants"),
    ("engine/io/writer/append.rs", "unwrap_or(FIRST_READ_LEN).min(FIRST_READ_LEN)", "constants"),
    ("engine/io/writer/append.rs", "head.resize(used, 0)", "a header that has been read"),
    ("engine/io/writer/mod.rs", "clamp(1, BLOCK_ITEMS)", "constants"),
    ("engine/io/change/system/windows.rs", "(length as usize).div_ceil(8)", "what the system asks for"),
    ("formats/zip/write.rs", "record.0.len() + fill - 4", "a record to be written"),
    ("dynamic/object/dtypes.rs", "fields.len()", "spent from the budget before"),
    ("dynamic/object/dtypes.rs", "names.len()", "spent from the budget before"),
    ("dynamic/object/finish.rs", "graph.nodes.len()", "objects that have been read"),
    ("dynamic/object/finish.rs", "calls.len()", "calls that have been read"),
    ("dynamic/object/finish.rs", "spans.iter()", "spent from the budget before"),
    ("dynamic/object/source.rs", "buffers.len() + 1", "buffers of the caller"),
    ("dynamic/object/machine/parts.rs", "start + 2 * len", "items on the stack"),
    ("dynamic/object/machine/reserve.rs", "estimate.reserve(", "an estimate that may fail"),
    ("dynamic/object/machine/reserve.rs", "of_calls.reserve(", "an estimate that may fail"),
    ("dynamic/object/build.rs", "objects.size_hint().0", "objects of the caller"),
    ("dynamic/object/write.rs", "number as usize + 1", "objects in memory"),
    ("dynamic/object/write/recent.rs", "1 << Self::INDEX_BITS", "constants"),
    ("dynamic/object/keys.rs", "with_capacity(count)", "keys that have been read"),
    ("bytes/coalesce.rs", "resize(span, 0)", "parts that are close together: at most the span of the hints"),
    ("bytes/scattered.rs", "(range.end - range.start) as usize", "at most the span of the hints"),
    ("model/limits.rs", "items.resize(len", "reserved before"),
    ("engine/transfer/unpack.rs", "left.min(PIECE_LEN)", "constants"),
    ("engine/transfer/source.rs", "max_len(bytes)", "at most BLOCK_LEN"),
    ("engine/transfer/mod.rs", "words.resize(count, 0)", "reserved before"),
    ("access/parts/slice_text.rs", "shape.len()", "an element for each axis of an array that there is"),
    ("engine/transfer/write.rs", "length", "a block of an array in memory"),
    ("engine/transfer/tiles/plan.rs", "self.axes.len()", "axes"),
    ("engine/transfer/tiles/plan.rs", "axes.len()", "axes"),
    ("engine/transfer/tiles/run.rs", "(range.end - range.start) as usize", "at most MAX_SPAN"),
    ("bytes/kernels.rs", "axes.len()", "axes"),
    ("bytes/kernels.rs", "lens.len()", "axes"),
    ("dynamic/object/machine/known_calls.rs", "bytes.len()", "bytes that exist"),
    ("containers/npz/content.rs", "left.min(BLOCK_LEN)", "constants"),
    ("containers/npz/member.rs", "transfer::BLOCK_LEN", "constants"),
    ("elements/record/read.rs", "record.fields().len()", "fields of a dtype that has been read"),
    ("access/parts/select.rs", "axes.len()", "axes"),
    ("dynamic/order.rs", "self.shape().len() + 1", "axes"),
    ("dynamic/object/show/numpy.rs", "items.len()", "what is shown"),
    ("access/blocks/display.rs", "dims.len()", "axes"),
    ("access/blocks/display.rs", "('\\n', within)", "axes"),
];

/// Memory of which a file declares the size is allocated by the functions of `limits` (or those that return an error
/// as they do), so that a claim never ends the process. Every other allocation of a length that is not constant is
/// listed here, with the reason why it is in proportion.
#[test]
fn allocation_lengths_are_bounded_or_listed() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for path in files(&source) {
        let inner = path.strip_prefix(&source).unwrap().to_str().unwrap().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod").next().unwrap();
        let code = code.split("#[cfg(all(test").next().unwrap();
        if inner.ends_with("samples.rs") {
            continue;
        }
        for line in code.lines().map(|line| line.split("//").next().unwrap()) {
            let calls =
                ["with_capacity(", ".resize(", ".resize_with(", ".reserve(", ".reserve_exact(", "repeat_n("];
            let mut lengths: Vec<&str> =
                calls.iter().filter_map(|call| Some(line.split_once(call)?.1)).collect();
            lengths.extend(line.split_once("vec![").and_then(|(_, items)| {
                let (item, length) = items.split_once(';')?;
                (item.matches('[').count() == item.matches(']').count()).then_some(length)
            }));
            for length in lengths {
                // Numbers and names of constants have no lower-case letter, unless it is a type or a method of theirs.
                // The length may be in the next line.
                let is_constant = !length.trim().is_empty()
                    && !length.split([',', ']']).next().unwrap().contains(|char: char| char.is_lowercase());
                let listed =
                    BOUNDED_LENGTHS.iter().position(|(file, part, _)| *file == inner && line.contains(part));
                match listed {
                    _ if is_constant => {}
                    Some(number) => drop(used.insert(number)),
                    None => wrong.push(format!("{inner}: {}", line.trim())),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "lengths that nothing bounds:\n{}", wrong.join("\n"));
    let unused: Vec<_> = (0..BOUNDED_LENGTHS.len())
        .filter(|number| !used.contains(number))
        .map(|number| BOUNDED_LENGTHS[number])
        .collect();
    assert!(unused.is_empty(), "exceptions for lines that are no more:\n{unused:#?}");
}

/// Numbers become numbers of other types in `elements/convert`. Where a float is made elsewhere, it is not an element of an array that is
/// converted, as the list says.
#[test]
fn elements_are_converted_only_in_element_convert() {
    /// (file, what is made there)
    const FLOAT_MAKING_FILES: &[(&str, &str)] = &[
        ("dynamic/object/convert.rs", "Python floats and integers, as a program asks for them"),
        ("dynamic/object/int.rs", "Python integers"),
        ("dynamic/object/graph_view.rs", "arguments of Python calls"),
        ("dynamic/object/machine/reserve.rs", "a ratio"),
        ("dynamic/object/show/floats.rs", "limits of notations"),
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for path in files(&source) {
        let inner = path.strip_prefix(&source).unwrap().to_str().unwrap().replace('\\', "/");
        if inner.starts_with("elements/convert/") || !inner.ends_with(".rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod").next().unwrap().split("#[cfg(all(test").next().unwrap();
        for line in code.lines().map(|line| line.split("//").next().unwrap()) {
            let ways = [" as f32", " as f64", "f16::from_", "bf16::from_", "parse::<f32>", "parse::<f64>"];
            if ways.iter().any(|way| line.contains(way)) {
                match FLOAT_MAKING_FILES.iter().position(|(file, _)| *file == inner) {
                    Some(number) => drop(used.insert(number)),
                    None => wrong.push(format!("{inner}: {}", line.trim())),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "floats that are made elsewhere:\n{}", wrong.join("\n"));
    assert_eq!(used.len(), FLOAT_MAKING_FILES.len(), "exceptions for files that make none: {used:?}");
}

/// `docs/safety.md` lists every function and implementation with unsafe code, and no other; the tests that it names
/// exist.
#[test]
fn unsafe_code_matches_safety_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/safety.md")).unwrap();
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let (mut listed, mut sources, mut tests) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    for row in guide.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        match quoted(cells[0]) {
            files if cells[0].contains("**") => sources = files,
            places if cells.len() == 4 && !sources.is_empty() => {
                let places = places.into_iter();
                listed.extend(
                    places.flat_map(|place| sources.iter().map(move |file| format!("{file}: {place}"))),
                );
                tests.extend(quoted(cells[3]));
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    // A package has no other members of the workspace.
    let folders = [
        "src",
        "compute/src",
        "derive/src",
        "formats/src",
        "ndio/src",
        "python/src",
        "refs/src",
        "store/src",
    ]
    .map(|folder| root.join(folder));
    for path in folders.iter().filter(|folder| folder.exists()).flat_map(|folder| files(folder)) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let inner = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let mut function = String::new();
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let word_after = |what: &str| {
                let name = line.split_once(what)?.1;
                Some(name.split(|char: char| !char.is_alphanumeric() && char != '_').next()?.to_owned())
            };
            if let Some(name) = word_after("fn ").filter(|name| !name.is_empty()) {
                function = name;
            }
            let item = if line.contains("unsafe impl") {
                // The name of the trait: after the generics, and the last part of a path.
                let line = line.replace("#implemented ", "").replace("#private::", "");
                let rest = line.split_once("unsafe impl").unwrap().1;
                let rest = rest.strip_prefix('<').map_or(rest, |rest| rest.split_once("> ").unwrap().1);
                rest.trim_start().split(' ').next().map(str::to_owned)
            } else if line.contains("unsafe trait ") {
                word_after("unsafe trait ")
            } else {
                (line.contains("unsafe {") || line.contains("unsafe fn ")).then(|| function.clone())
            };
            found.extend(item.map(|item| format!("{inner}: {item}")));
        }
    }
    let missing: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/safety.md lists each function with unsafe code, its invariant, what could break it, and the tests that try.\n\
         Add rows, or do without: {missing:#?}\n\
         Remove or rename rows, which have no unsafe code: {gone:#?}"
    );
    assert!(found.len() > 30, "{found:?}");
    let texts = texts(&["src", "tests"]);
    for test in tests.iter().filter(|test| !test.contains('/')) {
        let name = test.rsplit("::").next().unwrap();
        assert!(
            texts.contains(&format!("fn {name}(")),
            "docs/safety.md names the test {test}, which does not exist"
        );
    }
}

/// Each is a module or a test, and says why it is left out.
#[test]
fn tests_that_miri_leaves_out_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = fs::read_to_string(root.join(".ci/miri.left-out")).unwrap();
    let texts = texts(&["src", "tests/it"]);
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let (name, reason) = line.split_once(' ').unwrap_or((line, ""));
        assert!(!reason.trim().is_empty(), "`{name}` has no reason");
        match name.strip_suffix("::") {
            Some(module) => {
                assert!(root.join(format!("tests/it/{module}.rs")).exists(), "no module {module}")
            }
            None => {
                let test = name.rsplit("::").next().unwrap();
                assert!(texts.contains(&format!("fn {test}(")), "no test {test}");
            }
        }
        count += 1;
    }
    assert!(count > 10, "{count}");
}
