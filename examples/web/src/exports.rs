//! The functions that JavaScript calls.
//!
//! JavaScript writes bytes to the address that `allocate` returns, and reads the result at `answer`, with the
//! length `answer_len`.

use std::cell::RefCell;

use ndarray_io::DynArray;
use serde_json::{Value, json};

use crate::{DroppedFile, Picture, error_json, fields, look, part};

#[derive(Default)]
struct State {
    /// The bytes that JavaScript writes: a file, or the text of a request.
    input: Vec<u8>,
    file: Option<DroppedFile>,
    array: Option<DynArray>,
    answer: String,
    picture: Picture,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(work)
}

impl State {
    fn answer(&mut self, answer: Value) {
        self.answer = answer.to_string();
    }
}

/// Allocates a buffer of this length, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(len: usize) -> *mut u8 {
    with(|state| {
        state.input = Vec::new(); // free the old buffer before allocating the new one
        state.input = vec![0; len];
        state.input.as_mut_ptr()
    })
}

/// Opens the bytes in the buffer as a file, and describes it.
#[unsafe(no_mangle)]
pub extern "C" fn open() {
    with(|state| {
        state.array = None;
        let file = DroppedFile::new(std::mem::take(&mut state.input));
        let answer = file.describe().unwrap_or_else(|error| error_json(&error));
        state.file = Some(file);
        state.answer(answer);
    });
}

/// Reads one of the arrays.
#[unsafe(no_mangle)]
pub extern "C" fn select(index: usize) {
    with(|state| {
        state.array = None;
        let answer = match state.file.as_ref().map(|file| file.read(index)) {
            Some(Ok(array)) => {
                let answer = json!({ "dtype": array.dtype().to_string(), "shape": array.shape(), "fields": fields(&array) });
                state.array = Some(array);
                answer
            }
            Some(Err(error)) => error_json(&error),
            None => json!({ "error": "no file is open" }),
        };
        state.answer(answer);
    });
}

/// Computes what the page shows of a part. The buffer has the request: `{"slice": "0, ::2", "field": "x"}`.
#[unsafe(no_mangle)]
pub extern "C" fn view() {
    with(|state| {
        let request: Value = serde_json::from_slice(&state.input).unwrap_or_default();
        let text = request["slice"].as_str().unwrap_or_default();
        state.picture = Picture::default();
        let answer = match state.array.as_ref().map(|array| part(array, request["field"].as_str(), text)) {
            Some(Ok(part)) => {
                let (mut summary, picture) = look(&part);
                summary["picture"] =
                    json!({ "width": picture.width, "height": picture.height, "steps": picture.steps });
                state.picture = picture;
                summary
            }
            Some(Err(error)) => json!({ "error": error }),
            None => json!({ "error": "no array is selected" }),
        };
        state.answer(answer);
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    with(|state| state.answer.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    with(|state| state.answer.len())
}

#[unsafe(no_mangle)]
pub extern "C" fn pixels() -> *const u8 {
    with(|state| state.picture.pixels.as_ptr())
}
