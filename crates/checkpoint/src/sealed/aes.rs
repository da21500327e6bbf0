//! AES-256-GCM. Each value is sealed under a key of its own, derived from the key of the settings and
//! 16 random bytes (HKDF-Expand with SHA-256), and a random nonce: however many values there are, no
//! two share key and nonce.

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey},
    error::Unspecified,
    hkdf::{HKDF_SHA256, KeyType, Prk},
    rand,
};

use super::keys::{FINGERPRINT, KEY};

const SALT: usize = 16;
/// What is derived, so that nothing derived for one purpose serves another.
const VALUE: &[u8] = b"verdict sealed value 1";
const PRINT: &[u8] = b"verdict key fingerprint 1";

/// A key, ready for use. Wiped when dropped.
pub(super) struct Cipher {
    key: Prk,
    fingerprint: [u8; FINGERPRINT],
}

/// The length of a fingerprint, in the algorithm's terms.
struct Print;

impl KeyType for Print {
    fn len(&self) -> usize {
        FINGERPRINT
    }
}

impl Cipher {
    pub(super) fn new(key: &[u8; KEY]) -> Result<Self, String> {
        // The key is random already: there is nothing to extract.
        let key = Prk::new_less_safe(HKDF_SHA256, key);
        let mut fingerprint = [0; FINGERPRINT];
        let filled = key.expand(&[PRINT], Print).and_then(|okm| okm.fill(&mut fingerprint));
        filled.map_err(|Unspecified| "no key can be derived from it".to_owned())?;
        Ok(Self { key, fingerprint })
    }

    pub(super) fn fingerprint(&self) -> [u8; FINGERPRINT] {
        self.fingerprint
    }

    fn derived(&self, salt: &[u8]) -> Result<LessSafeKey, Unspecified> {
        let info = [VALUE, salt];
        let okm = self.key.expand(&info, &AES_256_GCM)?;
        Ok(LessSafeKey::new(UnboundKey::from(okm)))
    }

    pub(super) fn seal(
        &self,
        plain: &[u8],
        bound: &[u8],
        stored: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let seal = || {
            let mut random = [0; SALT + NONCE_LEN];
            rand::fill(&mut random)?;
            let (salt, nonce) = random.split_at(SALT);
            let nonce = Nonce::try_assume_unique_for_key(nonce)?;
            let mut sealed = Vec::with_capacity(plain.len() + MAX_TAG_LEN);
            sealed.extend_from_slice(plain);
            self.derived(salt)?.seal_in_place_append_tag(nonce, Aad::from(bound), &mut sealed)?;
            Ok((random, sealed))
        };
        let (random, sealed) =
            seal().map_err(|Unspecified| "the algorithm or its source of randomness failed")?;
        stored.extend_from_slice(&random);
        stored.extend_from_slice(&sealed);
        Ok(())
    }

    pub(super) fn open(&self, sealed: &[u8], bound: &[u8]) -> Option<Vec<u8>> {
        let (salt, rest) = sealed.split_at_checked(SALT)?;
        let (nonce, rest) = rest.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut opened = rest.to_vec();
        let length = self
            .derived(salt)
            .ok()?
            .open_in_place(nonce, Aad::from(bound), &mut opened)
            .ok()?
            .len();
        opened.truncate(length);
        Some(opened)
    }
}
