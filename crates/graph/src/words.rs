//! Enums of plain words: each is spelled one way in settings, listings, metrics and stores.

/// Defines such an enum: `ALL`, `as_str`, `Display`, `FromStr`, and serde by the word.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $what:literal: $($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them. Databases keep their places: only ever add at the end.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word used everywhere.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.into_iter().find(|one| one.as_str() == text).ok_or_else(|| {
                    let words = Self::ALL.map(Self::as_str).join(", ");
                    format!("`{text}` is no {}; expected one of {words}", $what)
                })
            }
        }
    };
}

pub(super) use words;
