//! E1, E2: what can be built, and what `compile` refuses.

use verdict::graph::{END, GraphError};

use super::support::{Builder, diamond, say};

fn refused(build: impl FnOnce(&mut Builder)) -> GraphError {
    let mut graph = Builder::new();
    build(&mut graph);
    match graph.compile() {
        Ok(_) => panic!("it compiled"),
        Err(error) => error,
    }
}

/// E2
#[test]
fn a_graph_without_an_entry_is_refused() {
    let error = refused(|graph| {
        graph.node("a", say);
        graph.edge("a", END);
    });
    assert_eq!(error, GraphError::NoEntry);
}

/// E2
#[test]
fn an_edge_to_nowhere_is_refused_with_both_names() {
    let error = refused(|graph| {
        graph.node("a", say);
        graph.entry("a").edge("a", END).edge("a", "ghost");
    });
    assert_eq!(error.to_string(), "`a` leads to `ghost`, which is no node");
}

/// E2
#[test]
fn every_kind_of_unknown_target_is_refused() {
    for kind in ["entry", "branch", "dispatches", "handler", "from", "before"] {
        let error = refused(|graph| {
            let node = graph.node("a", say);
            if kind == "handler" {
                node.on_error_goto("ghost");
            }
            graph.entry(if kind == "entry" { "ghost" } else { "a" }).edge("a", END);
            match kind {
                "branch" => drop(graph.branch("a", ["ghost"], |_| "ghost")),
                "dispatches" => drop(graph.dispatches("a", ["ghost"])),
                "from" => drop(graph.edge("ghost", "a")),
                "before" => drop(graph.interrupt_before("ghost")),
                _ => {}
            }
        });
        assert!(error.to_string().contains("`ghost`"), "{kind}: {error}");
    }
}

/// E2
#[test]
fn a_name_used_twice_is_refused() {
    let error = refused(|graph| {
        graph.node("a", say);
        graph.node("a", say);
        graph.entry("a").edge("a", END);
    });
    assert_eq!(error, GraphError::DuplicateName("a".to_owned()));
    let error = refused(|graph| {
        graph.node(END, say);
        graph.entry(END);
    });
    assert_eq!(error, GraphError::DuplicateName(END.to_owned()));
}

/// E2
#[test]
fn an_unreachable_node_is_refused() {
    let error = refused(|graph| {
        graph.node("a", say);
        graph.node("island", say);
        graph.node("isle", say);
        graph.entry("a").edge("a", END).edge("island", "isle").edge("isle", END);
    });
    assert_eq!(error.to_string(), "no way leads from the entry to `island`, `isle`");
}

/// E2
#[test]
fn a_node_with_no_way_to_the_end_is_refused() {
    let error = refused(|graph| {
        graph.node("a", say);
        graph.node("trap", say);
        graph.entry("a").edge("a", END).edge("a", "trap").edge("trap", "trap");
    });
    assert_eq!(error, GraphError::NoWayToEnd(vec!["trap".to_owned()]));
}

/// E2, E17: a compiled graph is shared, and a changed copy leaves it as it was.
#[tokio::test]
async fn a_double_replaces_one_node_of_one_copy() {
    let graph = diamond();
    let doubled = graph
        .replace("b", |_| async { Ok(super::support::Add::Word("double".to_owned())) })
        .unwrap();
    let ran = super::support::run(&doubled).await;
    assert_eq!(super::support::words(&ran), ["ingest", "a", "double", "c", "judge"]);
    let ran = super::support::run(&graph).await;
    assert_eq!(super::support::words(&ran), ["ingest", "a", "b", "c", "judge"]);
    assert!(graph.replace("ghost", say).is_err());
}
