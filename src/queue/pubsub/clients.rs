//! The clients of one project, and the calls on topics and subscriptions.

use std::time::Duration;

use google_cloud_auth::credentials::{Credentials, anonymous};
use google_cloud_gax::{
    exponential_backoff::{ExponentialBackoff, ExponentialBackoffBuilder},
    retry_policy::{LimitedAttemptCount, RetryPolicyExt},
};
use google_cloud_pubsub::{
    Error,
    client::{BasePublisher, Publisher, SchemaService, Subscriber, SubscriptionAdmin, TopicAdmin},
    model::Subscription,
    retry_policy::RetryableErrors,
};

use super::{
    Options, QueueError,
    error::{bounded, classify, is_not_found, unbuilt},
};

pub(super) struct Clients {
    pub topics: TopicAdmin,
    pub subscriptions: SubscriptionAdmin,
    pub subscriber: Subscriber,
    /// Only to ask what one may do: of all clients it alone can.
    pub permissions: SchemaService,
    base: BasePublisher,
    pub timeout: Duration,
}

/// Another try when a connection had just been closed; waiting is left to whoever called.
fn policy() -> LimitedAttemptCount<RetryableErrors> {
    RetryableErrors.with_attempt_limit(3)
}

fn pauses() -> ExponentialBackoff {
    let builder = ExponentialBackoffBuilder::new().with_initial_delay(Duration::from_millis(100));
    builder.with_maximum_delay(Duration::from_secs(1)).clamp()
}

macro_rules! built {
    ($builder:expr, $emulator:expr) => {{
        let builder = $builder;
        match $emulator {
            None => builder,
            Some(host) => {
                builder.with_endpoint(format!("http://{host}")).with_credentials(nobody())
            }
        }
        .build()
        .await
        .map_err(|error| unbuilt(&error))?
    }};
}

impl Clients {
    pub(super) async fn build(options: &Options) -> Result<Self, QueueError> {
        let emulator = &options.emulator;
        Ok(Self {
            topics: built!(
                TopicAdmin::builder().with_retry_policy(policy()).with_backoff_policy(pauses()),
                emulator
            ),
            subscriptions: built!(
                SubscriptionAdmin::builder()
                    .with_retry_policy(policy())
                    .with_backoff_policy(pauses()),
                emulator
            ),
            subscriber: built!(Subscriber::builder(), emulator),
            permissions: built!(
                SchemaService::builder().with_retry_policy(policy()).with_backoff_policy(pauses()),
                emulator
            ),
            base: built!(
                BasePublisher::builder()
                    .with_retry_policy(RetryableErrors.with_time_limit(options.timeout)),
                emulator
            ),
            timeout: options.timeout,
        })
    }

    /// A publisher that waits for nothing: what is published while a request is on its way still
    /// shares the next one.
    pub(super) fn publisher(&self, topic: &str) -> Publisher {
        self.base.publisher(topic).set_delay_threshold(Duration::ZERO).build()
    }

    /// The subscription; `None` when there is none.
    pub(super) async fn subscription(
        &self,
        path: &str,
    ) -> Result<Option<Subscription>, QueueError> {
        self.find(path, self.subscriptions.get_subscription().set_subscription(path).send()).await
    }

    /// Whether there is such a topic.
    pub(super) async fn has_topic(&self, path: &str) -> Result<bool, QueueError> {
        let found = self.find(path, self.topics.get_topic().set_topic(path).send()).await?;
        Ok(found.is_some())
    }

    async fn find<T>(
        &self,
        path: &str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, QueueError> {
        let doing = format!("looking up {path}");
        bounded(self.timeout, &doing, async {
            match call.await {
                Ok(found) => Ok(Some(found)),
                Err(error) if is_not_found(&error) => Ok(None),
                Err(error) => Err(classify(&doing, &error)),
            }
        })
        .await
    }
}

fn nobody() -> Credentials {
    anonymous::Builder::new().build()
}
