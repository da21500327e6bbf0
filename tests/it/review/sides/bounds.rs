//! Checks of lengths and for zero taken away.

use super::{finds, is_silent};

#[test]
fn a_check_of_a_length_taken_away() {
    finds(&[
        (
            "a.py",
            "\n def first(xs):\n-    if not xs:\n-        return None\n     return xs[0]\n",
            "guard-removed:2",
        ),
        (
            "b.py",
            "\n def last(xs):\n-    if len(xs) == 0:\n-        raise Empty()\n     return xs[-1]\n",
            "guard-removed:2",
        ),
        (
            "c.py",
            "\n def best(box):\n-    if not box.items:\n-        return None\n     return max(box.items)\n",
            "guard-removed:2",
        ),
        (
            "d.py",
            "\n def host(line):\n     parts = line.split()\n-    if len(parts) < 2:\n-        return None\n     return parts[1]\n",
            "guard-removed:3",
        ),
        (
            "a.go",
            "\n func at(xs []int, i int) int {\n-\tif i >= len(xs) {\n-\t\treturn 0\n-\t}\n \treturn xs[i]\n }\n",
            "guard-removed:2",
        ),
        (
            "b.go",
            "\n func at(xs []int, i int) int {\n-\tif i < 0 || i >= len(xs) {\n-\t\treturn 0\n-\t}\n \treturn xs[i]\n }\n",
            "guard-removed:2",
        ),
        (
            "c.go",
            "\n func first(xs []int) {\n-\tif len(xs) > 0 {\n-\t\tshow(xs[0])\n-\t}\n+\tshow(xs[0])\n }\n",
            "guard-removed:2",
        ),
        (
            "a.rs",
            "\n fn first(xs: &[u8]) -> u8 {\n-    if xs.is_empty() {\n-        return 0;\n-    }\n     *xs.first().unwrap()\n }\n",
            "guard-removed:2",
        ),
        (
            "A.java",
            "\n class A {\n   int first(List<Integer> xs) {\n-    if (xs.isEmpty()) {\n-      return 0;\n-    }\n     return xs.get(0);\n   }\n }\n",
            "guard-removed:3",
        ),
        (
            "B.java",
            "\n class A {\n   int at(int[] xs, int i) {\n-    if (xs.length <= i) {\n-      return 0;\n-    }\n     return xs[i];\n   }\n }\n",
            "guard-removed:3",
        ),
        (
            "A.cs",
            "\n class A {\n   int First(List<int> xs) {\n-    if (xs.Count == 0) {\n-      return 0;\n-    }\n     return xs[0];\n   }\n }\n",
            "guard-removed:3",
        ),
        (
            "a.cpp",
            "\n int first(const std::vector<int> &xs) {\n-  if (xs.empty()) {\n-    return 0;\n-  }\n   return xs.front();\n }\n",
            "guard-removed:2",
        ),
        (
            "a.js",
            "\n function first(xs) {\n-  if (xs.length === 0) {\n-    return null;\n-  }\n   return xs[0].name;\n }\n",
            "guard-removed:2",
        ),
        (
            "a.rb",
            "\n def first(xs)\n-  return if xs.empty?\n   xs[0].name\n end\n",
            "guard-removed:2",
        ),
        (
            "a.php",
            "\n <?php\n function first($xs) {\n-  if (empty($xs)) {\n-    return;\n-  }\n   return $xs[0]->name;\n }\n",
            "guard-removed:3",
        ),
    ]);
}

#[test]
fn a_check_for_zero_taken_away() {
    finds(&[
        (
            "a.py",
            "\n def mean(total, n):\n-    if n == 0:\n-        return 0\n     return total / n\n",
            "guard-removed:2",
        ),
        (
            "b.py",
            "\n def mean(xs):\n-    if len(xs) == 0:\n-        return 0\n     return sum(xs) / len(xs)\n",
            "guard-removed:2",
        ),
        (
            "c.py",
            "\n def mean(total, n):\n-    if n <= 0:\n-        return 0\n     return total / float(n)\n",
            "guard-removed:2",
        ),
        (
            "a.go",
            "\n func slot(key, n int) int {\n-\tif n == 0 {\n-\t\treturn 0\n-\t}\n \treturn key % n\n }\n",
            "guard-removed:2",
        ),
        (
            "a.c",
            "\n int mean(int total, int n) {\n-  if (!n)\n-    return 0;\n   return total / n;\n }\n",
            "guard-removed:2",
        ),
        (
            "A.java",
            "\n class A {\n   int mean(int total) {\n-    if (this.count == 0) {\n-      return 0;\n-    }\n     return total / this.count;\n   }\n }\n",
            "guard-removed:3",
        ),
        (
            "a.ts",
            "\n function share(part: number, total: number) {\n-  if (total === 0) return 0;\n   return part / total;\n }\n",
            "guard-removed:2",
        ),
        (
            "a.rs",
            "\n fn share(part: u64, total: u64) -> u64 {\n-    if 0 == total {\n-        return 0;\n-    }\n     part / total\n }\n",
            "guard-removed:2",
        ),
    ]);
}

#[test]
fn lengths_and_numbers_that_are_sure_without() {
    is_silent(&[
        // Another condition asks.
        (
            "a.py",
            "\n def first(xs):\n-    if not xs:\n-        return None\n     return xs[0] if xs else None\n",
        ),
        // A line of the change asks.
        (
            "b.py",
            "\n def first(xs):\n-    if not xs:\n-        return None\n     return xs[0]\n \n def all(xs):\n+    if xs:\n         return first(xs)\n",
        ),
        // An error is caught.
        (
            "c.py",
            "\n def first(xs):\n-    if not xs:\n-        return None\n+    try:\n         return xs[0]\n+    except IndexError:\n+        return None\n",
        ),
        // Another index.
        (
            "d.py",
            "\n def name(parts):\n-    if len(parts) < 2:\n-        return None\n     return parts[0]\n",
        ),
        // Within what goes through it there is at least one.
        (
            "e.py",
            "\n def f(xs):\n     for x in xs:\n-        if not xs:\n-            return None\n         show(x, xs[0])\n",
        ),
        // It is filled in between.
        (
            "f.py",
            "\n def f(xs):\n-    if not xs:\n-        return None\n     xs.append(1)\n     return xs[0]\n",
        ),
        (
            "g.py",
            "\n def f(n):\n-    if n == 0:\n-        return None\n     n = other()\n     return 1 / n\n",
        ),
        // It comes from elsewhere now.
        (
            "h.py",
            "\n def f(a):\n-    xs = find(a)\n-    if not xs:\n-        return None\n+    xs = known(a)\n     return xs[0]\n",
        ),
        // It does not leave.
        ("i.py", "\n def f(xs):\n-    if not xs:\n-        warn()\n     return xs[0]\n"),
        // A path, a format.
        (
            "j.py",
            "\n def f(root, n):\n-    if not n:\n-        return root\n     return root / n\n",
        ),
        ("k.py", "\n def f(n):\n-    if n == 0:\n-        return ''\n     return '%d' % n\n"),
        // Asserted.
        (
            "l.py",
            "\n def f(xs):\n     assert xs\n-    if not xs:\n-        return None\n     return xs[0]\n",
        ),
        // Kept above 0.
        (
            "m.py",
            "\n def f(n):\n-    if n == 0:\n-        return 0\n     total = 1 / n\n     return max(n, 1)\n",
        ),
        // Of another number.
        ("n.py", "\n def f(n, m):\n-    if n == 0:\n-        return 0\n     return 1 / m\n"),
        // Whether something is small says nothing about 0.
        ("o.py", "\n def f(n):\n-    if n > 0:\n-        return 0\n     return 1 / n\n"),
        // More is asked for at once.
        (
            "p.py",
            "\n def f(xs, strict):\n-    if not xs and strict:\n-        return None\n     return xs[0]\n",
        ),
        // The use is another one.
        (
            "q.py",
            "\n def f(xs):\n-    if not xs:\n-        return None\n-    return xs[0]\n+    return next(iter(xs), None)\n",
        ),
        // In a test.
        (
            "tests/test_a.py",
            "\n def test_f():\n     xs = find()\n-    if not xs:\n-        return\n     show(xs[0])\n",
        ),
        // No value is no error there.
        (
            "a.js",
            "\n function f(xs) {\n-  if (!xs.length) {\n-    return undefined;\n-  }\n   return xs[0];\n }\n",
        ),
        (
            "b.js",
            "\n function f(xs) {\n-  if (!xs.length) {\n-    return undefined;\n-  }\n   return xs[0]?.name;\n }\n",
        ),
        ("a.rb", "\n def f(xs)\n-  return if xs.empty?\n   xs[0]\n end\n"),
        // A caller makes sure.
        (
            "a.go",
            "\n func at(xs []int, i int) int {\n-\tif i >= len(xs) {\n-\t\treturn 0\n-\t}\n \treturn xs[i]\n }\n \n func all(xs []int, i int) int {\n+\tif i >= len(xs) {\n+\t\treturn 0\n+\t}\n \treturn at(xs, i)\n }\n",
        ),
        // Another index, another list.
        (
            "b.go",
            "\n func at(xs []int, i, j int) int {\n-\tif i >= len(xs) {\n-\t\treturn 0\n-\t}\n \treturn xs[j]\n }\n",
        ),
        (
            "c.go",
            "\n func at(xs, ys []int, i int) int {\n-\tif i >= len(ys) {\n-\t\treturn 0\n-\t}\n \treturn xs[i]\n }\n",
        ),
        // The loop makes sure of it.
        (
            "d.go",
            "\n func f(xs []int) {\n \tfor i := range xs {\n-\t\tif i >= len(xs) {\n-\t\t\treturn\n-\t\t}\n \t\tshow(xs[i])\n \t}\n }\n",
        ),
        (
            "a.rs",
            "\n fn f(n: u64) -> u64 {\n-    if n == 0 {\n-        return 0;\n-    }\n     100 / n.max(1)\n }\n",
        ),
        (
            "A.java",
            "\n class A {\n   int f(int total, int n) {\n-    if (n == 0) {\n-      return 0;\n-    }\n     return switchOn(total) ? 0 : n == 0 ? 1 : total / n;\n   }\n }\n",
        ),
    ]);
}
