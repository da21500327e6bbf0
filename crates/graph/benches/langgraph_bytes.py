"""Bytes that LangGraph's default saver keeps for a run whose steps each append 100 bytes."""

import operator
import time
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph


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


def stored(steps: int) -> tuple[int, float]:
    graph = StateGraph(Words)
    graph.add_node("add", lambda state: {"words": ["x" * 100]})
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", lambda s: "add" if len(s["words"]) < s["steps"] else END)
    saver = InMemorySaver()
    compiled = graph.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": steps + 10}
    began = time.perf_counter()
    compiled.invoke({"steps": steps, "words": []}, config)
    took = (time.perf_counter() - began) * 1e3
    kept = sum(size(dict(part)) for part in (saver.storage, saver.writes, saver.blobs))
    return kept, took


print("LangGraph, in-memory saver, the same steps")
print(f"{'steps':>10} {'bytes':>14} {'bytes/step':>14} {'ms':>9}")
for steps in (4, 49, 499, 1999):
    kept, took = stored(steps)
    print(f"{steps:>10} {kept:>14} {kept / steps:>14.1f} {took:>9.1f}")
