//! What `\w`, `\d`, `\s` and `\b` mean in the expressions of built-in rules: ASCII. Made for all of Unicode, an expression takes
//! more than twice as long to compile, much of a short review, and one with `\b` ten times as long over a text that is not all
//! ASCII. Used by `build.rs`.

/// An expression with these classes spelled out.
pub(crate) fn ascii(expression: &str) -> String {
    let (mut ascii, mut rest) = (String::with_capacity(expression.len()), expression);
    while let Some((before, after)) = rest.split_once('\\') {
        let class = after.chars().next();
        ascii.push_str(before);
        ascii.push_str(match class {
            Some('w') => "[0-9A-Za-z_]",
            Some('d') => "[0-9]",
            Some('s') => r"[\t-\r\x20]",
            Some('b') => r"(?-u:\b)",
            // A backslash that is meant, and other classes.
            Some('\\') => r"\\",
            _ => "\\",
        });
        let taken = matches!(class, Some('w' | 'd' | 's' | 'b' | '\\'));
        rest = &after[usize::from(taken)..];
    }
    ascii.push_str(rest);
    ascii
}
