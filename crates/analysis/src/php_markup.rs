//! PHP between markup: the grammar reads code alone, so what is no code becomes blanks.
//!
//! The length and the lines stay, so places in the one are places in the other. `?>` ends a statement,
//! and `<?= a ?>` becomes `echo a`, which takes the place of markup before it.

use std::{borrow::Cow, ops::Range};

/// How a part of code begins, with the length of its tag.
enum Tag {
    Code(usize),
    Echo,
}

/// `text` with blanks for its markup; as it is where all of it is code, or nothing.
pub(super) fn code_of(text: &str) -> Cow<'_, str> {
    let after_code = text.split_once("?>").map_or("", |(_, after)| after);
    let starts_with_code = matches!(tag(text.trim_start().as_bytes()), Some(Tag::Code(_)));
    if !text.contains("<?") || starts_with_code && after_code.trim().is_empty() {
        return Cow::Borrowed(text);
    }
    let code = Blanked { text: text.as_bytes(), code: text.as_bytes().to_vec() }.all();
    // Only whole runs of bytes were replaced, by ASCII.
    String::from_utf8(code).map_or(Cow::Borrowed(text), Cow::Owned)
}

struct Blanked<'t> {
    text: &'t [u8],
    code: Vec<u8>,
}

impl Blanked<'_> {
    fn all(mut self) -> Vec<u8> {
        let (mut at, mut is_first) = (0, true);
        while at < self.text.len() {
            let Some(open) = find(self.text, at, b"<?") else { break };
            self.blank(at..open);
            let inside = match self.text.get(open..).and_then(tag) {
                None => {
                    self.blank(open..open + 2);
                    at = open + 2;
                    continue;
                }
                Some(Tag::Echo) => {
                    self.echo(open);
                    open + 3
                }
                // The grammar knows one tag, at the beginning.
                Some(Tag::Code(length)) if is_first && length == 5 => open + length,
                Some(Tag::Code(length)) => {
                    self.blank(open..open + length);
                    open + length
                }
            };
            is_first = false;
            at = self.end_of_code(inside);
        }
        self.blank(at..self.text.len());
        self.code
    }

    fn blank(&mut self, range: Range<usize>) {
        blank(&mut self.code, range);
    }

    fn write(&mut self, at: usize, word: &[u8]) {
        if let Some(place) = self.code.get_mut(at..at + word.len()) {
            place.copy_from_slice(word);
        }
    }

    /// Makes `echo` of the tag at `open`, where there is room for it.
    fn echo(&mut self, open: usize) {
        let before = self.code.get(..open).unwrap_or_default();
        let room = before.iter().rev().take(2).take_while(|byte| **byte == b' ').count();
        let after = self.text.get(open + 3..).unwrap_or_default();
        let (next, second) = (after.first().copied(), after.get(1).copied());
        let in_name = |byte: Option<u8>| {
            byte.is_none_or(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'\\')
        };
        self.blank(open..open + 3);
        if room == 2 {
            self.write(open - 2, b"echo ");
        } else if room == 1 && !in_name(next) {
            self.write(open - 1, b"echo");
        } else if next == Some(b' ') && !in_name(second) {
            self.write(open, b"echo");
        }
    }

    /// Ends the code that begins at `from`; what comes after its end tag begins at the answer.
    fn end_of_code(&mut self, from: usize) -> usize {
        let text = self.text;
        let mut at = from;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            at = match rest {
                [b'?', b'>', ..] => return self.end_tag(at),
                [quote @ (b'\'' | b'"' | b'`'), ..] => end_of_string(text, at + 1, *quote),
                [b'/', b'*', ..] => find(text, at + 2, b"*/").map_or(text.len(), |end| end + 2),
                [b'/', b'/', ..] => self.end_of_comment(at),
                [b'#', next, ..] if *next != b'[' => self.end_of_comment(at),
                [b'<', b'<', b'<', ..] => end_of_heredoc(text, at + 3),
                _ => at + 1,
            };
        }
        text.len()
    }

    /// The end of a comment of one line, which an end tag is, too: then it goes with the markup.
    fn end_of_comment(&mut self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match find(line, 0, b"?>") {
            Some(tag) => {
                self.blank(at..at + tag);
                at + tag
            }
            None => at + line.len(),
        }
    }

    fn end_tag(&mut self, at: usize) -> usize {
        self.blank(at..at + 2);
        let before = self.code.get(..at).unwrap_or_default().trim_ascii_end();
        if !before.ends_with(b"<?php")
            && !matches!(before.last(), Some(b'{' | b'}' | b':' | b';') | None)
        {
            self.write(at, b";");
        }
        at + 2
    }
}

/// Blanks, but for the ends of lines.
pub(super) fn blank(code: &mut [u8], range: Range<usize>) {
    let bytes = code.get_mut(range).unwrap_or_default();
    bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|b| *b = b' ');
}

fn tag(text: &[u8]) -> Option<Tag> {
    match text {
        [b'<', b'?', b'=', ..] => Some(Tag::Echo),
        [b'<', b'?', word @ ..] => {
            let named = word.get(..3).is_some_and(|name| name.eq_ignore_ascii_case(b"php"));
            let length = if named { 5 } else { 2 };
            let ends = text.get(length).is_none_or(u8::is_ascii_whitespace);
            ends.then_some(Tag::Code(length))
        }
        _ => None,
    }
}

fn find(text: &[u8], from: usize, word: &[u8]) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.windows(word.len()).position(|part| part == word).map(|at| from + at)
}

fn end_of_string(text: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while let Some(byte) = text.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// `<<<WORD`, up to a line that begins with the word; elsewhere three signs.
fn end_of_heredoc(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let word = line.trim_ascii();
    let word = word.strip_prefix(b"'").or(word.strip_prefix(b"\"")).unwrap_or(word);
    let word = word.strip_suffix(b"'").or(word.strip_suffix(b"\"")).unwrap_or(word);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if word.is_empty() || !word.iter().all(is_name) {
        return from;
    }
    let mut at = from + line.len() + 1;
    for line in text.get(at..).unwrap_or_default().split(|byte| *byte == b'\n') {
        let indent = line.len() - line.trim_ascii_start().len();
        let after = line.trim_ascii_start().strip_prefix(word);
        if after.is_some_and(|after| !after.first().is_some_and(is_name)) {
            return at + indent + word.len();
        }
        at += line.len() + 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::code_of;

    #[test]
    fn code_alone_stays_as_it_is() {
        for text in ["<?php echo 1;\n", "<?php echo 1 ?>\n", "no code"] {
            assert_eq!(code_of(text), text);
        }
    }

    #[test]
    fn markup_becomes_blanks() {
        let check = |text: &str, expected: &str| {
            let code = code_of(text);
            assert_eq!(code, expected);
            assert_eq!(code.len(), text.len());
        };
        check("<b>\n<?php f() ?>\n</b>", "   \n<?php f() ; \n    ");
        check("<a b=\"<?= $c ?>\">", "    echo  $c ;   ");
        check(
            "<?php if ($a): ?>é<?=f()?><?php endif ?>",
            "<?php if ($a):   echo f();       endif ; ",
        );
        check("\n<?=$c?>", "\n   $c; ");
        check("\n<?= $c?>", "\necho$c; ");
        check("<p><?php // a ?>x<?php g();", "   <?php               g();");
        check("<p><?php $a = '?>'; /* ?> */ g();", "   <?php $a = '?>'; /* ?> */ g();");
        check("<p><?php f(<<<A\n?>\n  A); ?>x", "   <?php f(<<<A\n?>\n  A);    ");
        check("<?xml a?><?php f();", "         <?php f();");
    }
}
