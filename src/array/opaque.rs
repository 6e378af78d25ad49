//! A test element whose payload is a single unit, like a pickle.
//!
//! It exercises `ReadPlan::Opaque` and `WritePlan::Opaque`.

use ndarray::{ArrayD, arr2};

use super::{ReadNpyExt, WriteNpyExt};
use crate::dtype::DType;
use crate::elements::{OpaqueDecoder, OpaqueEncoder, ReadPlan, ReadableElement, WritableElement, WritePlan};
use crate::error::{Fault, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};

/// A word. A payload consists of all words, one per line, followed by a full stop.
#[derive(Clone, Debug, Default, PartialEq)]
struct Word(String);

/// Encodes and decodes payloads of [`Word`]s.
struct Lines;

impl ReadableElement for Word {
    fn read_plan(_: &DType, _: &ReadOptions) -> Result<ReadPlan<Self>> {
        Ok(ReadPlan::Opaque(Box::new(Lines)))
    }
}

impl WritableElement for Word {
    fn dtype_for(_: &mut dyn Iterator<Item = &Self>, _: &WriteOptions) -> Result<DType> {
        Ok(DType::Object)
    }

    fn write_plan(_: &DType) -> WritePlan<Self> {
        WritePlan::Opaque(Box::new(Lines))
    }
}

impl OpaqueDecoder<Word> for Lines {
    fn decode(&self, payload: &[u8], header: &Header, _: &ReadOptions) -> Result<(Vec<Word>, usize)> {
        let text = String::from_utf8_lossy(payload);
        let words: Vec<Word> = text.trim_end_matches('.').lines().map(|line| Word(line.to_owned())).collect();
        match header.len() {
            len if len == words.len() as u64 => Ok((words, payload.len())),
            _ => Err(Fault::BadOption { reason: format!("{} words", words.len()) }.into()),
        }
    }
}

impl OpaqueEncoder<Word> for Lines {
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &Word>,
        _: &Header,
        _: &WriteOptions,
    ) -> Result<Vec<u8>> {
        let mut payload: Vec<u8> = items.flat_map(|word| format!("{}\n", word.0).into_bytes()).collect();
        payload.push(b'.');
        Ok(payload)
    }
}

#[test]
fn opaque_payload_round_trips_in_any_layout() {
    let words = arr2(&[["a", "b"], ["c", "d"]]).mapv(|word| Word(word.to_owned()));
    for (array, payload) in [
        (words.view(), &b"a\nb\nc\nd\n."[..]),
        (words.t().slice_move(ndarray::s![..;-1, ..]), b"b\nd\na\nc\n."),
    ] {
        let mut file = Vec::new();
        array.write_npy(&mut file).unwrap();
        assert!(file.ends_with(payload), "{}", file.escape_ascii());
        assert_eq!(ArrayD::<Word>::read_npy(&file[..]).unwrap(), array.into_dyn());
    }
    let mut file = Vec::new();
    words.write_npy(&mut file).unwrap();
    let mut into = ndarray::Array2::<Word>::default((2, 2));
    crate::ReadOptions::new().read_into(&file[..], &mut into.slice_mut(ndarray::s![.., ..;-1])).unwrap();
    assert_eq!(into[[1, 0]], Word("d".into()));
    file.truncate(file.len() - 4);
    assert!(ArrayD::<Word>::read_npy(&file[..]).is_err());
}
