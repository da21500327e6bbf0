//! Language models as a script: a server that speaks the formats of OpenAI, Anthropic and Gemini over HTTP, streamed and whole,
//! and answers what a test wrote down for it. verdict knows it only by its address.
//!
//! ```
//! use fake_models::{ModelServer, Reply, When};
//! use serde_json::json;
//!
//! let models = ModelServer::start().unwrap();
//! // The last reply of a script is given from then on; scripts added later are asked first.
//! models.script(When::any(), [Reply::json(json!({"findings": []}))]);
//! models.script(
//!     When::says("security"),
//!     [Reply::status(429).header("retry-after", "1"), Reply::status(500), Reply::next_script()],
//! );
//! // `model.chain` of the settings: an entry for each format.
//! let chain = [models.openai("a"), models.anthropic("b"), models.gemini("c")].join(",");
//! # assert!(chain.contains("anthropic::b@http://"));
//! // … later: what was asked, and what it would have cost.
//! assert_eq!(models.calls().len(), 0);
//! assert_eq!(models.paid().calls, 0);
//! ```
//!
//! What it promises: it logs every request before it answers; a request that no script is for is answered with 400 and says so,
//! so that a test fails where its script has a gap; it counts tokens as about three characters each, and those of instructions
//! that the same model has read before as cached. What it never does: think.
//!
//! | file | is |
//! |---|---|
//! | `call.rs` | a request as it was asked |
//! | `script.rs` | which reply is for which call |
//! | `reply.rs` | what is answered, and how it goes wrong |
//! | `wire/` | the formats, one file each |
//! | `server.rs` | the server and its log |
//! | `body.rs` | bodies that come in pieces, late, or not whole |

mod body;
mod call;
mod reply;
mod script;
mod server;
mod wire;

pub use call::{Call, Outcome, Paid, Wire};
pub use reply::Reply;
pub use script::When;
pub use server::ModelServer;
