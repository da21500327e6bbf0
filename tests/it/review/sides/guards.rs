//! Checks for null taken away.

use super::{finds, found, is_silent};
use crate::review::support::Repo;

#[test]
fn a_guard_taken_away() {
    finds(&[
        (
            "a.js",
            r#"
 function greet(user) {
-  if (user === null) {
-    return;
-  }
   show(user.name);
 }
"#,
            "guard-removed:2?",
        ),
        (
            "a.py",
            r#"
 def greet(name):
     user = find(name)
-    if user is None:
-        return None
     return user.name
"#,
            "guard-removed:3?",
        ),
        (
            "a.go",
            r#"
 func greet(u *User) string {
-	if u == nil {
-		return ""
-	}
 	return u.Name
 }
"#,
            "guard-removed:2?",
        ),
        (
            "A.java",
            r#"
 class A {
   String greet(User user) {
-    if (user == null) {
-      throw new Missing();
-    }
     return user.name();
   }
 }
"#,
            "guard-removed:3?",
        ),
        (
            "a.c",
            r#"
 int size(struct list *list) {
-  if (list == NULL)
-    return 0;
   return list->length;
 }
"#,
            "guard-removed:2?",
        ),
        (
            "a.cpp",
            r#"
 int size(List *list) {
-  if (list == nullptr) {
-    return 0;
-  }
   return list->length();
 }
"#,
            "guard-removed:2?",
        ),
        (
            "a.rb",
            r#"
 def greet(name)
   user = find(name)
-  return if user.nil?
   puts user.name
 end
"#,
            "guard-removed:3?",
        ),
        (
            "a.php",
            r#"
 <?php
 function greet($user) {
-  if ($user === null) {
-    return;
-  }
   echo $user->name;
 }
"#,
            "guard-removed:3?",
        ),
        (
            "A.cs",
            r#"
 class A {
   string Greet(User user) {
-    if (user == null) {
-      return "";
-    }
     return user.Name;
   }
 }
"#,
            "guard-removed:3?",
        ),
        (
            "a.ts",
            r#"
 function greet(user: User | null) {
-  if (user != null) {
-    show(user.name);
-  }
+  show(user.name);
 }
"#,
            "guard-removed:2?",
        ),
    ]);
}

#[test]
fn guards_that_are_elsewhere_now() {
    is_silent(&[
        // Moved up to the caller.
        (
            "a.js",
            r#"
 function greet(user) {
-  if (user === null) {
-    return;
-  }
   show(user.name);
 }
 function all(user) {
+  if (user === null) return;
   greet(user);
 }
"#,
        ),
        // Written otherwise.
        (
            "a.py",
            r#"
 def greet(name):
     user = find(name)
-    if user is None:
-        return None
+    if not user:
+        return None
     return user.name
"#,
        ),
        // Asked in passing.
        (
            "a.ts",
            r#"
 function greet(user: User | null) {
-  if (user === null) return;
-  show(user.name);
+  show(user?.name);
 }
"#,
        ),
        // It comes from elsewhere, and is always there.
        (
            "a.go",
            r#"
 func greet(name string) string {
-	u := find(name)
-	if u == nil {
-		return ""
-	}
+	u := mustFind(name)
 	return u.Name
 }
"#,
        ),
        // The type says so now.
        (
            "A.java",
            r#"
 class A {
-  String greet(@Nullable User user) {
-    if (user == null) {
-      throw new Missing();
-    }
+  String greet(User user) {
     return user.name();
   }
 }
"#,
        ),
        // The use went, too.
        (
            "a.c",
            r#"
 int size(struct list *list) {
-  if (list == NULL)
-    return 0;
-  return list->length;
+  return 0;
 }
"#,
        ),
        // Another question asks it, too.
        (
            "a.cpp",
            r#"
 int size(List *list) {
-  if (list == nullptr) {
-    return 0;
-  }
   return valid(list) && list->length();
 }
"#,
        ),
        // A helper that throws.
        (
            "A.cs",
            r#"
 class A {
   string Greet(User user) {
-    if (user == null) {
-      throw new ArgumentNullException(nameof(user));
-    }
+    ArgumentNullException.ThrowIfNull(user);
     return user.Name;
   }
 }
"#,
        ),
        // The function was moved and only indented.
        (
            "a.rb",
            r#"
-def greet(user)
-  return if user.nil?
-  puts user.name
-end
+class A
+  def greet(user)
+    return if user.nil?
+    puts user.name
+  end
+end
"#,
        ),
        // In a test.
        (
            "tests/test_a.py",
            r#"
 def test_greet():
     user = find("ada")
-    if user is None:
-        return
     assert user.name == "ada"
"#,
        ),
        // A guard about something else.
        (
            "a.php",
            r#"
 <?php
 function greet($user, $log) {
-  if ($log === null) {
-    return;
-  }
   echo $user->name;
 }
"#,
        ),
        // It does not leave: what follows ran anyway.
        (
            "b.js",
            r#"
 function greet(user) {
-  if (user === null) {
-    count();
-  }
   show(user.name);
 }
"#,
        ),
        // Extracted.
        (
            "b.py",
            r#"
 def greet(name):
-    user = find(name)
-    if user is None:
-        return None
+    user = known(name)
     return user.name
+
+
+def known(name):
+    user = find(name)
+    if user is None:
+        raise Missing(name)
+    return user
"#,
        ),
    ]);
}

/// Where nothing else was done, taking it away was what was wanted: it counts, and is not shown.
#[tokio::test]
async fn a_guard_that_goes_alone_is_meant() {
    let repo = Repo::new();
    let guarded = "def f(x, log):\n    if x is None:\n        return 0\n    return x.size\n";
    repo.write("a.py", guarded).commit("base");
    repo.write("a.py", "def f(x, log):\n    return x.size\n").commit("alone");
    assert_eq!(found(&repo.review("HEAD^!").await), [""; 0]);
    repo.write("a.py", guarded).commit("back");
    repo.write("a.py", "def f(x, log):\n    log.write(\"called\")\n    return x.size\n");
    repo.commit("on the way");
    assert_eq!(found(&repo.review("HEAD^!").await), ["guard-removed a.py:3-3"]);
}
