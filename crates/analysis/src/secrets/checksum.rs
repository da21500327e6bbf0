//! Checksums that issuers put into their tokens: who has one cannot have made the token up.

/// The tokens that end in six digits, to base 62, of the CRC-32 of what stands between prefix and them.
const PREFIXES: &[&str] = &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_"];
const BODY: usize = 30;
const SUM: usize = 6;

/// Whether the checksum in `value` is right; nothing for a format without one.
pub(super) fn checksum(value: &str) -> Option<bool> {
    let rest = PREFIXES.iter().find_map(|prefix| value.strip_prefix(prefix))?;
    (rest.len() == BODY + SUM).then_some(())?;
    let (body, sum) = rest.split_at_checked(BODY)?;
    Some(base62(crc32(body.as_bytes())) == sum.as_bytes())
}

/// CRC-32 as in zlib; tokens are too short and too rare for a table.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

fn base62(mut number: u32) -> [u8; SUM] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = [b'0'; SUM];
    for place in text.iter_mut().rev() {
        *place = usize::try_from(number % 62)
            .ok()
            .and_then(|at| DIGITS.get(at))
            .copied()
            .unwrap_or(b'0');
        number /= 62;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::checksum;

    /// The token of GitHub's own announcement of the format.
    #[test]
    fn a_checksum_is_right_wrong_or_absent() {
        let token = concat!("ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17");
        assert_eq!(checksum(token), Some(true));
        assert_eq!(checksum(&token.replace("0mLq17", "0mLq18")), Some(false));
        assert_eq!(checksum(&token.replace("ghp_", "glpat-")), None);
        assert_eq!(checksum(&format!("{token}x")), None);
    }
}
