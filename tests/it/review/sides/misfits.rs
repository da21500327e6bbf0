//! Calls that do not fit what they call in the same file.

use super::{finds, is_silent};

#[test]
fn a_call_that_does_not_fit() {
    finds(&[
        (
            "a.py",
            r#"
 def area(width, height, *, unit="m"):
     return width * height
 
+def draw(box):
+    return area(box.width)
"#,
            "wrong-arguments:5",
        ),
        (
            "b.py",
            r#"
+def area(width, height, *, unit="m"):
+    return width * height
+
+print(area(1, 2, units="cm"))
"#,
            "wrong-arguments:4",
        ),
        (
            "c.py",
            r#"
 class Store(Base):
     def __init__(self, path):
         self.path = path
 
     def put(self, key, value=None):
         self.items[key] = value
 
     def fill(self):
+        self.put("a", 1, 2)
         return self
"#,
            "wrong-arguments:9",
        ),
        (
            "d.py",
            r#"
 class Store:
     def __init__(self, path):
         self.path = path
 
+store = Store()
"#,
            "wrong-arguments:5",
        ),
        (
            "e.php",
            r#"
 <?php
 function area(int $width, int $height, string $unit = 'm') { return $width * $height; }
+echo area(1);
"#,
            "wrong-arguments:3",
        ),
        (
            "f.rb",
            r#"
 def area(width, height)
   width * height
 end
+puts area(1, 2, 3)
"#,
            "wrong-arguments:4",
        ),
    ]);
}

/// A call that was left behind is told as that, and no second time.
#[test]
fn a_call_left_behind_is_told_once() {
    finds(&[(
        "a.py",
        r#"
-def area(width):
+def area(width, height):
     return width
 
-print(area(1) + 1)
+print(area(1))
"#,
        "caller-left-behind:4",
    )]);
}

/// What fits, what cannot be counted, and what may be another function.
#[test]
fn calls_that_may_fit() {
    is_silent(&[
        (
            "a.py",
            r#"
 def area(width, height=1, *rest, unit, **more):
     return width * height
 
+area(1, unit="m")
+area(1, 2, 3, 4, unit="m", colour="red")
+area(*sides)
+area(**box)
"#,
        ),
        (
            "b.py",
            r#"
 def each(items, act):
     return [act(item) for item in items]
 
+each(boxes, lambda box, unit="m": box.width)
+each(items=boxes, act=print)
"#,
        ),
        (
            "c.py",
            r#"
 @click.command()
 def area(width, height):
     return width * height
 
 @contextmanager
 def opened(path):
     yield path
 
+area()
+opened()
+shapes.opened(1, 2)
"#,
        ),
        (
            "d.py",
            r#"
 try:
     from fast import area
 except ImportError:
     def area(width, height):
         return width * height
 
+area(1)
"#,
        ),
        // Called before what it names was written; the test wants the error.
        (
            "tests/test_e.py",
            r#"
 def area(width, height):
     return width * height
 
+def test_area():
+    with pytest.raises(TypeError):
+        area()
"#,
        ),
        (
            "f.php",
            r#"
 <?php
 function area($width, ...$more) { return $width; }
 function total() { return array_sum(func_get_args()); }
 function sized($width, $height) { return $width; }
+area(1, 2, 3); total(1, 2); sized(1, 2, 3); sized(height: 1, width: 2);
"#,
        ),
        (
            "g.rb",
            r#"
 def area(width, options)
   width
 end
+area(1, unit: 'm')
"#,
        ),
        // A class derived from this one has it.
        (
            "j.py",
            r#"
 class Shape:
     def _drawn(self):
         raise NotImplementedError
 
     def draw(self):
+        return self._drawn(self)
"#,
        ),
        // A comma in a text is no argument.
        (
            "i.php",
            r#"
 <?php
 function joined($items, $between) { return implode($between, $items); }
+joined([1], ','); joined(["("], ", ");
"#,
        ),
        // An older misfit is not of this change.
        (
            "h.py",
            r#"
 def area(width, height):
     return width * height
 
 area(1)
+area(1, 2)
"#,
        ),
    ]);
}
