//! `verdict doctor` about the HTTP side.

use serde_json::Value;
use tokio::net::TcpListener;

use super::{serve, stop};
use crate::support::Machine;

fn http(machine: &Machine) -> (Option<i32>, Value) {
    let done = machine.run(&["doctor", "--format", "json"]);
    let rows: Value = serde_json::from_str(&done.stdout).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "http");
    (done.code, row.unwrap().clone())
}

#[tokio::test]
async fn the_address_is_free_or_served_or_somebody_elses() {
    let machine = Machine::new();
    let (process, address) = serve(&machine, "gateway").await;
    let machine = machine.set("server.listen", &address.to_string());
    let (code, row) = http(&machine);
    assert_eq!((code, &row["ok"]), (Some(0), &true.into()), "{row}");
    assert!(row["says"].as_str().unwrap().contains("in use by a `verdict serve`"), "{row}");
    stop(process).await;

    let (code, row) = http(&machine);
    assert_eq!((code, &row["ok"]), (Some(0), &true.into()), "{row}");
    assert!(row["says"].as_str().unwrap().contains("is free"), "{row}");

    // Says nothing to anybody.
    let _other = TcpListener::bind(address).await.unwrap();
    let (code, row) = http(&machine);
    assert_eq!((code, &row["ok"]), (Some(2), &false.into()), "{row}");
    assert!(row["says"].as_str().unwrap().contains("choose another address"), "{row}");
}

#[test]
fn a_part_that_cannot_be_had_has_its_own_row() {
    let machine = Machine::new();
    let file = machine.text("no.db", "this is no database, and long enough to be sure of that");
    let machine = machine.set("queue.url", &format!("embedded:{file}"));
    let done = machine.run(&["doctor"]);
    assert_eq!(done.code, Some(2), "{}", done.stdout);
    assert!(done.stdout.contains("FAIL queue"), "{}", done.stdout);
    assert!(done.stderr.contains("queue failed"), "{}", done.stderr);
}
