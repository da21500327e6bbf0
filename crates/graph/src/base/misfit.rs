//! What a JSON parser says of a value of the wrong type, without the value, which may be a secret.

/// The parser's explanation: what was found is told by its kind, never quoted.
pub fn misfit(error: &serde_json::Error) -> String {
    let text = error.to_string();
    for what in ["invalid type: ", "invalid value: ", "unknown variant"] {
        let Some(found) = text.strip_prefix(what) else { continue };
        // What is expected stands last; a value may say anything.
        let (found, expected) = found.rsplit_once(", expected ").unwrap_or((found, "another"));
        let kind = found.split(['"', '`']).next().unwrap_or_default().trim();
        return format!("{what}{kind}, expected {expected}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<T: serde::de::DeserializeOwned>(json: &str) -> String {
        serde_json::from_str::<T>(json).err().map(|error| misfit(&error)).unwrap_or_default()
    }

    #[derive(serde::Deserialize)]
    enum Colour {
        #[serde(rename = "red")]
        Red,
    }

    #[test]
    fn kinds_are_told_and_values_are_not() {
        for (told, wanted) in [
            (
                told::<u8>("\"a, expected b\""),
                "invalid type: string, expected u8 at line 1 column 15",
            ),
            (told::<String>("7"), "invalid type: integer, expected a string at line 1 column 1"),
            (
                told::<String>("7.5"),
                "invalid type: floating point, expected a string at line 1 column 3",
            ),
            (told::<u8>("700"), "invalid value: integer, expected u8 at line 1 column 3"),
            (told::<u8>("{}"), "invalid type: map, expected u8 at line 1 column 0"),
            (told::<Colour>("\"blue\""), "unknown variant, expected `red` at line 1 column 6"),
            (told::<Vec<u8>>("["), "EOF while parsing a list at line 1 column 1"),
        ] {
            assert_eq!(told, wanted);
        }
        assert!(matches!(serde_json::from_str("\"red\""), Ok(Colour::Red)));
    }
}
