//! Conditions turned round.

use super::{finds, is_silent};

/// What decides is turned round, and contradicts what it decides.
#[test]
fn a_condition_that_contradicts_what_it_decides() {
    finds(&[
        (
            "a.go",
            r#"
 package a
 
 func Load(path string) error {
 	err := read(path)
-	if err != nil {
+	if err == nil {
 		return err
 	}
 	return done()
 }
"#,
            "condition-turned-round:5",
        ),
        (
            "a.js",
            r#"
 function greet(user) {
-  if (user !== null) {
+  if (user === null) {
     show(user.name);
   }
 }
"#,
            "condition-turned-round:2",
        ),
        (
            "a.py",
            r#"
 def greet(user):
-    if user is not None:
+    if user is None:
         show(user.name)
         log("greeted")
"#,
            "condition-turned-round:2",
        ),
        (
            "A.java",
            r#"
 class A {
   boolean known(User user) {
-    if (user != null && user.isKnown()) {
+    if (user != null || user.isKnown()) {
       return true;
     }
     return false;
   }
 }
"#,
            "condition-turned-round:3",
        ),
        (
            "a.c",
            r#"
 int sum(const struct list *list) {
   int total = 0;
-  for (int i = 0; i < list->length; i++) {
+  for (int i = 0; i <= list->length; i++) {
     total += list[i];
   }
   return total;
 }
"#,
            "condition-turned-round:3",
        ),
        (
            "a.ts",
            r#"
 export function remove(req: Request, res: Response) {
-  if (!req.user.isAdmin) {
+  if (req.user.isAdmin) {
     return res.status(403).send("no");
   }
   drop(req.params.id);
 }
"#,
            "condition-turned-round:2",
        ),
        (
            "a.rb",
            r#"
 def greet(user)
-  unless user.nil?
+  if user.nil?
     puts user.name
   end
 end
"#,
            "condition-turned-round:2",
        ),
        (
            "a.php",
            r#"
 <?php
 function greet($user) {
-  if ($user !== null) {
+  if ($user === null) {
     echo $user->name;
   }
 }
"#,
            "condition-turned-round:3",
        ),
        (
            "A.cs",
            r#"
 class A {
   string Name(User user) {
-    if (user == null || user.Name == "") {
+    if (user == null && user.Name == "") {
       return "nobody";
     }
     return user.Name;
   }
 }
"#,
            "condition-turned-round:3",
        ),
    ]);
}

/// Alone it looks as a correction does, and stays below the threshold.
#[test]
fn a_condition_that_may_be_a_correction() {
    finds(&[
        (
            "a.py",
            r#"
 def wait(jobs, limit):
-    while len(jobs) < limit:
+    while len(jobs) >= limit:
         jobs.poll(timeout=1)
"#,
            "condition-turned-round:2?",
        ),
        (
            "a.rs",
            r#"
 fn pick(a: u32, b: u32) -> u32 {
-    if a > b && ready() {
+    if a > b || ready() {
         return first(a);
     }
     b
 }
"#,
            "condition-turned-round:2?",
        ),
        (
            "a.kt",
            r#"
 fun pick(ready: Boolean) {
-    if (!ready) {
+    if (ready) {
         start("now")
     }
 }
"#,
            "condition-turned-round:2?",
        ),
        (
            "a.sh",
            r#"
 run() {
-  if [ -z "$1" ]; then
+  if [ -n "$1" ]; then
     echo "usage: run FILE"
   fi
 }
"#,
            "condition-turned-round:2?",
        ),
    ]);
}

#[test]
fn conditions_that_were_not_turned() {
    is_silent(&[
        // Both the condition and what it decides are turned.
        (
            "a.js",
            r#"
 function pick(a) {
-  if (a.ready) {
-    start(a);
-  } else {
-    wait(a);
-  }
+  if (!a.ready) {
+    wait(a);
+  } else {
+    start(a);
+  }
 }
"#,
        ),
        // Early return in place of nesting.
        (
            "a.go",
            r#"
 func pick(a *A) {
-	if a != nil {
-		a.start()
-	}
+	if a == nil {
+		return
+	}
+	a.start()
 }
"#,
        ),
        // Brackets only.
        (
            "a.c",
            r#"
 int f(int a, int b) {
-  if (a == 1 && b == 2) {
+  if ((a == 1) && (b == 2)) {
     return go(a, b);
   }
   return 0;
 }
"#,
        ),
        // Layout only.
        (
            "a.ts",
            r#"
 function f(a: number, b: number) {
-  if (a < b && b < 10) { return go(a, b); }
+  if (
+    a < b &&
+    b < 10
+  ) {
+    return go(a, b);
+  }
 }
"#,
        ),
        // A comment only.
        (
            "a.py",
            r#"
 def f(a):
-    if a:  # not yet
+    if a:  # now
         return go(a)
"#,
        ),
        // More than the operator changed.
        (
            "a.java",
            r#"
 class A { int f(int a) {
-    if (a < limit) {
+    if (a >= maximum) {
       return go(a);
     }
     return 0;
 } }
"#,
        ),
        // The body changed, too.
        (
            "a.rs",
            r#"
 fn f(a: u32) -> u32 {
-    if a == 0 {
-        return none(a);
+    if a != 0 {
+        return some(a);
     }
     0
 }
"#,
        ),
        // Another function of the same look.
        (
            "a.go",
            r#"
-func f(a int) bool {
-	if a == 1 {
-		return check(a)
-	}
-	return false
-}
+func g(a int) bool {
+	if a != 1 {
+		return check(a)
+	}
+	return false
+}
"#,
        ),
        // A rename.
        (
            "a.rb",
            r#"
 def f(user)
-  if user.ready
+  if user.prepared
     user.start(now)
   end
 end
"#,
        ),
        // Another limit.
        (
            "a.php",
            r#"
 <?php
 function f($a) {
-  if ($a < 10) {
+  if ($a < 11) {
     return go($a);
   }
 }
"#,
        ),
        // A moved function.
        (
            "a.py",
            r#"
-def f(a):
-    if a == 1:
-        return go(a)
-
-
 def g(a):
     return a
+
+
+def f(a):
+    if a == 1:
+        return go(a)
"#,
        ),
        // A condition that is new.
        (
            "a.cs",
            r#"
 class A { int F(int a) {
+    if (a != 1) {
+      return Go(a);
+    }
     return 0;
 } }
"#,
        ),
    ]);
}
