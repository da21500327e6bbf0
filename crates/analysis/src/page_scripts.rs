//! Scripts in pages and in components of Vue and Svelte: what is no script becomes blanks, as in PHP, so places in
//! the one are places in the other.

use std::{borrow::Cow, ops::Range};

use super::php_markup::blank;

/// Whether a text that may be a script is a page with scripts in it.
pub(super) fn is_page(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    ["<", "{%", "{{"].iter().any(|sign| start.starts_with(sign))
        && ["</script", "</template", "</style"].iter().any(|tag| text.contains(tag))
}

/// Whether the scripts of a component are TypeScript.
pub(super) fn is_typed(text: &str) -> bool {
    scripts(text).any(|script| ["\"ts\"", "'ts'"].iter().any(|ts| script.tag.contains(ts)))
}

/// `text` with blanks for all but its scripts; as it is where it is no page.
pub(super) fn scripts_of(text: &str) -> Cow<'_, str> {
    if !is_page(text) {
        return Cow::Borrowed(text);
    }
    let mut code = text.as_bytes().to_vec();
    let mut from = 0;
    for script in scripts(text).filter(|script| script.is_script(text)) {
        blank(&mut code, from..script.inside.start);
        from = script.inside.end;
    }
    blank(&mut code, from..text.len());
    // Only whole runs of bytes were replaced, by ASCII.
    String::from_utf8(code).map_or(Cow::Borrowed(text), Cow::Owned)
}

struct Script<'t> {
    /// From `<script` up to `>`.
    tag: &'t str,
    inside: Range<usize>,
}

impl Script<'_> {
    /// Not a template or data, and not put together by a template: then nobody knows what it will be.
    fn is_script(&self, text: &str) -> bool {
        const PLACES: [&str; 4] = ["<%", "{%", "{{", "<?"];
        let inside = text.get(self.inside.clone()).unwrap_or_default();
        if PLACES.iter().any(|place| inside.contains(place)) {
            return false;
        }
        let tag = self.tag.to_ascii_lowercase();
        let kind = tag.split_once("type=").map(|(_, kind)| kind.trim_start_matches(['"', '\'']));
        kind.is_none_or(|kind| {
            let known = [
                "text/javascript",
                "application/javascript",
                "module",
                "text/babel",
                "text/typescript",
            ];
            known.iter().any(|known| kind.starts_with(known))
        })
    }
}

fn scripts(text: &str) -> impl Iterator<Item = Script<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let open = at + text.get(at..)?.find("<script")?;
        let start = open + end_of_tag(text.get(open..)?)?;
        let end = text.get(start..)?.find("</script").map_or(text.len(), |end| start + end);
        at = end;
        Some(Script { tag: text.get(open..start)?, inside: start..end })
    })
}

/// Where a tag ends; a sign in quotes ends none.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    let end = text.bytes().position(|byte| {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
        quote.is_none() && byte == b'>'
    })?;
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::{is_typed, scripts_of};

    #[test]
    fn what_is_no_page_stays_as_it_is() {
        for text in ["f();\n", "<a>{b}</a>", "const a = \"</script>\";"] {
            assert_eq!(scripts_of(text), text);
        }
    }

    #[test]
    fn all_but_scripts_becomes_blanks() {
        let check = |text: &str, expected: &str| {
            let code = scripts_of(text);
            assert_eq!(code, expected);
            assert_eq!(code.len(), text.len());
        };
        check("<p>é</p>\n<script>f();</script>\n<p>", "         \n        f();         \n   ");
        check(
            "<script type=\"text/template\"><p></script><script>g()",
            "                                                 g()",
        );
        check("<script src=\"a?<%= b %>\"></script>", "                                  ");
        check("<script>let a = {{ b }}</script>", "                                ");
        check("<template><p/></template>", "                         ");
    }

    #[test]
    fn components_say_what_their_scripts_are() {
        assert!(is_typed("<script setup lang=\"ts\">let a: number</script>"));
        assert!(!is_typed("<script>let a = 1</script><template lang='ts'/>"));
    }
}
