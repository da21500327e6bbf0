//! RabbitMQ on the suite's bench: each test in a virtual host of its own.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::Mutex;
use verdict::{
    base::{Clock, Timestamp},
    queue::{
        Queue,
        amqp::{Amqp, Options, QueueType},
    },
};

use super::{
    super::bench::{Bench, Promise},
    options,
};
use crate::support::{Broker, Proxy};

const CANNOT: &[(Promise, &str)] = &[
    (Promise::HandedBackFirst, "the broker has sent others ahead by then, up to the prefetch"),
    (Promise::HandBackUncounted, "the broker counts every return, whoever asked for it"),
    (
        Promise::CountsExactly,
        "what was fetched ahead counts too, and a classic queue only says `again`",
    ),
    (Promise::ComesBackByTime, "the broker takes a message back when its channel ends"),
    (Promise::LetterOnce, "the broker looks into no message"),
    (Promise::Wound, "the broker has its own clock"),
    (Promise::TellsInHand, "the protocol tells only what is ready"),
];

pub struct AmqpBench {
    broker: Broker,
    proxy: Mutex<Proxy>,
    options: Options,
}

/// Quorum queues.
pub async fn quorum() -> AmqpBench {
    bench(QueueType::Quorum).await
}

/// Classic queues.
pub async fn classic() -> AmqpBench {
    bench(QueueType::Classic).await
}

async fn bench(queue_type: QueueType) -> AmqpBench {
    let options = Options { queue_type, ..options() };
    let broker = Broker::shared().await;
    let proxy = Mutex::new(Proxy::new(broker.address()));
    AmqpBench { broker, proxy, options }
}

#[async_trait(?Send)]
impl Bench for AmqpBench {
    async fn open(&self) -> Arc<dyn Queue> {
        let url = self.broker.url_through(self.proxy.lock().await.address());
        Arc::new(Amqp::open(&url, self.options.clone(), 64).unwrap())
    }

    fn cannot(&self) -> &[(Promise, &str)] {
        CANNOT
    }

    async fn pass(&self, _: Duration) {}

    async fn take_away(&self) {
        let mut proxy = self.proxy.lock().await;
        proxy.cut().await;
        proxy.mend();
    }

    fn now(&self) -> Timestamp {
        Clock::system().now()
    }

    fn visibility(&self) -> Duration {
        self.options.ack_timeout / 3
    }

    fn delay(&self) -> Duration {
        self.options.delays[0]
    }

    fn limit(&self) -> usize {
        self.options.max_message
    }

    async fn finish(self) {
        self.broker.finish().await;
    }
}
