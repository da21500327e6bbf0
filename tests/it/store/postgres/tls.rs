//! TLS and the password, as the URL and the settings say.

use verdict::{db::PostgresOptions, graph::store::Store};

use super::{open, refused};
use crate::{store::harness::*, support::Database};

#[tokio::test]
async fn a_private_server_with_tls_is_verified_and_given_the_password() {
    let database = Database::private_with_tls().await;
    let name = database.name();
    database
        .command(&format!(
            "CREATE ROLE secure LOGIN PASSWORD 'hunter2'; \
             GRANT CREATE ON DATABASE \"{name}\" TO secure"
        ))
        .await;
    let address = database.address().replace("127.0.0.1", "localhost");
    let authority = database.authority();
    let url = |address: &str, sslmode: &str| {
        format!("postgres://secure@{address}/{name}?sslmode={sslmode}")
    };
    let verified = format!("{}&sslrootcert={}", url(&address, "verify-full"), authority.display());
    let with = |password: &str| PostgresOptions {
        password: Some(password.to_owned().into()),
        ..PostgresOptions::default()
    };

    let (db, store) = open(&verified, with("hunter2")).await;
    assert!(store.open(run("a")).await.unwrap().created);
    db.close().await;
    let (db, _) = open(&url(&address, "require"), with("hunter2")).await;
    db.close().await;

    let error = refused(&verified, with("hunter3")).await;
    assert!(!error.is_transient() && error.message().contains("28P01"), "{error}");
    assert!(!error.message().contains("hunter"), "{error}");
    let error = refused(&url(&address, "disable"), with("hunter2")).await;
    assert!(!error.is_transient() && error.message().contains("28000"), "{error}");
    // An authority that nobody named, and a name the certificate is not for.
    let strange = verified.replace("localhost", "127.0.0.1");
    for url in [url(&address, "verify-full"), strange] {
        let error = refused(&url, with("hunter2")).await;
        assert!(!error.is_transient(), "{error}");
        assert!(error.message().contains("sslrootcert"), "{error}");
    }
    database.finish().await;
}
