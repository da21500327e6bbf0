//! Passwords that a person made up, or a program with symbols in them: what tells one from a word, a
//! name or an expression of a program.

use super::weigh::{digits, entropy};

/// What names of passwords hold.
const PASSWORDS: &[&str] = &["pass", "pwd", "psk"];

/// Whether a name, in lower case, speaks of a password.
pub(super) fn names_password(name: &str) -> bool {
    PASSWORDS.iter().any(|word| name.contains(word))
}

/// Whether `value` is a password that somebody would guard.
pub(super) fn chosen(value: &str) -> bool {
    let has = |class: fn(&u8) -> bool| value.bytes().any(|b| class(&b));
    let (lower, upper) = (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase));
    let symbol = has(|b| b.is_ascii_punctuation() && !b"-_.:/=+,".contains(b));
    let runs = digit_runs(value);
    let at_end = value.ends_with(|c: char| c.is_ascii_digit());
    let strong = if symbol {
        lower || upper
    } else if lower && upper {
        digits(value) >= 2 && (runs >= 2 || at_end)
    } else {
        (lower || upper) && value.len() >= 16 && runs >= 4 && entropy(value) >= 3.2
    };
    (8..=64).contains(&value.len())
        && runs >= 1
        && strong
        && !is_common(value)
        && !is_expression(value)
}

/// How many groups of digits stand in it.
fn digit_runs(value: &str) -> usize {
    value.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).count()
}

/// Whether it is what everybody writes for a password: such a one guards nothing.
fn is_common(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "pass", "secret", "change", "admin", "root", "guest", "test", "demo", "default", "your",
        "user", "letmein", "qwer", "welcome", "foobar", "insecure", "local", "hunter", "1234",
        "dev", "replace", "none", "null",
    ];
    let low = value.to_ascii_lowercase();
    let plain: String = low
        .chars()
        .map(|c| match c {
            '0' => 'o',
            '1' | '!' => 'i',
            '3' => 'e',
            '4' | '@' => 'a',
            '5' | '$' => 's',
            _ => c,
        })
        .collect();
    WORDS.iter().any(|word| low.contains(word) || plain.contains(word))
}

/// Whether it says where a secret is kept or names one: `/run/keys/db1`, `arn:aws:…`, `db-login-v12`,
/// `%DB_PASS12%`.
pub(super) fn is_name(value: &str) -> bool {
    const STARTS: &[&str] =
        &["//", "./", "../", "~/", "arn:", "urn:", "file:", "env:", "classpath:", "vault:", "ENC("];
    let path =
        value.starts_with('/') && value.matches('/').count() > 1 && !value.contains(['+', '=']);
    let variable = value.len() > 2 && value.starts_with('%') && value.ends_with('%');
    path || variable || is_words(value) || STARTS.iter().any(|start| value.starts_with(start))
}

/// Whether it is of words and numbers with something between them.
fn is_words(value: &str) -> bool {
    let number = |part: &str| {
        let digits = part.strip_prefix('v').unwrap_or(part);
        (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    };
    // `app`, `db12`.
    let word = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        letters.len() >= 2
            && letters.bytes().all(|b| b.is_ascii_lowercase())
            && part.len() - letters.len() <= 3
    };
    let parts: Vec<&str> = value.split(['-', '_', '.', '/', ':']).collect();
    parts.len() >= 3
        && parts.iter().all(|part| word(part) || number(part))
        && parts.iter().filter(|part| word(part)).count() >= 2
}

/// Whether it rather is a path, an address, a hash, a reference or an expression of a program.
fn is_expression(value: &str) -> bool {
    const STARTS: &[char] =
        &['/', '.', '~', '\\', '$', '@', '<', '{', '%', '*', '&', '|', '(', '[', '^'];
    const HOLDS: &[&str] =
        &["://", "->", "::", "=>", "&&", "||", "${", "#{", "<%", "\\", "pbkdf2", "sha256", "ENC["];
    const ENDS: &[char] = &[',', ';', '{', '(', ':', '>', '?'];
    // `digest(salt)`, `keys[1]`, `Option<Key>`.
    let called = value.ends_with([')', ']', '>'])
        && value.split(['(', '[', '<']).next().is_some_and(|name| {
            name.len() < value.len()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:".contains(&b))
        });
    let email = value.split_once('@').is_some_and(|(_, host)| {
        let end = host.rsplit_once('.').map_or("", |(_, end)| end);
        (2..=4).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase())
    });
    value.starts_with(STARTS)
        || value.ends_with(ENDS)
        || HOLDS.iter().any(|it| value.contains(it))
        || called
        || value.matches('/').count() > 1
        || !value.is_ascii()
        || email
}

#[cfg(test)]
mod tests {
    use super::{chosen, is_name};

    #[test]
    fn a_chosen_password_is_told_from_words_and_code() {
        for value in [
            "Mango*Lantern9495",
            "o!^t-S1224r2+n",
            "wh!n3T0D-iPq^Jy",
            "1AtMTGkxkIPI6GZT",
            "Q2a7MbcfP.WxpCSH",
            "Zephyr_Pepper1769",
        ] {
            assert!(chosen(value), "{value}");
        }
        for value in [
            "postgres",
            "postgres123",
            "P@ssw0rd1",
            "Admin*123",
            "Uint8Array",
            "Float64Array;",
            "user.pass1",
            "redis-db-2",
            "/run/keys/Db1",
            "hash2(Value3)",
            "jane@Host7.org",
            "{SSHA}kX9mQ2vL7p",
            "ENC[AES256_GCM,data:kX9mQ2vL7p]",
            "$2y$10$kX9mQ2vL7pR4",
            "*DbValue12",
        ] {
            assert!(!chosen(value), "{value}");
        }
    }

    #[test]
    fn what_names_a_secret_is_none() {
        for value in [
            "/run/keys/Db12",
            "//input[@id='Pw12']",
            "arn:aws:secretsmanager:eu-west-1:111122223333:secret:db",
            "classpath:keys/App2Key1",
            "projects/12/secrets/db2/versions/3",
            "db-login-v12-prod",
            "%DB_PASS12%",
            "ENC(kX9mQ2vL7p)",
        ] {
            assert!(is_name(value), "{value}");
        }
        for value in [
            "kX9mQ2vL7pR4tW8zB3nC",
            "/9mQ2vL7pR4tW8zB3nC/kX9m+w==",
            "9d8351a0-ca01-4556-9c37-85eb634869b9",
            "Mango*Lantern9495",
            "kx9-mq2vl7",
        ] {
            assert!(!is_name(value), "{value}");
        }
    }
}
