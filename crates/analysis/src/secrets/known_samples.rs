//! Credentials that everybody knows: samples of documentation, of vendors' example projects and of
//! emulators. Kept as digests, so that no scanner takes this file for a leak.
//!
//! Google API keys: those of firebase-android-sdk, firebase's quickstart-android and Google Maps'
//! android-samples. The rest: Stripe's test keys, GitHub's token of its announcement, the storage and
//! Cosmos DB emulators' keys, jwt.io's tokens, the passwords of NuGet's documentation, a key of S3 that many
//! pages of documentation show. To add one: the first eight bytes of its SHA-256.

use sha2::{Digest, Sha256};

/// In ascending order.
#[rustfmt::skip]
const DIGESTS: &[u64] = &[
    0x0011_cc25_eb43_2071,
    0x0b47_6bdf_9acf_2123,
    0x2037_abca_ffb2_b777,
    0x27a9_a429_31df_f7eb,
    0x2caf_c097_0149_a84f,
    0x2d1f_7723_aabc_5c7a,
    0x37f8_f09b_df12_c2f2,
    0x3a8b_61d0_f636_b007,
    0x49f7_77db_995e_8260,
    0x4c98_242d_cadc_8b29,
    0x54a5_8318_925d_ac97,
    0x6ca6_473b_42d9_c17e,
    0x6f1e_f246_1e63_469e,
    0x7e8d_e44e_a9ec_f6d5,
    0x7f75_367e_7881_2551,
    0x8731_261c_b72d_8626,
    0x95cb_ff46_4ccf_b324,
    0x976b_57ee_8acd_fcf4,
    0xa070_2bc9_1d69_9f60,
    0xa19f_89ab_3555_eac1,
    0xa6c8_14bc_555a_e62c,
    0xaa65_4743_9583_c3a2,
    0xab3e_a7c2_8e92_9a57,
    0xc794_fa6d_20c6_4efb,
    0xda81_6f9f_2c16_e6c5,
    0xdba7_2c00_f41f_4e4c,
    0xdc0f_cf04_6c61_640c,
    0xe221_9972_7d08_0710,
    0xea9b_b108_2cf9_5663,
    0xeb54_0d2b_6ee2_a0a4,
    0xf2d6_ca16_5150_33e5,
    0xf56e_3234_94a6_ffc2,
];

/// Whether `value` is one of them.
pub(super) fn is_known_sample(value: &str) -> bool {
    let digest = Sha256::digest(value.as_bytes());
    let first = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    DIGESTS.binary_search(&first).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_in_order_and_known() {
        assert!(DIGESTS.is_sorted());
        assert!(is_known_sample(concat!("sk_", "test_4eC39HqLyjWDarjtT1zdp7dc")));
        assert!(!is_known_sample(concat!("sk_", "test_4eC39HqLyjWDarjtT1zdp7dd")));
    }
}
