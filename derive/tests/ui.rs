//! What the compiler says to those who derive. `TRYBUILD=overwrite` writes down what it says now.

#[test]
fn errors_point_at_the_field() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}
