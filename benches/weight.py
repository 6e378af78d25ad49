"""What the library costs a program to compile, beside `ndarray-npy`: time of the processors (as user), and size of the code.

    python3 benches/weight.py [FOLDER]

It makes small programs in a new folder, builds each from nothing, and once more after a change, and prints a table. It needs Rust, and
downloads what the programs depend on.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = {
    "ndarray-io": f'ndarray-io = {{ path = "{ROOT}" }}',
    "ndarray-npy": 'ndarray-npy = "0.10"',
}
TYPES = "i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool".split()


def hello(crate):
    return f"""use ndarray::Array2;
use {crate}::{{ReadNpyExt, WriteNpyExt}};

fn main() -> Result<(), Box<dyn std::error::Error>> {{
    let a = Array2::<f64>::read_npy(std::fs::File::open("a.npy")?)?;
    a.write_npy(std::fs::File::create("b.npy")?)?;
    Ok(())
}}
"""


def of_types(crate, types):
    lines = "".join(f"""    let a = Array2::<{name}>::read_npy(std::fs::File::open("{name}.npy")?)?;
    a.write_npy(std::fs::File::create("{name}-b.npy")?)?;
    let a: Array2<{name}> = NpzReader::new(std::fs::File::open("{name}.npz")?)?.by_name("a")?;
    let mut npz = NpzWriter::new(std::fs::File::create("{name}-b.npz")?);
    npz.add_array("a", &a)?;
    npz.finish()?;
""" for name in types)
    return f"""use ndarray::Array2;
use {crate}::{{NpzReader, NpzWriter, ReadNpyExt, WriteNpyExt}};

fn main() -> Result<(), Box<dyn std::error::Error>> {{
{lines}    Ok(())
}}
"""


def by_path(crate, types):
    lines = "".join(f"""    let a: Array2<{name}> = read_npy("{name}.npy")?;
    write_npy("{name}-b.npy", &a)?;
""" for name in types)
    return f"""use ndarray::Array2;
use {crate}::{{read_npy, write_npy}};

fn main() -> Result<(), Box<dyn std::error::Error>> {{
{lines}    Ok(())
}}
"""


def cpu(command, **arguments):
    """Runs a command, and returns how many seconds its processes computed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def text_size(program):
    found = subprocess.run(["size", program], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"\n\s*(\d+)", found)[1])


def main():
    with tempfile.TemporaryDirectory() as temporary:
        measure(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve())


def measure(folder):
    programs = {"reads and writes one type": hello,
                "one type, files and archives": lambda crate: of_types(crate, TYPES[:1]),
                "eleven types, files and archives": lambda crate: of_types(crate, TYPES),
                "one type, by path": lambda crate: by_path(crate, TYPES[:1]),
                "eleven types, by path": lambda crate: by_path(crate, TYPES)}
    print("| program | profile | library | all, CPU s | program alone, CPU s | code, KB |")
    print("|---|---|---|---|---|---|")
    for program, make in programs.items():
        for profile in ["dev", "release"]:
            for library, dependency in LIBRARIES.items():
                package = folder / library / program.replace(" ", "-").replace(",", "")
                shutil.rmtree(package, ignore_errors=True)
                (package / "src").mkdir(parents=True)
                (package / "Cargo.toml").write_text(
                    '[package]\nname = "client"\nversion = "0.1.0"\nedition = "2024"\n'
                    f'[dependencies]\nndarray = "0.17"\n{dependency}\n[workspace]\n')
                (package / "src/main.rs").write_text(make(library.replace("-", "_")))
                environment = {**os.environ, "CARGO_TARGET_DIR": str(package / "target"), "CARGO_INCREMENTAL": "0"}
                subprocess.run(["cargo", "fetch", "--quiet"], check=True, cwd=package, env=environment)
                build = ["cargo", "build", "--quiet", "--offline", "--profile", profile]
                everything = cpu(build, cwd=package, env=environment)
                (package / "src/main.rs").touch()
                alone = cpu(build, cwd=package, env=environment)
                size = text_size(package / "target" / ("debug" if profile == "dev" else profile) / "client")
                print(f"| {program} | {profile} | {library} | {everything:.1f} | {alone:.1f} | {size // 1000} |", flush=True)
                shutil.rmtree(package / "target")


if __name__ == "__main__":
    main()
