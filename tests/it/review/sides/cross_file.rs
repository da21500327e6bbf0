//! Calls left behind in other files than what they call.

use super::super::support::{Repo, found};
use super::{Change, reported};

/// A function of Python's whose parameters change.
const AREA: &str = "
-def area(width):
+def area(width, height):
     return width * height
";

/// One of JavaScript's.
const DRAW: &str = "
-export function draw(width, height) {
+export function draw(unit, width, height) {
   return width * height;
 }
";

/// One of PHP's.
const LINK: &str = "
 <?php
 namespace App\\Util;
-function link($a) {
+function link($a, $b) {
   return $a;
 }
";

/// Each `(callee, its diff, caller, its diff)` with what is said; a diff of nothing but a `+x` on
/// its first line would be a change, too, but a caller is part of one without any.
fn say(cases: &[(&str, &str, &str, &str)], expected: &[&str]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(callee, changed, caller, calls)| {
            let files =
                [Change { path: callee, diff: changed }, Change { path: caller, diff: calls }];
            let found = reported(&files);
            let told = format!("{callee}{changed}{caller}{calls}{found:?} is not {expected:?}\n");
            (found != expected).then_some(told)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const HERE: &[&str] = &["caller-left-behind:3"];

#[test]
fn a_caller_in_another_file() {
    let python = |caller, calls| ("pkg/shapes.py", AREA, caller, calls);
    let script = |caller, calls| ("web/shapes.js", DRAW, caller, calls);
    say(
        &[
            python("pkg/a.py", "\n from pkg.shapes import area\n def f(b):\n     return area(b)\n"),
            python("pkg/a.py", "\n from .shapes import area\n def f(b):\n     return area(b)\n"),
            python("pkg/sub/a.py", "\n from ..shapes import area\n def f(b):\n     area(b)\n"),
            python("pkg/a.py", "\n from . import shapes\n def f(b):\n     shapes.area(b)\n"),
            python("a.py", "\n from pkg import shapes as s\n def f(b):\n     s.area(b)\n"),
            python("a.py", "\n import pkg.shapes\n def f(b):\n     pkg.shapes.area(b)\n"),
            python("a.py", "\n import os, pkg.shapes as s\n def f(b):\n     s.area(b)\n"),
            python("a.py", "\n from pkg.shapes import area as g\n def f(b):\n     g(b)\n"),
            python("a.py", "\n from pkg.shapes import (old, area as g,)\n def f(b):\n     g(b)\n"),
            // Touched, too.
            python("a.py", "\n from pkg.shapes import area\n def f(b):\n+    return area(b)\n"),
            // Beside the folder of sources.
            ("src/pkg/shapes.py", AREA, "t/a.py", "\n from pkg.shapes import area\n \n area(1)\n"),
            ("pkg/__init__.py", AREA, "a.py", "\n from pkg import area\n \n area(1)\n"),
            // A class.
            (
                "pkg/shapes.py",
                "\n class Box:\n-    def __init__(self, a):\n+    def __init__(self, a, b):\n         self.a = a\n",
                "pkg/a.py",
                "\n from pkg.shapes import Box\n \n box = Box(1)\n",
            ),
            script("web/a.js", "\n import { draw } from './shapes';\n \n draw(1, 2);\n"),
            script("web/a.js", "\n import { draw as d } from \"./shapes.js\";\n \n d(1, 2);\n"),
            script("web/b/a.js", "\n import * as s from '../shapes';\n \n s.draw(1, 2);\n"),
            script("web/a.js", "\n const { draw } = require('./shapes');\n \n draw(1, 2);\n"),
            script("web/a.js", "\n const { draw: d } = require('./shapes')\n \n d(1, 2)\n"),
            script("web/a.js", "\n const s = require('./shapes');\n \n s.draw(1, 2);\n"),
            (
                "web/shapes/index.js",
                "\n-export default function draw(a, b) {\n+export default function draw(c, a, b) {\n   return a;\n }\n",
                "web/a.js",
                "\n import paint from './shapes';\n \n paint(1, 2);\n",
            ),
            (
                "web/shapes.js",
                "\n-exports.draw = (a, b) => {\n+exports.draw = (c, a, b) => {\n   return a;\n };\n",
                "web/a.js",
                "\n const { draw } = require('./shapes');\n \n draw(1, 2);\n",
            ),
            ("l.php", LINK, "a.php", "\n <?php\n use function App\\Util\\link;\n link(1);\n"),
            ("l.php", LINK, "a.php", "\n <?php\n namespace App\\Util;\n link(1);\n"),
            (
                "l.php",
                "\n <?php\n namespace App;\n class Url {\n-  static function to($a) {\n+  public static function to($a, $b) {\n     return $a;\n   }\n }\n",
                "a.php",
                "\n <?php\n use App\\Url;\n Url::to(1);\n",
            ),
        ],
        HERE,
    );
}

#[test]
fn callers_elsewhere_that_mean_something_else() {
    let python = |calls| ("pkg/shapes.py", AREA, "pkg/a.py", calls);
    let script = |calls| ("web/shapes.js", DRAW, "web/a.js", calls);
    let php = |calls| ("l.php", LINK, "a.php", calls);
    say(
        &[
            // One of its own hides it.
            python("\n from pkg.shapes import area\n def area(w):\n     pass\n area(1)\n"),
            python("\n from pkg.shapes import area\n def f(area):\n     area(1)\n"),
            python("\n from pkg.shapes import area\n f = lambda area: area(1)\n"),
            python("\n from pkg.shapes import area\n area = cached(area)\n area(1)\n"),
            python("\n from pkg.shapes import area\n area, b = pair()\n area(1)\n"),
            python("\n from pkg.shapes import area\n for area in all():\n     area(1)\n"),
            // Imported from somewhere else, too, or by a wildcard, or within a function.
            python(
                "\n try:\n     from pkg.shapes import area\n except ImportError:\n     from old import area\n area(1)\n",
            ),
            python("\n from pkg.shapes import *\n area(1)\n"),
            python("\n from pkg.shapes import area\n from old import *\n area(1)\n"),
            python("\n def g():\n     from pkg.shapes import area\n area(1)\n"),
            // Of another module.
            python("\n from old import area\n # pkg.shapes\n area(1)\n"),
            python("\n from other.shapes import area\n area(1)\n"),
            python("\n from .sub.shapes import area\n area(1)\n"),
            python("\n from ..shapes import area\n area(1)\n"),
            // From the package that passes it on.
            python("\n from pkg import area\n # shapes\n area(1)\n"),
            // Nobody knows how many.
            python("\n from pkg.shapes import area\n area(*box)\n"),
            python("\n from pkg.shapes import area\n area(**box)\n"),
            // It fits, or never did.
            python("\n from pkg.shapes import area\n area(1, 2)\n"),
            python("\n from pkg.shapes import area\n area()\n"),
            // A method of that name.
            python("\n from pkg.shapes import area\n box.area(1)\n"),
            // Put in its place for a test.
            python("\n from pkg import shapes\n shapes.area = lambda w: w\n shapes.area(1)\n"),
            python(
                "\n from pkg import shapes\n m.setattr(shapes, 'area', fake)\n shapes.area(1)\n",
            ),
            // What is imported by that name without a folder is this file only beside it.
            ("pkg/shapes.py", AREA, "other/a.py", "\n from shapes import area\n area(1)\n"),
            script("\n import { draw } from './other/shapes';\n draw(1, 2);\n"),
            script("\n import { draw } from 'shapes';\n draw(1, 2);\n"),
            script("\n import draw from './shapes';\n draw(1, 2);\n"),
            script("\n import { draw } from './shapes';\n all((draw) => draw(1, 2));\n"),
            script("\n import { draw } from './shapes';\n all(draw => draw(1, 2));\n"),
            script("\n import { draw } from './shapes';\n all(function (draw) { draw(1, 2); });\n"),
            script(
                "\n import { draw } from './shapes';\n function f() { const { draw } = g(); draw(1, 2); }\n",
            ),
            script("\n let s = require('./shapes');\n s.draw(1, 2);\n"),
            script("\n const s = require('./shapes').old;\n s.draw(1, 2);\n"),
            script("\n export { draw } from './shapes';\n draw(1, 2);\n"),
            script("\n import { draw } from './shapes';\n jest.mock('./shapes');\n draw(1, 2);\n"),
            // What is missing at the end is undefined there.
            script("\n import { draw } from './shapes';\n draw(1);\n"),
            php("\n <?php\n link(1);\n"),
            php("\n <?php\n use function Old\\link;\n link(1);\n"),
            php("\n <?php\n namespace App\\Util;\n function link($a) {}\n link(1);\n"),
            php("\n <?php\n use App\\{Util, Other};\n link(1);\n"),
            php("\n <?php\n namespace App\\Util;\n $this->link(1);\n"),
        ],
        &[],
    );
}

/// Functions of which a call with fewer is none the worse, or of which nobody knows what they take.
#[test]
fn signatures_that_other_files_need_not_follow() {
    let calls = "\n from pkg.shapes import area\n area(1)\n";
    let changes = [
        "\n-def area(width):\n+def area(width, height=1):\n     return width\n",
        "\n-def area(width):\n+def area(width, *more):\n     return width\n",
        "\n-def area(width):\n+def area(width: int) -> int:\n     return width\n",
        "\n @overload\n-def area(width):\n+def area(width, height):\n     return width\n",
        "\n @singledispatch\n-def area(width):\n+def area(width, height):\n     return width\n",
        // Defined twice.
        "\n if new:\n-    def area(width):\n+    def area(width, height):\n         return width\n else:\n     def area(width):\n         return width\n",
        // Something else has its name in the end.
        "\n-def area(width):\n+def area(width, height):\n     return width\n area = partial(area, height=1)\n",
        // Not what others can import.
        "\n def outer():\n-    def area(width):\n+    def area(width, height):\n         return width\n",
    ];
    for change in changes {
        say(&[("pkg/shapes.py", change, "pkg/a.py", calls)], &[]);
    }
    let twice = "\n <?php\n-function link($a) {\n+function link($a, $b) {\n   return $a;\n }\n";
    let calls = "\n <?php\n link(1);\n";
    let files = [("a/l.php", twice), ("b/l.php", twice), ("b/m.php", calls)];
    assert_eq!(reported(&files.map(|(path, diff)| Change { path, diff })), [""; 0]);
}

fn shapes(parameters: &str) -> String {
    format!("def area({parameters}):\n    return width\n")
}

/// Before: a function and a call in another file. After: the function takes more, and the file of
/// the call is touched elsewhere.
fn repo(caller: &str) -> Repo {
    let repo = Repo::new();
    repo.write("pkg/shapes.py", shapes("width"));
    repo.write("pkg/untouched.py", "from pkg.shapes import area\n\n\nx = area(1)\n");
    repo.write(caller, "from pkg.shapes import area\n\n\nx = area(1)\ny = 1\n").commit("base");
    repo.write(caller, "from pkg.shapes import area\n\n\nx = area(1)\ny = 2\n");
    repo
}

/// Only files of the change are read, and what was not touched says so.
#[tokio::test]
async fn a_review_finds_callers_in_other_files_of_the_change() {
    let repo = repo("app/a.py");
    repo.write("pkg/shapes.py", shapes("width, height")).commit("change");
    let state = repo.review("HEAD^!").await;
    assert_eq!(found(&state), ["caller-left-behind app/a.py:4-4"]);
    let body = &state.judgement.unwrap().findings[0].body;
    let told = "`area` in `pkg/shapes.py` takes `(width, height)` since this change (line 1, before `(width)`)";
    assert!(body.contains(told) && body.contains("The line itself was not touched"), "{body}");
}

/// Another file that the import may mean, whether the change touches it or not.
#[tokio::test]
async fn a_review_asks_what_else_an_import_may_mean() {
    let repo = repo("app/a.py");
    repo.write("pkg/shapes.py", shapes("width, height"));
    repo.write("app/pkg/shapes.py", shapes("width")).commit("change");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("pkg/shapes.py", shapes("width"));
    repo.write("app/a.py", "from pkg.shapes import area\n\n\nx = area(1)\ny = 3\n").commit("back");
    repo.write("pkg/shapes.py", shapes("width, height"));
    repo.write("app/a.py", "from pkg.shapes import area\n\n\nx = area(1)\ny = 4\n").commit("again");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}

/// In a renamed file the new path is what an import means.
#[tokio::test]
async fn a_signature_changed_in_a_renamed_file() {
    let body = (0..30).map(|n| format!("    print({n})\n")).collect::<String>();
    let shapes = |parameters: &str| format!("def area({parameters}):\n{body}");
    let repo = Repo::new();
    repo.write("pkg/old.py", shapes("width"));
    repo.write("a.py", "from pkg.old import area\n\n\nx = area(1)\n");
    repo.write("b.py", "from pkg.old import area\n\n\nx = area(1)\ny = 1\n").commit("base");
    repo.remove("pkg/old.py").write("pkg/new.py", shapes("width, height"));
    repo.write("a.py", "from pkg.new import area\n\n\nx = area(1)\n");
    repo.write("b.py", "from pkg.old import area\n\n\nx = area(1)\ny = 2\n").commit("moved");
    assert_eq!(found(&repo.review("HEAD^!").await), ["caller-left-behind a.py:4-4"]);
}

/// A parameter on a line of its own, and nothing else: no line is gone.
#[tokio::test]
async fn a_parameter_that_was_only_added() {
    let shapes =
        |more: &str| format!("def area(\n    width,\n{more}):\n    return width\n\n\narea(1)\n");
    let repo = Repo::new();
    repo.write("pkg/shapes.py", shapes("")).write("pkg/new.py", "a(\n    1,\n)\n");
    repo.write("a.py", "from pkg.shapes import area\n\n\nx = area(1)\n").commit("base");
    repo.write("pkg/shapes.py", shapes("    height,\n"));
    repo.write("a.py", "from pkg.shapes import area\n\n\nx = area(1)\ny = 1\n").commit("more");
    let expected = ["caller-left-behind a.py:4-4", "caller-left-behind pkg/shapes.py:8-8"];
    assert_eq!(found(&repo.review("HEAD^!").await), expected);
    repo.write("pkg/shapes.py", shapes("    height,\n    depth=1,\n"));
    repo.write("a.py", "from pkg.shapes import area\n\n\nx = area(1, 2)\n").commit("optional");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
}
