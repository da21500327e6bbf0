//! E19: drawings of a graph, and of a run's way through it.

use verdict::{
    base::Fault,
    graph::{Drawing, END},
};

use super::{
    bench::{Bench, Calls, waits},
    support::{Builder, TestGraph, Words, nothing, say},
};

/// Every kind of arrow there is.
fn every_arrow() -> TestGraph {
    let mut graph = Builder::new();
    graph.node("plan", say);
    graph.node("work", say).on_error_goto("clean up");
    graph.node("ask \"me\"", nothing);
    graph.node("clean up", say);
    graph.entry("plan").dispatches("plan", ["work"]).edge("plan", "work");
    graph.branch("work", ["plan", "ask \"me\""], |_| "ask \"me\"");
    graph.edge("ask \"me\"", END).edge("clean up", END).interrupt_before("ask \"me\"");
    graph.compile().unwrap()
}

/// The lines that mark a run's way.
fn classes(drawing: &Drawing) -> String {
    let text = drawing.mermaid();
    text.lines().filter(|line| line.contains("class")).map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_graph_alone() {
    let drawing = Drawing::of(&every_arrow());
    insta::assert_snapshot!(drawing.mermaid(), @r#"
    flowchart TD
      START((start))
      n_plan["plan"]
      n_work["work"]
      x2_ask__me_["ask #quot;me#quot;"]
      x3_clean_up["clean up"]
      END((end))
      START --> n_plan
      n_plan -.-> n_work
      n_plan --> n_work
      n_work -.-> n_plan
      n_work -.-> x2_ask__me_
      n_work -. error .-> x3_clean_up
      x2_ask__me_ --> END
      x3_clean_up --> END
    "#);
    insta::assert_snapshot!(drawing.dot(), @r##"
    digraph workflow {
      node [shape=box, style=rounded]
      START [shape=circle, label="start"]
      "plan" [label="plan"]
      "work" [label="work"]
      "ask \"me\"" [label="ask \"me\""]
      "clean up" [label="clean up"]
      END [shape=doublecircle, label="end"]
      START -> "plan"
      "plan" -> "work" [style=dashed]
      "plan" -> "work"
      "work" -> "plan" [style=dashed]
      "work" -> "ask \"me\"" [style=dashed]
      "work" -> "clean up" [style=dashed, label="error"]
      "ask \"me\"" -> "END"
      "clean up" -> "END"
    }
    "##);
}

#[tokio::test]
async fn a_run_that_waits() {
    let bench = Bench::memory();
    let graph = every_arrow();
    let id = bench.open(&graph).await;
    assert!(waits(&bench.run(&graph, &id).await.stop));
    let (_, machine) = bench.runtime.inspect::<Words>(&id).await.unwrap();
    let drawing = Drawing::of(&graph).with_run(&machine);
    let marks = classes(&drawing);
    insta::assert_snapshot!(marks, @r"
    classDef done fill:#d3f9d8,stroke:#2b8a3e
    class n_plan,n_work done
    classDef waiting fill:#fff3bf,stroke:#e67700
    class x2_ask__me_ waiting
    ");
    assert_eq!(drawing.dot().matches("fillcolor=\"#d3f9d8\"").count(), 2);
    assert_eq!(drawing.dot().matches("fillcolor=\"#fff3bf\"").count(), 1);
}

#[tokio::test]
async fn a_run_that_failed_on_its_way() {
    let bench = Bench::memory();
    let graph = Calls::default().failing(&every_arrow(), "work", 1, Fault::permanent("bad"));
    let id = bench.open(&graph).await;
    let _ = bench.run(&graph, &id).await;
    let (_, machine) = bench.runtime.inspect::<Words>(&id).await.unwrap();
    let marks = classes(&Drawing::of(&graph).with_run(&machine));
    insta::assert_snapshot!(marks, @r"
    classDef done fill:#d3f9d8,stroke:#2b8a3e
    class x3_clean_up,n_plan done
    classDef failed fill:#ffe3e3,stroke:#c92a2a
    class n_work failed
    ");
}

/// Names that differ only in what Mermaid does not take are different nodes.
#[test]
fn ids_do_not_collide() {
    let mut graph = Builder::new();
    let names = ["a b", "a-b", "a_b", "a.b", "a2db", "a-2d-b"];
    for name in names {
        graph.node(name, say);
    }
    for pair in names.windows(2) {
        graph.edge(pair[0], pair[1]);
    }
    graph.entry("a b").edge("a-2d-b", END);
    let text = Drawing::of(&graph.compile().unwrap()).mermaid();
    let ids: std::collections::BTreeSet<_> =
        text.lines().filter_map(|line| line.trim().split_once("[\"")).map(|(id, _)| id).collect();
    assert_eq!(ids.len(), names.len(), "{text}");
}
