//! The axes of what is converted: permuted, removed, divided.

use std::fs::File;
use std::io::{BufWriter, Write};

use clap::Args;
use ndarray::{ArrayViewD, IxDyn, SliceInfoElem};
use ndarray_io::header::{Header, Order, Shape};
use ndarray_io::{DynArray, npy};
use ndarray_io_compute::{axis_number, boxes};

use super::calc::failure;
use super::changes::reopened;
use super::failure::{Failure, at};
use super::formats::parse_shape;
use super::source::Source;

/// How axes are changed: what is given is done in this order.
#[derive(Args, Clone, Default)]
pub(crate) struct Form {
    /// Permute the axes: 1,0,2; or reverse them: T
    #[arg(long, value_name = "AXES", allow_hyphen_values = true, value_parser = parse_axes, help_heading = "Output")]
    transpose: Option<Axes>,
    /// Remove axes of length 1
    #[arg(long, help_heading = "Output")]
    squeeze: bool,
    /// Change the shape, in C order: 10,-1; one length may be -1
    #[arg(long, value_name = "LENGTHS", allow_hyphen_values = true, help_heading = "Output")]
    reshape: Option<String>,
}

/// The axes, by their old numbers; none for the reverse of all.
#[derive(Clone)]
struct Axes(Vec<i128>);

fn parse_axes(text: &str) -> Result<Axes, String> {
    let axes = text.split(',').map(|axis| axis.trim().parse()).collect::<Result<_, _>>();
    match axes {
        Ok(axes) => Ok(Axes(axes)),
        Err(_) if text == "T" => Ok(Axes(Vec::new())),
        Err(_) => Err("expected the numbers of the axes, such as 1,0,2, or T".into()),
    }
}

impl Form {
    pub(crate) fn is_given(&self) -> bool {
        self.transpose.is_some() || self.squeeze || self.reshape.is_some()
    }

    /// Returns an array with its axes changed, in C order, in this file, which is empty.
    pub(crate) fn applied(&self, source: Source, file: File) -> Result<Source, Failure> {
        /// How much is permuted at a time, in bytes.
        const PART_BYTES: usize = 4 << 20;
        let source = source.ensure_iterable()?;
        let name = source.name().to_owned();
        if source.dtype().has_object() {
            return Err(at(&name, "the axes of Python objects cannot be changed".into()));
        }
        let axes = self.axes(source.shape().len()).map_err(|failure| at(&name, failure))?;
        let permuted: Vec<usize> = axes.iter().map(|axis| source.shape()[*axis]).collect();
        let shape = self.shape(&source, &permuted).map_err(|failure| at(&name, failure))?;
        let header = Header::new(source.dtype().clone(), Order::C, shape)?;
        let mut out = BufWriter::new(&file);
        out.write_all(&npy::format(&header, None)?)?;
        let item = source.dtype().item_size();
        let step = (PART_BYTES / item.max(1)).max(1);
        for start in (0..source.len()).step_by(step) {
            let end = source.len().min(start + step as u64);
            for part in boxes(&permuted, start..end) {
                let mut slice = vec![SliceInfoElem::Index(0); part.len()];
                for (range, axis) in part.iter().zip(&axes) {
                    let (start, end) = (range.start as isize, Some(range.end as isize));
                    slice[*axis] = SliceInfoElem::Slice { start, end, step: 1 };
                }
                out.write_all(&in_axes(&source.slice(&slice)?, &axes)?)?;
            }
        }
        out.flush()?;
        drop(out);
        reopened(file, source.dtype(), &name)
    }

    /// Returns the old number of each axis.
    fn axes(&self, ndim: usize) -> Result<Vec<usize>, Failure> {
        let axes = match &self.transpose {
            None => (0..ndim).collect(),
            Some(Axes(axes)) if axes.is_empty() => (0..ndim).rev().collect(),
            Some(Axes(axes)) => axes
                .iter()
                .map(|axis| axis_number(*axis, ndim))
                .collect::<Result<Vec<_>, _>>()
                .map_err(failure)?,
        };
        match (0..ndim).all(|axis| axes.contains(&axis)) && axes.len() == ndim {
            true => Ok(axes),
            false => Err(format!("--transpose names each of its {ndim} axes once, from 0").into()),
        }
    }

    fn shape(&self, source: &Source, permuted: &[usize]) -> Result<Shape, Failure> {
        let Some(lengths) = &self.reshape else {
            let kept = permuted.iter().filter(|length| **length != 1 || !self.squeeze);
            return Ok(kept.copied().collect::<Vec<_>>().into());
        };
        let shape = parse_shape(lengths, source.byte_len(), source.dtype())?;
        match shape.len() == Some(source.len()) {
            true => Ok(shape),
            false => Err(format!("{} elements do not have the shape {shape}", source.len()).into()),
        }
    }
}

/// Returns the bytes of an array with its axes permuted, in C order.
fn in_axes(array: &DynArray, axes: &[usize]) -> Result<Vec<u8>, Failure> {
    fn of<const SIZE: usize>(array: &DynArray, axes: &[usize]) -> Result<Vec<u8>, Failure> {
        let view = ArrayViewD::from_shape(IxDyn(array.shape()), array.bytes().as_chunks::<SIZE>().0)?;
        let view = view.permuted_axes(IxDyn(axes));
        Ok(view.iter().copied().collect::<Vec<_>>().into_flattened())
    }
    let array = array.in_order(Order::C)?;
    match array.dtype().item_size() {
        _ if axes.is_sorted() => Ok(array.bytes().to_vec()),
        1 => of::<1>(&array, axes),
        2 => of::<2>(&array, axes),
        4 => of::<4>(&array, axes),
        8 => of::<8>(&array, axes),
        16 => of::<16>(&array, axes),
        item => {
            let view = ArrayViewD::from_shape([array.shape(), &[item]].concat(), array.bytes())?;
            let view = view.permuted_axes([axes, &[axes.len()]].concat());
            Ok(view.iter().copied().collect())
        }
    }
}
