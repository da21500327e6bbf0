//! One call over HTTP.

use futures_util::StreamExt;
use genai::{
    Client, ModelIden, ServiceTarget,
    chat::{
        CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, JsonSpec, StopReason,
        StreamEnd, Usage,
    },
    resolver::{AuthData, Endpoint},
};
use tokio::time::timeout;

use super::{
    super::{FailureKind, Finish, ModelError, ModelOptions, Request},
    Entry, Keys,
    classify::classify,
    entry::base_url,
    repetition::{CHECK_EVERY_BYTES, loop_start},
};
use crate::base::{ExposeSecret, Secret};

/// A model at its place, with its key.
pub(super) struct Connection {
    client: Client,
    entry: Entry,
    url: Option<String>,
    key: Option<Secret>,
    /// The variable that would hold the key.
    variable: String,
    /// Where its limits are counted: the host, or the adapter for its usual place.
    provider: String,
}

/// An answered call.
pub(super) struct Called {
    pub(super) text: String,
    pub(super) finish: Finish,
    /// Read, written, and read from a cache; absent when the server does not say.
    pub(super) tokens: Option<(u64, u64, u64)>,
}

impl Connection {
    pub(super) fn new(
        client: Client,
        entry: Entry,
        options: &ModelOptions,
        keys: Keys<'_>,
    ) -> Self {
        let global = || options.url.as_deref().and_then(|url| base_url(url).ok());
        let url = entry.url.clone().or_else(global);
        let usual = entry.adapter.default_key_env_name().unwrap_or_default().to_owned();
        let own = entry.variable.is_some();
        let variable = entry.variable.clone().unwrap_or(usual);
        let key = options.key.clone().filter(|_| !own).or_else(|| keys(&variable));
        let host = url.as_deref().and_then(|url| url.parse::<url::Url>().ok());
        let place = |url: url::Url| {
            let host = url.host_str()?.to_owned();
            Some(url.port().map_or(host.clone(), |port| format!("{host}:{port}")))
        };
        let provider =
            host.and_then(place).unwrap_or_else(|| entry.adapter.as_lower_str().to_owned());
        Self { client, entry, url, key, variable, provider }
    }

    /// `adapter::name`.
    pub(super) fn name(&self) -> &str {
        &self.entry.name
    }

    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    /// Asks once.
    ///
    /// # Errors
    /// Classified; a call that takes too long is given up and its connection closed.
    pub(super) async fn call(
        &self,
        request: &Request,
        options: &ModelOptions,
    ) -> Result<Called, ModelError> {
        let call = async {
            let target = self.target().await?;
            let chat = self.chat_options(request, options);
            match options.stream {
                true => self.streamed(target, request, &chat).await,
                false => self.whole(target, request, &chat).await,
            }
        };
        let late = |_| {
            let seconds = options.timeout.as_secs();
            ModelError::new(
                FailureKind::TimedOut,
                format!("{}: no answer in {seconds} s", self.name()),
            )
        };
        timeout(options.timeout, Box::pin(call)).await.map_err(late)?
    }

    async fn target(&self) -> Result<ServiceTarget, ModelError> {
        let auth = match (&self.key, &self.url) {
            (Some(key), _) => AuthData::from_single(key.expose_secret()),
            // Servers of one's own often ask for none, and clients always send one.
            (None, Some(_)) => AuthData::from_single("none"),
            (None, None) => {
                let message =
                    format!("{}: its key is not set: {} or model.key", self.name(), self.variable);
                return Err(ModelError::new(FailureKind::Unauthorized, message));
            }
        };
        let model = ModelIden::new(self.entry.adapter, self.entry.model.as_str());
        let endpoint = match &self.url {
            Some(url) => Endpoint::from_owned(url.as_str()),
            None => {
                let target = self.client.resolve_service_target(model.clone()).await;
                target.map_err(|error| classify(self.name(), &error))?.endpoint
            }
        };
        Ok(ServiceTarget { endpoint, auth, model })
    }

    fn chat_options(&self, request: &Request, options: &ModelOptions) -> ChatOptions {
        let tokens = request.max_output_tokens.unwrap_or(options.max_output_tokens);
        let schema = &request.schema;
        let chat = ChatOptions::default()
            .with_capture_usage(true)
            .with_max_tokens(tokens)
            .with_stream_header_timeout(options.idle_timeout)
            .with_stream_read_timeout(options.idle_timeout)
            .with_response_format(JsonSpec::new(schema.name.clone(), schema.schema.clone()));
        match request.temperature.or(options.temperature) {
            Some(temperature) => chat.with_temperature(temperature),
            None => chat,
        }
    }

    async fn whole(
        &self,
        target: ServiceTarget,
        request: &Request,
        chat: &ChatOptions,
    ) -> Result<Called, ModelError> {
        let answer = self.client.exec_chat(target, chat_request(request), Some(chat)).await;
        let answer = answer.map_err(|error| classify(self.name(), &error))?;
        let text = answer.content.joined_texts().unwrap_or_default();
        let (reason, tokens) = (answer.stop_reason.as_ref(), tokens(&answer.usage));
        self.ended(text, reason, tokens)
    }

    async fn streamed(
        &self,
        target: ServiceTarget,
        request: &Request,
        chat: &ChatOptions,
    ) -> Result<Called, ModelError> {
        let classified = |error| classify(self.name(), &error);
        let answer = self.client.exec_chat_stream(target, chat_request(request), Some(chat)).await;
        let mut stream = answer.map_err(classified)?.stream;
        let (mut text, mut checked) = (String::new(), 0);
        while let Some(event) = stream.next().await {
            match event.map_err(classified)? {
                ChatStreamEvent::Chunk(chunk) => {
                    text.push_str(&chunk.content);
                    request.report(self.name(), text.len());
                }
                ChatStreamEvent::End(StreamEnd {
                    captured_usage, captured_stop_reason, ..
                }) => {
                    let tokens = captured_usage.as_ref().and_then(tokens);
                    return self.ended(text, captured_stop_reason.as_ref(), tokens);
                }
                _ => {}
            }
            if text.len() >= checked + CHECK_EVERY_BYTES {
                checked = text.len();
                if let Some(start) = loop_start(&text) {
                    text.truncate(text.floor_char_boundary(start));
                    return Ok(Called { text, finish: Finish::Repeating, tokens: None });
                }
            }
        }
        Err(self.broken_off())
    }

    /// What an answer comes to that the server ended.
    fn ended(
        &self,
        mut text: String,
        reason: Option<&StopReason>,
        tokens: Option<(u64, u64, u64)>,
    ) -> Result<Called, ModelError> {
        let finish = match reason {
            Some(StopReason::ContentFilter(_)) => return Err(self.refused()),
            Some(StopReason::MaxTokens(_)) => Finish::Length,
            // Some servers give no reason; of those that do, a stream without one was cut.
            None if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err() => {
                return Err(self.broken_off());
            }
            _ if text.trim().is_empty() => return Err(self.refused()),
            _ => Finish::Whole,
        };
        match loop_start(&text).filter(|_| finish == Finish::Length) {
            Some(start) => {
                text.truncate(text.floor_char_boundary(start));
                Ok(Called { text, finish: Finish::Repeating, tokens })
            }
            None => Ok(Called { text, finish, tokens }),
        }
    }

    fn refused(&self) -> ModelError {
        ModelError::new(FailureKind::Refused, format!("{} refused to answer", self.name()))
    }

    fn broken_off(&self) -> ModelError {
        ModelError::new(FailureKind::Unavailable, format!("{}: its answer broke off", self.name()))
    }
}

/// The messages, what seldom changes first and marked for caching.
fn chat_request(request: &Request) -> ChatRequest {
    let stable = match &*request.context {
        "" => request.instructions.clone(),
        context => format!("{}\n\n{context}", request.instructions),
    };
    let system = ChatMessage::system(stable).with_options(CacheControl::Ephemeral);
    let mut messages = vec![system, ChatMessage::user(request.prompt.clone())];
    if let Some(correction) = &request.correction {
        let why = &correction.why;
        messages.push(ChatMessage::assistant(correction.answer.clone()));
        messages.push(ChatMessage::user(format!(
            "That answer cannot be used: {why}. Answer again with one JSON object of the schema that was asked for, and nothing else."
        )));
    }
    ChatRequest::from_messages(messages)
}

/// Tokens read, written and cached, if the server says.
fn tokens(usage: &Usage) -> Option<(u64, u64, u64)> {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let cached =
        usage.prompt_tokens_details.as_ref().and_then(|details| count(details.cached_tokens));
    let input = count(usage.prompt_tokens).filter(|input| *input > 0)?;
    Some((input, count(usage.completion_tokens).unwrap_or(0), cached.unwrap_or(0)))
}
