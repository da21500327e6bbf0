//! What is done to the expressions of built-in rules when they are built.

#[path = "../ascii.rs"]
mod ascii;

use ascii::ascii;

#[test]
fn classes_are_ascii_and_meant_backslashes_stay() {
    assert_eq!(ascii(r"^\w+\b\s*[\d.]\W$"), r"^[0-9A-Za-z_]+(?-u:\b)[\t-\r\x20]*[[0-9].]\W$");
    assert_eq!(ascii(r"^\\w+\\\d$"), r"^\\w+\\[0-9]$");
}
