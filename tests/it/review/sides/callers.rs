//! Calls left behind by what they call.

use super::{finds, is_silent};

#[test]
fn a_caller_left_behind() {
    finds(&[
        (
            "a.py",
            r#"
-def area(width):
-    return width * width
+def area(width, height):
+    return width * height
 
 def draw(box):
     return area(box.width)
"#,
            "caller-left-behind:5",
        ),
        (
            "b.py",
            r#"
 class Store:
-    def put(self, key):
+    def put(self, key, value):
         self.items[key] = 1
 
     def fill(self):
         self.put("a")
"#,
            "caller-left-behind:6",
        ),
        (
            "c.py",
            r#"
-def area(width, height):
+def area(width):
     return width
 
 def draw(box):
     return area(box.width, box.height)
"#,
            "caller-left-behind:5",
        ),
        (
            "d.py",
            r#"
-def wait(job, timeout=1):
+def wait(job, limit=1):
     return job
 
 def run(job):
     return wait(job, timeout=5)
"#,
            "caller-left-behind:5",
        ),
        (
            "e.py",
            r#"
 class Point:
-    def __init__(self, x):
+    def __init__(self, x, y):
         self.x = x
 
 def origin():
     return Point(0)
"#,
            "caller-left-behind:6",
        ),
        (
            "f.py",
            r#"
-def area(width, height):
+def area(width, *, height):
     return width * height
 
 def draw(box):
     return area(box.width, box.height)
"#,
            "caller-left-behind:5",
        ),
        (
            "a.js",
            r#"
-function area(width, height) {
+function area(unit, width, height) {
   return width * height;
 }
 function draw(box) {
   return area(box.width, box.height);
 }
"#,
            "caller-left-behind:5",
        ),
        (
            "a.rb",
            r#"
-def area(width)
+def area(width, height)
   width
 end
 def draw(box)
   area(box.width)
 end
"#,
            "caller-left-behind:5",
        ),
        (
            "a.php",
            r#"
 <?php
-function area($width) {
+function area($width, $height) {
   return $width;
 }
 function draw($box) {
   return area($box->width);
 }
"#,
            "caller-left-behind:6",
        ),
    ]);
}

#[test]
fn callers_that_fit() {
    is_silent(&[
        // Changed with it.
        (
            "a.py",
            r#"
-def area(width):
+def area(width, height):
     return width
 
 def draw(box):
-    return area(box.width)
+    return area(box.width, box.height)
"#,
        ),
        // May be left out.
        (
            "b.py",
            r#"
-def area(width):
+def area(width, height=1):
     return width
 
 def draw(box):
     return area(box.width)
"#,
        ),
        // Any number.
        (
            "c.py",
            r#"
-def area(width):
+def area(width, *more):
     return width
 
 def draw(box):
     return area(box.width)
"#,
        ),
        // Unpacked.
        (
            "d.py",
            r#"
-def area(width):
+def area(width, height):
     return width
 
 def draw(box):
     return area(*box)
"#,
        ),
        // Somebody else's function.
        (
            "e.py",
            r#"
 class A:
-    def area(self, width):
+    def area(self, width, height):
         return width
 
 def draw(box, other):
     return other.area(box.width)
"#,
        ),
        // The name is imported, too.
        (
            "f.py",
            r#"
 from shapes import area
 def plain():
-    def area(width):
+    def area(width, height):
         return width
 
 def draw(box):
     return area(box.width)
"#,
        ),
        // A decorator decides what it takes.
        (
            "g.py",
            r#"
 @fixture
-def area(width):
+def area(width, height):
     return width
 
 def draw(box):
     return area(box.width)
"#,
        ),
        // A parameter of that name.
        (
            "h.py",
            r#"
-def area(width):
+def area(width, height):
     return width
 
 def draw(box, area):
     return area(box.width)
"#,
        ),
        // It did not fit before either.
        (
            "i.py",
            r#"
-def area(width, height):
+def area(width, height, depth):
     return width
 
 def draw(box):
     return area()
"#,
        ),
        // Types only.
        (
            "j.py",
            r#"
-def area(width):
+def area(width: int) -> int:
     return width
 
 def draw(box):
     return area(box.width)
"#,
        ),
        // One more at the end may be meant to be missing.
        (
            "a.js",
            r#"
-function area(width) {
+function area(width, height) {
   return width * (height || 1);
 }
 function draw(box) {
   return area(box.width);
 }
"#,
        ),
        // A type that says nothing about how many there are.
        (
            "k.py",
            r#"
-def run(start, then=None):
+def run(start, then: Callable[..., None] | None = None):
     return then
 
 def main(job):
     return run(job, then=job.end)
"#,
        ),
        // A parameter that is called as nothing is elsewhere.
        (
            "l.py",
            r#"
-def area(width, null=1):
+def area(width, *, null=1):
     return width
 
 def draw(box):
     return area(box, null=2)
"#,
        ),
        // Edited together with the function.
        (
            "c.js",
            r#"
-function area(width, unit = 'm') {
+function area(width, base, unit = 'm') {
   return width * base;
 }
 function draw(box) {
-  return area(box.width, 'cm');
+  return area(box.width, box.base);
 }
"#,
        ),
        // A rename of a parameter.
        (
            "b.js",
            r#"
-function area(width) {
+function area(breadth) {
   return 1;
 }
 function draw(box) {
   return area(box.width);
 }
"#,
        ),
        // A compiler says so.
        (
            "a.go",
            r#"
-func area(width int) int {
+func area(width, height int) int {
 	return width
 }
 func draw(b box) int { return area(b.width) }
"#,
        ),
        // One too many is dropped there.
        (
            "a.php",
            r#"
 <?php
-function area($width, $height) {
+function area($width) {
   return $width;
 }
 function draw($box) {
   return area($box->width, 2);
 }
"#,
        ),
    ]);
}
