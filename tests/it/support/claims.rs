//! Short files whose headers claim far more than follows: each is an error, and nothing is allocated for the claim.

/// Numbers of elements or bytes that are claimed.
const CLAIMED_LENS: [u64; 3] = [1 << 33, 1 << 40, 1 << 62];
/// Numbers of bytes that follow the header.
const PAYLOAD_LENS: [usize; 4] = [0, 1, 20, 100];

/// What follows a header: bytes that are valid bools, and the beginning of valid LEB128.
fn payload(left: usize) -> Vec<u8> {
    (0..left).map(|index| (index % 2) as u8).collect()
}

fn ra_header(flags: u64, eltype: u64, elbyte: u64, size: u64, dim: u64) -> Vec<u8> {
    let numbers = [flags, eltype, elbyte, size, 1, dim];
    [b"rawarray".to_vec(), numbers.iter().flat_map(|number| number.to_le_bytes()).collect()].concat()
}

/// RA files, with what they are.
pub(crate) fn ra_files() -> impl Iterator<Item = (String, Vec<u8>)> {
    let kinds = (0..8).flat_map(|flags| (0..6).map(move |eltype| (flags, eltype)));
    let kinds = kinds.flat_map(|(flags, eltype)| [1, 2, 4, 8, 16].map(move |elbyte| (flags, eltype, elbyte)));
    kinds.flat_map(|(flags, eltype, elbyte)| {
        let headers = CLAIMED_LENS.into_iter().flat_map(move |claim| {
            [
                (claim.saturating_mul(elbyte), claim),
                (claim.div_ceil(64) * 8, claim),
                (claim, 5),
                (100, claim),
                (20, claim),
            ]
        });
        headers.flat_map(move |(size, dim)| {
            PAYLOAD_LENS.into_iter().map(move |left| {
                let file = [ra_header(flags, eltype, elbyte, size, dim), payload(left)].concat();
                let what =
                    format!("flags {flags}, type {eltype}, {elbyte} bytes, size {size}, dim {dim}, {left}");
                (what, file)
            })
        })
    })
}

fn npy_header(version: u8, descr: &str, dim: u64) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dim},), }}");
    let text = format!("{text:<117}\n");
    let len = text.len() as u32;
    let len = if version == 1 { (len as u16).to_le_bytes().to_vec() } else { len.to_le_bytes().to_vec() };
    [&b"\x93NUMPY"[..], &[version, 0], &len, text.as_bytes()].concat()
}

/// NPY files, with what they are.
pub(crate) fn npy_files() -> impl Iterator<Item = (String, Vec<u8>)> {
    let headers = [1, 2, 3].into_iter().flat_map(|version| {
        let descrs = ["<f8", ">f8", "|u1", "|b1", "<U5", "|S3", "|V100", "<c16", "<f2", "<M8[s]", "|O"];
        let dims = descrs.into_iter().flat_map(|descr| CLAIMED_LENS.map(|dim| (descr, dim)));
        dims.map(move |(descr, dim)| {
            (format!("NPY {version} {descr} {dim}"), npy_header(version, descr, dim))
        })
    });
    headers.flat_map(|(what, header)| {
        PAYLOAD_LENS
            .into_iter()
            .map(move |left| (format!("{what}, {left}"), [header.clone(), payload(left)].concat()))
    })
}

/// An archive of one member, in which the sizes and the method are as given.
fn npz(method: u16, content: &[u8], packed: u32, size: u32) -> Vec<u8> {
    let fields = |method: u16| {
        [&method.to_le_bytes()[..], &[0; 4], &[1, 2, 3, 4], &packed.to_le_bytes(), &size.to_le_bytes()]
            .concat()
    };
    let local = [&b"PK\x03\x04\x14\0\0\0"[..], &fields(method), b"\x05\0\0\0a.npy", content].concat();
    let central =
        [b"PK\x01\x02\x14\0\x14\0\0\0", &fields(method)[..], b"\x05\0", &[0; 16], b"a.npy"].concat();
    let (start, len) = ((local.len() as u32).to_le_bytes(), (central.len() as u32).to_le_bytes());
    [&local[..], &central, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &len, &start, b"\0\0"].concat()
}

/// Archives, with what they are.
#[cfg(feature = "npz")]
pub(crate) fn archives() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for (what, content) in npy_files().step_by(5) {
        // Sizes that are true, so that only the header within claims, and sizes that are not.
        let len = content.len() as u32;
        for (packed, size) in [(len, len), (len, u32::MAX - 1), (u32::MAX - 1, u32::MAX - 1), (len, 1 << 30)]
        {
            for method in [0, 8, 9, 12, 14, 93, 95] {
                all.push((
                    format!("{what} in method {method} of {packed}/{size}"),
                    npz(method, &content, packed, size),
                ));
            }
            // Compressed in fact.
            let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut deflate, &content).unwrap();
            let deflated = deflate.finish().unwrap();
            let packed = if packed == len { deflated.len() as u32 } else { packed };
            all.push((format!("{what} deflated, {packed}/{size}"), npz(8, &deflated, packed, size)));
        }
    }
    all
}

/// Pickles, with what they are.
pub(crate) fn pickles() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for left in PAYLOAD_LENS {
        for claim in CLAIMED_LENS {
            for opcode in [0x8D, 0x8E, 0x95, 0x96] {
                let pickle = [&b"\x80\x05"[..], &[opcode], &claim.to_le_bytes(), &payload(left)].concat();
                all.push((format!("opcode {opcode:#x} of {claim}, {left}"), pickle));
            }
        }
        for opcode in [b'T', b'X', b'B', 0x8B, b'r', b'j'] {
            for claim in [i32::MAX as u32, u32::MAX] {
                let pickle = [&b"\x80\x05N"[..], &[opcode], &claim.to_le_bytes(), &payload(left)].concat();
                all.push((format!("opcode {opcode:#x} of {claim}, {left}"), pickle));
            }
        }
    }
    all
}
