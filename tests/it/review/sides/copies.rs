//! Names left behind in copies.

use super::{finds, is_silent};

#[test]
fn a_name_left_behind() {
    finds(&[
        (
            "a.py",
            r#"
 def distance(ax, ay, bx, by):
+    dx = abs(ax - bx)
+    dy = abs(ay - bx)
     return dx + dy
"#,
            "name-left-behind:3",
        ),
        (
            "a.js",
            r#"
 function move(a, b) {
+  const dx = scale(a.x, b.x);
+  const dy = scale(a.y, b.x);
   return [dx, dy, b.y];
 }
"#,
            "name-left-behind:3",
        ),
        (
            "a.go",
            r#"
 func read(c *Config) {
+	c.minWidth = parse(c.minWidth, minText)
+	c.maxWidth = parse(c.maxWidth, minText)
 	log(maxText)
 }
"#,
            "name-left-behind:3",
        ),
        (
            "A.java",
            r#"
 class A {
   void copy(Box source, Box target) {
+    int leftEdge = edge(source.left, target.left);
+    int rightEdge = edge(source.right, target.left);
+    use(leftEdge, rightEdge, target.right);
   }
 }
"#,
            "name-left-behind:4",
        ),
        (
            "a.c",
            r#"
 void swap(int first_len, int second_len) {
+  char *first = copy(first_data, first_len);
+  char *second = copy(second_data, first_len);
 }
"#,
            "name-left-behind:3",
        ),
        (
            "a.rs",
            r#"
 fn limits(rows: &[u32], cols: &[u32]) -> (u32, u32) {
+    let rows_max = limit(rows_base, rows.iter(), 1);
+    let cols_max = limit(cols_base, rows.iter(), 1);
     (rows_max, cols_max)
 }
"#,
            "name-left-behind:3",
        ),
        (
            "a.rb",
            r#"
 def read(input_path, output_path)
+  input_file = open_file(input_name, input_path)
+  output_file = open_file(output_name, input_path)
   [input_file, output_file]
 end
"#,
            "name-left-behind:3",
        ),
        (
            "a.php",
            r#"
 <?php
 function read($inputPath, $outputPath) {
+  $inputFile = openFile($inputName, $inputPath);
+  $outputFile = openFile($outputName, $inputPath);
 }
"#,
            "name-left-behind:4",
        ),
        (
            "A.cs",
            r#"
 class A {
   void Read(string inputPath, string outputPath) {
+    var inputFile = OpenFile(inputName, inputPath);
+    var outputFile = OpenFile(outputName, inputPath);
   }
 }
"#,
            "name-left-behind:4",
        ),
    ]);
}

#[test]
fn copies_that_are_whole() {
    is_silent(&[
        (
            "a.py",
            r#"
 def distance(ax, ay, bx, by):
+    dx = abs(ax - bx)
+    dy = abs(ay - by)
     return dx + dy
"#,
        ),
        // Either name is meant in either place.
        (
            "k.py",
            r#"
 class Headers:
+    def keys(self):
+        return [key.decode(self.encoding) for key, value in self._list]
+
+    def values(self):
+        return [value.decode(self.encoding) for key, value in self._list]
"#,
        ),
        // What stays is common to all.
        (
            "b.py",
            r#"
 def draw(size, width, height):
+    width_text = label(width, size)
+    height_text = label(height, size)
"#,
        ),
        // Three of a kind: the same name in each is meant.
        (
            "c.py",
            r#"
 def names(first, second, third):
+    first_text = join(first_name, first)
+    second_text = join(second_name, first)
+    third_text = join(third_name, first)
"#,
        ),
        // Only one name changed.
        (
            "a.js",
            r#"
 function square(el) {
+  el.width = rect.width;
+  el.height = rect.width;
 }
"#,
        ),
        // Two different changes.
        (
            "b.js",
            r#"
 function f(a, b) {
+  const left = go(a, b, first);
+  const right = go(b, a, first);
 }
"#,
        ),
        // A name that nobody knows was not forgotten.
        (
            "c.js",
            r#"
 function f(inputPath) {
+  const inputFile = openFile(inputName, inputPath);
+  const outputFile = openFile(outputName, inputPath);
 }
"#,
        ),
        // The thing has no such member.
        (
            "a.go",
            r#"
 func f(app *App) {
+	app.Status.Health.Status = result.healthStatus
+	app.Status.Health.Message = result.healthMessage
 }
"#,
        ),
        // The one that would be meant is made below.
        (
            "d.go",
            r#"
 func f(t *Type) error {
+	firstTypeName := t.GetType(firstTypeKey)
+	firstRelationName := t.GetRelation(firstTypeKey)
 	firstRelationKey := rels[firstRelationName]
 	return firstRelationKey.Err(firstTypeName)
 }
"#,
        ),
        // A verb that is called, of other things.
        (
            "A.java",
            r#"
 class A {
   Object look(String name, Key getKey, Key removeKey) {
+    Object getResult = wrap(getKey, all.get(name));
+    Object removeResult = wrap(removeKey, all.get(name));
     return all.remove(getResult, removeResult);
   }
 }
"#,
        ),
        // The key of a value keeps its name.
        (
            "e.go",
            r#"
 func f(srv Server, r Router) {
+	registerRouter(srv, &Router{Router: r})
+	registerTable(srv, &Table{Router: r})
 	log(Table)
 }
"#,
        ),
        // Both statements are about the same.
        (
            "B.java",
            r#"
 class B {
   void f(List admins, List owners) {
     Set ownersToRemove = all();
+    adminsToRemove.removeAll(admins, admins.size());
+    adminsToRemove.removeAll(owners, owners.size());
   }
 }
"#,
        ),
        // The attribute of an element keeps its name.
        (
            "a.jsx",
            r#"
 function View({ error, streamableError }) {
+  if (error) return <Message error={error.message} />;
+  if (streamableError) return <Message error={streamableError.message} />;
 }
"#,
        ),
        // Not a copy that is new.
        (
            "b.go",
            r#"
 func f(ax, ay, bx, by int) {
 	dx := abs(ax - bx)
 	dy := abs(ay - bx)
+	log(dx, dy)
 }
"#,
        ),
        // In a test.
        (
            "a_test.go",
            r#"
 func f(ax, ay, bx, by int) {
+	dx := abs(ax - bx)
+	dy := abs(ay - bx)
 }
"#,
        ),
        // Numbers and texts are no names.
        (
            "a.rs",
            r#"
 fn f() {
+    put(1, "a", first);
+    put(2, "b", first);
 }
"#,
        ),
        // Of another length.
        (
            "a.c",
            r#"
 void f(int ax, int ay, int bx, int by) {
+  int dx = abs(ax - bx);
+  int dy = abs(ay - bx) + 1;
 }
"#,
        ),
        // Two left: not a slip.
        (
            "b.c",
            r#"
 void f(int ax, int ay, int bx, int by, int cx, int cy) {
+  int dx = sum(ax, bx, cx, 1);
+  int dy = sum(ay, bx, cx, 1);
 }
"#,
        ),
    ]);
}
