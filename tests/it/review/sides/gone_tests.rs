//! Tests that went or were emptied.

use verdict::analysis::sides::tests;

use super::{Change, finds, is_silent, said};

#[test]
fn a_test_that_is_gone() {
    finds(&[
        (
            "tests/test_a.py",
            r#"
 def test_add():
     assert add(1, 2) == 3
-
-def test_add_zero():
-    assert add(0, 0) == 0
"#,
            "test-removed:-4?",
        ),
        (
            "a_test.go",
            r#"
 func TestAdd(t *testing.T) {
 	check(t, add(1, 2))
 }
-func TestZero(t *testing.T) {
-	check(t, add(0, 0))
-}
"#,
            "test-removed:-4?",
        ),
        (
            "src/a.test.js",
            r#"
 describe('add', () => {
   it('adds', () => { expect(add(1, 2)).toBe(3); });
-  it('adds zero', () => { expect(add(0, 0)).toBe(0); });
 });
"#,
            "test-removed:-3?",
        ),
        (
            "src/a.test.ts",
            r#"
 test('adds', () => { expect(add(1, 2)).toBe(3); });
-test('adds zero', () => { expect(add(0, 0)).toBe(0); });
"#,
            "test-removed:-2?",
        ),
        (
            "src/a.rs",
            r#"
 #[cfg(test)]
 mod tests {
     #[test]
     fn adds() { assert_eq!(add(1, 2), 3); }
-    #[test]
-    fn adds_zero() { assert_eq!(add(0, 0), 0); }
 }
"#,
            "test-removed:-5?",
        ),
        (
            "src/test/java/AddTest.java",
            r#"
 class AddTest {
   @Test void adds() { assertEquals(3, add(1, 2)); }
-  @Test void addsZero() { assertEquals(0, add(0, 0)); }
 }
"#,
            "test-removed:-3?",
        ),
        (
            "spec/add_spec.rb",
            r#"
 describe "add" do
   it("adds") { expect(add(1, 2)).to eq(3) }
-  it("adds zero") { expect(add(0, 0)).to eq(0) }
 end
"#,
            "test-removed:-3?",
        ),
        (
            "tests/AddTest.php",
            r#"
 <?php
 class AddTest {
   function testAdds() { $this->assertSame(3, add(1, 2)); }
-  function testZero() { $this->assertSame(0, add(0, 0)); }
 }
"#,
            "test-removed:-4?",
        ),
    ]);
}

#[test]
fn a_test_that_asserts_nothing() {
    finds(&[
        (
            "tests/test_a.py",
            r#"
 def test_add():
     total = add(1, 2)
-    assert total == 3
"#,
            "test-without-assertion:1",
        ),
        (
            "a_test.go",
            r#"
 func TestAdd(t *testing.T) {
 	total := add(1, 2)
-	if total != 3 {
-		t.Errorf("no")
-	}
 	log.Print(total)
 }
"#,
            "test-without-assertion:1",
        ),
        (
            "src/a.test.js",
            r#"
 it('adds', () => {
   const total = add(1, 2);
-  expect(total).toBe(3);
 });
"#,
            "test-without-assertion:1",
        ),
        (
            "src/test/java/AddTest.java",
            r#"
 class AddTest {
   @Test void adds() {
     int total = add(1, 2);
-    assertEquals(3, total);
   }
 }
"#,
            "test-without-assertion:2",
        ),
        (
            "src/a.test.ts",
            r#"
 test('adds', () => {
   const total = add(1, 2);
-  assert.equal(total, 3);
 });
"#,
            "test-without-assertion:1",
        ),
        (
            "tests/AddTest.php",
            r#"
 <?php
 class AddTest {
   function testAdds() {
     $total = add(1, 2);
-    $this->assertSame(3, $total);
   }
 }
"#,
            "test-without-assertion:3",
        ),
        (
            "src/a.rs",
            r#"
 #[cfg(test)]
 mod tests {
     #[test]
     fn adds() {
         let total = add(1, 2);
-        assert_eq!(total, 3);
     }
 }
"#,
            "test-without-assertion:3",
        ),
        (
            "spec/add_spec.rb",
            r#"
 describe "add" do
   it("adds") do
     total = add(1, 2)
-    expect(total).to eq(3)
   end
 end
"#,
            "test-without-assertion:2",
        ),
    ]);
}

#[test]
fn tests_that_are_elsewhere_now() {
    is_silent(&[
        // What it asserts by is in its name as well.
        (
            "spec/add_spec.rb",
            r#"
 describe "add" do
   it "should add two numbers" do
     sum = add(1, 2)
-    sum.name.should == "three"
     sum.value.should == 3
   end
 end
"#,
        ),
        // Renamed.
        (
            "tests/test_a.py",
            r#"
-def test_add():
+def test_add_two():
     assert add(1, 2) == 3
"#,
        ),
        // Joined.
        (
            "tests/test_b.py",
            r#"
-def test_add():
-    assert add(1, 2) == 3
-def test_zero():
-    assert add(0, 0) == 0
+@pytest.mark.parametrize("a, b, c", [(1, 2, 3), (0, 0, 0)])
+def test_sums(a, b, c):
+    assert add(a, b) == c
"#,
        ),
        // Moved within the file.
        (
            "tests/test_c.py",
            r#"
-def test_zero():
-    assert add(0, 0) == 0
-
 def test_add():
     assert add(1, 2) == 3
+
+def test_zero():
+    assert add(0, 0) == 0
"#,
        ),
        // The helper it tested is gone, too.
        (
            "tests/test_d.py",
            r#"
-def sum_of(a):
-    return a
-
 def test_add():
     assert add(1, 2) == 3
-
-def test_sum():
-    assert sum_of(1) == 1
"#,
        ),
        // No test.
        (
            "tests/helpers.py",
            r#"
 def build(a):
     return a
-
-def other(a):
-    return add(a)
"#,
        ),
        // The assertion is in a helper.
        (
            "tests/test_e.py",
            r#"
 def test_add():
     total = add(1, 2)
-    assert total == 3
+    compare_with(total, 3)
"#,
        ),
        (
            "tests/test_f.py",
            r#"
 def test_add():
     total = add(1, 2)
-    assert total == 3
+    near(total)
"#,
        ),
        // One of two assertions.
        (
            "tests/test_g.py",
            r#"
 def test_add():
     assert add(1, 2) == 3
-    assert add(1, 2) != 4
"#,
        ),
        // The whole body changed.
        (
            "src/a.test.js",
            r#"
 it('adds', () => {
-  expect(add(1, 2)).toBe(3);
+  return add(1, 2).then(done);
 });
"#,
        ),
        // Layout.
        (
            "src/b.test.js",
            r#"
-it('adds', () => { expect(add(1, 2)).toBe(3); });
+it('adds', () => {
+  expect(add(1, 2)).toBe(3);
+});
"#,
        ),
        // A comment.
        (
            "a_test.go",
            r#"
-// adds
 func TestAdd(t *testing.T) {
 	check(t, add(1, 2))
 }
"#,
        ),
        // A function of a program.
        (
            "src/a.py",
            r#"
 def add(a, b):
     return a + b
-
-def test_connection():
-    return ping()
"#,
        ),
    ]);
    let gone = Change {
        path: "tests/test_a.py",
        diff: "\n def test_a():\n     assert a()\n-def test_b():\n-    assert b()\n",
    };
    let source = Change { path: "src/b.py", diff: "\n-def b():\n-    return 1\n def c(): pass\n" };
    let moved = Change { path: "tests/test_c.py", diff: "\n+def test_b():\n+    assert b()\n" };
    assert_eq!(said(&[gone]), ["test-removed:-3?"]);
    let gone = || Change {
        path: "tests/test_a.py",
        diff: "\n def test_a():\n     assert a()\n-def test_b():\n-    assert b()\n",
    };
    assert_eq!(said(&[gone(), source]), [""; 0]);
    let feature = Change { path: "pom.xml", diff: "\n-<a/>\n <b/>\n" };
    assert_eq!(said(&[gone(), feature]), [""; 0]);
    assert_eq!(said(&[gone(), moved]), [""; 0]);
}

/// Where a file of tests points to, by convention.
#[test]
fn what_a_file_of_tests_is_about() {
    for (test, subject) in [
        ("a/sum_test.go", "a/sum.go"),
        ("web/sum.test.ts", "web/sum.ts"),
        ("web/__tests__/sum.spec.js", "web/sum.js"),
        ("src/test/java/a/SumTest.java", "src/main/java/a/Sum.java"),
        ("core/src/test/java/a/SumTest.java", "core/src/main/java/a/Sum.java"),
        ("tests/test_sum.py", "src/sum.py"),
        ("tests/a/test_sum.py", "a/sum.py"),
        ("spec/models/sum_spec.rb", "app/models/sum.rb"),
        ("spec/sum_spec.rb", "lib/sum.rb"),
    ] {
        assert!(tests::subjects(test).iter().any(|s| s == subject), "{test}: {subject}");
    }
    for none in ["tests/helpers.py", "conftest.py", "README", "a/testing.go"] {
        assert_eq!(tests::subjects(none), [""; 0], "{none}");
    }
}
