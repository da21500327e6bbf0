"""Bytes that LangGraph keeps for a run whose steps each append 100 bytes: its default saver, in
memory; the same with a channel that keeps differences, where this version has it; and its SQLite
saver, where that is installed. Runs of a whole list at each step grow with the square of the steps, so
none is as long as the benchmark's longest."""

import operator
import os
import tempfile
import time
from importlib.metadata import version
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

try:
    from langgraph.channels.delta import DeltaChannel
except ImportError:
    DeltaChannel = None
try:
    from langgraph.checkpoint.sqlite import SqliteSaver
except ImportError:
    SqliteSaver = None


class Words(TypedDict):
    steps: int
    words: Annotated[list[str], operator.add]


def size(value) -> int:
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(size(key) + size(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(size(item) for item in value)
    return 0


def run(state, saver, steps: int) -> float:
    """Milliseconds of a run."""
    graph = StateGraph(state)
    graph.add_node("add", lambda state: {"words": ["x" * 100]})
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", lambda s: "add" if len(s["words"]) < s["steps"] else END)
    compiled = graph.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": steps + 10}
    began = time.perf_counter()
    ended = compiled.invoke({"steps": steps, "words": []}, config)
    took = (time.perf_counter() - began) * 1e3
    assert len(ended["words"]) == steps, len(ended["words"])
    return took


def in_memory(state, steps: int) -> tuple[int, float]:
    saver = InMemorySaver()
    took = run(state, saver, steps)
    kept = sum(size(dict(part)) for part in (saver.storage, saver.writes, saver.blobs))
    return kept, took


def on_sqlite(steps: int) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.db")
        with SqliteSaver.from_conn_string(path) as saver:
            took = run(Words, saver, steps)
        # The last connection to close leaves one file.
        return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)), took


def table(title: str, stored, lengths) -> None:
    print(f"\n{title}, the same steps")
    print(f"{'steps':>10} {'bytes':>14} {'bytes/step':>14} {'ms':>9}")
    for steps in lengths:
        kept, took = stored(steps)
        print(f"{steps:>10} {kept:>14} {kept / steps:>14.1f} {took:>9.1f}")


print(f"LangGraph {version('langgraph')}")
table("in-memory saver", lambda steps: in_memory(Words, steps), (4, 49, 499, 1999))
if DeltaChannel:

    class Deltas(TypedDict):
        steps: int
        words: Annotated[
            list[str],
            DeltaChannel(lambda words, new: words + [word for some in new for word in some]),
        ]

    table("in-memory saver, DeltaChannel", lambda steps: in_memory(Deltas, steps), (4, 49, 499, 1999))
if SqliteSaver:
    table("SQLite saver", on_sqlite, (4, 49, 499))
