//! An entry of the chain as it is written: `adapter::name`, `adapter::name@URL`, `adapter::name@URL#VARIABLE`.

use genai::adapter::AdapterKind;

/// One model of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub(super) adapter: AdapterKind,
    /// The model's name at the provider.
    pub(super) model: String,
    /// `adapter::name`.
    pub(super) name: String,
    /// Base URL, with a slash at the end.
    pub(super) url: Option<String>,
    /// The variable its key is in, where that is not the provider's usual one.
    pub(super) variable: Option<String>,
}

impl Entry {
    /// `adapter::name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, place) = match text.find("@http://").or_else(|| text.find("@https://")) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let (adapter, model) = name.split_once("::").unwrap_or((name, ""));
        if adapter.is_empty() || model.is_empty() {
            return Err(format!(
                "`{text}`: expected `adapter::name`, for example `openai::gpt-5-mini`"
            ));
        }
        let known = AdapterKind::from_lower_str(adapter).ok_or_else(|| {
            format!(
                "`{text}`: there is no adapter `{adapter}`; for a compatible server use `openai`"
            )
        })?;
        let (url, variable) = match place.map(|place| place.split_once('#').unwrap_or((place, "")))
        {
            Some((url, variable)) => {
                (Some(base_url(url)?), Some(variable).filter(|v| !v.is_empty()))
            }
            None => (None, None),
        };
        Ok(Self {
            adapter: known,
            model: model.to_owned(),
            name: name.to_owned(),
            url,
            variable: variable.map(str::to_owned),
        })
    }
}

/// A base URL with a slash at the end.
pub(super) fn base_url(text: &str) -> Result<String, String> {
    let url: url::Url = text.parse().map_err(|error| format!("`{text}` is no URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{text}`: expected an address that begins with https:// or http://"));
    }
    Ok(format!("{}/", text.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read() {
        let entry = Entry::parse(" openai::qwen3:8b@http://localhost:11434/v1#QWEN_KEY ").unwrap();
        assert_eq!(entry.adapter, AdapterKind::OpenAI);
        assert_eq!((entry.model.as_str(), entry.name.as_str()), ("qwen3:8b", "openai::qwen3:8b"));
        assert_eq!(entry.url.as_deref(), Some("http://localhost:11434/v1/"));
        assert_eq!(entry.variable.as_deref(), Some("QWEN_KEY"));
        let entry = Entry::parse("anthropic::claude-x").unwrap();
        assert_eq!((entry.url, entry.variable), (None, None));
        for bad in ["gpt-5", "openai::", "nobody::x", "openai::x@http://", "::x"] {
            assert!(Entry::parse(bad).is_err(), "{bad}");
        }
    }
}
