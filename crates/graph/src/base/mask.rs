//! Passwords in URLs, masked wherever a text that may hold one is shown.

use std::borrow::Cow;

/// What stands in place of a secret.
const MASK: &str = "***";

/// Words in the name of a query parameter that mean its value is a secret.
const SECRET_NAMES: &[&str] =
    &["auth", "credential", "key", "pass", "pwd", "secret", "sig", "token"];

/// The text with the passwords of its URLs, and the values of their query parameters that look like
/// secrets by their names, replaced by `***`.
pub fn mask_urls(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        masked.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '<' | '>');
        let (url, behind) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let web = before.ends_with("http://") || before.ends_with("https://");
        push_masked(&mut masked, url, web);
        rest = behind;
    }
    masked.push_str(rest);
    Cow::Owned(masked)
}

/// Adds a URL without its scheme. On the `web` a user alone is a token.
fn push_masked(masked: &mut String, url: &str, web: bool) {
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    // A password may hold what should have been encoded: the last `@` before a host counts.
    let user_end = authority
        .rfind('@')
        .or_else(|| url.rfind('@').filter(|_| authority.contains(':') && !has_port(authority)));
    let rest = match user_end.map(|at| (url[..at].split_once(':'), &url[at..])) {
        Some((Some((user, _)), host)) => {
            masked.push_str(user);
            masked.push(':');
            masked.push_str(MASK);
            host
        }
        Some((None, host)) if web => {
            masked.push_str(MASK);
            host
        }
        _ => url,
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    masked.push_str(place);
    let Some(query) = query else { return };
    let mut before = '?';
    for parameter in query.split('&') {
        masked.push(before);
        before = '&';
        match parameter.split_once('=') {
            Some((name, _)) if names_a_secret(name) => {
                masked.push_str(name);
                masked.push('=');
                masked.push_str(MASK);
            }
            _ => masked.push_str(parameter),
        }
    }
}

/// Whether what comes before the path ends in a port: then no user stands there.
fn has_port(authority: &str) -> bool {
    authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked_wherever_a_url_stands() {
        for (text, shown) in [
            ("nothing here", "nothing here"),
            ("amqp://u:p@h:5672/v?queue=q", "amqp://u:***@h:5672/v?queue=q"),
            ("at https://u:p@h/x, gone", "at https://u:***@h/x, gone"),
            ("`https://t0ken@h/x`", "`https://***@h/x`"),
            ("amqp://u@h/v", "amqp://u@h/v"),
            ("postgres://u:p/a@h/d", "postgres://u:***@h/d"),
            ("postgres://u:p?a@h/d?x=1", "postgres://u:***@h/d?x=1"),
            (
                "https://h/v1?api_key=k&v=2&access_token=t",
                "https://h/v1?api_key=***&v=2&access_token=***",
            ),
            ("a://u:p@h b://v:q@i", "a://u:***@h b://v:***@i"),
            ("https://h/a@b", "https://h/a@b"),
        ] {
            assert_eq!(mask_urls(text), shown);
        }
    }
}
