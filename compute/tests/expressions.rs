//! Expressions whose values NumPy 2.4 has printed, and texts that are none.

use ndarray::{arr1, arr2};
use ndarray_io::DynArray;
use ndarray_io_compute::{Error, Expression, percentiles, summarize_groups};

fn evaluate(text: &str) -> String {
    let x = DynArray::new(&arr2(&[[1.5f32, -2.0, f32::NAN], [4.0, 0.0, 6.25]])).unwrap();
    let n = DynArray::new(&arr1(&[100i8, -7, 3])).unwrap();
    let u = DynArray::new(&arr1(&[5u64, u64::MAX, 0])).unwrap();
    let bound = Expression::parse(text).and_then(|parsed| parsed.bind(&[("x", &x), ("n", &n), ("u", &u)]));
    match bound.and_then(|bound| bound.evaluate()) {
        Ok(array) => format!("{} {array}", array.dtype()).replace('\n', ""),
        Err(error) => error.to_string(),
    }
}

#[test]
fn results_have_numpys_values_and_dtypes() {
    for (text, wanted) in [
        ("x * 2", "'<f4' [[3.0, -4.0, NaN], [8.0,  0.0, 12.5]]"),
        ("n + 100", "'|i1' [-56,  93, 103]"),
        ("n * 2.0", "'<f8' [200.0, -14.0,   6.0]"),
        ("n // 4", "'|i1' [25, -2,  0]"),
        ("n > 10 ** -3", "'|b1' [ true, false,  true]"),
        ("n % 4", "'|i1' [0, 1, 3]"),
        ("n ** 2", "'|i1' [16, 49,  9]"),
        ("n > 300", "'|b1' [false, false, false]"),
        ("u > n", "'|b1' [false,  true, false]"),
        ("u + n", "'<f8' [105.0, 1.8446744073709552e19, 3.0]"),
        ("-n", "'|i1' [-100,    7,   -3]"),
        ("0 < n < 50", "'|b1' [false, false,  true]"),
        ("not n or n == 3", "'|b1' [false, false,  true]"),
        ("where(isnan(x), 0, x)[1]", "'<f4' [ 4.0,  0.0, 6.25]"),
        ("x.T[0] + n[:2]", "'<f4' [101.5,  -3.0]"),
        ("nanmean(x, axis=1)", "'<f4' [    -0.25, 3.4166667]"),
        ("max(x, axis=0)", "'<f4' [4.0, 0.0, NaN]"),
        ("argmin(n)", "'<i8' 1"),
        ("sum(n)", "'<i8' 96"),
        ("reshape(x, 3, -1)[2, 1]", "'<f4' 6.25"),
        ("clip(n, None, 3)", "'|i1' [ 3, -7,  3]"),
        ("sqrt(n[2] * 3)", "'<f2' 3.0"),
        ("2 ** 3 ** 2 + 1j", "'<c16' 512.0+1.0i"),
    ] {
        let found = evaluate(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = wanted.split_whitespace().collect::<Vec<_>>().join(" ");
        let plain = |text: &str| text.replace("[ ", "[");
        assert_eq!(plain(&found), plain(&wanted), "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    for (text, wanted) in [
        ("x +", "expected a value, found the end, at character 4"),
        ("(x", "expected ')', found the end, at character 3"),
        ("x ? 2", "unexpected '?', at character 3"),
        ("y", "there is no 'y'; there are: x, n, u, at character 1"),
        ("mean", "there is no 'mean'; there are: x, n, u, at character 1"),
        ("n + 1000", "1000 is out of the range of |i1: astype makes the array wider"),
        ("x + n[:2]", "shapes (2, 3) and (2,) do not match"),
        ("n ** -1", "integers have no negative integer powers: use ** -1.0"),
        ("x['a", "the text has no end, at character 3"),
        ("n * 10 ** 40", "10 ** 40 has more than 127 bits: write a float"),
        ("n + 1 // 0", "division by zero"),
        ("clip(x)", "clip takes 3 arguments, at character 1"),
        ("mean(x, axis=2)", "there is no axis 2: the array has 2, numbered from 0"),
    ] {
        assert_eq!(evaluate(text), wanted, "{text}");
    }
}

/// What is nested, or long, is refused before the stack ends.
#[test]
fn hostile_texts_are_refused() {
    for text in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "x".to_owned() + &"[0]".repeat(100_000),
        "x".to_owned() + &"**x".repeat(100_000),
    ] {
        assert!(matches!(Expression::parse(&text), Err(Error::Syntax { .. })));
    }
    for text in [
        "1e999",
        "99999999999999999999999999999999999999999999",
        "'",
        "[",
        "x.",
        "x.1",
        ".",
        "0x",
        "1__",
        "\u{0}",
        "f(,)",
        "f(a=)",
    ] {
        let _ = Expression::parse(text);
    }
    assert!(Expression::parse(&("x".to_owned() + &"+x".repeat(100_000))).is_err());
    // The middle of a chain is computed twice.
    let chain = (0..26).fold("x".to_owned(), |within, _| format!("(x<{within}<x)"));
    assert!(Expression::parse(&chain).is_err());
    // What is accepted can be computed.
    assert!(evaluate(&("n".to_owned() + &"+n".repeat(190))).starts_with("'|i1'"));
    assert!(evaluate(&("(-".repeat(20) + "n" + &")".repeat(20))).starts_with("'|i1'"));
}

#[test]
fn groups_are_the_indices_of_the_kept_axes() {
    let table = DynArray::new(&arr2(&[[1.0, 10.0], [2.0, f64::NAN], [3.0, 30.0], [4.0, 20.0]])).unwrap();
    let medians = percentiles(&table, &[1], &[0.0, 50.0, 75.0], &Default::default()).unwrap();
    // numpy.nanpercentile(table, [0, 50, 75], axis=0).T
    assert_eq!(medians, [[1.0, 2.5, 3.25], [10.0, 20.0, 25.0]]);
    let found = summarize_groups(&table, &[1], &Default::default(), &mut |_| {}).unwrap();
    assert_eq!(
        found.iter().map(|found| found.range().unwrap()).collect::<Vec<_>>(),
        [(1.0, 4.0), (10.0, 30.0)]
    );
}
