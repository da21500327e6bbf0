//! The command line on every store, through the real binary. A test is an async function over a
//! [`Site`](site::Site); `on_every_store!` makes one of it for each store.

mod action;
mod away;
mod backup;
mod deleting;
mod listing;
mod messages;
mod permissions;
mod recipes;
mod retention;
mod sealing;
mod shells;
mod site;
mod stopping;
mod watching;

macro_rules! on_every_store {
    ($($test:ident),+ $(,)?) => {
        on_every_store!(@on sqlite, [$($test),+]);
        on_every_store!(@on postgres, [$($test),+]);
        on_every_store!(@on firestore, [$($test),+]);
    };
    (@on $store:ident, [$($test:ident),+]) => {
        mod $store {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let site = crate::cli::site::Site::$store().await;
                    super::$test(&site).await;
                    site.done().await;
                }
            )+
        }
    };
}
pub(crate) use on_every_store;
