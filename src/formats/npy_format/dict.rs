//! Parses the dict of a header, which has exactly three keys.

use py_literal::Value;

use super::fault::HeaderFault;
use super::value::{dims, first_oversized_length, value};
use super::{NpyHeader, Version, descr, scan};
use crate::error::Fault;
use crate::header::Header;
use crate::shape::Order;

const KEYS: [&str; 3] = ["descr", "fortran_order", "shape"];

/// Parses a header in any form that NumPy accepts.
pub(super) fn parse(text: &str, version: Version) -> Result<NpyHeader, HeaderFault> {
    let normal = scan::normalize(text, version != Version::V3)?;
    let mut found = [const { None }; 3];
    for item in &normal.items {
        let key = value(&item.key)?;
        let index = KEYS.iter().position(|known| key.as_string().is_some_and(|key| key == known));
        let Some(index) = index else {
            let reason = "unexpected key: expected 'descr', 'fortran_order' and 'shape'";
            return Err(HeaderFault::new(reason, item.key_at));
        };
        if found[index].replace(item).is_some() {
            return Err(HeaderFault::new(format!("duplicate key '{}'", KEYS[index]), item.key_at));
        }
    }
    let missing = |index: usize| HeaderFault::new(format!("the key '{}' is missing", KEYS[index]), None);
    let [descr, order, shape] = found;
    let descr = descr.ok_or_else(|| missing(0))?;
    let order = order.ok_or_else(|| missing(1))?;
    let shape = shape.ok_or_else(|| missing(2))?;

    let order = match value(&order.value)? {
        Value::Boolean(false) => Order::C,
        Value::Boolean(true) => Order::Fortran,
        _ => {
            return Err(HeaderFault::new(
                "'fortran_order' is neither True nor False",
                order.value_range.start,
            ));
        }
    };
    let shape = match value(&shape.value)? {
        Value::Tuple(lengths) => {
            if let Some(length) = first_oversized_length(&lengths) {
                return Err(Fault::Overflow { what: format!("an axis of length {length}") }.into());
            }
            dims(&lengths).map_err(|reason| HeaderFault::new(reason, shape.value_range.start))?
        }
        _ => return Err(HeaderFault::new("'shape' is not a tuple", shape.value_range.start)),
    };
    let descr_text = &text[descr.value_range.clone()];
    let dtype = descr::dtype(&descr.value, &normal.lists, descr_text)?;
    let header = Header::new(dtype, order, shape)?;
    Ok(NpyHeader { header, version, descr: descr_text.to_owned() })
}
