//! Closes taken away.

use super::{finds, is_silent};

#[test]
fn a_close_taken_away() {
    finds(&[
        (
            "a.go",
            r#"
 func count(path string) int {
 	f, err := os.Open(path)
 	if err != nil {
 		return 0
 	}
-	defer f.Close()
 	return lines(f.Name())
 }
"#,
            "close-removed:2",
        ),
        (
            "b.go",
            r#"
 func size(url string) int64 {
 	resp, err := http.Get(url)
 	if err != nil {
 		return 0
 	}
-	defer resp.Body.Close()
 	return resp.ContentLength
 }
"#,
            "close-removed:2",
        ),
        (
            "a.py",
            r#"
 def first(path):
-    with open(path) as f:
-        return f.readline()
+    f = open(path)
+    return f.readline()
"#,
            "close-removed:2",
        ),
        (
            "b.py",
            r#"
 def first(path):
     f = open(path)
     line = f.readline()
-    f.close()
     return line
"#,
            "close-removed:2",
        ),
        (
            "A.java",
            r#"
 class A {
   String first(Path path) throws IOException {
-    try (BufferedReader reader = Files.newBufferedReader(path)) {
-      return reader.readLine();
-    }
+    BufferedReader reader = Files.newBufferedReader(path);
+    return reader.readLine();
   }
 }
"#,
            "close-removed:3",
        ),
        (
            "A.cs",
            r#"
 class A {
   string First(string path) {
-    using var reader = File.OpenText(path);
+    var reader = File.OpenText(path);
     return reader.ReadLine();
   }
 }
"#,
            "close-removed:3",
        ),
        (
            "B.cs",
            r#"
 class A {
   string First(string path) {
-    using (var reader = File.OpenText(path)) {
-      return reader.ReadLine();
-    }
+    var reader = File.OpenText(path);
+    return reader.ReadLine();
   }
 }
"#,
            "close-removed:3",
        ),
        (
            "a.c",
            r#"
 int first(const char *path) {
   FILE *file = fopen(path, "r");
   int c = fgetc(file);
-  fclose(file);
   return c;
 }
"#,
            "close-removed:2",
        ),
        (
            "a.rb",
            r#"
 def first(path)
   file = File.open(path)
   line = file.readline
-  file.close()
   line
 end
"#,
            "close-removed:2",
        ),
    ]);
}

#[test]
fn what_is_closed_otherwise() {
    is_silent(&[
        // Closed at once.
        (
            "a.go",
            r#"
 func count(path string) int {
 	f, _ := os.Open(path)
-	defer f.Close()
-	return lines(f.Name())
+	n := lines(f.Name())
+	f.Close()
+	return n
 }
"#,
        ),
        // Returned: whoever gets it closes it.
        (
            "b.go",
            r#"
 func open(path string) *os.File {
 	f, _ := os.Open(path)
-	defer f.Close()
 	return f
 }
"#,
        ),
        // Kept.
        (
            "c.go",
            r#"
 func (a *A) open(path string) {
 	f, _ := os.Open(path)
-	defer f.Close()
 	a.file = f
 }
"#,
        ),
        // Passed on.
        (
            "d.go",
            r#"
 func open(path string) *Reader {
 	f, _ := os.Open(path)
-	defer f.Close()
 	return NewReader(f)
 }
"#,
        ),
        // The opening went, too.
        (
            "e.go",
            r#"
 func count(path string) int {
-	f, _ := os.Open(path)
-	defer f.Close()
-	return lines(f.Name())
+	return lines(path)
 }
"#,
        ),
        // A helper closes it.
        (
            "f.go",
            r#"
 func count(path string) int {
 	f, _ := os.Open(path)
-	defer f.Close()
+	defer closeQuietly(f)
 	return lines(f.Name())
 }
"#,
        ),
        // A context in place of a call.
        (
            "a.py",
            r#"
 def first(path):
-    f = open(path)
-    line = f.readline()
-    f.close()
-    return line
+    with open(path) as f:
+        return f.readline()
"#,
        ),
        // Two in one.
        (
            "b.py",
            r#"
 def first(path):
-    with open(path) as f:
+    with lock, open(path) as f:
         return f.readline()
"#,
        ),
        // A stack closes it.
        (
            "c.py",
            r#"
 def first(path, stack):
-    with open(path) as f:
-        return f.readline()
+    f = stack.enter_context(open(path))
+    return f.readline()
"#,
        ),
        // Another resource is opened.
        (
            "d.py",
            r#"
 def first(path):
-    with open(path) as f:
-        return f.readline()
+    f = Path(path).read_text()
+    return f.splitlines()[0]
"#,
        ),
        // `using` of another form.
        (
            "A.cs",
            r#"
 class A {
   string First(string path) {
-    using (var reader = File.OpenText(path)) {
-      return reader.ReadLine();
-    }
+    using var reader = File.OpenText(path);
+    return reader.ReadLine();
   }
 }
"#,
        ),
        // Another resource in the same parentheses.
        (
            "A.java",
            r#"
 class A {
   String first(Path path) throws IOException {
-    try (BufferedReader reader = Files.newBufferedReader(path)) {
+    try (Log log = start(); BufferedReader reader = Files.newBufferedReader(path)) {
       return reader.readLine();
     }
   }
 }
"#,
        ),
        // In a test.
        (
            "tests/test_a.py",
            r#"
 def test_first(path):
     f = open(path)
     assert f.readline()
-    f.close()
"#,
        ),
        // Layout.
        (
            "e.py",
            r#"
 def first(path):
-    with open(path) as f: return f.readline()
+    with open(path) as f:
+        return f.readline()
"#,
        ),
    ]);
}
