//! The keys: several that open, the first of which seals.

use std::fmt;

use super::aes::Cipher;

/// How many bytes of a fingerprint are stored with each value.
pub(super) const FINGERPRINT: usize = 4;
/// How long a key is, in bytes.
pub(super) const KEY: usize = 32;

/// A key and its name.
pub(super) struct Key {
    pub(super) name: String,
    pub(super) cipher: Cipher,
}

/// Keys that open what is stored; the first one seals. The default has none, and seals nothing.
#[derive(Default)]
pub struct KeyRing {
    keys: Vec<Key>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|key| &key.name)).finish()
    }
}

impl KeyRing {
    /// Keys as settings have them: `NAME:64 HEX DIGITS`, several with commas or line ends between,
    /// the one that seals first. A name has up to 32 letters, digits, `.`, `_` and `-`.
    ///
    /// # Errors
    /// With what was expected; never with a part of a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut ring = Self::default();
        let entries = text.split([',', '\n', '\r', ' ', '\t']).filter(|entry| !entry.is_empty());
        for (entry, at) in entries.zip(1..) {
            let Some((name, key)) = entry.split_once(':').filter(|(name, _)| is_name(name)) else {
                let form = "expected NAME:KEY, a name of up to 32 letters, digits, `.`, `_`, `-`";
                return Err(format!("key {at}: {form}"));
            };
            let mut bytes = [0; KEY];
            let Ok(()) = hex::decode_to_slice(key, &mut bytes) else {
                let make = "`openssl rand -hex 32` makes one";
                return Err(format!("key `{name}`: expected 64 hexadecimal digits ({make})"));
            };
            if ring.keys.iter().any(|other| other.name == name) {
                return Err(format!("two keys are called `{name}`"));
            }
            let cipher = Cipher::new(&bytes)?;
            ring.keys.push(Key { name: name.to_owned(), cipher });
        }
        if ring.keys.is_empty() { Err("expected a key".to_owned()) } else { Ok(ring) }
    }

    /// The name of the key that seals, if there is one.
    pub fn writer_name(&self) -> Option<&str> {
        self.writer().map(|key| key.name.as_str())
    }

    /// The one that seals.
    pub(super) fn writer(&self) -> Option<&Key> {
        self.keys.first()
    }

    /// The one of this name, if it is the same key; else why it is not, and what to do.
    pub(super) fn named(&self, name: &str, fingerprint: &[u8]) -> Result<&Key, String> {
        let Some(key) = self.keys.iter().find(|key| key.name == name) else {
            let names: Vec<_> = self.keys.iter().map(|key| format!("`{}`", key.name)).collect();
            let here = if names.is_empty() { "no key".to_owned() } else { names.join(", ") };
            let add = "add it to `store.encryption.keys`";
            return Err(format!("which this process has not got (it has {here}): {add}"));
        };
        if key.cipher.fingerprint() == fingerprint {
            return Ok(key);
        }
        let mend = "`store.encryption.keys` must list the old one under its old name";
        Err(format!("and the key this process has under that name is another one: {mend}"))
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=32).contains(&name.len()) && name.bytes().all(fits)
}
